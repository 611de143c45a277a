package redact

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/resource"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

func TestRedact(t *testing.T) {
	kubeconfig := "clusters:\n- cluster:\n    server: https://vcluster.vargo-a.svc:443\nusers:\n- user:\n    client-key-data: QUJDREVGRw==\n"
	o := tenant.Observed{Composed: map[string]wire.Composed{
		"vcluster": {Connection: map[string][]byte{"kubeconfig": []byte(kubeconfig), "password": []byte("hunter22"), "longer": []byte("hunter22-and-more")}},
	}}
	cases := map[string]struct{ in, want string }{
		"Password":      {"login with hunter22 failed", "login with [redacted] failed"},
		"LongestFirst":  {"login with hunter22-and-more failed", "login with [redacted] failed"},
		"KeyData":       {"bad key QUJDREVGRw==", "bad key [redacted]"},
		"ServerStays":   {"cannot reach https://vcluster.vargo-a.svc:443", "cannot reach https://vcluster.vargo-a.svc:443"},
		"FormOfASecret": {`parse "token: abc.def" failed`, `parse "token: [redacted]" failed`},
		"PlainWords":    {"context deadline exceeded", "context deadline exceeded"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := New(o)(tc.in); got != tc.want {
				t.Errorf("redact(%q): want %q, got %q", tc.in, tc.want, got)
			}
		})
	}
	if got := New(o)(strings.Repeat("ä", 2000)); len(got) > maxMessage+3 {
		t.Errorf("a message of %d bytes was let through", len(got))
	}
}

func TestRedactValues(t *testing.T) {
	values := `{"configs": {"clusterCredentials": {"production": {"server": "https://10.0.0.1", "labels": {"environment": "production"},
"annotations": {"example.org/site": "hamburg"}, "config": {"bearerToken": "hunter\"2&2", "tlsClientConfig": {"serverName": "production.example.org"}}}}}}`
	o := tenant.Observed{Composed: map[string]wire.Composed{
		tenant.ValuesSecret: {Struct: wire.Of(resource.MustStructObject(&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: map[string][]byte{tenant.ValuesKey: []byte(values)},
		}))},
	}}
	for _, token := range []string{`hunter"2&2`, base64.StdEncoding.EncodeToString([]byte(`hunter"2&2`)), `hunter\"2&2`, `hunter\"2\u00262`} {
		in, want := "cluster production in hamburg at production.example.org refuses "+token, "cluster production in hamburg at production.example.org refuses [redacted]"
		if got := New(o)(in); got != want {
			t.Errorf("redact(%q): want %q, got %q", in, want, got)
		}
	}
}

// TestRedactTunnels: of what is published for a closed cluster, the agent's key is a secret, and of the objects beside Argo CD only Secrets are.
func TestRedactTunnels(t *testing.T) {
	const key = "MC4CAQAwBQYDK2VwBCIEIJzW5k0J5cJmZ1nq"
	values := `{"extraObjects":[{"apiVersion":"apps/v1","kind":"Deployment","spec":{"args":["tunnel-server-word"]}},{"apiVersion":"v1","kind":"Secret","stringData":{"auth":"hunter22-of-redis"}}]}`
	o := tenant.Observed{
		XRConnection: map[string][]byte{tenant.TunnelKey("a"): []byte("kind: Namespace\nstringData:\n  agent.key: |\n    -----BEGIN PRIVATE KEY-----\n    " + key + "\n    -----END PRIVATE KEY-----\n")},
		Composed: map[string]wire.Composed{tenant.ValuesSecret: {Struct: wire.Of(resource.MustStructObject(&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: map[string][]byte{tenant.ValuesKey: []byte(values)},
		}))}},
	}
	for in, want := range map[string]string{
		"the key " + key + " is refused":           "the key [redacted] is refused",
		"kind: Namespace":                          "kind: Namespace",
		"tunnel-server-word and hunter22-of-redis": "tunnel-server-word and [redacted]",
	} {
		if got := New(o)(in); got != want {
			t.Errorf("redact(%q): want %q, got %q", in, want, got)
		}
	}
}
