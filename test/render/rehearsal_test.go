package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestRehearsal is about the day on which Crossplane has no claims and no cluster-scoped composite resources of its first version: with the
// definition of tenants as one of Crossplane 2 with scope Cluster, its engine composes the same for a tenant from nothing to Ready, and the
// namespaced kind before it has the same conditions. What differs is what Crossplane 2 doesn't have: it writes no connection Secret, so that the
// namespaced kind has none either, and its own fields are in spec.crossplane.
func TestRehearsal(t *testing.T) {
	setUp(t)
	const claim = "examples/claims/customer1.yaml"
	raw, err := os.ReadFile(filepath.Join(root, xrd))
	check(t, err)
	definition := &object{}
	check(t, yaml.Unmarshal(raw, &definition.Object))
	definition.SetAPIVersion("apiextensions.crossplane.io/v2")
	spec := definition.Object["spec"].(map[string]any)
	delete(spec, "claimNames")
	delete(spec, "defaultCompositeDeletePolicy")
	spec["scope"] = "Cluster"
	// The reference to whom the tenant belongs is Crossplane's own field of the first version. Here it is one of the schema.
	versions := spec["versions"].([]any)
	properties := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "claimRef"}
	check(t, unstructured.SetNestedMap(versions[0].(map[string]any), map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, properties...))

	stages := func(te *tenant) map[string][]*object {
		out := map[string][]*object{}
		te.bringUp(func(stage string) { out[stage] = te.composed() })
		return out
	}
	today := newTenant(t, claim, xrd, composition, "")
	want := stages(today)

	te := newTenant(t, claim, xrd, composition, "")
	te.xrd = te.file("definition.yaml", definition)
	unstructured.RemoveNestedField(te.xr.Object, "spec", "writeConnectionSecretToRef")
	// Crossplane 2 refuses a Composition that names a namespace for connection Secrets.
	c := read(t, te.composition)[0]
	unstructured.RemoveNestedField(c.Object, "spec", "writeConnectionSecretsToNamespace")
	te.composition = te.file("composition.yaml", c)
	got := stages(te)
	for stage, objects := range want {
		if diff := cmp.Diff(strings.Split(string(manifests(t, objects)), "\n"), strings.Split(string(manifests(t, got[stage])), "\n")); diff != "" {
			t.Errorf("%s: -today, +then:\n%s", stage, diff)
		}
	}
	if refs, ok, _ := unstructured.NestedSlice(te.xr.Object, "spec", "crossplane", "resourceRefs"); !ok || len(refs) != len(got["5-ready"]) {
		t.Errorf("want what is composed in spec.crossplane, got %d references", len(refs))
	}
	if phase := text(te.xr, "status", "phase"); phase != "Ready" {
		t.Errorf("want the tenant Ready, got %s", phase)
	}
	behind := func(back *tenant) *tenant {
		front := newFront(t)
		check(t, unstructured.SetNestedField(back.xr.Object, front.xr.GetAPIVersion(), "spec", "claimRef", "apiVersion"))
		front.required = append(front.required, back.xr)
		front.reconcile()
		return front
	}
	before, then := behind(today), behind(te)
	if diff := cmp.Diff(conditions(before.xr), conditions(then.xr)); diff != "" || conditions(then.xr)["ArgoCDReady"] != "True" {
		t.Errorf("conditions of the namespaced kind: -today, +then:\n%s", diff)
	}
	if _, ok, _ := unstructured.NestedSlice(te.xr.Object, "status", "claimConditionTypes"); ok {
		t.Error("Crossplane lists the conditions of a claim: this test isn't about Crossplane 2")
	}
	for _, o := range then.composed() {
		if o.GetKind() == "Secret" {
			t.Error("there is a connection Secret: say so in docs/crossplane2.md")
		}
	}
}

// conditions returns the status of each condition by type.
func conditions(o *object) map[string]string {
	out := map[string]string{}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		condition := c.(map[string]any)
		out[condition["type"].(string)] = condition["status"].(string)
	}
	return out
}
