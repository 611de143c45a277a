package helm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/proxy/helm"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// TestRemovedComponent: of whatever a chart renders, the patch by which a component is uninstalled leaves nothing, as provider-helm applies it
// (pkg/clients/helm/kustomize.go).
func TestRemovedComponent(t *testing.T) {
	e := crossplanetest.New(t, `{"components":[{"name":"sealed"}]}`, crossplanetest.Catalogue).Install()
	e.SetSpec(`{}`)
	e.Cycle(1)
	var patches struct {
		Patches []types.Patch `json:"patches"`
	}
	if err := yaml.Unmarshal(e.SecretKey(tenant.ComponentsSecret, tenant.PatchKey), &patches); err != nil || len(patches.Patches) == 0 {
		t.Fatalf("there is no patch: %v", err)
	}
	for name, ch := range subjects(t) {
		t.Run(name, func(t *testing.T) { checkRemoved(t, ch, patches.Patches) })
	}
}

// checkRemoved checks that patches leave nothing of what a chart renders, which is something without them.
func checkRemoved(t *testing.T, ch *chart.Chart, patches []types.Patch) {
	t.Helper()
	objects, err := charts.Render(ch, "argocd", "argocd", map[string]any{"crds": map[string]any{"install": true}})
	if err != nil || len(objects) < 20 {
		t.Fatalf("the chart renders %d objects: this shows little: %v", len(objects), err)
	}
	manifest := manifestOf(t, objects)
	for name, of := range map[string][]types.Patch{"Patched": patches, "NotPatched": nil} {
		dir := t.TempDir()
		kustomization, err := yaml.Marshal(types.Kustomization{Resources: []string{"manifest.yaml"}, Patches: of})
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"kustomization.yaml": string(kustomization), "manifest.yaml": manifest} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		left, err := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()}).Run(filesys.MakeFsOnDisk(), dir)
		if err != nil {
			t.Fatal(err)
		}
		text, err := left.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		if empty := strings.TrimSpace(string(text)) == ""; empty != (of != nil) {
			t.Errorf("%s: %d bytes are left: %.200s", name, len(text), text)
		}
	}
}

