package status_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// mostEvents leaves room in the 25 events that Kubernetes' recorder takes in a row:
// Crossplane calls the function with an old state now and then, and so records some
// events again.
const mostEvents = 19

// TestEventsOfAnInstallation: the events of a claim that has every part are few
// enough to be recorded, and each part's is among them.
func TestEventsOfAnInstallation(t *testing.T) {
	e := crossplanetest.New(t, `{
		"clusters":[{"name":"prod","secretRef":{"name":"cluster"}}],
		"repositories":[{"name":"apps","url":"https://git.example.org/apps","secretRef":{"name":"password"}}],
		"bootstrap":{"repoURL":"https://git.example.org/apps"},
		"ingress":{"host":"argocd.example.org"},
		"components":[{"name":"sealed"}],
		"argocd":{"accounts":[{"name":"ci","tokens":[{"name":"a"}]}],"secretKeys":[{"key":"a","secretRef":{"name":"hook"}}]},
		"notifications":{"secretRef":{"name":"hook"},"services":[{"type":"slack","config":{"token":"$a"}}]},
		"webhooks":[{"provider":"github","secretRef":{"name":"hook"},"secretKey":"a"}],"imagePullSecrets":[{"name":"images"}],
		"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"argocd","clientSecretRef":{"name":"oidc"}}}}`, crossplanetest.Catalogue)
	e.AddSecret("hook", "Opaque", map[string]string{"a": "secret-password-4"})
	e.AddSecret("images", "kubernetes.io/dockerconfigjson", map[string]string{".dockerconfigjson": `{"auths":{"r":{"username":"u","password":"secret-password-5"}}}`})
	e.AddSecret("cluster", "Opaque", map[string]string{"server": "https://prod.example.org", "config": `{"username":"u","password":"secret-password-1"}`})
	e.AddSecret("password", "Opaque", map[string]string{"username": "u", "password": "secret-password-2"})
	e.AddSecret("oidc", "Opaque", map[string]string{"clientSecret": "secret-password-3"})
	e.Install()
	if len(e.Events) > mostEvents {
		t.Errorf("want at most %d events, got %d:\n%s", mostEvents, len(e.Events), strings.Join(e.Events, "\n"))
	}
	// Without a backup that was due, there is no news of it, and the tenant begins without one.
	optional := slices.DeleteFunc(v1alpha1.OptionalConditions(), func(typ string) bool {
		return typ == v1alpha1.ConditionBackedUp || typ == v1alpha1.ConditionRestored
	})
	for _, typ := range append(optional, v1alpha1.ConditionVirtualClusterReady, v1alpha1.ConditionArgoCDReady) {
		c := e.Condition(typ)
		if got := strings.Count(strings.Join(e.Events, "\n"), c.GetReason()+": "+c.GetMessage()); got != 1 {
			t.Errorf("%s: want one event with %q, got %d:\n%s", typ, c.GetMessage(), got, strings.Join(e.Events, "\n"))
		}
	}
}

// TestEventsAfterAFailedCall: what is well after a failed call is no news, and what is broken is.
func TestEventsAfterAFailedCall(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	said := func(want ...string) {
		t.Helper()
		before := len(e.Events)
		e.FailCall()
		e.Reconcile()
		got := e.Events[before:]
		if len(got) != len(want) || len(got) > 0 && !strings.HasPrefix(got[0], want[0]) {
			t.Errorf("want events %q, got %q", want, got)
		}
	}
	said()
	e.SetReplicas("argocd-server", 0)
	said(v1alpha1.ReasonWorkloadsUnavailable + ": ")
}
