package monitoring

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestInstalledByKustomize holds kustomization.yaml and kube-prometheus-stack-values.yaml to the files that are there, and to each
// other.
func TestInstalledByKustomize(t *testing.T) {
	t.Parallel()
	var k struct {
		APIVersion         string   `json:"apiVersion"`
		Kind               string   `json:"kind"`
		Resources          []string `json:"resources"`
		ConfigMapGenerator []struct {
			Name      string   `json:"name"`
			Namespace string   `json:"namespace"`
			Files     []string `json:"files"`
			Options   struct {
				Labels map[string]string `json:"labels"`
			} `json:"options"`
		} `json:"configMapGenerator"`
		GeneratorOptions struct {
			DisableNameSuffixHash bool `json:"disableNameSuffixHash"`
		} `json:"generatorOptions"`
	}
	readStrict(t, filepath.Join(examples, "kustomization.yaml"), &k)
	var values struct {
		Prometheus struct {
			PrometheusSpec struct {
				PodMonitorSelectorNilUsesHelmValues *bool `json:"podMonitorSelectorNilUsesHelmValues"`
				RuleSelectorNilUsesHelmValues       *bool `json:"ruleSelectorNilUsesHelmValues"`
			} `json:"prometheusSpec"`
		} `json:"prometheus"`
		KubeStateMetrics struct {
			CustomResourceState struct {
				Enabled bool   `json:"enabled"`
				Create  bool   `json:"create"`
				Name    string `json:"name"`
				Key     string `json:"key"`
			} `json:"customResourceState"`
		} `json:"kube-state-metrics"`
	}
	readStrict(t, filepath.Join(examples, "kube-prometheus-stack-values.yaml"), &values)

	// With the operator, or no object.
	others := []string{"scrape-configs.yaml", "kustomization.yaml", "kube-prometheus-stack-values.yaml"}
	used := slices.Concat(k.Resources, others)
	config := values.KubeStateMetrics.CustomResourceState
	found := false
	for _, g := range k.ConfigMapGenerator {
		used = append(used, g.Files...)
		found = found || g.Name == config.Name && slices.Contains(g.Files, config.Key)
	}
	if !found || !config.Enabled || config.Create || !k.GeneratorOptions.DisableNameSuffixHash {
		t.Errorf("kube-state-metrics reads %s of ConfigMap %s, which isn't made", config.Key, config.Name)
	}
	for _, pattern := range []string{"*.yaml", "dashboards/*.json"} {
		files, err := filepath.Glob(filepath.Join(examples, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			name, err := filepath.Rel(examples, f)
			if err != nil || !slices.Contains(used, filepath.ToSlash(name)) {
				t.Errorf("%s isn't installed: %v", name, err)
			}
		}
	}
	for _, name := range used {
		if _, err := os.Stat(filepath.Join(examples, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestRightsOfKubeStateMetrics holds rbac.yaml to the kinds that kube-state-metrics.yaml has metrics of.
func TestRightsOfKubeStateMetrics(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(examples, "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal(raw, &role); err != nil || role.Name != "virtual-argocd-kube-state-metrics" {
		t.Fatalf("the first role is %q: %v", role.Name, err)
	}
	for _, f := range factories(t) {
		if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Equal(r.APIGroups, []string{"virtualargocd.io"}) && slices.Contains(r.Resources, f.Name()) && slices.Equal(r.Verbs, []string{"list", "watch"})
		}) {
			t.Errorf("%s may not be read", f.Name())
		}
	}
}
