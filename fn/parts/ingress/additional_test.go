package ingress_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// hosts is a claim's ingress with these hostnames, the first of which is that of its URL.
func hosts(all ...string) string {
	return `{"ingress":{"host":"` + all[0] + `","additionalHosts":["` + strings.Join(all[1:], `","`) + `"]}}`
}

// settingsOf are Argo CD's own settings.
func settingsOf(e *crossplanetest.Engine) map[string]any {
	v := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values", "configs", "cm").AsMap()
	out := map[string]any{"url": v["url"]}
	if text, ok := v["additionalUrls"].(string); ok {
		urls := []any{}
		if err := yaml.Unmarshal([]byte(text), &urls); err != nil {
			e.T.Fatal(err)
		}
		out["additionalUrls"] = urls
	}
	return out
}

func TestAdditionalHosts(t *testing.T) {
	const additional = `"additionalHosts":["b.example.org","c.example.org"]`
	tls := func(secret string, hosts ...any) map[string]any {
		return map[string]any{"secretName": secret, "hosts": hosts}
	}
	extra := []any{map[string]any{"name": "b.example.org"}, map[string]any{"name": "c.example.org"}}
	cases := map[string]struct {
		reason, spec string
		path         string
		want         map[string]any
	}{
		"ControllersCertificate": {
			"All names are served with TLS.",
			`{"ingress":{"host":"a.example.org",` + additional + `}}`, "",
			map[string]any{"extraTls": []any{map[string]any{"hosts": []any{"a.example.org", "b.example.org", "c.example.org"}}}},
		},
		"Issuer": {
			"Each name has a certificate of its own, so that one which can't be issued holds up no other, and the first one's stays as it is.",
			`{"ingress":{"host":"a.example.org",` + additional + `,"tls":{"issuer":{"name":"ca"}}}}`, "",
			map[string]any{"annotations": map[string]any{"cert-manager.io/cluster-issuer": "ca"}, "extraTls": []any{
				tls("argocd-server-tls", "a.example.org"),
				tls("argocd-server-tls-"+tenant.HostnameHash("b.example.org"), "b.example.org"),
				tls("argocd-server-tls-"+tenant.HostnameHash("c.example.org"), "c.example.org"),
			}},
		},
		"CertificateOfTheClaim": {
			"The claim's certificate is for all names.",
			`{"ingress":{"host":"a.example.org",` + additional + `,"tls":{"secretName":"cert"}}}`, "",
			map[string]any{"extraTls": []any{tls("argocd-server-tls", "a.example.org", "b.example.org", "c.example.org")}},
		},
		"Path": {
			"The path is that of all URLs.",
			`{"ingress":{"host":"a.example.org",` + additional + `},"argocd":{"values":{"configs":{"params":{"server.rootpath":"/argocd"}}}}}`, "/argocd",
			map[string]any{"path": "/argocd", "extraTls": []any{map[string]any{"hosts": []any{"a.example.org", "b.example.org", "c.example.org"}}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, "")
			cert, key := crossplanetest.KeyPair()
			e.AddSecret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": key})
			e.Install()
			tc.want["enabled"], tc.want["hostname"], tc.want["extraHosts"] = true, "a.example.org", extra
			if diff := cmp.Diff(tc.want, argocdValues(e)["ingress"]); diff != "" {
				t.Errorf("\n%s\nvalues: -want, +got:\n%s", tc.reason, diff)
			}
			urls := []any{"https://b.example.org" + tc.path, "https://c.example.org" + tc.path}
			if got := settingsOf(e)["additionalUrls"]; !cmp.Equal(got, any(urls)) {
				t.Errorf("\n%s\nadditionalUrls: %v", tc.reason, got)
			}
			url := "https://a.example.org" + tc.path
			if got := string(e.Response.GetDesired().GetComposite().GetConnectionDetails()["url"]); got != url || e.Status("argocd", "url") != url {
				t.Errorf("\n%s\nURL: want %s, got %s in the connection details and %s in the status", tc.reason, url, got, e.Status("argocd", "url"))
			}
			want := fmt.Sprintf("%s, %s, %s are served at 192.0.2.1", url, urls[0], urls[1])
			if name == "Issuer" {
				want += "; whether cert-manager has issued the certificate (cert-manager.io/cluster-issuer: ca) isn't observed"
			}
			if c := e.Condition(v1alpha1.ConditionIngressReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || c.GetMessage() != want {
				t.Errorf("\n%s\nIngressReady: want %s, got %v", tc.reason, want, c)
			}
			if want := "a.example.org,grpc.a.example.org,b.example.org,grpc.b.example.org,c.example.org,grpc.c.example.org"; owns(e) != want {
				t.Errorf("\n%s\nthe admission policies let the tenant have %s", tc.reason, owns(e))
			}
			if got := records(e); len(got) != 3 {
				t.Errorf("\n%s\nreserved are %v", tc.reason, got)
			}
		})
	}
}

// TestWrongAdditionalHosts: a hostname in the list is held to the same rules as the first one.
func TestWrongAdditionalHosts(t *testing.T) {
	const domain = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org"}}`
	const listed = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"hosts":["*.example.org"]}}`
	at := "spec.ingress.additionalHosts[0]: "
	cases := map[string]struct{ spec, input, want string }{
		"UpperCase":      {hosts("a.example.org", "B.example.org"), "", at + `"B.example.org" is not a hostname: write one in lower case`},
		"TrailingDot":    {hosts("a.example.org", "a.example.org."), "", at + `"a.example.org." is not a hostname`},
		"Wildcard":       {hosts("a.example.org", "*.example.org"), "", at + `"*.example.org" is not a hostname`},
		"Unicode":        {hosts("a.example.org", "bücher.example.org"), "", at + `"bücher.example.org" is not a hostname`},
		"URL":            {hosts("a.example.org", "https://b.example.org"), "", at + `"https://b.example.org" is not a hostname`},
		"Port":           {hosts("a.example.org", "b.example.org:443"), "", at + `"b.example.org:443" is not a hostname`},
		"IPAddress":      {hosts("a.example.org", "192.0.2.1"), "", at + `"192.0.2.1" is not a hostname`},
		"Empty":          {hosts("a.example.org", ""), "", at + `"" is not a hostname`},
		"Template":       {hosts("a.example.org", "{{ .Values.x }}"), "", at + `"{{ .Values.x }}" is not a hostname`},
		"GRPC":           {hosts("a.example.org", "grpc.b.example.org"), "", at + `"grpc.b.example.org" is not possible: the name is kept for gRPC`},
		"Twice":          {hosts("a.example.org", "b.example.org", "b.example.org"), "", `spec.ingress.additionalHosts[1]: "b.example.org" is the hostname in spec.ingress.additionalHosts[0], too: leave it out`},
		"First":          {hosts("a.example.org", "a.example.org"), "", at + `"a.example.org" is the hostname in spec.ingress.host, too: leave it out`},
		"OwnDefault":     {`{"ingress":{"additionalHosts":["customer1--team-a.apps.example.org"]}}`, domain, at + `"customer1--team-a.apps.example.org" is the hostname in spec.ingress.host, too`},
		"OthersDefault":  {hosts("a.example.org", "shop--team-b.apps.example.org"), domain, at + `"shop--team-b.apps.example.org" is not possible: names with -- in them are those that the platform gives claims`},
		"PlatformDomain": {hosts("a.example.org", "argocd.apps.example.org"), domain, at + `"argocd.apps.example.org" is in the platform's domain`},
		"NotListed":      {hosts("a.example.org", "b.example.com"), listed, at + `"b.example.com" is not one that this platform lets claims have: write one of *.example.org`},
		"TooMany":        {hosts("a.example.org", "b.example.org", "c.example.org", "d.example.org", "e.example.org", "f.example.org"), "", "spec.ingress.additionalHosts: has 5 entries: write 4 at most"},
		"NoFirst":        {`{"ingress":{"additionalHosts":["b.example.org"]}}`, "", "spec.ingress.host: is missing"},
		"ByHand":         {`{"ingress":{"host":"a.example.org"},"argocd":{"values":{"server":{"ingress":{"extraHosts":[{"name":"b.example.org"}]}}}}}`, "", `server.ingress is set by spec.ingress: leave it out and write spec.ingress: {host: argocd.acme.example.org, additionalHosts: [b.example.org]}`},
		"URLsByHand":     {`{"ingress":{"host":"a.example.org","additionalHosts":["b.example.org"]},"argocd":{"values":{"configs":{"cm":{"additionalUrls":"- https://x.example.org\n"}}}}}`, "", "configs.cm.additionalUrls"},
		"GRPCByHand":     {`{"ingress":{"host":"a.example.org","additionalHosts":["b.example.org"]},"argocd":{"values":{"server":{"ingressGrpc":{"enabled":true,"extraHosts":[{"name":"grpc.c.example.org"}]}}}}}`, "", `spec.argocd.values.server.ingressGrpc.extraHosts[0].name: "grpc.c.example.org" is not a hostname of this claim: write a.example.org, grpc.a.example.org, b.example.org or grpc.b.example.org`},
		"TLSByHand":      {`{"ingress":{"host":"a.example.org"},"argocd":{"values":{"applicationSet":{"ingress":{"enabled":true,"extraTls":[{"hosts":["c.example.org"]}]}}}}}`, "", `spec.argocd.values.applicationSet.ingress.extraTls[0].hosts[0]: "c.example.org" is not a hostname of this claim: write a.example.org or grpc.a.example.org`},
		"RuleByHand":     {`{"ingress":{"host":"a.example.org"},"argocd":{"values":{"applicationSet":{"ingress":{"enabled":true,"extraRules":[{"host":"c.example.org"}]}}}}}`, "", `spec.argocd.values.applicationSet.ingress.extraRules[0].host: "c.example.org" is not a hostname of this claim`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, tc.input)
			e.Reconcile()
			if got := crossplanetest.Refusal(e.Response); !strings.Contains(got, tc.want) {
				t.Errorf("want %s\ngot  %s", tc.want, got)
			}
		})
	}
	for name, tc := range map[string]struct{ spec, input string }{
		"Punycode":   {hosts("a.example.org", "xn--bcher-kva.example.org"), ""},
		"OwnDefault": {hosts("a.example.org", "customer1--team-a.apps.example.org"), domain},
		"GRPCByHand": {`{"ingress":{"host":"a.example.org","additionalHosts":["b.example.org"]},"argocd":{"values":{"server":{"ingressGrpc":{"enabled":true,"extraHosts":[{"name":"grpc.b.example.org"}]}}}}}`, ""},
		"URLsAsSet":  {`{"ingress":{"host":"a.example.org","additionalHosts":["b.example.org"]},"argocd":{"values":{"configs":{"cm":{"additionalUrls":"- https://b.example.org\n"}}}}}`, ""},
	} {
		t.Run("Possible"+name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, tc.input).Install()
			if got := crossplanetest.Refusal(e.Response); got != "" || len(hostnamesOf(e)["the Release"]) != 2 {
				t.Errorf("got %v, %s", hostnamesOf(e), got)
			}
		})
	}
}

