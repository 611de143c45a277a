package resolve

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/versions"
)

// TestUpgrades: what vcluster and Kubernetes can do, where the plan allows all.
func TestUpgrades(t *testing.T) {
	all := plan.Plan{Name: "p", Spec: v1alpha1.PlanSpec{Versions: v1alpha1.PlanVersions{Kubernetes: []string{">=0"}, VClusterCharts: []string{">=0"}}}}
	cases := map[string]struct {
		reason  string
		spec    tenant.Ask
		input   inputv1alpha1.Input
		running tenant.Running
		want    []string // parts of the error; none for no error
	}{
		"First":              {reason: "Nothing runs yet.", spec: tenant.Ask{KubernetesVersion: "v1.30.0"}},
		"Same":               {reason: "Nothing changes.", spec: tenant.Ask{KubernetesVersion: "v1.35.4"}, running: tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.35.4"}},
		"NextMinor":          {reason: "The way Kubernetes goes.", spec: tenant.Ask{KubernetesVersion: "v1.36.0"}, running: tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.35.4"}},
		"PatchUp":            {reason: "A newer patch.", spec: tenant.Ask{KubernetesVersion: "v1.35.9"}, running: tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.35.4"}},
		"PatchDown":          {reason: "An older patch keeps its data alike.", spec: tenant.Ask{KubernetesVersion: "v1.35.0"}, running: tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.35.4"}},
		"Downgrade":          {"Kubernetes can't go back.", tenant.Ask{KubernetesVersion: "v1.35.4"}, inputv1alpha1.Input{}, tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}, []string{"spec.kubernetes.version", "v1.36.0 runs", "can't go back to v1.35.4", "write a version of 1.36"}},
		"Skip":               {"Nor leave a minor version out.", tenant.Ask{KubernetesVersion: "v1.36.0"}, inputv1alpha1.Input{}, tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.34.2"}, []string{"spec.kubernetes.version", "v1.34.2 runs", "can't leave out", "v1.36.0", "write a version of 1.34 or 1.35 first"}},
		"OfNoVCluster":       {"Nor does the newest serve all.", tenant.Ask{KubernetesVersion: "v1.29.0"}, inputv1alpha1.Input{}, tenant.Running{}, []string{"spec.kubernetes.version", "v1.29.0", "1.30, 1.31, 1.32, 1.33, 1.34, 1.35, 1.36"}},
		"NotOfThisVCluster":  {"An older vcluster serves fewer.", tenant.Ask{KubernetesVersion: "v1.36.0", VClusterChartVersion: "0.34.1"}, inputv1alpha1.Input{}, tenant.Running{}, []string{"spec.kubernetes.version", `"v1.36.0"`, "vcluster 0.34.1", "write a version of 1.34, 1.35"}},
		"ThisVClusterAlone":  {"Then this is the mistake, if the claim names no Kubernetes.", tenant.Ask{VClusterChartVersion: "0.34.1"}, inputv1alpha1.Input{}, tenant.Running{}, []string{"spec.vcluster.chartVersion", "vcluster 0.34.1", `"v1.36`, "of input.kubernetes.version", "1.34, 1.35"}},
		"PlatformsVCluster":  {"So does the platform's.", tenant.Ask{KubernetesVersion: "v1.33.0"}, platformVersions("0.36.0", ""), tenant.Running{}, []string{"spec.kubernetes.version", "vcluster 0.36.0", "write a version of 1.34, 1.35, 1.36"}},
		"VClusterTooOld":     {"It doesn't renew its certificates.", tenant.Ask{VClusterChartVersion: "0.33.1"}, inputv1alpha1.Input{}, tenant.Running{}, []string{"spec.vcluster.chartVersion", "0.33.1", "0.34.0"}},
		"VClusterDowngrade":  {"vcluster can't go back.", tenant.Ask{VClusterChartVersion: "0.35.2"}, inputv1alpha1.Input{}, tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}, []string{"spec.vcluster.chartVersion", "vcluster 0.36.1 runs", "can't go back to 0.35.2", "0.36.0 or a later version"}},
		"VClusterPatchDown":  {reason: "An older patch keeps its data alike.", spec: tenant.Ask{VClusterChartVersion: "0.36.0"}, running: tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}},
		"VClusterUnknown":    {reason: "A newer vcluster serves at least as much.", spec: tenant.Ask{VClusterChartVersion: "0.99.0"}, running: tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}},
		"VClusterOne":        {reason: "So does one of another major version.", spec: tenant.Ask{VClusterChartVersion: "1.0.0"}, running: tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}},
		"VClusterBackToZero": {"And that one can't go back either.", tenant.Ask{VClusterChartVersion: "0.36.1"}, inputv1alpha1.Input{}, tenant.Running{VCluster: "1.0.0", Kubernetes: "v1.36.0"}, []string{"spec.vcluster.chartVersion", "1.0.0 runs"}},
		"NewestRuns":         {"There is no version to go to.", tenant.Ask{KubernetesVersion: "v1.37.0"}, inputv1alpha1.Input{}, tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}, []string{"spec.kubernetes.version", "v1.37.0", "1.36"}},
		"RunningUnreadable":  {reason: "What can't be read is no reason to refuse.", spec: tenant.Ask{KubernetesVersion: "v1.35.0"}, running: tenant.Running{VCluster: "next", Kubernetes: "next"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Tenant(tenant.Given{XRName: "a", Spec: tc.spec, Plan: all, Input: tc.input, Running: tc.running})
			if (err == nil) != (len(tc.want) == 0) {
				t.Fatalf("\n%s\nNew(...): want error with %q, got %v", tc.reason, tc.want, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("\n%s\nNew(...): error should say %q: %v", tc.reason, want, err)
				}
			}
		})
	}
}

// TestSupportedKubernetes holds the table against the default vcluster's own list.
func TestSupportedKubernetes(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(vclusterModule(t), "config", "default_extra_values.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(raw), "var K8SVersionMap")
	list, _, _ = strings.Cut(list, "\n}")
	got := map[uint64]uint64{}
	for _, m := range regexp.MustCompile(`"ghcr.io/loft-sh/kubernetes:v1\.([0-9]+)\.([0-9]+)"`).FindAllStringSubmatch(list, -1) {
		minor, err1 := strconv.ParseUint(m[1], 10, 64)
		patch, err2 := strconv.ParseUint(m[2], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(m)
		}
		got[minor] = patch
	}
	if diff := cmp.Diff(got, versions.Patches); diff != "" {
		t.Errorf("Kubernetes that vcluster %s serves: -its own list, +the table:\n%s", tenant.DefaultVClusterVersion, diff)
	}
	s := versions.SupportOf(versions.Parse(tenant.DefaultVClusterVersion))
	if minors := slices.Sorted(maps.Keys(got)); s.Oldest != minors[0] || s.Newest != minors[len(minors)-1] {
		t.Errorf("vcluster %s serves Kubernetes 1.%d to 1.%d, the table says %v", tenant.DefaultVClusterVersion, minors[0], minors[len(minors)-1], s)
	}
}
