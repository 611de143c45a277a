package platform

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestUnmet(t *testing.T) {
	object := func(conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	healthy := map[string]any{"type": "Healthy", "status": "True"}
	cases := map[string]struct {
		reason string
		object *unstructured.Unstructured
		want   string
	}{
		"AllTrue":   {"Nothing is left to wait for.", object(healthy, map[string]any{"type": "Installed", "status": "True"}), ""},
		"Missing":   {"A new object has no conditions.", object(healthy), "no condition Installed yet"},
		"NoStatus":  {"A new object has no status.", &unstructured.Unstructured{Object: map[string]any{}}, "no condition Installed yet; no condition Healthy yet"},
		"OneFalse":  {"The message says what to do.", object(healthy, map[string]any{"type": "Installed", "status": "False", "reason": "Bad", "message": "cannot\npull"}), "Installed=False Bad cannot pull"},
		"NoMessage": {"Reason and message are optional.", object(healthy, map[string]any{"type": "Installed", "status": "Unknown"}), "Installed=Unknown"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, unmet(tc.object, []string{"Installed", "Healthy"})); diff != "" {
				t.Errorf("\n%s\nunmet(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Crossplane looks a package's runtime configuration up by its rewritten name.
func TestAlsoRewritten(t *testing.T) {
	objects, err := readManifests("../../../../examples/install/runtime.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := alsoRewritten(objects, []rewrite{{"r", publicRegistry, "10.1.2.3:5000/xpkg.crossplane.io"}}); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, o := range objects {
		matches, _, _ := unstructured.NestedSlice(o.Object, "spec", "matchImages")
		for _, m := range matches {
			got[o.GetName()] = append(got[o.GetName()], m.(map[string]any)["prefix"].(string))
		}
	}
	want := map[string][]string{}
	for _, p := range []string{"provider-helm", "provider-kubernetes"} {
		want["virtual-argocd-"+p] = []string{"xpkg.crossplane.io/crossplane-contrib/" + p, "10.1.2.3:5000/xpkg.crossplane.io/crossplane-contrib/" + p}
	}
	want["virtual-argocd-function"] = []string{
		"xpkg.crossplane.io/virtual-argocd/function-virtual-argocd", "10.1.2.3:5000/xpkg.crossplane.io/virtual-argocd/function-virtual-argocd",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alsoRewritten(...): -want, +got:\n%s", diff)
	}
}
