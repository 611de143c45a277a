package status_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestProgressNeverGoesBack: neither while the tenant comes up nor after that, whatever becomes of it.
func TestProgressNeverGoesBack(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "")
	last := 0.0
	progress := func(step string, want float64) {
		t.Helper()
		e.Reconcile()
		is := crossplanetest.Field(e.XR(), "status").GetFields()["progress"].GetNumberValue()
		if is < last || is < want {
			t.Errorf("%s: the progress is %v, and it was %v (phase %s): want %v at least", step, is, last, e.Status("phase"), want)
		}
		last = is
	}
	progress("Nothing is there", 0)
	for range 12 {
		if e.Status("phase") == "Ready" {
			break
		}
		e.RunProviders()
		progress("It comes up", 0)
		if e.Has(tenant.Workloads) && e.Status("phase") != "Ready" {
			e.SetReplicas("argocd-server", 0)
			progress("A workload isn't available yet", 71)
			e.SetReplicas("argocd-repo-server", 0)
			progress("Another isn't available any more", 71)
			crossplanetest.SetCondition(e.Observed(tenant.Workloads), "Synced", "False", "ReconcileError", "connection refused")
			progress("The workloads aren't seen any more", 71)
		}
	}
	for name, change := range map[string]struct {
		by    func(e *crossplanetest.Engine)
		phase string
	}{
		"Update": {func(e *crossplanetest.Engine) {
			o := e.Observed(tenant.ArgoCDRelease)
			crossplanetest.Field(o, "metadata").Fields["generation"] = structpb.NewNumberValue(3)
			for _, c := range crossplanetest.Field(o, "status").GetFields()["conditions"].GetListValue().GetValues() {
				c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(2)
			}
			crossplanetest.SetAtProvider(e.Observed(tenant.Workloads), `{}`)
		}, "Updating"},
		"Degradation": {func(e *crossplanetest.Engine) { e.SetReplicas("argocd-server", 0) }, "Degraded"},
		"Restart": {func(e *crossplanetest.Engine) {
			for _, name := range []string{tenant.Workloads, tenant.ArgoCDRelease, tenant.VClusterRelease} {
				crossplanetest.SetCondition(e.Observed(name), "Synced", "False", "ReconcileError", "connection refused")
			}
			crossplanetest.SetAtProvider(e.Observed(tenant.Workloads), `{}`)
		}, "Degraded"},
		"LostKubeconfig": {func(e *crossplanetest.Engine) {
			e.PublishKubeconfig("")
			delete(e.Observed(tenant.KubeconfigSecret).GetFields(), "data")
		}, "Degraded"},
		"LostRelease": {func(e *crossplanetest.Engine) { delete(e.Request.GetObserved().GetResources(), tenant.VClusterRelease) }, "Degraded"},
		"Refusal":     {func(e *crossplanetest.Engine) { e.SetSpec(`{"plan":"gold"}`) }, "Ready"},
	} {
		t.Run(name, func(t *testing.T) {
			e := e.Fork(t)
			change.by(e)
			e.Reconcile()
			if e.Status("phase") != change.phase {
				t.Errorf("the tenant is %s, want %s", e.Status("phase"), change.phase)
			}
			if is := crossplanetest.Field(e.XR(), "status").GetFields()["progress"].GetNumberValue(); is != 100 {
				t.Errorf("the progress of a tenant that was Ready is %v", is)
			}
		})
	}
}
