package plan

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

func TestUpgrades(t *testing.T) {
	input := func(vcluster, kubernetes string) inputv1alpha1.Input {
		return inputv1alpha1.Input{
			Charts:     inputv1alpha1.Charts{VCluster: inputv1alpha1.Chart{Version: vcluster}},
			Kubernetes: inputv1alpha1.Kubernetes{Version: kubernetes},
		}
	}
	cases := map[string]struct {
		reason  string
		spec    Spec
		input   inputv1alpha1.Input
		running Running
		want    []string // parts of the error; none for no error
	}{
		"First":              {reason: "Nothing runs yet.", spec: Spec{KubernetesVersion: "v1.30.0"}},
		"Same":               {reason: "Nothing changes.", spec: Spec{KubernetesVersion: "v1.35.4"}, running: Running{VCluster: "0.36.1", Kubernetes: "v1.35.4"}},
		"NextMinor":          {reason: "The way Kubernetes goes.", spec: Spec{KubernetesVersion: "v1.36.0"}, running: Running{VCluster: "0.36.1", Kubernetes: "v1.35.4"}},
		"PatchUp":            {reason: "A newer patch.", spec: Spec{KubernetesVersion: "v1.35.9"}, running: Running{VCluster: "0.36.1", Kubernetes: "v1.35.4"}},
		"PatchDown":          {reason: "An older patch keeps its data alike.", spec: Spec{KubernetesVersion: "v1.35.0"}, running: Running{VCluster: "0.36.1", Kubernetes: "v1.35.4"}},
		"Downgrade":          {"Kubernetes can't go back.", Spec{KubernetesVersion: "v1.35.4"}, inputv1alpha1.Input{}, Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}, []string{"spec.kubernetes.version", "v1.36.0 runs", "can't go back to v1.35.4", "write a version of 1.36"}},
		"Skip":               {"Nor leave a minor version out.", Spec{KubernetesVersion: "v1.36.0"}, inputv1alpha1.Input{}, Running{VCluster: "0.36.1", Kubernetes: "v1.34.2"}, []string{"spec.kubernetes.version", "v1.34.2 runs", "can't leave out", "v1.36.0", "write a version of 1.34 or 1.35 first"}},
		"PlatformSkips":      {"The platform's default counts like the claim's.", Spec{}, inputv1alpha1.Input{}, Running{VCluster: "0.36.1", Kubernetes: "v1.34.2"}, []string{"input.kubernetes.version", "1.34 or 1.35"}},
		"NotOfThisVCluster":  {"An older vcluster serves fewer.", Spec{KubernetesVersion: "v1.36.0", VClusterChartVersion: "0.30.1"}, inputv1alpha1.Input{}, Running{}, []string{"spec.kubernetes.version", `"v1.36.0"`, "vcluster 0.30.1", "1.30, 1.31, 1.32, 1.33, 1.34"}},
		"PlatformsVCluster":  {"So does the platform's.", Spec{KubernetesVersion: "v1.33.0"}, input("0.25.0", ""), Running{}, []string{"spec.kubernetes.version", "vcluster 0.25.0", "1.30, 1.31, 1.32"}},
		"VClusterTooOld":     {"Its chart has other values.", Spec{VClusterChartVersion: "0.24.1"}, inputv1alpha1.Input{}, Running{}, []string{"spec.vcluster.chartVersion", "0.24.1", "0.25.0"}},
		"VClusterDowngrade":  {"vcluster can't go back.", Spec{VClusterChartVersion: "0.35.2"}, inputv1alpha1.Input{}, Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}, []string{"spec.vcluster.chartVersion", "vcluster 0.36.1 runs", "can't go back to 0.35.2", "0.36.0 or a later version"}},
		"VClusterPatchDown":  {reason: "An older patch keeps its data alike.", spec: Spec{VClusterChartVersion: "0.36.0"}, running: Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}},
		"VClusterUnknown":    {reason: "A newer vcluster serves at least as much.", spec: Spec{VClusterChartVersion: "0.99.0"}, running: Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}},
		"VClusterOne":        {reason: "So does one of another major version.", spec: Spec{VClusterChartVersion: "1.0.0"}, running: Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}},
		"VClusterBackToZero": {"And that one can't go back either.", Spec{VClusterChartVersion: "0.36.1"}, inputv1alpha1.Input{}, Running{VCluster: "1.0.0", Kubernetes: "v1.36.0"}, []string{"spec.vcluster.chartVersion", "1.0.0 runs"}},
		"NewestRuns":         {"There is no version to go to.", Spec{KubernetesVersion: "v1.37.0"}, inputv1alpha1.Input{}, Running{VCluster: "0.36.1", Kubernetes: "v1.36.0"}, []string{"spec.kubernetes.version", "v1.37.0", "1.36"}},
		"RunningUnreadable":  {reason: "What can't be read is no reason to refuse.", spec: Spec{KubernetesVersion: "v1.35.0"}, running: Running{VCluster: "next", Kubernetes: "next"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := New(Request{XRName: "a", Spec: tc.spec, Input: tc.input, Running: tc.running})
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
	var got []string
	for _, m := range regexp.MustCompile(`"(1\.[0-9]+)":`).FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	s, err := supportOf("", DefaultVClusterVersion)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Split(minors(s.oldest, s.newest, " "), " "); !slices.Equal(want, got) {
		t.Errorf("vcluster %s serves Kubernetes %v, the table says %v", DefaultVClusterVersion, got, want)
	}
}
