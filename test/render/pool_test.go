package render

import (
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	poolXRD         = "apis/xargocdpools.yaml"
	poolComposition = "compositions/virtual-argocd-pool.yaml"
)

// manifestOf is the composite resource in an Object, with a status. It exists from then on.
func manifestOf(t *testing.T, o *object, status map[string]any) *object {
	t.Helper()
	m, ok, err := unstructured.NestedMap(o.Object, "spec", "forProvider", "manifest")
	check(t, err)
	if !ok {
		t.Fatal("the Object has no manifest")
	}
	xr := &object{Object: m}
	xr.SetUID("4ba6c8a4-8a5c-4b8e-9d53-d1f1d6d6c2c1")
	m["status"] = status
	return xr
}

// TestRenderedPool renders a pool and a namespaced VirtualArgoCD that takes its spare, with Crossplane's own engine: provider-kubernetes writes
// what is in their Objects with one field manager, and what is in the first and not in the second goes.
func TestRenderedPool(t *testing.T) {
	setUp(t)
	pool := newTenant(t, "examples/pools/small.yaml", poolXRD, poolComposition, "")
	pool.xr = read(t, filepath.Join(root, "examples/pools/small.yaml"))[0]
	pool.xr.SetUID("2c5f64f2-4a8e-4d0e-a5b8-6f3f3f1c0b77")
	check(t, unstructured.SetNestedField(pool.xr.Object, int64(1), "spec", "size"))
	plan := read(t, filepath.Join(root, "examples/plans/small.yaml"))
	pool.required = append(pool.required, plan...)
	var objects []*object
	at := func(te *tenant, folder, reason string) {
		t.Helper()
		te.reconcile()
		compareGolden(t, reason, folder, te.rendered, nil)
		objects = append(objects, te.written()...)
	}
	at(pool, "pool/1-new", "Nothing exists but the pool.")
	at(pool, "pool/2-made", "The Object has a UID, which the spare names as its owner.")
	spare := manifestOf(t, pool.get("spare-1"), map[string]any{
		"phase": "Hibernated", "readyAt": "2026-01-02T03:04:05Z",
		"conditions": []any{map[string]any{"type": "SpecAccepted", "status": "True", "reason": "Accepted", "lastTransitionTime": "2026-01-02T03:04:05Z"}},
	})
	before := slices.Clone(pool.required)
	pool.required = append(pool.required, spare)
	at(pool, "pool/3-full", "The spare is asleep.")

	front := newFront(t)
	front.xr.SetCreationTimestamp(metav1.Date(2026, 1, 2, 3, 4, 5, 0, metav1.Now().Location()))
	check(t, unstructured.SetNestedField(front.xr.Object, "small", "spec", "plan"))
	required := append(slices.Clone(front.required), plan...)
	front.required = append(slices.Clone(required), spare)
	at(front, "pool/4-chosen", "A front chooses the spare.")
	name := "spare-" + spare.GetName()
	taken := manifestOf(t, front.get(name), spare.Object["status"].(map[string]any))
	front.required = append(slices.Clone(required), taken)
	at(front, "pool/5-taken", "The spare is the front's, and would still go with the pool.")
	pool.required = append(slices.Clone(before), taken, front.xr)
	at(pool, "pool/6-handed-over", "The pool's Object only observes, and another spare is made.")
	has := manifestOf(t, front.get(name), spare.Object["status"].(map[string]any))
	pool.required = append(slices.Clone(before), has, front.xr)
	at(pool, "pool/7-let-go", "The spare has no owner any more: the pool lets its Object go.")
	for i, wrong := range validate(t, objects) {
		if wrong != "" {
			t.Errorf("%s %s doesn't fit its schema: %s", objects[i].GetKind(), objects[i].GetName(), wrong)
		}
	}
}
