package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// writePKI writes all certificates, keys and kubeconfigs of a new cluster.
func writePKI(cfg Config) error {
	l, a := cfg.dir(), cfg.Addresses()
	ca, err := newAuthority("kubernetes")
	if err != nil {
		return err
	}
	// Requests that kube-apiserver forwards to another API server are vouched for
	// by an authority that no user has a certificate of.
	frontProxy, err := newAuthority("front-proxy")
	if err != nil {
		return err
	}
	if err := ca.write(l, "ca"); err != nil {
		return err
	}
	if err := frontProxy.write(l, "front-proxy-ca"); err != nil {
		return err
	}
	for _, c := range []struct {
		file string
		by   *keyPair
		id   identity
	}{
		{"apiserver", ca, identity{Name: "kube-apiserver", Hosts: apiServerHosts(a)}},
		{"apiserver-kubelet-client", ca, identity{Name: "kube-apiserver-kubelet-client", Group: "system:masters"}},
		{"front-proxy-client", frontProxy, identity{Name: "front-proxy-client"}},
		{"kubelet", ca, identity{Name: "system:node:" + cfg.id(), Group: "system:nodes", Hosts: []string{cfg.id(), a.Node}}},
	} {
		pair, err := c.by.sign(c.id)
		if err != nil {
			return err
		}
		if err := pair.write(l, c.file); err != nil {
			return err
		}
	}
	if err := writeServiceAccountKey(l); err != nil {
		return err
	}
	return writeKubeconfigs(cfg, ca)
}

func apiServerHosts(a Addresses) []string {
	return []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"localhost", "127.0.0.1", a.Kubernetes, a.Node, a.Uplink,
	}
}

// writeServiceAccountKey writes the pair of keys that ServiceAccount tokens are
// signed and verified with.
func writeServiceAccountKey(l layout) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("cannot make the key of ServiceAccount tokens: %w", err)
	}
	private, err := keyPEM(key)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("cannot write the key of ServiceAccount tokens: %w", err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for file, content := range map[string][]byte{"sa.key": private, "sa.pub": public} {
		if err := os.WriteFile(l.pki(file), content, 0o600); err != nil {
			return fmt.Errorf("cannot write the key of ServiceAccount tokens: %w", err)
		}
	}
	return nil
}

// clients are the users that get a kubeconfig: file name to identity.
func clients(cfg Config) map[string]identity {
	return map[string]identity{
		"admin":              {Name: "admin", Group: "system:masters"},
		"controller-manager": {Name: "system:kube-controller-manager"},
		"scheduler":          {Name: "system:kube-scheduler"},
		"kubelet":            {Name: "system:node:" + cfg.id(), Group: "system:nodes"},
		"kube-proxy":         {Name: "system:kube-proxy"},
	}
}

func writeKubeconfigs(cfg Config, ca *keyPair) error {
	for name, id := range clients(cfg) {
		pair, err := ca.sign(id)
		if err != nil {
			return err
		}
		k, err := kubeconfig(cfg, ca, pair, name)
		if err != nil {
			return err
		}
		file := cfg.dir().kubeconfig(name)
		if name == "admin" {
			file = cfg.Kubeconfig()
		}
		if err := clientcmd.WriteToFile(*k, file); err != nil {
			return fmt.Errorf("cannot write a kubeconfig: %w", err)
		}
	}
	return nil
}

// kubeconfig holds its certificates: it can be copied elsewhere.
func kubeconfig(cfg Config, ca, user *keyPair, name string) (*api.Config, error) {
	key, err := user.keyPEM()
	if err != nil {
		return nil, err
	}
	k := api.NewConfig()
	k.Clusters[cfg.id()] = &api.Cluster{Server: cfg.Addresses().Server, CertificateAuthorityData: ca.certPEM()}
	k.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: user.certPEM(), ClientKeyData: key}
	k.Contexts[cfg.id()] = &api.Context{Cluster: cfg.id(), AuthInfo: name}
	k.CurrentContext = cfg.id()
	return k, nil
}
