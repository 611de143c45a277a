package resolve

import (
	"strings"
	"testing"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestVersionsClaimsMayName: the platform's, the one that runs, and those that the
// plan lists; of Argo CD's chart any, where it lists none.
func TestVersionsClaimsMayName(t *testing.T) {
	cases := map[string]struct {
		reason  string
		spec    tenant.Ask
		lists   apiv1alpha1.PlanVersions
		input   v1alpha1.Input
		running tenant.Running
		want    string // the error; "" for none
	}{
		"Platforms":         {reason: "What the platform sets anyhow.", spec: tenant.Ask{KubernetesVersion: "1.36.0", VClusterChartVersion: "v0.36.1", ArgoCDChartVersion: "10.1.1"}},
		"PlatformsOfInput":  {reason: "Which the input says.", spec: tenant.Ask{KubernetesVersion: "v1.35.4", VClusterChartVersion: "0.36.0"}, input: platformVersions("0.36.0", "1.35.4")},
		"Running":           {reason: "A tenant keeps what it runs.", spec: tenant.Ask{KubernetesVersion: "v1.35.4", VClusterChartVersion: "0.36.0"}, running: tenant.Running{VCluster: "0.36.0", Kubernetes: "v1.35.4"}},
		"RunningIsUnlisted": {reason: "Though the plan lists others now.", spec: tenant.Ask{KubernetesVersion: "v1.35.4", ArgoCDChartVersion: "9.3.7"}, lists: apiv1alpha1.PlanVersions{Kubernetes: []string{"~1.36"}, ArgoCDCharts: []string{"10.2.0"}}, running: tenant.Running{Kubernetes: "v1.35.4", ArgoCD: "9.3.7"}},
		"Listed":            {reason: "What the plan lists.", spec: tenant.Ask{KubernetesVersion: "v1.35.4", VClusterChartVersion: "0.35.2", ArgoCDChartVersion: "9.3.7"}, lists: apiv1alpha1.PlanVersions{Kubernetes: []string{"1.34.0", "~1.35"}, VClusterCharts: []string{">=0.35.0"}, ArgoCDCharts: []string{"9.3.7"}}},
		"PlatformsUnlisted": {reason: "A list takes nothing from what the platform sets.", spec: tenant.Ask{KubernetesVersion: "v1.36.0"}, lists: apiv1alpha1.PlanVersions{Kubernetes: []string{"~1.35"}}},
		"ArgoCDIsFree":      {reason: "Argo CD runs inside the virtual cluster.", spec: tenant.Ask{ArgoCDChartVersion: "9.3.7"}, lists: apiv1alpha1.PlanVersions{Kubernetes: []string{"~1.35"}}},
		"Kubernetes": {
			reason: "Another patch runs other programs.", spec: tenant.Ask{KubernetesVersion: "v1.36.1"},
			want: "spec.kubernetes.version: plan p doesn't allow v1.36.1: write v1.36.0 (the platform's) or leave it out; the platform can list more in the plan, in versions.kubernetes",
		},
		"KubernetesOfARunning": {
			reason: "What runs is possible, too.", spec: tenant.Ask{KubernetesVersion: "v1.35.9"}, running: tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.35.4"},
			want: "spec.kubernetes.version: plan p doesn't allow v1.35.9: write v1.36.0 (the platform's) or v1.35.4 (the one that runs) or leave it out; the platform can list more in the plan, in versions.kubernetes",
		},
		"VCluster": {
			reason: "An older vcluster has its own holes.", spec: tenant.Ask{VClusterChartVersion: "0.25.0"},
			want: "spec.vcluster.chartVersion: plan p doesn't allow 0.25.0: write 0.36.1 (the platform's) or leave it out; the platform can list more in the plan, in versions.vclusterCharts",
		},
		"VClusterNewer": {
			reason: "Nobody has looked at a newer one.", spec: tenant.Ask{VClusterChartVersion: "0.99.0"}, running: tenant.Running{VCluster: "0.36.1"},
			want: "spec.vcluster.chartVersion: plan p doesn't allow 0.99.0: write 0.36.1",
		},
		"VClusterWithMetadata": {
			reason: "It would be another chart in a registry.", spec: tenant.Ask{VClusterChartVersion: "0.36.1+mine"},
			want: "spec.vcluster.chartVersion: plan p doesn't allow 0.36.1+mine",
		},
		"OtherListDoesntCount": {
			reason: "Each list is for one version.", spec: tenant.Ask{VClusterChartVersion: "0.35.0"}, lists: apiv1alpha1.PlanVersions{Kubernetes: []string{">=0"}, ArgoCDCharts: []string{">=0"}},
			want: "spec.vcluster.chartVersion: plan p doesn't allow 0.35.0",
		},
		"Unlisted": {
			reason: "The list, and what is possible anyhow.", spec: tenant.Ask{KubernetesVersion: "v1.33.0"}, lists: apiv1alpha1.PlanVersions{Kubernetes: []string{"~1.34", "v1.35.4"}},
			want: "spec.kubernetes.version: plan p doesn't allow v1.33.0: write a version of ~1.34, v1.35.4 or v1.36.0 (the platform's), or choose another plan",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Tenant(tenant.Given{XRName: "a", Spec: tc.spec, Plan: plan.Plan{Name: "p", Spec: apiv1alpha1.PlanSpec{Versions: tc.lists}}, Input: tc.input, Running: tc.running})
			if (err == nil) != (tc.want == "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("\n%s\nNew(...): want error %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func platformVersions(vcluster, kubernetes string) v1alpha1.Input {
	return v1alpha1.Input{
		Charts:     v1alpha1.Charts{VCluster: v1alpha1.Chart{Version: vcluster}},
		Kubernetes: v1alpha1.Kubernetes{Version: kubernetes},
	}
}
