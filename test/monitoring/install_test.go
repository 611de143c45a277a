package monitoring

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/charts"
)

// others are files of examples/monitoring that kustomization.yaml doesn't install: it itself, what is for Helm, and what is for a
// Prometheus without the operator.
var others = []string{"kustomization.yaml", "kube-prometheus-stack-values.yaml", "scrape-configs.yaml"}

// TestInstalledByKustomize builds the objects of kustomization.yaml, as kubectl apply -k does, and compares them with the files that
// are there.
func TestInstalledByKustomize(t *testing.T) {
	t.Parallel()
	got := map[string]map[string]any{}
	for _, o := range built(t) {
		got[nameOf(o)] = o.Object
	}

	want := map[string]map[string]any{}
	for _, path := range glob(t, "*.yaml") {
		if name := filepath.Base(path); name == "kube-state-metrics.yaml" || slices.Contains(others, name) {
			continue
		}
		for _, o := range readObjects(t, path) {
			want[nameOf(o)] = o.Object
		}
	}
	configMap := func(name string, labels map[string]any, files ...string) {
		metadata, data := map[string]any{"namespace": "monitoring", "name": name}, map[string]any{}
		if labels != nil {
			metadata["labels"] = labels
		}
		for _, path := range files {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[filepath.Base(path)] = string(content)
		}
		want["ConfigMap monitoring/"+name] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
	}
	configMap("virtual-argocd-kube-state-metrics", nil, filepath.Join(examples, "kube-state-metrics.yaml"))
	configMap("virtual-argocd-dashboards", map[string]any{"grafana_dashboard": "1"}, glob(t, "dashboards/*.json")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-in the folder, +installed:\n%s", diff)
	}
}

// TestKubePrometheusStack renders the chart kube-prometheus-stack, which no Go module has, with kube-prometheus-stack-values.yaml.
func TestKubePrometheusStack(t *testing.T) {
	t.Parallel()
	path := os.Getenv("KUBE_PROMETHEUS_STACK_CHART")
	if path == "" {
		t.Skip("NOT TRIED HERE: SET KUBE_PROMETHEUS_STACK_CHART TO THE CHART, AN ARCHIVE OR A FOLDER AFTER helm dependency build")
	}
	chart, err := loader.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	readStrict(t, filepath.Join(examples, "kube-prometheus-stack-values.yaml"), &values)
	rendered, err := charts.Render(chart, "kube-prometheus-stack", "monitoring", values)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, o := range append(rendered, built(t)...) {
		objects[nameOf(o)] = o
	}

	// Monitors and rules of every namespace and with any labels.
	prometheus := objects["Prometheus monitoring/kube-prometheus-stack-prometheus"]
	if prometheus == nil {
		t.Fatal("the chart makes no Prometheus")
	}
	for _, field := range []string{"podMonitorSelector", "podMonitorNamespaceSelector", "ruleSelector", "ruleNamespaceSelector"} {
		if got, ok, _ := unstructured.NestedMap(prometheus.Object, "spec", field); !ok || len(got) > 0 {
			t.Errorf("%s selects %v", field, got)
		}
	}
	var deployment appsv1.Deployment
	o := objects["Deployment monitoring/kube-prometheus-stack-kube-state-metrics"]
	if o == nil {
		t.Fatal("the chart makes no kube-state-metrics")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &deployment); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	reads := map[string]bool{}
	for _, v := range pod.Volumes {
		if v.ConfigMap == nil || objects["ConfigMap monitoring/"+v.ConfigMap.Name] == nil {
			continue
		}
		data, _, _ := unstructured.NestedMap(objects["ConfigMap monitoring/"+v.ConfigMap.Name].Object, "data")
		for _, m := range pod.Containers[0].VolumeMounts {
			for key := range data {
				reads[m.MountPath+"/"+key] = reads[m.MountPath+"/"+key] || m.Name == v.Name
			}
		}
	}
	flag := func(a string) bool { return strings.HasPrefix(a, "--custom-resource-state-config-file=") }
	at := slices.IndexFunc(pod.Containers[0].Args, flag)
	if at < 0 || !reads[strings.SplitN(pod.Containers[0].Args[at], "=", 2)[1]] {
		t.Errorf("kube-state-metrics has the arguments %q and the files %v", pod.Containers[0].Args, reads)
	}
	// rbac.yaml binds the roles to these.
	for name, o := range objects {
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		for _, s := range subjects {
			subject, _ := s.(map[string]any)
			if account := fmt.Sprintf("%s %s/%s", subject["kind"], subject["namespace"], subject["name"]); objects[account] == nil {
				t.Errorf("%s gives rights to %s, which isn't there", name, account)
			}
		}
	}
}

// built returns what kustomization.yaml installs.
func built(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), examples)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		raw, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		decode(t, "kustomization.yaml", raw, &o.Object)
		out = append(out, o)
	}
	return out
}

func readObjects(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, doc := range bytes.Split(raw, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		decode(t, path, doc, &o.Object)
		out = append(out, o)
	}
	return out
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(examples, filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, files, err)
	}
	return files
}

func nameOf(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
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
			return slices.Equal(r.APIGroups, []string{f.ExpectedType().(*unstructured.Unstructured).GroupVersionKind().Group}) && slices.Contains(r.Resources, f.Name()) && slices.Equal(r.Verbs, []string{"list", "watch"})
		}) {
			t.Errorf("%s may not be read", f.Name())
		}
	}
}
