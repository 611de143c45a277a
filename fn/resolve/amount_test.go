package resolve

import (
	"testing"
	"time"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestHugeAmounts: no amount keeps the function from the other tenants.
func TestHugeAmounts(t *testing.T) {
	const huge = "1e99999999"
	claimed := values.Values{}
	values.Insert(claimed, huge, "controlPlane", "statefulSet", "resources", "limits", "memory")
	for name, r := range map[string]tenant.Given{
		"Claim":   {Spec: tenant.Ask{VClusterValues: claimed}},
		"Plan":    {Plan: plan.Plan{Name: "p", Spec: apiv1alpha1.PlanSpec{VCluster: apiv1alpha1.PlanVCluster{Resources: apiv1alpha1.PlanResources{Limits: map[string]apiv1alpha1.Quantity{"memory": huge}}}}}},
		"Storage": {Input: v1alpha1.Input{Storage: v1alpha1.Storage{Size: huge}}, Running: tenant.Running{Store: &tenant.Store{Kind: plan.StoreSQLite, Size: "1Gi"}}},
	} {
		r.XRName = "a"
		done := make(chan struct{})
		go func() {
			_, _ = Tenant(r)
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: no answer", name)
		}
	}
}
