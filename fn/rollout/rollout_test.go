package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

func TestNext(t *testing.T) {
	accepted := func(version, plans string) tenant.Accepted {
		return tenant.Accepted{Spec: tenant.Ask{KubernetesVersion: version}, Plan: plan.Plan{Name: plans}}
	}
	was := accepted("v1.35.0", "small")
	for name, tc := range map[string]struct {
		reason string
		was    *tenant.Accepted
		asked  tenant.Accepted
	}{
		"First":           {"Nothing was accepted before.", nil, was},
		"Same":            {"Nothing changes.", &was, was},
		"ClaimChanges":    {"A claim's own change is taken at once.", &was, accepted("v1.36.0", "small")},
		"PlatformChanges": {"So is the platform's.", &was, accepted("v1.35.0", "large")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.asked, Next(tc.was, tc.asked)); diff != "" {
				t.Errorf("\n%s\nNext(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
