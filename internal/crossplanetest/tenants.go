package crossplanetest

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// ClusterSpec is a spec with one cluster.
const ClusterSpec = `{"clusters":[{"name":"prod","server":"https://203.0.113.7:6443","secretRef":{"name":"prod-token"}}]}`

// WithCluster returns a new tenant with ClusterSpec, and a Secret with a token.
func WithCluster(t testing.TB, token string) *Engine {
	t.Helper()
	cert, _ := KeyPair()
	e := New(t, ClusterSpec, "")
	e.AddSecret("prod-token", "kubernetes.io/service-account-token", map[string]string{"token": token, "ca.crt": cert, "namespace": "x"})
	return e
}

// AwaitVCluster reconciles a tenant until the Release of vcluster is composed.
func (e *Engine) AwaitVCluster() {
	e.T.Helper()
	for range 8 {
		if _, ok := e.Request.GetObserved().GetResources()[tenant.VClusterRelease]; ok {
			return
		}
		e.RunProviders()
		e.Reconcile()
	}
	e.T.Fatalf("the virtual cluster isn't installed: %s", e.Status("message"))
}

// Cycle lets Crossplane and the providers work in turn, and Crossplane once more.
func (e *Engine) Cycle(times int) {
	e.T.Helper()
	for range times {
		e.Reconcile()
		e.RunProviders()
	}
	e.Reconcile()
}

// Install reconciles a tenant until it is Ready and nothing changes any more.
func (e *Engine) Install() *Engine {
	e.T.Helper()
	for range 12 {
		was := e.Response
		e.Reconcile()
		e.RunProviders()
		// The function is a pure one: nothing would change from here on.
		if e.Status("phase") == "Ready" && proto.Equal(was, e.Response) {
			break
		}
	}
	if got := e.Status("phase"); got != "Ready" {
		e.T.Fatalf("tenant is %s after installation: %s", got, e.Status("message"))
	}
	return e
}

// IngressInput is an input with a domain and defaults for every Ingress.
const IngressInput = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org","className":"nginx","annotations":{"a/a":"platform","b/b":"platform"},"tls":{"issuer":{"name":"letsencrypt"}}}}`

// OIDCSpec is what spec.sso.oidc says of a provider, without braces.
const OIDCSpec = `"issuer":"https://id.example.org/realms/acme","clientID":"argocd","clientSecretRef":{"name":"oidc"}`

// Starting returns a tenant whose virtual cluster is installed, and hasn't written its kubeconfig.
func Starting(t *testing.T) *Engine {
	t.Helper()
	e := New(t, `{}`, "")
	e.Reconcile()
	e.AwaitVCluster()
	e.Reconcile()
	return e
}

// PlatformVersions is an input with these versions.
func PlatformVersions(vcluster, argocd, kubernetes string) string {
	return `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","kubernetes":{"version":"` + kubernetes + `"},
		"charts":{"vcluster":{"version":"` + vcluster + `"},"argocd":{"version":"` + argocd + `"}}}`
}

// How long a call of the function lets Crossplane wait for the next one: while something changes, while the tenant names Secrets that
// Crossplane doesn't watch, and where nothing changes that Crossplane doesn't see.
const (
	TTL             = time.Minute
	TTLOfReferences = 30 * time.Second
	TTLAtRest       = 20 * time.Minute
)
