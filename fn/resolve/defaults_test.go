package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestDefaultsThatMove: whatever the platform's versions become, a claim that names
// none is never refused for them.
func TestDefaultsThatMove(t *testing.T) {
	platform := func(vcluster, argocd, kubernetes string) inputv1alpha1.Input {
		in := platformVersions(vcluster, kubernetes)
		in.Charts.ArgoCD.Version = argocd
		return in
	}
	now := platform("0.36.1", "10.1.1", "v1.36.0")
	cases := map[string]struct {
		reason  string
		spec    tenant.Ask
		listed  []string
		input   inputv1alpha1.Input
		running tenant.Running
		back    string   // the version of argo-cd to which it may go back
		want    []string // vcluster, argo-cd and Kubernetes
		held    []string
	}{
		"NothingRuns": {
			reason: "A new tenant gets the platform's versions.", input: now,
			want: []string{"0.36.1", "10.1.1", "v1.36.0"},
		},
		"NothingMoves": {
			reason: "A tenant that has the platform's versions keeps them.", input: now, running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.0"},
			want: []string{"0.36.1", "10.1.1", "v1.36.0"},
		},
		"Raised": {
			reason: "The next minor version of Kubernetes is no step of its own.", input: now, running: tenant.Running{VCluster: "0.34.0", ArgoCD: "9.3.7", Kubernetes: "v1.35.4"},
			want: []string{"0.36.1", "10.1.1", "v1.36.0"},
		},
		"SkipsOneMinor": {
			reason: "Kubernetes leaves out no minor version.", input: now, running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.34.2"},
			want: []string{"0.36.1", "10.1.1", "v1.35.0"},
			held: []string{"Kubernetes goes to v1.35.0 first: the platform's version is v1.36.0, and no minor version can be left out"},
		},
		"SkipsTwoMinors": {
			reason: "Nor two.", input: now, running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.32.9"},
			want: []string{"0.36.1", "10.1.1", "v1.33.4"},
			held: []string{"Kubernetes goes to v1.33.4 first: the platform's version is v1.36.0, and no minor version can be left out"},
		},
		"SkippedMinorIsListed": {
			reason: "What the plan lists by itself has been tried on this platform: the highest counts.", listed: []string{"v1.35.2", "1.35.4", "1.35.3", "~1.35", "1.36.9"}, input: now, running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.34.2"},
			want: []string{"0.36.1", "10.1.1", "v1.35.4"},
			held: []string{"Kubernetes goes to v1.35.4 first: the platform's version is v1.36.0, and no minor version can be left out"},
		},
		"SkippedMinorIsInARange": {
			reason: "A range says nothing of which versions there are.", listed: []string{"~1.35.7", ">=1.35.7"}, input: now, running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.34.2"},
			want: []string{"0.36.1", "10.1.1", "v1.35.0"},
			held: []string{"Kubernetes goes to v1.35.0 first: the platform's version is v1.36.0, and no minor version can be left out"},
		},
		"RolledBack": {
			reason: "Where the platform goes back to an older Configuration, tenants stay where they are.", input: platform("0.35.0", "9.3.7", "v1.34.0"), running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.0"},
			want: []string{"0.36.1", "10.1.1", "v1.36.0"},
			held: []string{
				"Chart vcluster stays at 0.36.1, which runs: the platform's version, 0.35.0, is lower",
				"Chart argo-cd stays at 10.1.1, which runs: the platform's version, 9.3.7, is lower",
				"Kubernetes stays at v1.36.0, which runs: the platform's version, v1.34.0, is lower",
			},
		},
		"RolledBackToWhatVClusterIsTooOld": {
			reason: "What isn't used need not fit.", input: platform("0.30.1", "10.1.1", "v1.34.0"), running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.0"},
			want: []string{"0.36.1", "10.1.1", "v1.36.0"},
			held: []string{
				"Chart vcluster stays at 0.36.1, which runs: the platform's version, 0.30.1, is lower",
				"Kubernetes stays at v1.36.0, which runs: the platform's version, v1.34.0, is lower",
			},
		},
		"PatchRolledBack": {
			reason: "A patch version counts like any other.", input: platform("0.36.0", "10.1.0", "v1.36.0"), running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.3"},
			want: []string{"0.36.1", "10.1.1", "v1.36.3"},
			held: []string{
				"Chart vcluster stays at 0.36.1, which runs: the platform's version, 0.36.0, is lower",
				"Chart argo-cd stays at 10.1.1, which runs: the platform's version, 10.1.0, is lower",
				"Kubernetes stays at v1.36.3, which runs: the platform's version, v1.36.0, is lower",
			},
		},
		"GoesBack": {
			reason: "From a version that hasn't proved itself a tenant goes back to the one that it had before. Kubernetes and vcluster stay.", input: platform("0.35.0", "10.1.0", "v1.35.0"), running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.0"}, back: "10.1.0",
			want: []string{"0.36.1", "10.1.0", "v1.36.0"},
			held: []string{
				"Chart vcluster stays at 0.36.1, which runs: the platform's version, 0.35.0, is lower",
				"Kubernetes stays at v1.36.0, which runs: the platform's version, v1.35.0, is lower",
			},
		},
		"GoesBackInPart": {
			reason: "Or to a later one.", input: platform("0.36.1", "10.0.9", "v1.36.0"), running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.0"}, back: "10.0.1",
			want: []string{"0.36.1", "10.0.9", "v1.36.0"},
		},
		"GoesBackNoFurther": {
			reason: "Not to an earlier one.", input: platform("0.36.1", "9.3.7", "v1.36.0"), running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.0"}, back: "10.1.0",
			want: []string{"0.36.1", "10.1.0", "v1.36.0"},
			held: []string{"Chart argo-cd goes back to 10.1.0, and no further: the platform's version, 9.3.7, is lower"},
		},
		"IsOnItsWayBack": {
			reason: "What is to run already isn't raised again.", input: platform("0.36.1", "10.1.0", "v1.36.0"), running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.0", ArgoCDWanted: "10.1.0"},
			want: []string{"0.36.1", "10.1.0", "v1.36.0"},
		},
		"IsRaised": {
			reason: "It keeps nobody from a later one.", input: platform("0.36.1", "10.2.0", "v1.36.0"), running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.0"}, back: "10.1.0",
			want: []string{"0.36.1", "10.2.0", "v1.36.0"},
		},
		"NamedOnes": {
			reason: "A claim may go back by name, as far as that is possible.", spec: tenant.Ask{VClusterChartVersion: "0.36.0", ArgoCDChartVersion: "9.3.7", KubernetesVersion: "v1.35.0"}, listed: []string{"~1.35"}, input: now, running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.35.4"},
			want: []string{"0.36.0", "9.3.7", "v1.35.0"},
		},
		"VClusterIsNamed": {
			reason: "Kubernetes goes no further than the vcluster that the claim names.", spec: tenant.Ask{VClusterChartVersion: "0.34.1"}, input: now, running: tenant.Running{VCluster: "0.34.1", ArgoCD: "10.1.1", Kubernetes: "v1.35.0"},
			want: []string{"0.34.1", "10.1.1", "v1.35.0"},
			held: []string{"Kubernetes stays at v1.35.0, which runs: the platform's version is v1.36.0, and vcluster 0.34.1 serves no later minor version"},
		},
		"VClusterIsNamedAndKubernetesCanStep": {
			reason: "As far it goes.", spec: tenant.Ask{VClusterChartVersion: "0.34.1"}, input: now, running: tenant.Running{VCluster: "0.34.1", ArgoCD: "10.1.1", Kubernetes: "v1.34.4"},
			want: []string{"0.34.1", "10.1.1", "v1.35.0"},
			held: []string{"Kubernetes goes to v1.35.0 first: the platform's version is v1.36.0, and no minor version can be left out"},
		},
		"KubernetesOfNoVCluster": {
			reason: "A platform's mistake stops nothing that runs.", input: platform("0.36.1", "10.1.1", "v1.37.0"), running: tenant.Running{VCluster: "0.36.1", ArgoCD: "10.1.1", Kubernetes: "v1.36.0"},
			want: []string{"0.36.1", "10.1.1", "v1.36.0"},
			held: []string{"Kubernetes stays at v1.36.0, which runs: the platform's version is v1.37.0, and vcluster 0.36.1 serves no later minor version"},
		},
		"RunningUnreadable": {
			reason: "What can't be read holds nothing back.", input: now, running: tenant.Running{VCluster: "next", ArgoCD: "next", Kubernetes: "next"},
			want: []string{"0.36.1", "10.1.1", "v1.36.0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lists := v1alpha1.PlanVersions{Kubernetes: tc.listed, VClusterCharts: []string{"0.34.1", "0.36.0"}}
			p, err := Tenant(tenant.Given{XRName: "a", Spec: tc.spec, Plan: plan.Plan{Name: "p", Spec: v1alpha1.PlanSpec{Versions: lists}}, Input: tc.input, Running: tc.running, GoesBackTo: tc.back})
			if err != nil {
				t.Fatalf("\n%s\nNew(...): %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, []string{p.VirtualCluster.Version, p.ArgoCD.Version, p.Kubernetes}); diff != "" {
				t.Errorf("\n%s\nversions: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.held, p.VersionsHeld); diff != "" {
				t.Errorf("\n%s\nheld: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
