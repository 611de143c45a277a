package function

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// TestReadyAt: the status says when the tenant was Ready for the first time, whatever comes after.
func TestReadyAt(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "")
	e.reconcile()
	if e.reconcile(); e.status("readyAt") != "" {
		t.Errorf("nothing is there yet, and it was ready at %s", e.status("readyAt"))
	}
	const want = "2026-01-02T03:04:05Z"
	e.install()
	steps := []struct {
		reason string
		change func()
	}{
		{"It is Ready.", func() {}},
		{"A workload breaks.", func() { e.setReplicas("argocd-server", 0) }},
		{"It recovers.", e.heal},
		{"The claim can't be used.", func() { e.spec(`{"kubernetes":{"version":"v1.34.0"}}`) }},
		{"The claim can be used.", func() { e.spec(`{}`) }},
	}
	for i, s := range steps {
		e.f.now = func() time.Time { return testNow.Add(time.Duration(i) * time.Hour) }
		s.change()
		e.reconcile()
		e.reconcile()
		if got := e.status("readyAt"); got != want {
			t.Errorf("%s It was ready at %q, want %q", s.reason, got, want)
		}
	}
	if at := wire.Of(e.xr()).Condition("Ready").LastTransitionTime; at == want {
		t.Error("the condition Ready hasn't changed since, so that this test has shown nothing")
	}
}

// TestCertificatesExpireAt: the status says when the first certificate of the kubeconfig expires that is in use.
func TestCertificatesExpireAt(t *testing.T) {
	early, late := certificate(t, testNow.Add(24*time.Hour)), certificate(t, testNow.Add(48*time.Hour))
	unreadable := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("a")}))
	const first, second = "2026-01-03T03:04:05Z", "2026-01-04T03:04:05Z"
	e := newEngine(t, tenantXR(`{}`), "").install()
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
		e.publish(virtualKubeconfig(func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData, u.ClientCertificateData = []byte(s.ca), []byte(s.client)
		}))
		e.reconcile()
		if got := e.status("vcluster", "certificatesExpireAt"); got != s.want {
			t.Errorf("%s They expire at %q, want %q", s.reason, got, s.want)
		}
	}
	if e.publish(""); e.reconcile() != nil && e.status("vcluster", "certificatesExpireAt") != first {
		t.Errorf("the Secret of the virtual cluster is gone, and what is in use expires at %q", e.status("vcluster", "certificatesExpireAt"))
	}
}

// certificate returns one in PEM that expires at a time.
func certificate(t *testing.T, expires time.Time) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: testNow, NotAfter: expires}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
