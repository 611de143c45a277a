package vcluster_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestHostileKubeconfig: what comes from the tenant's namespace steers no provider.
func TestHostileKubeconfig(t *testing.T) {
	hostile := crossplanetest.VirtualKubeconfig(func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		c.Server, u.TokenFile = "http://203.0.113.7", "/var/run/secrets/kubernetes.io/serviceaccount/token"
	})
	e := crossplanetest.New(t, `{}`, "")
	e.Reconcile()
	e.AwaitVCluster()
	e.RunProviders()
	publish := func(kubeconfig string) {
		e.PublishKubeconfig(kubeconfig)
		e.Reconcile()
		e.Reconcile()
	}
	publish(hostile)
	if len(e.SecretKey(tenant.KubeconfigSecret, tenant.KubeconfigKey)) > 0 {
		t.Error("a kubeconfig was made of it")
	}
	if _, ok := e.Request.GetObserved().GetResources()[tenant.ArgoCDRelease]; ok {
		t.Error("something is installed by it")
	}
	is := e.Condition(v1alpha1.ConditionVirtualClusterReady)
	if is.GetReason() != v1alpha1.ReasonKubeconfigInvalid || !strings.Contains(is.GetMessage(), "it has user.tokenFile, which vcluster doesn't write") {
		t.Errorf("the claim should say so: %v", is)
	}
	// One that moves the server is used, without it.
	publish(crossplanetest.VirtualKubeconfig(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "https://203.0.113.7" }))
	const server = "https://vcluster.vargo-customer1-7rw8j.svc:443"
	good := e.SecretKey(tenant.KubeconfigSecret, tenant.KubeconfigKey)
	file, err := clientcmd.Load(good)
	if err != nil || len(file.Clusters) != 1 || file.Clusters["virtual-argocd"].Server != server {
		t.Fatalf("want the tenant's own server: %s, %v", good, err)
	}
	if got := e.Response.GetDesired().GetComposite().GetConnectionDetails()["kubeconfig"]; string(got) != string(good) {
		t.Errorf("the claim has another one: %s", got)
	}
	// And what was good stays.
	e.Install()
	publish(hostile)
	if string(e.SecretKey(tenant.KubeconfigSecret, tenant.KubeconfigKey)) != string(good) {
		t.Errorf("the providers use %s", e.SecretKey(tenant.KubeconfigSecret, tenant.KubeconfigKey))
	}
	if is := e.Condition(v1alpha1.ConditionVirtualClusterReady); e.Status("phase") != "Degraded" || is.GetReason() != v1alpha1.ReasonKubeconfigInvalid {
		t.Errorf("want Degraded, got %s: %v", e.Status("phase"), is)
	}
	for _, name := range []string{"helm-provider-config", "kubernetes-provider-config"} {
		ref := crossplanetest.Field(e.Observed(name), "spec", "credentials", "secretRef").GetFields()
		if ref["name"].GetStringValue() != "customer1-7rw8j-kubeconfig" {
			t.Errorf("%s names %v", name, ref)
		}
	}
}

// TestCertificatesExpireAt: the status says when the first certificate of the kubeconfig expires that is in use.
func TestCertificatesExpireAt(t *testing.T) {
	early, late := certificate(t, crossplanetest.Start.Add(24*time.Hour)), certificate(t, crossplanetest.Start.Add(48*time.Hour))
	unreadable := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("a")}))
	const first, second = "2026-01-03T03:04:05Z", "2026-01-04T03:04:05Z"
	e := crossplanetest.New(t, `{}`, "").Install()
	steps := []struct {
		reason, ca, client string
		want               string
	}{
		{"The client certificate is the first.", late, early, first},
		{"The certificate of the CA is the first.", early, late, first},
		{"Both are renewed.", late, late, second},
		{"One can't be read.", unreadable, early, first},
		{"A second one is in the same file.", late, late + early, first},
		{"None can be read: what was known stays.", unreadable, unreadable, first},
		{"The kubeconfig isn't used: what is in use stays.", "none", late, first},
	}
	for _, s := range steps {
		e.PublishKubeconfig(crossplanetest.VirtualKubeconfig(func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData, u.ClientCertificateData = []byte(s.ca), []byte(s.client)
		}))
		e.Reconcile()
		if got := e.Status("vcluster", "certificatesExpireAt"); got != s.want {
			t.Errorf("%s They expire at %q, want %q", s.reason, got, s.want)
		}
	}
	if e.PublishKubeconfig(""); e.Reconcile() != nil && e.Status("vcluster", "certificatesExpireAt") != first {
		t.Errorf("the Secret of the virtual cluster is gone, and what is in use expires at %q", e.Status("vcluster", "certificatesExpireAt"))
	}
}

// certificate returns one in PEM that expires at a time.
func certificate(t *testing.T, expires time.Time) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: crossplanetest.Start, NotAfter: expires}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
