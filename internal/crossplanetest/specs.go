package crossplanetest

import (
	"testing"
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
