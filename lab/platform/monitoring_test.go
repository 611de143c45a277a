package platform

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

const projectRoot = "../.."

// TestMonitoringObjects holds what runs the files of examples/monitoring to what these files say of it.
func TestMonitoringObjects(t *testing.T) {
	seen := map[string]string{}
	objects, err := monitoringObjects(projectRoot, func(name, content string) string {
		seen[name] = content
		return content + "# changed\n"
	})
	if err != nil {
		t.Fatal(err)
	}
	if first := describe(objects[0]); first != "Namespace monitoring" {
		t.Errorf("the namespace comes first, got %s", first)
	}
	find := func(kind, name string) map[string]any {
		t.Helper()
		for _, o := range objects {
			if o.GetKind() == kind && o.GetName() == name {
				return o.Object
			}
		}
		t.Fatalf("no %s %s", kind, name)
		return nil
	}

	files, _, _ := unstructured.NestedStringMap(find("ConfigMap", "files"), "data")
	for _, name := range []string{KubeStateMetricsFile, ScrapeConfigsFile, RulesFile} {
		if files[name] != seen[name]+"# changed\n" {
			t.Errorf("%s isn't what the caller has made of it", name)
		}
	}
	if !strings.HasPrefix(files[RulesFile], "groups:") {
		t.Errorf("the rules are no file of Prometheus': %.80s", files[RulesFile])
	}
	var scrapes struct {
		ScrapeConfigs []struct {
			JobName     string `json:"job_name"`
			SampleLimit int    `json:"sample_limit"`
			SeriesLimit int    `json:"series_limit"`
			BodySize    string `json:"body_size_limit"`
			MaxSize     string `json:"max_scrape_size"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(files[ScrapeConfigsFile]), &scrapes); err != nil {
		t.Fatal(err)
	}
	for _, s := range scrapes.ScrapeConfigs {
		if tenants := s.SampleLimit > 0; tenants != (s.SeriesLimit > 0) || tenants != (s.MaxSize != "") || s.MaxSize != s.BodySize {
			t.Errorf("job %s has a limit of %d samples, of %d series and of %q bytes: tenants' jobs have all, others none", s.JobName, s.SampleLimit, s.SeriesLimit, s.MaxSize)
		}
	}

	// Accounts by the names to which rbac.yaml gives rights.
	for _, o := range objects {
		if o.GetKind() != "ClusterRoleBinding" {
			continue
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		for _, s := range subjects {
			find("ServiceAccount", s.(map[string]any)["name"].(string))
		}
	}

	// Prometheus' pod is the one that network.yaml and the input let in.
	var pod corev1.PodTemplateSpec
	template, _, _ := unstructured.NestedMap(find("Deployment", "prometheus"), "spec", "template")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("input.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var in v1alpha1.Input
	if err := yaml.UnmarshalStrict(raw, &in); err != nil {
		t.Fatal(err)
	}
	if len(in.Network.MetricsFrom) != 1 {
		t.Fatalf("the input lets %d peers at metrics", len(in.Network.MetricsFrom))
	}
	peer := in.Network.MetricsFrom[0]
	namespace, err := metav1.LabelSelectorAsSelector(peer.NamespaceSelector)
	if err != nil {
		t.Fatal(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	if !namespace.Matches(labels.Set{corev1.LabelMetadataName: MonitoringNamespace}) || !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the input doesn't let Prometheus at tenants' metrics: its pod has the labels %v", pod.Labels)
	}
	// What the containers read is there.
	for _, c := range pod.Spec.Containers {
		for _, arg := range c.Args {
			if name, ok := strings.CutPrefix(arg[strings.Index(arg, "=")+1:], "/files/"); ok && files[name] == "" {
				t.Errorf("container %s reads %s, which isn't there", c.Name, name)
			}
		}
	}
}

// TestPage holds the page to the dashboard that it draws: it knows all kinds of panels there, and all variables.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(projectRoot, "examples/monitoring/dashboards/fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	_, variables, _ := strings.Cut(monitoringPage, "const variables = {")
	variables, _, _ = strings.Cut(variables, "}")
	for _, panel := range dashboard.Panels {
		if panel.Type != "row" && !strings.Contains(monitoringPage, "async function "+panel.Type+"(panel, body)") {
			t.Errorf("%s: the page can't draw a %s", panel.Title, panel.Type)
		}
		for _, target := range panel.Targets {
			for _, m := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !strings.Contains(variables, " "+m[1]+":") {
					t.Errorf("%s: the page doesn't know the variable %s", panel.Title, m[1])
				}
			}
		}
	}
	if strings.Contains(monitoringPage, "innerHTML") {
		t.Error("the page parses text as HTML, and some text is tenants'")
	}
}
