package ingress_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestIssuersByAnnotation: an issuer in an annotation is the same as one in its field, and the claim's is over the platform's.
func TestIssuersByAnnotation(t *testing.T) {
	const platforms = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"className":"nginx","annotations":{"kubernetes.io/ingress.class":"other"},"tls":{"issuer":{"name":"platforms"}}}}`
	for name, tc := range map[string]struct {
		ingress string
		class   any
		want    map[string]any
	}{
		"ClusterIssuer": {`"annotations":{"cert-manager.io/cluster-issuer":"letsencrypt"}`, "nginx", map[string]any{"cert-manager.io/cluster-issuer": "letsencrypt"}},
		"Issuer":        {`"annotations":{"cert-manager.io/issuer":"own"}`, "nginx", map[string]any{"cert-manager.io/issuer": "own"}},
		"Default":       {`"annotations":{"kubernetes.io/tls-acme":"true"}`, "nginx", map[string]any{"kubernetes.io/tls-acme": "true"}},
		"Platforms":     {`"className":"own"`, "own", map[string]any{"cert-manager.io/cluster-issuer": "platforms"}},
		"Field":         {`"tls":{"issuer":{"name":"own","kind":"Issuer"}}`, "nginx", map[string]any{"cert-manager.io/issuer": "own"}},
		"Class":         {`"annotations":{"kubernetes.io/ingress.class":"traefik"}`, nil, map[string]any{"cert-manager.io/cluster-issuer": "platforms", "kubernetes.io/ingress.class": "traefik"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org",`+tc.ingress+`}}`, platforms).Install()
			e.Cycle(3)
			v := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values", "server", "ingress").AsMap()
			if diff := cmp.Diff(tc.want, v["annotations"]); diff != "" || v["tls"] != true || v["ingressClassName"] != tc.class {
				t.Errorf("tls %v, class %v, annotations -want, +got:\n%s", v["tls"], v["ingressClassName"], diff)
			}
		})
	}
}

// TestAnnotationThatTheHostRefuses: the condition names the annotation and who allows it, by the list in the policy that users apply.
func TestAnnotationThatTheHostRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation string
		refused    bool
	}{
		"Snippet": {"nginx.ingress.kubernetes.io/configuration-snippet", true},
		"DNS":     {"external-dns.alpha.kubernetes.io/hostname", true},
		"Size":    {"nginx.ingress.kubernetes.io/proxy-body-size", false},
		"Prefix":  {"argocd.argoproj.io/sync-wave", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org","annotations":{"`+tc.annotation+`":"10"}}}`, "")
			e.AddPolicies("../../../examples/install/tenants.yaml")
			e.Install()
			for _, ingress := range []struct{ status, otherwise string }{
				{`{"loadBalancer":{}}`, v1alpha1.ReasonWaitingForAddress},
				// The host refuses changes, too, and the Ingress that was there before has an address.
				{`{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}`, v1alpha1.ReasonAvailable},
			} {
				e.SetIngress(ingress.status)
				e.Reconcile()
				c, reason := e.Condition("IngressReady"), ingress.otherwise
				if tc.refused {
					reason = v1alpha1.ReasonIngressRefused
				}
				named := strings.Contains(c.GetMessage(), "tenants may not have these annotations: "+tc.annotation+". Remove them") && strings.Contains(c.GetMessage(), "ValidatingAdmissionPolicy virtual-argocd-ingresses")
				if named != tc.refused || c.GetReason() != reason {
					t.Errorf("%s: want named: %v, and %s, got %s: %s", ingress.status, tc.refused, reason, c.GetReason(), c.GetMessage())
				}
			}
		})
	}
}

// TestCertificateThatNothingAsksFor: annotations of cert-manager's do nothing without an issuer.
func TestCertificateThatNothingAsksFor(t *testing.T) {
	const platforms = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"tls":{"issuer":{"name":"platforms"}}}}`
	spec := func(more string) string {
		return `{"ingress":{"host":"a.example.org",` + more + `}}`
	}
	const duration = `"annotations":{"cert-manager.io/duration":"2160h"}`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Duration":           {Spec: spec(duration), Want: []string{"spec.ingress.annotations[cert-manager.io/duration]: has no effect, because nothing asks cert-manager for a certificate: write spec.ingress.tls.issuer"}},
		"Kind":               {Spec: spec(`"annotations":{"cert-manager.io/issuer-kind":"AWSPCAIssuer","cert-manager.io/issuer-group":"awspca.cert-manager.io"}`), Want: []string{"[cert-manager.io/issuer-group]: has no effect", "; (2) spec.ingress.annotations[cert-manager.io/issuer-kind]: has no effect"}},
		"ACME":               {Spec: spec(`"annotations":{"acme.cert-manager.io/http01-edit-in-place":"true"}`), Want: []string{"[acme.cert-manager.io/http01-edit-in-place]: has no effect"}},
		"OwnSecret":          {Spec: spec(duration + `,"tls":{"secretName":"s"}`), Want: []string{"[cert-manager.io/duration]: has no effect"}},
		"KindOfACluster":     {Spec: spec(`"annotations":{"cert-manager.io/issuer-kind":"X"},"tls":{"issuer":{"name":"a"}}`), Want: []string{"[cert-manager.io/issuer-kind]: cert-manager takes it beside the annotation cert-manager.io/issuer only"}},
		"ByTheField":         {Spec: spec(duration + `,"tls":{"issuer":{"name":"a"}}`)},
		"ByTheAnnotation":    {Spec: spec(`"annotations":{"cert-manager.io/issuer":"a","cert-manager.io/issuer-kind":"X","cert-manager.io/issuer-group":"x.example.org","cert-manager.io/duration":"2160h"}`)},
		"ByThePlatform":      {Spec: spec(duration), Input: platforms},
		"ByTheDefaultIssuer": {Spec: spec(`"annotations":{"kubernetes.io/tls-acme":"true","cert-manager.io/duration":"2160h"}`)},
	})
	crossplanetest.CheckStaysAccepted(t, spec(duration), spec(`"annotations":{"cert-manager.io/duration":"1h"}`))
}
