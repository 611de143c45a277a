package helm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestSizesOfPlans: each workload has the resources and the replicas that a plan
// gives it.
func TestSizesOfPlans(t *testing.T) {
	of := func(memory string) v1alpha1.PlanResources {
		return v1alpha1.PlanResources{
			Requests: map[string]v1alpha1.Quantity{"memory": v1alpha1.Quantity(memory)},
			Limits:   map[string]v1alpha1.Quantity{"memory": v1alpha1.Quantity(memory)},
		}
	}
	p, err := resolve.Tenant(tenant.Given{XRName: "a", Plan: plan.Plan{Name: "p", Spec: v1alpha1.PlanSpec{
		VCluster: v1alpha1.PlanVCluster{Resources: of("701Mi")},
		ArgoCD: v1alpha1.PlanArgoCD{
			Server:         v1alpha1.PlanWorkload{Replicas: 2, Resources: of("702Mi")},
			RepoServer:     v1alpha1.PlanWorkload{Replicas: 3, Resources: of("703Mi")},
			Controller:     v1alpha1.PlanWorkload{Replicas: 4, Resources: of("704Mi")},
			ApplicationSet: v1alpha1.PlanWorkload{Replicas: 5, Resources: of("705Mi")},
			Notifications:  v1alpha1.PlanContainer{Resources: of("706Mi")},
			Redis:          v1alpha1.PlanContainer{Resources: of("707Mi")},
			Dex:            v1alpha1.PlanContainer{Resources: of("708Mi")},
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	size := func(os objects, key string) []any {
		container := at(os[key], "spec|template|spec|containers|0")
		c, _ := container.(map[string]any)
		return []any{at(os[key], "spec|replicas"), at(c, "resources|requests|memory"), at(c, "resources|limits|memory")}
	}
	want := map[string][]any{
		"Deployment/argocd-server":                    {2., "702Mi", "702Mi"},
		"Deployment/argocd-repo-server":               {3., "703Mi", "703Mi"},
		"StatefulSet/argocd-application-controller":   {4., "704Mi", "704Mi"},
		"Deployment/argocd-applicationset-controller": {5., "705Mi", "705Mi"},
		"Deployment/argocd-notifications-controller":  {1., "706Mi", "706Mi"},
		"Deployment/argocd-redis":                     {1., "707Mi", "707Mi"},
		"Deployment/argocd-dex-server":                {1., "708Mi", "708Mi"},
	}
	for name, ch := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			os := rendered(t, ch, tenant.HelmArgoCD, values.Merge(p.ArgoCD.Values, values.Values{"dex": values.Values{"enabled": true}}))
			got := map[string][]any{}
			for key := range want {
				got[key] = size(os, key)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("replicas, requests and limits of memory: -want, +got:\n%s", diff)
			}
		})
	}
	os := rendered(t, vclusterChart(t), tenant.HelmVCluster, p.VirtualCluster.Values)
	if diff := cmp.Diff([]any{1., "701Mi", "701Mi"}, size(os, "StatefulSet/vcluster")); diff != "" {
		t.Errorf("the virtual cluster: -want, +got:\n%s", diff)
	}
}
