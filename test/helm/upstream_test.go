package helm

import (
	"slices"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// TestTestChartHasUpstreamsValues: each value of the test chart is one of upstream's chart of the same version, with the same default. So what
// the function sets has no other effect in tests because of what is beside it.
func TestTestChartHasUpstreamsValues(t *testing.T) {
	ch := argoCD(t)
	upstream := known.Named("argo-cd").At(ch.Metadata.Version)
	if !upstream.Exact {
		t.Fatalf("version %s isn't recorded: run make chart-values", ch.Metadata.Version)
	}
	leaves := values.Leaves(ch.Values)
	for _, path := range leaves {
		// Upstream's chart has the known hosts of the day of its release.
		if slices.Equal(path, []string{"configs", "ssh", "knownHosts"}) {
			continue
		}
		if is, _ := values.Lookup(ch.Values, path...); !upstream.IsDefault(path, is) {
			t.Errorf("%s: upstream's chart doesn't have it, or has another default than %v", strings.Join(path, "."), is)
		}
	}
	if len(leaves) < 300 {
		t.Errorf("the test chart has %d values: the test tests too little", len(leaves))
	}
}

// TestUpstreamHasTheValues: upstream's chart has each value that the function sets by itself, in the test chart's version and in that which
// the function installs by default. What it sets of claims is checked as the claims' own values are.
func TestUpstreamHasTheValues(t *testing.T) {
	replicas := v1alpha1.PlanWorkload{Replicas: 2, Resources: v1alpha1.PlanResources{Limits: map[string]v1alpha1.Quantity{"memory": "1Gi"}}}
	container := v1alpha1.PlanContainer{Resources: replicas.Resources}
	all := v1alpha1.PlanSpec{
		PodSecurity: tenant.PodSecurityRestricted,
		ArgoCD: v1alpha1.PlanArgoCD{
			HA: true, Server: replicas, RepoServer: replicas, Controller: replicas, ApplicationSet: replicas,
			Notifications: container, Redis: container, Dex: container,
		},
	}
	for _, version := range []string{argoCD(t).Metadata.Version, tenant.WithDefaults(inputv1alpha1.Input{}).Charts.ArgoCD.Version} {
		upstream := known.Named("argo-cd").At(version)
		for name, data := range map[string]v1alpha1.PlanSpec{"NoPlan": {}, "PlanWithAll": all} {
			t.Run(version+"/"+name, func(t *testing.T) {
				p, err := resolve.Tenant(tenant.Given{XRName: "a", Plan: plan.Plan{Name: "p", Spec: data}, Spec: tenant.Ask{ArgoCDChartVersion: version}})
				if err != nil {
					t.Fatal(err)
				}
				for _, unknown := range upstream.Unknown(p.ArgoCD.Values) {
					t.Errorf("%s: %s", strings.Join(unknown.Path, "."), unknown.Message)
				}
			})
		}
	}
}

// TestTestChartRefusesOtherValues: the test chart never ignores a value that it doesn't implement, so that no test passes because of that.
func TestTestChartRefusesOtherValues(t *testing.T) {
	ch := argoCD(t)
	for values, path := range map[string]string{
		"server: {autoscaling: {enabled: true}}": "server.autoscaling",
		"redis-ha: {enabled: true}":              "redis-ha",
		"apiVersionOverrides: {a: b}":            "apiVersionOverrides",
	} {
		_, err := render(ch, "argocd", values)
		if err == nil || !strings.Contains(err.Error(), "value "+path+" has no effect") {
			t.Errorf("%s: want an error that names %s, got %v", values, path, err)
		}
	}
}
