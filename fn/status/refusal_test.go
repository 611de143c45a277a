package status_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestRefusalIsSeen: the message of a claim says that a change isn't in use, whatever else is wrong, and has all of its mistakes.
func TestRefusalIsSeen(t *testing.T) {
	of := crossplanetest.New(t, `{}`, "").Install()
	const wrong = `{"kubernetes":{"version":"v1.99.0"}}`
	for name, tc := range map[string]struct {
		change func(e *crossplanetest.Engine)
		spec   string
		want   []string
	}{
		"Ready":    {func(*crossplanetest.Engine) {}, wrong, []string{"Argo CD is ready, and a change is not in use: spec.kubernetes.version: "}},
		"Degraded": {func(e *crossplanetest.Engine) { e.SetReplicas("argocd-server", 0) }, wrong, []string{"Deployment argocd-server is not fully available", ", and a change is not in use: spec.kubernetes.version: "}},
		// Together they are longer than a provider's message may be.
		"Many": {func(*crossplanetest.Engine) {}, `{"clusters":[` + strings.Repeat(`{"name":"a","server":"https://a.example.org"},`, 9) + `{"name":"b"}]}`, []string{"spec.clusters[9].secretRef.name: "}},
	} {
		t.Run(name, func(t *testing.T) {
			e := of.Fork(t)
			tc.change(e)
			e.SetSpec(tc.spec)
			e.Reconcile()
			for _, want := range tc.want {
				if !strings.Contains(e.Status("message"), want) {
					t.Errorf("the message should have %q: %s", want, e.Status("message"))
				}
			}
			if refusal := e.Condition(v1alpha1.ConditionSpecAccepted).GetMessage(); !strings.HasSuffix(e.Status("message"), refusal) {
				t.Errorf("the message should end with what is refused, %q: %s", refusal, e.Status("message"))
			}
		})
	}
}
