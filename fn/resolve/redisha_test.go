package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestRedisHA: redis with high availability gets values of its own, and keeps those
// that others have set.
func TestRedisHA(t *testing.T) {
	on := v1alpha1.PlanArgoCD{HA: true}
	cases := map[string]struct {
		reason string
		plan   v1alpha1.PlanArgoCD
		claim  values.Values
		want   map[string]any
	}{
		"Off":     {"A chart without redis-ha need not know its values.", v1alpha1.PlanArgoCD{}, nil, map[string]any{"": nil}},
		"OfPlan":  {"", on, nil, map[string]any{"rollingUpdate": values.Values{"maxSurge": 0., "maxUnavailable": 1.}, "type": "RollingUpdate", "period": 3., "metrics": false}},
		"OfClaim": {"", v1alpha1.PlanArgoCD{}, values.Values{"redis-ha": values.Values{"enabled": true}}, map[string]any{"period": 3.}},
		"OwnStrategy": {"Kubernetes refuses rollingUpdate with another type.", on,
			values.Values{"redis-ha": values.Values{"haproxy": values.Values{"deploymentStrategy": values.Values{"type": "Recreate"}}}}, map[string]any{"rollingUpdate": nil, "type": "Recreate"}},
		"OwnProbe": {"", on, values.Values{"redis-ha": values.Values{"redis": values.Values{"readinessProbe": values.Values{"periodSeconds": 9.}}}}, map[string]any{"period": 9., "type": "RollingUpdate"}},
	}
	paths := map[string][]string{
		"": {"redis-ha"}, "rollingUpdate": {"redis-ha", "haproxy", "deploymentStrategy", "rollingUpdate"}, "type": {"redis-ha", "haproxy", "deploymentStrategy", "type"},
		"metrics": {"redis-ha", "haproxy", "metrics", "enabled"}, "period": {"redis-ha", "redis", "readinessProbe", "periodSeconds"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := Tenant(tenant.Given{XRName: "a", Plan: plan.Plan{Name: "p", Spec: v1alpha1.PlanSpec{ArgoCD: tc.plan}}, Spec: tenant.Ask{ArgoCDValues: tc.claim}})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for key := range tc.want {
				got[key], _ = values.Lookup(p.ArgoCD.Values, paths[key]...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
