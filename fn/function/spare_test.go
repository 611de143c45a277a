package function_test

import (
	"slices"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestTakenSpare: a tenant that belonged to nobody becomes that of a namespaced VirtualArgoCD. Its virtual cluster stays as it is, and of Argo CD
// only the URL changes, where it has one by its name.
func TestTakenSpare(t *testing.T) {
	const itsOwn = "https://a--team.example.org"
	for name, tc := range map[string]struct {
		reason, input string
		changes       []string
	}{
		"NoDomain": {"Without a domain, nothing of Argo CD changes.", "", []string{tenant.AcceptedSecret}},
		"Domain":   {"With one, it has another URL.", `,"ingress":{"domain":"example.org"}`, []string{tenant.AcceptedSecret, tenant.ArgoCDRelease, tenant.Namespace}},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.NewXR(t, `{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"p-1934491b22c4","uid":"a","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z",
				"labels":{"virtualargocd.io/spare":"true"}},"spec":{"plan":"small","backup":{"enabled":false},"hibernation":{"enabled":false}}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input"`+tc.input+`}`)
			e.AddPlan("small", `{"namespaces":["team"],"expireAfter":"48h"}`)
			e.Install()
			before := map[string]*structpb.Struct{}
			for name, r := range e.Request.GetObserved().GetResources() {
				before[name] = proto.Clone(r.GetResource()).(*structpb.Struct)
			}
			e.XR().Fields["spec"] = structpb.NewStructValue(resource.MustStructJSON(`{"plan":"small","claimRef":{"apiVersion":"m.virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","namespace":"team","name":"a"}}`))
			crossplanetest.Field(e.XR(), "metadata").Fields["annotations"] = crossplanetest.JSON(`{"virtualargocd.io/claimed-at":"2026-01-02T00:00:00Z"}`)
			e.Now = func() time.Time { return crossplanetest.Start.Add(24 * time.Hour) }
			for range 5 {
				e.Reconcile()
				// By this, whoever has taken it knows that the URL is still that of the spare.
				if waits := e.Condition(v1alpha1.ConditionIngressReady).GetReason() == v1alpha1.ReasonWaitingForHost; tc.input != "" && waits != (e.Status("argocd", "url") != itsOwn) {
					t.Errorf("\n%s\nits URL is %s, and it waits for another: %t", tc.reason, e.Status("argocd", "url"), waits)
				}
				e.RunProviders()
			}
			if e.Status("phase") != "Ready" && e.Status("phase") != "Updating" {
				t.Errorf("\n%s\nit is %s: %s", tc.reason, e.Status("phase"), e.Status("message"))
			}
			var changed []string
			for name, was := range before {
				is := e.Request.GetObserved().GetResources()[name].GetResource()
				if of := wire.Of(was); !proto.Equal(of.Value("spec"), wire.Of(is).Value("spec")) || !proto.Equal(of.Value("data"), wire.Of(is).Value("data")) || !proto.Equal(of.Value("stringData"), wire.Of(is).Value("stringData")) {
					changed = append(changed, name)
				}
			}
			if slices.Sort(changed); !slices.Equal(changed, tc.changes) {
				t.Errorf("\n%s\nwant changes of %v, got %v", tc.reason, tc.changes, changed)
			}
			// The spare would have expired an hour before.
			e.Now = func() time.Time { return time.Date(2026, 1, 3, 1, 0, 0, 0, time.UTC) }
			e.Cycle(3)
			if e.Status("phase") != "Ready" || tc.input != "" && e.Status("argocd", "url") != itsOwn {
				t.Errorf("\n%s\nit is %s at %s: %s", tc.reason, e.Status("phase"), e.Status("argocd", "url"), e.Status("message"))
			}
		})
	}
}
