package plan

import (
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

func TestAmounts(t *testing.T) {
	for text, want := range map[string]bool{
		"500m": true, "2Gi": true, "1.5": true, "1e3": true, "0": true, "-1": true, "128974848": true, "100k": true, "1E3": true,
		"": false, "lots": false, "1e99999999": false, "1e-99999999": false, "1Gib": false, "1 Gi": false,
	} {
		if _, ok := parseAmount(text); ok != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

// TestHugeAmounts: no amount keeps the function from the other tenants.
func TestHugeAmounts(t *testing.T) {
	const huge = "1e99999999"
	claimed := values.Values{}
	values.Insert(claimed, huge, "controlPlane", "statefulSet", "resources", "limits", "memory")
	for name, r := range map[string]Request{
		"Claim":   {Spec: Spec{VClusterValues: claimed}},
		"Plan":    {Plan: Chosen{Name: "p", Data: v1alpha1.PlanData{VCluster: v1alpha1.PlanVCluster{Resources: v1alpha1.Resources{Limits: map[string]v1alpha1.Quantity{"memory": huge}}}}}},
		"Storage": {Input: v1alpha1.Input{Storage: v1alpha1.Storage{Size: huge}}, Running: Running{Store: &Store{Kind: StoreSQLite, Size: "1Gi"}}},
	} {
		r.XRName = "a"
		done := make(chan struct{})
		go func() {
			_, _ = New(r)
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: no answer", name)
		}
	}
}
