package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestHA: what is there several times gets values of its own, and keeps those that others have set.
func TestHA(t *testing.T) {
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
		"OwnHandler": {"A handler of two kinds is refused by Kubernetes.", on, values.Values{"server": values.Values{"lifecycle": values.Values{"preStop": values.Values{"exec": values.Values{"command": []any{"sleep", "3"}}}}}},
			map[string]any{"sleep": nil, "repoServer": 5.}},
		"Drained":  {"", on, nil, map[string]any{"sleep": 10., "repoServer": 5.}},
		"Alone":    {"A pod that is alone is missed in any case.", v1alpha1.PlanArgoCD{Server: v1alpha1.PlanWorkload{Replicas: 1}, RepoServer: v1alpha1.PlanWorkload{Replicas: 2}}, nil, map[string]any{"sleep": nil, "repoServer": 5., "": nil}},
		"Scaled":   {"", v1alpha1.PlanArgoCD{}, values.Values{"server": values.Values{"autoscaling": values.Values{"enabled": true}}}, map[string]any{"sleep": 10., "repoServer": nil}},
		"OwnProbe": {"", on, values.Values{"redis-ha": values.Values{"redis": values.Values{"readinessProbe": values.Values{"periodSeconds": 9.}}}}, map[string]any{"period": 9., "type": "RollingUpdate"}},
	}
	paths := map[string][]string{
		"": {"redis-ha"}, "rollingUpdate": {"redis-ha", "haproxy", "deploymentStrategy", "rollingUpdate"}, "type": {"redis-ha", "haproxy", "deploymentStrategy", "type"},
		"sleep": {"server", "lifecycle", "preStop", "sleep", "seconds"}, "repoServer": {"repoServer", "lifecycle", "preStop", "sleep", "seconds"},
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
