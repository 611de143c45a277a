package tenant

import (
	"math/rand/v2"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// TestTenantIDs: names are stable, bounded, valid, and never shared.
func TestTenantIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]string{}
	check := func(xr string) {
		t.Helper()
		id := BoundedLabel(xr, maxTenantID)
		if len(id) > maxTenantID || !dnsLabel.MatchString(id) {
			t.Fatalf("TenantID(%q) = %q: not a DNS label of %d characters or less", xr, id, maxTenantID)
		}
		if other, ok := seen[id]; ok && other != xr {
			t.Fatalf("XRs %q and %q are both tenant %q", other, xr, id)
		}
		seen[id] = xr
		n := NewNames(xr, "")
		for _, name := range []string{n.Namespace, n.KubeconfigSecret, n.PasswordSecret, n.ValuesSecret} {
			if len(name) > 63 || !dnsLabel.MatchString(name) {
				t.Fatalf("XR %q: name %q isn't a DNS label", xr, name)
			}
		}
	}
	const alphabet = "abx09-."
	for range 20000 {
		b := make([]byte, 1+r.IntN(80))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		check(string(b))
		// What a hash makes of one name must not be the name of another XR.
		check(BoundedLabel(string(b), maxTenantID))
	}
	if got := BoundedLabel("customer1-7rw8j", maxTenantID); got != "customer1-7rw8j" {
		t.Errorf("a name that fits is kept: got %q", got)
	}
}

// TestAPIServers: the proxy connects only to names of Services that end with .svc, whatever the host's DNS domain is.
func TestAPIServers(t *testing.T) {
	for domain, published := range map[string]string{
		"":                    "https://vcluster.vargo-a.svc:443",
		"cluster.local":       "https://vcluster.vargo-a.svc.cluster.local:443",
		"cluster.example.org": "https://vcluster.vargo-a.svc.cluster.example.org:443",
	} {
		n := NewNames("a", domain)
		if got := n.APIServer(); got != published {
			t.Errorf("domain %q: the claim's kubeconfig has %s, want %s", domain, got, published)
		}
		if _, err := (proxy.Credentials{Server: n.ProxiedAPIServer()}).Token(); err != nil {
			t.Errorf("domain %q: the proxy refuses %s: %v", domain, n.ProxiedAPIServer(), err)
		}
	}
}