// TestComponentCharts renders the charts of the catalogue that users copy, from a folder with argo-helm's charts: their workloads have the names that the
// catalogue lists, none has a hook that would download something, and records of them are within the limits of the proxy.
func TestComponentCharts(t *testing.T) {
	folder := os.Getenv("COMPONENT_CHARTS")
	if folder == "" {
		t.Skip("NOT TRIED HERE: SET COMPONENT_CHARTS TO THE FOLDER charts OF argoproj/argo-helm")
	}
	raw, err := os.ReadFile("../../examples/install/components.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var in v1alpha1.Input
	if err := yaml.UnmarshalStrict(raw, &in); err != nil || len(in.Components) < 4 {
		t.Fatalf("%d components: %v", len(in.Components), err)
	}
	half := limits.Default
	half.RecordBytes, half.LargeValues, half.TextItems = half.RecordBytes/2, half.LargeValues/2, half.TextItems/2
	for _, c := range in.Components {
		t.Run(c.Name, func(t *testing.T) {
			ch, err := loader.Load(filepath.Join(folder, c.Chart.Name))
			if err != nil {
				t.Fatal(err)
			}
			if ch.Metadata.Version != c.Chart.Version {
				t.Errorf("the chart has version %s, and the catalogue %s", ch.Metadata.Version, c.Chart.Version)
			}
			recorded := known.Named(c.Chart.Name)
			if recorded == nil || !recorded.At(c.Chart.Version).Exact {
				t.Fatalf("version %s isn't recorded: run make chart-values", c.Chart.Version)
			}
			// Upstream's own tests set values that the charts have no more.
			for _, wrong := range slices.Concat(recorded.At(c.Chart.Version).Unknown(ch.Values), recorded.At(c.Chart.Version).Misshapen(ch.Values, func([]string) bool { return false })) {
				t.Errorf("%v: %s", wrong.Path, wrong.Message)
			}
			if checkTemplates(t, ch, recorded.At(c.Chart.Version), switchedOn(ch)) == 0 {
				t.Error("no value is rendered as a template, though there are extraObjects: the test tests too little")
			}
			v, err := values.Decode("values", c.Chart.Values)
			if err != nil {
				t.Fatal(err)
			}
			if ch.Values["crds"] != nil {
				v = values.Merge(values.Values{"crds": values.Values{"install": true}}, v)
			}
			objects, err := charts.Render(ch, c.Name, c.Namespace, v)
			if err != nil {
				t.Fatal(err)
			}
			// What a repair adds to the values changes nothing, and what an uninstallation has in their place is rendered.
			const ours = "virtualargocd"
			again, err := charts.Render(ch, c.Name, c.Namespace, values.Merge(v, values.Values{"global": values.Values{ours: values.Values{}}}))
			byName := cmpopts.SortSlices(func(a, b *unstructured.Unstructured) bool {
				return a.GetKind()+"/"+a.GetNamespace()+"/"+a.GetName() < b.GetKind()+"/"+b.GetNamespace()+"/"+b.GetName()
			})
			if diff := cmp.Diff(objects, again, byName); err != nil || diff != "" {
				t.Errorf("an empty map below global is another value to the chart: %v, %s", err, diff)
			}
			if _, err := charts.Render(ch, c.Name, c.Namespace, values.Values{"global": values.Values{ours: values.Values{"removed": true}}}); err != nil {
				t.Errorf("it can't be uninstalled: %v", err)
			}
			workloads := map[string]bool{}
			for _, o := range objects {
				if o.GetAnnotations()["helm.sh/hook"] != "" {
					t.Errorf("%s %s is a hook", o.GetKind(), o.GetName())
				}
				if o.GetKind() == "CustomResourceDefinition" && o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
					t.Errorf("%s goes with its chart", o.GetName())
				}
				if o.GetNamespace() == "" || o.GetNamespace() == c.Namespace {
					workloads[o.GetKind()+"/"+o.GetName()] = true
				}
			}
			for _, w := range c.Workloads {
				if !workloads[w.Kind+"/"+w.Name] {
					t.Errorf("it has no %s %s", w.Kind, w.Name)
				}
			}
			if c.Name == "events" {
				checkEventBus(t, ch)
			}
			for _, path := range c.ClaimValues {
				if keys := recorded.At(c.Chart.Version).Path(path); len(keys) == 0 || !slices.Equal(keys, splitPath(ch.Values, path)) {
					t.Errorf("claims may set %s, which the chart doesn't have", path)
				}
			}
			record, err := json.Marshal(release.Release{Name: c.Name, Chart: ch, Config: v, Manifest: manifestOf(t, objects)})
			if err != nil {
				t.Fatal(err)
			}
			list := corev1.SecretList{}
			for range 4 {
				list.Items = append(list.Items, corev1.Secret{Data: map[string][]byte{"release": memtest.Pack(record)}})
			}
			t.Logf("a record has %d KiB, packed %d", len(record)>>10, len(list.Items[0].Data["release"])>>10)
			answer, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			if err := helm.CheckRecords(half, answer); err != nil || int64(len(answer)) > half.LargeResponse {
				t.Errorf("%d bytes: %v", len(answer), err)
			}
		})
	}
}

// checkEventBus checks that the chart has the version of NATS in the EventBus that users copy.
func checkEventBus(t *testing.T, ch *chart.Chart) {
	t.Helper()
	raw, err := os.ReadFile("../../examples/components/eventbus.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var bus struct {
		Spec struct{ Jetstream struct{ Version string } }
	}
	if err := yaml.Unmarshal(raw, &bus); err != nil {
		t.Fatal(err)
	}
	listed, _ := values.Lookup(ch.Values, "configs", "jetstream", "versions")
	all, _ := listed.([]any)
	if !slices.ContainsFunc(all, func(v any) bool { return v.(map[string]any)["version"] == bus.Spec.Jetstream.Version }) {
		t.Errorf("the chart has no version %q of NATS", bus.Spec.Jetstream.Version)
	}
}

// splitPath returns the keys of a path in values, of which some have dots in them.
func splitPath(v map[string]any, path string) []string {
	keys := strings.Split(path, ".")
	for i := len(keys); i > 0; i-- {
		key := strings.Join(keys[:i], ".")
		below, ok := v[key]
		if !ok {
			continue
		}
		if i == len(keys) {
			return []string{key}
		}
		if next, isMap := below.(map[string]any); isMap {
			return append([]string{key}, splitPath(next, strings.Join(keys[i:], "."))...)
		}
	}
	return keys
}

// switchedOn returns values with all of a chart's switches on that need nothing more.
func switchedOn(ch *chart.Chart) values.Values {
	all := values.Values{}
	for _, at := range values.Leaves(ch.Values) {
		if last := at[len(at)-1]; last != "enabled" && last != "create" && last != "createSecret" {
			continue
		}
		more := runtime.DeepCopyJSON(all)
		values.Insert(more, true, at...)
		if _, err := charts.Render(ch, "a", "argo", more); err == nil {
			all = more
		}
	}
	return all
}
