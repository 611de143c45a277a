package tenant

import (
	"math/rand/v2"
	"strings"
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

// TestHostLabels: no two claims get one hostname, and what claims name can be told from what the platform gives.
func TestHostLabels(t *testing.T) {
	for of, want := range map[[2]string]string{
		{"team-a", "shop"}:                  "shop--team-a",
		{"a", "shop-team"}:                  "shop-team--a",
		{"team-a", "xn"}:                    "xn-team-a--" + hashOf("team-a/xn"),
		{"0123456789abcdef", "shop"}:        "shop-0123456789abcdef--" + hashOf("0123456789abcdef/shop"),
		{"b", "shop--a"}:                    "shop-a-b--" + hashOf("b/shop--a"),
		{"team-a", "shop.example"}:          "shop-example-team-a--" + hashOf("team-a/shop.example"),
		{"team-a", strings.Repeat("x", 60)}: strings.Repeat("x", 45) + "--" + hashOf("team-a/"+strings.Repeat("x", 60)),
		{"", "shop--team-a"}:                "shop-team-a-xr--" + hashOf("/shop--team-a"),
	} {
		if got := HostLabel(of[0], of[1]); got != want {
			t.Errorf("HostLabel(%q, %q) = %q, want %q", of[0], of[1], got, want)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[string][2]string{}
	const alphabet = "ab0--."
	for range 50000 {
		var of [2]string
		for i, most := range []int{5, 70} {
			b := make([]byte, r.IntN(most))
			for j := range b {
				b[j] = alphabet[r.IntN(len(alphabet))]
			}
			// Names of objects begin and end with a letter or a digit.
			of[i] = strings.Trim(string(b), "-.")
		}
		if of[1] == "" {
			continue
		}
		label := HostLabel(of[0], of[1])
		if len(label) > 63 || !dnsLabel.MatchString(label) || !IsHostLabel(label) || reserved(label) {
			t.Fatalf("HostLabel(%q, %q) = %q", of[0], of[1], label)
		}
		if other, ok := seen[label]; ok && other != of {
			t.Fatalf("%q and %q both have %q", other, of, label)
		}
		seen[label] = of
		// What one claim gets is no name of a claim that gets it, too.
		if again := HostLabel("", label); again == label {
			t.Fatalf("HostLabel(%q) is itself", label)
		}
	}
	for label, want := range map[string]bool{"shop": false, "shop-team-a": false, "xn--bcher-kva": false, "shop--team-a": true, "a--b": true, "xn--a--b": false} {
		if got := IsHostLabel(label); got != want {
			t.Errorf("IsHostLabel(%q) = %t", label, got)
		}
	}
}
