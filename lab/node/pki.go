package node

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"github.com/virtual-argocd/virtual-argocd/lab/certs"
)

// writePKI writes all certificates, keys and kubeconfigs of a new cluster.
func writePKI(cfg Config) error {
	l, a := cfg.dir(), cfg.Addresses()
	ca, err := certs.NewAuthority("kubernetes")
	if err != nil {
		return err
	}
	// Requests that kube-apiserver forwards to another API server are vouched for
	// by an authority that no user has a certificate of.
	frontProxy, err := certs.NewAuthority("front-proxy")
	if err != nil {
		return err
	}
	if err := write(l, "ca", ca); err != nil {
		return err
	}
	if err := write(l, "front-proxy-ca", frontProxy); err != nil {
		return err
	}
	for _, c := range []struct {
		file string
		by   *certs.KeyPair
		id   certs.Identity
	}{
		{"apiserver", ca, certs.Identity{Name: "kube-apiserver", Hosts: apiServerHosts(a)}},
		{"apiserver-kubelet-client", ca, certs.Identity{Name: "kube-apiserver-kubelet-client", Group: "system:masters"}},
		{"front-proxy-client", frontProxy, certs.Identity{Name: "front-proxy-client"}},
		{"kubelet", ca, certs.Identity{Name: "system:node:" + cfg.id(), Group: "system:nodes", Hosts: []string{cfg.id(), a.Node}}},
	} {
		pair, err := c.by.Sign(c.id)
		if err != nil {
			return err
		}
		if err := write(l, c.file, pair); err != nil {
			return err
		}
	}
	// What ServiceAccount tokens are signed with. kube-apiserver takes the public key for verifying them from it, too.
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("cannot make the key of ServiceAccount tokens: %w", err)
	}
	if err := keyutil.WriteKey(l.pki("sa.key"), key); err != nil {
		return fmt.Errorf("cannot write the key of ServiceAccount tokens: %w", err)
	}
	return writeKubeconfigs(cfg, ca)
}

// write writes <name>.crt and <name>.key.
func write(l layout, name string, p *certs.KeyPair) error {
	key, err := p.KeyPEM()
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.pki(name+".crt"), p.CertPEM(), 0o644); err != nil {
		return fmt.Errorf("cannot write a certificate: %w", err)
	}
	if err := os.WriteFile(l.pki(name+".key"), key, 0o600); err != nil {
		return fmt.Errorf("cannot write a key: %w", err)
	}
	return nil
}

func apiServerHosts(a Addresses) []string {
	return []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"localhost", "127.0.0.1", a.Kubernetes, a.Node, a.Uplink,
	}
}

// clients are the users that get a kubeconfig: file name to identity.
func clients(cfg Config) map[string]certs.Identity {
	return map[string]certs.Identity{
		"admin":              {Name: "admin", Group: "system:masters"},
		"controller-manager": {Name: "system:kube-controller-manager"},
		"scheduler":          {Name: "system:kube-scheduler"},
		"kubelet":            {Name: "system:node:" + cfg.id(), Group: "system:nodes"},
		"kube-proxy":         {Name: "system:kube-proxy"},
	}
}

func writeKubeconfigs(cfg Config, ca *certs.KeyPair) error {
	for name, id := range clients(cfg) {
		pair, err := ca.Sign(id)
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
func kubeconfig(cfg Config, ca, user *certs.KeyPair, name string) (*api.Config, error) {
	key, err := user.KeyPEM()
	if err != nil {
		return nil, err
	}
	k := api.NewConfig()
	k.Clusters[cfg.id()] = &api.Cluster{Server: cfg.Addresses().Server, CertificateAuthorityData: ca.CertPEM()}
	k.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: user.CertPEM(), ClientKeyData: key}
	k.Contexts[cfg.id()] = &api.Context{Cluster: cfg.id(), AuthInfo: name}
	k.CurrentContext = cfg.id()
	return k, nil
}
