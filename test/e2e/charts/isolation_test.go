package charts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// TestIsolationIsInstalled renders the vcluster chart with the function's values:
// what bounds the tenant is among what Helm installs, and the control plane's
// account has no right that would undo it.
func TestIsolationIsInstalled(t *testing.T) {
	chart := vclusterChart(t)
	own := []string{"virtual-argocd-acme", "virtual-argocd-control-plane", "virtual-argocd-dns", "virtual-argocd-tenant", "virtual-argocd-url"}
	cases := map[string]struct {
		request  plan.Request
		policies []string
		// may are resources that the control plane's account may write only here.
		may  []string
		kind string
	}{
		"Plain":         {plan.Request{}, own, nil, "StatefulSet"},
		"URL":           {plan.Request{Input: v1alpha1.Input{Ingress: v1alpha1.Ingress{Domain: "example.org"}}, Hosts: plan.Hosts{Held: []string{"a.example.org"}}}, own, []string{"ingresses"}, "StatefulSet"},
		"HadURL":        {plan.Request{Hosts: plan.Hosts{Synced: true}}, own, []string{"ingresses"}, "StatefulSet"},
		"LoadBalancers": {plan.Request{Plan: plan.Chosen{Name: "p", Data: v1alpha1.PlanData{LoadBalancers: 1}}}, append(slices.Clone(own), "virtual-argocd-load-balancers"), nil, "StatefulSet"},
		"HA":            {plan.Request{Plan: highAvailability}, own, []string{"leases"}, "Deployment"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.request.XRName = "a"
			p, err := plan.New(tc.request)
			if err != nil {
				t.Fatal(err)
			}
			got := rendered(t, chart, plan.VClusterRelease, p.VCluster.Values)
			var policies []string
			for key := range got {
				if policy, ok := strings.CutPrefix(key, "NetworkPolicy/"); ok {
					policies = append(policies, policy)
				}
			}
			slices.Sort(policies)
			slices.Sort(tc.policies)
			if diff := cmp.Diff(tc.policies, policies); diff != "" {
				t.Errorf("NetworkPolicies: -want, +got:\n%s", diff)
			}
			// Kubernetes counts the node ports that a LoadBalancer takes.
			if at(got["ResourceQuota/vc-vcluster"], "spec|hard|services.nodeports") != fmt.Sprint(10*p.LoadBalancers) || got["LimitRange/vc-vcluster"] == nil {
				t.Errorf("quota: %v, limits: %v", got["ResourceQuota/vc-vcluster"], got["LimitRange/vc-vcluster"])
			}
			if got[tc.kind+"/vcluster"] == nil {
				t.Errorf("the control plane isn't a %s", tc.kind)
			}
			var writes, watches []string
			for _, rule := range list(at(got["Role/vc-vcluster"], "rules")) {
				r := rule.(map[string]any)
				if slices.Contains(list(r["verbs"]), any("watch")) {
					for _, resource := range list(r["resources"]) {
						watches = append(watches, resource.(string))
					}
				}
				if slices.Contains(list(r["verbs"]), any("create")) {
					for _, resource := range list(r["resources"]) {
						writes = append(writes, resource.(string))
					}
				}
			}
			for _, resource := range []string{"networkpolicies", "resourcequotas", "limitranges", "endpoints", "endpointslices", "serviceaccounts", "ingresses", "leases"} {
				if want := slices.Contains(tc.may, resource); slices.Contains(writes, resource) != want {
					t.Errorf("the control plane may write %s: want %v", resource, want)
				}
			}
			// vcluster waits for both before it does anything.
			for _, resource := range []string{"endpoints", "endpointslices"} {
				if !slices.Contains(watches, resource) {
					t.Errorf("the control plane may not watch %s", resource)
				}
			}
			for key := range got {
				if strings.HasPrefix(key, "ClusterRole") {
					t.Errorf("the control plane has rights beyond its namespace: %s", key)
				}
			}
		})
	}
}
