package node

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"
)

func TestCertificates(t *testing.T) {
	cfg := testConfig(t)
	if err := writeFiles(cfg); err != nil {
		t.Fatal(err)
	}
	l, roots := cfg.dir(), x509.NewCertPool()
	ca, err := os.ReadFile(l.pki("ca.crt"))
	if err != nil || !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("cannot read ca.crt: %v", err)
	}
	cases := map[string]struct {
		reason string
		file   string
		host   string
		usage  x509.ExtKeyUsage
		ok     bool
	}{
		"PodsReachTheAPI":       {"Pods use this name.", "apiserver", "kubernetes.default.svc", x509.ExtKeyUsageServerAuth, true},
		"MachineReachesTheAPI":  {"The kubeconfig uses this address.", "apiserver", "10.244.9.1", x509.ExtKeyUsageServerAuth, true},
		"ServiceAddress":        {"In-cluster clients use this address.", "apiserver", "10.96.144.1", x509.ExtKeyUsageServerAuth, true},
		"AnotherCluster":        {"A certificate is good for its own cluster.", "apiserver", "10.244.0.1", x509.ExtKeyUsageServerAuth, false},
		"KubeletServesLogs":     {"kube-apiserver verifies kubelet by its address.", "kubelet", "10.244.9.1", x509.ExtKeyUsageServerAuth, true},
		"APIServerAsksKubelet":  {"kubelet knows kube-apiserver by this certificate.", "apiserver-kubelet-client", "", x509.ExtKeyUsageClientAuth, true},
		"FrontProxyIsNotAnyone": {"An aggregated API server trusts it; kube-apiserver must not.", "front-proxy-client", "", x509.ExtKeyUsageClientAuth, false},
		"ServersAreNotClients":  {"A server's certificate opens nothing.", "apiserver", "", x509.ExtKeyUsageClientAuth, false},
		"ClientsAreNotServers":  {"Nor does a client's serve.", "apiserver-kubelet-client", "", x509.ExtKeyUsageServerAuth, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(l.pki(tc.file+".crt"), l.pki(tc.file+".key"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: tc.host, KeyUsages: []x509.ExtKeyUsage{tc.usage}})
			if (err == nil) != tc.ok {
				t.Errorf("\n%s\nVerify(%s for %q): want ok %t, got %v", tc.reason, tc.file, tc.host, tc.ok, err)
			}
		})
	}
}

// TestServiceAccountKey: kube-apiserver is given one file, to sign tokens with and to verify them.
func TestServiceAccountKey(t *testing.T) {
	cfg := testConfig(t)
	if err := writeFiles(cfg); err != nil {
		t.Fatal(err)
	}
	private, err := keyutil.PrivateKeyFromFile(cfg.dir().pki("sa.key"))
	if err != nil {
		t.Fatal(err)
	}
	public, err := keyutil.PublicKeysFromFile(cfg.dir().pki("sa.key"))
	if err != nil || len(public) != 1 || !private.(*ecdsa.PrivateKey).PublicKey.Equal(public[0]) {
		t.Errorf("want the public key of the private one, got %v, %v", public, err)
	}
}

func TestKubeconfigs(t *testing.T) {
	cfg := testConfig(t)
	if err := writeFiles(cfg); err != nil {
		t.Fatal(err)
	}
	rest, err := clientcmd.BuildConfigFromFlags("", cfg.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if rest.Host != cfg.Addresses().Server {
		t.Errorf("kubeconfig: want server %s, got %s", cfg.Addresses().Server, rest.Host)
	}
	if _, err := tls.X509KeyPair(rest.CertData, rest.KeyData); err != nil {
		t.Errorf("kubeconfig: certificate and key don't match: %v", err)
	}
	info, err := os.Stat(cfg.Kubeconfig())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: it opens everything, so only its owner may read it: %v, error %v", info.Mode(), err)
	}
}
