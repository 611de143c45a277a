package helm

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
)

// TestArgoCDIsRestricted asks Pod Security about each pod of the charts: a plan may
// have restricted enforced on a tenant's pods, and Argo CD's are the first of them.
func TestArgoCDIsRestricted(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for of, ch := range subjects(t) {
		t.Run(of, func(t *testing.T) {
			p, err := resolve.Tenant(tenant.Given{XRName: "a", Plan: plan.Plan{Name: "p", Spec: v1alpha1.PlanSpec{
				PodSecurity: tenant.PodSecurityRestricted, ArgoCD: v1alpha1.PlanArgoCD{HA: charts.HasRedisHA(ch)},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			got, pods := rendered(t, ch, tenant.HelmArgoCD, p.ArgoCD.Values), 0
			for _, key := range slices.Sorted(maps.Keys(got)) {
				template, ok := at(got[key], "spec|template").(map[string]any)
				if !ok {
					continue
				}
				pods++
				pod := corev1.PodTemplateSpec{}
				if raw, err := json.Marshal(template); err != nil || json.Unmarshal(raw, &pod) != nil {
					t.Fatalf("%s: not a pod: %v", key, err)
				}
				for _, c := range checks.EvaluatePod(level, &metav1.ObjectMeta{Annotations: pod.Annotations}, &pod.Spec) {
					if !c.Allowed {
						t.Errorf("%s: %s: %s", key, c.ForbiddenReason, c.ForbiddenDetail)
					}
				}
			}
			if pods < 7 {
				t.Errorf("Argo CD has %d kinds of pods: this shows nothing", pods)
			}
		})
	}
}