// TestAdditionalHostOfAnother: an additional hostname is its first claim's, like any other, and what goes without it goes on.
func TestAdditionalHostOfAnother(t *testing.T) {
	first := crossplanetest.New(t, hosts("a.example.org", "b.example.org"), "").Install()
	second := crossplanetest.NewXR(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another").Replace(crossplanetest.TenantXR(hosts("c.example.org", "b.example.org", "a.example.org", "d.example.org"))), "")
	second.Cluster = first.Cluster
	second.Install()
	want := "Hostname b.example.org is in use by claim customer1: write another spec.ingress.additionalHosts[0]; Hostname a.example.org is in use by claim customer1: write another spec.ingress.additionalHosts[1]; c.example.org, d.example.org stay in use"
	if c := second.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonHostTaken || c.GetMessage() != want {
		t.Errorf("IngressReady of the second: want %s, got %v", want, c)
	}
	if got := hostnamesOf(second); !slices.Equal(got["the Release"], []string{"c.example.org", "d.example.org"}) || strings.Contains(owns(second), "a.example.org") || strings.Contains(owns(second), "b.example.org") {
		t.Errorf("the second has %v", got)
	}
	if got := settingsOf(second)["additionalUrls"]; !cmp.Equal(got, any([]any{"https://d.example.org"})) {
		t.Errorf("the second lets people come back to %v", got)
	}
	// The first gives one up, and the other becomes that of its URL: at no moment is one both claims'.
	first.SetSpec(hosts("b.example.org", "e.example.org"))
	for range 12 {
		for _, e := range []*crossplanetest.Engine{second, first} {
			e.Reconcile()
			e.RunProviders()
			for _, hostname := range []string{"a.example.org", "b.example.org"} {
				if strings.Contains(owns(first), hostname) && strings.Contains(owns(second), hostname) {
					t.Fatalf("%s is both claims': %s and %s", hostname, owns(first), owns(second))
				}
			}
		}
	}
	if got := hostnamesOf(first)["the Release"]; !slices.Equal(got, []string{"b.example.org", "e.example.org"}) || first.Status("argocd", "url") != "https://b.example.org" {
		t.Errorf("the first has %v at %s", got, first.Status("argocd", "url"))
	}
	if got := hostnamesOf(second)["the Release"]; !slices.Equal(got, []string{"c.example.org", "a.example.org", "d.example.org"}) {
		t.Errorf("the second has %v", got)
	}
}

// TestFirstHostOfAnother: as long as the hostname of the URL is another claim's, the additional ones are reserved, and what was in use
// stays.
func TestFirstHostOfAnother(t *testing.T) {
	first := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, "").Install()
	second := crossplanetest.NewXR(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another").Replace(crossplanetest.TenantXR(hosts("a.example.org", "b.example.org"))), "")
	second.Cluster = first.Cluster
	second.Install()
	if argocdValues(second)["ingress"] != nil || recordedFor(second, "b.example.org") != crossplanetest.Namespace+"/customer2" {
		t.Errorf("the second has %v, and b.example.org is that of %s", argocdValues(second), recordedFor(second, "b.example.org"))
	}
	second.SetSpec(hosts("c.example.org", "b.example.org"))
	second.Cycle(4)
	second.SetSpec(hosts("a.example.org", "b.example.org", "c.example.org"))
	second.Cycle(4)
	if got := hostnamesOf(second)["the Release"]; !slices.Equal(got, []string{"c.example.org", "b.example.org"}) {
		t.Errorf("what was in use doesn't stay: %v", got)
	}
	first.SetSpec(`{}`)
	first.Cycle(4)
	second.Cycle(4)
	if got := hostnamesOf(second)["the Release"]; !slices.Equal(got, []string{"a.example.org", "b.example.org", "c.example.org"}) {
		t.Errorf("the second has %v", got)
	}
}

// TestAllHostsMove: a claim with as many hostnames as possible gets as many others, by itself.
func TestAllHostsMove(t *testing.T) {
	e := crossplanetest.New(t, hosts("a.example.org", "b.example.org", "c.example.org", "d.example.org", "e.example.org"), "").Install()
	e.SetSpec(hosts("f.example.org", "g.example.org", "h.example.org", "i.example.org", "j.example.org"))
	for range 12 {
		if e.Reconcile(); len(records(e)) > 8 {
			t.Errorf("the claim keeps %d hostnames", len(records(e)))
		}
		e.RunProviders()
	}
	if got := hostnamesOf(e)["the Release"]; len(got) != 5 || got[0] != "f.example.org" || len(records(e)) != 5 {
		t.Errorf("the claim has %v, and keeps %v: %v", got, records(e), e.Condition(v1alpha1.ConditionIngressReady))
	}
}

// TestAdditionalHostsStayWithTheirIngresses: a hostname that leaves the list stays the claim's while it may have Ingresses for it.
func TestAdditionalHostsStayWithTheirIngresses(t *testing.T) {
	e := crossplanetest.New(t, hosts("a.example.org", "b.example.org"), "").Install()
	e.Ingresses = 1
	e.SetSpec(`{"ingress":{"host":"a.example.org"}}`)
	e.Cycle(8)
	if owns(e) != withGRPC("a.example.org") || len(records(e)) != 2 || settingsOf(e)["additionalUrls"] != nil {
		t.Errorf("the tenant has %v, and may have Ingresses for %s", records(e), owns(e))
	}
	if c := e.Condition(v1alpha1.ConditionIngressReady); !strings.HasSuffix(c.GetMessage(), "may have further Ingresses for it: b.example.org") {
		t.Errorf("IngressReady: %v", c)
	}
	e.Ingresses = 0
	if e.Cycle(4); len(records(e)) != 1 {
		t.Errorf("no Ingress has b.example.org: %v", records(e))
	}
}

// TestSignOnAtHosts: the provider must be told where people come back to.
func TestSignOnAtHosts(t *testing.T) {
	const ingress = `"ingress":{"host":"a.example.org","additionalHosts":["b.example.org"]}`
	const oidc = `"sso":{"oidc":{"name":"Example","issuer":"https://id.example.org","clientID":"argocd","enablePKCEAuthentication":true}}`
	const dex = `"sso":{"dex":{"connectors":[{"type":"github","id":"github","name":"GitHub","config":{"clientID":"a","orgs":[{"name":"a"}]}}]}}`
	const path = `"argocd":{"values":{"configs":{"params":{"server.rootpath":"/argocd"}}}}`
	for name, tc := range map[string]struct{ spec, want string }{
		"OIDC": {oidc, "its redirect URLs are https://a.example.org/auth/callback, https://b.example.org/auth/callback"},
		"Dex":  {dex, "its redirect URL is https://a.example.org/api/dex/callback, at all hostnames"},
		"Old":  {oidc + `,"argocd":{"chartVersion":"7.5.2"}`, "its redirect URL is https://a.example.org/auth/callback; Argo CD before 2.13, as in version 7.5.2 of its chart, signs people on only at that hostname: at the others, they can log in only as local users"},
		"Path": {oidc + "," + path, "its redirect URL is https://a.example.org/argocd/auth/callback; below a path, Argo CD signs people on only at that hostname: at the others, they can log in only as local users"},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{`+ingress+`,`+tc.spec+`}`, "").Install()
			if c := e.Condition(v1alpha1.ConditionSSOReady); !strings.HasSuffix(c.GetMessage(), "; "+tc.want) {
				t.Errorf("want %s\ngot  %v", tc.want, c)
			}
		})
	}
}

// TestAdditionalHostsAtOnce: two claims ask for the same additional hostname before either has its record.
func TestAdditionalHostsAtOnce(t *testing.T) {
	first := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, "").Install()
	second := crossplanetest.NewXR(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another").Replace(crossplanetest.TenantXR(`{"ingress":{"host":"b.example.org"}}`)), "")
	second.Cluster = first.Cluster
	second.Install()
	first.SetSpec(hosts("a.example.org", "c.example.org"))
	second.SetSpec(hosts("b.example.org", "c.example.org"))
	// The second's request was made before the first's record was there.
	second.Stale = maps.Clone(second.Cluster)
	first.Reconcile()
	second.Reconcile()
	second.Stale = nil
	for range 8 {
		for _, e := range []*crossplanetest.Engine{first, second} {
			for where, hostnames := range hostnamesOf(e) {
				if slices.Contains(hostnames, "c.example.org") && recordedFor(e, "c.example.org") != claimOf(e) {
					t.Fatalf("%s has c.example.org in %s, whose record is that of %s", claimOf(e), where, recordedFor(e, "c.example.org"))
				}
			}
			e.Reconcile()
			e.RunProviders()
		}
	}
	if len(hostnamesOf(first)["the Release"]) != 2 || len(hostnamesOf(second)["the Release"]) != 1 {
		t.Errorf("the first has %v, the second %v", hostnamesOf(first), hostnamesOf(second))
	}
}
