package ingress_test

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestRootPath: the URL, the address after signing on and the Ingress follow the path of Argo CD's own settings.
func TestRootPath(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"configs":{"params":{"server.rootpath":"/argocd/"},"cm":{"statusbadge.enabled":true}}}}}`, "").Install()
	e.Cycle(3)
	v := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()
	at := func(path ...string) any { is, _ := values.Lookup(v, path...); return is }
	for _, tc := range []struct {
		what      string
		got, want any
	}{
		{"status.argocd.url", e.Status("argocd", "url"), "https://a.example.org/argocd"},
		{"url", at("configs", "cm", "url"), "https://a.example.org/argocd"},
		{"path", at("server", "ingress", "path"), "/argocd"},
		{"rootpath", at("configs", "params", "server.rootpath"), "/argocd/"},
		{"links in notifications", at("notifications", "argocdUrl"), "https://a.example.org/argocd"},
		{"status badges", at("configs", "cm", "statusbadge.url"), "https://a.example.org/argocd/"},
		{"IngressReady", e.Condition("IngressReady").GetMessage(), "https://a.example.org/argocd is served at 192.0.2.1"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: want %v, got %v", tc.what, tc.want, tc.got)
		}
	}
}

// TestRootPathAndURLsOfTheClaim: what a claim says of its URLs elsewhere counts, and without a path nothing is said.
func TestRootPathAndURLsOfTheClaim(t *testing.T) {
	const own = `"notifications":{"argocdUrl":"https://b.example.org"}`
	for name, tc := range map[string]struct {
		values   string
		url      any
		badge    any
		badgeSet bool
	}{
		"NoPath":      {`{"configs":{"cm":{"statusbadge.enabled":true}}}`, nil, nil, false},
		"NoBadge":     {`{"configs":{"params":{"server.rootpath":"/argocd"}}}`, "https://a.example.org/argocd", nil, false},
		"Own":         {`{"configs":{"params":{"server.rootpath":"/argocd"},"cm":{"statusbadge.enabled":"true","statusbadge.url":"https://c.example.org/"}},` + own + `}`, "https://b.example.org", "https://c.example.org/", true},
		"OwnNoPath":   {`{` + own + `}`, "https://b.example.org", nil, false},
		"CopyOfChart": {`{"notifications":{"argocdUrl":""},"configs":{"params":{"server.rootpath":"/argocd"}}}`, "https://a.example.org/argocd", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"},"argocd":{"values":`+tc.values+`}}`, "").Install()
			v := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()
			url, _ := values.Lookup(v, "notifications", "argocdUrl")
			badge, set := values.Lookup(v, "configs", "cm", "statusbadge.url")
			if url != tc.url || badge != tc.badge || set != tc.badgeSet {
				t.Errorf("notifications link to %v, badges are at %v", url, badge)
			}
		})
	}
}
