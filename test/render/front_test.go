package render

import (
	"encoding/base64"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	frontXRD         = "examples/install/front-definition.yaml"
	frontComposition = "examples/install/front.yaml"
)

// newFront is the namespaced VirtualArgoCD with the fields of the smallest claim.
func newFront(t *testing.T) *tenant {
	t.Helper()
	const claim = "examples/claims/customer1.yaml"
	te := newTenant(t, claim, frontXRD, frontComposition, "")
	te.xr = read(t, filepath.Join(root, claim))[0]
	te.xr.SetAPIVersion("m.virtualargocd.io/v1alpha1")
	te.xr.SetUID("0b1c2f5e-7d0c-4c9b-b0b5-3c1f7a3a9d42")
	return te
}

// behind is the composite resource that the Object of a front writes, as a tenant of its own.
func (te *tenant) behind(claim string) *tenant {
	te.t.Helper()
	back := newTenant(te.t, claim, xrd, composition, "")
	m, ok, err := unstructured.NestedMap(te.get("tenant").Object, "spec", "forProvider", "manifest")
	check(te.t, err)
	if !ok {
		te.t.Fatal("the Object has no manifest")
	}
	back.xr = &object{Object: m}
	back.xr.SetUID("4ba6c8a4-8a5c-4b8e-9d53-d1f1d6d6c2c1")
	labels := back.xr.GetLabels()
	labels["crossplane.io/composite"] = back.xr.GetName()
	back.xr.SetLabels(labels)
	check(te.t, unstructured.SetNestedStringMap(back.xr.Object, map[string]string{"name": string(back.xr.GetUID()), "namespace": "crossplane-system"}, "spec", "writeConnectionSecretToRef"))
	return back
}

// connectionOf is the connection Secret that Crossplane writes for a composite resource.
func connectionOf(xr *object, data map[string]string) *object {
	encoded := map[string]any{}
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return &object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1", "data": encoded,
		"metadata": map[string]any{
			"name": string(xr.GetUID()), "namespace": "crossplane-system",
			"ownerReferences": []any{map[string]any{"apiVersion": xr.GetAPIVersion(), "kind": xr.GetKind(), "name": xr.GetName(), "uid": string(xr.GetUID()), "controller": true}},
		},
	}}
}

// TestNamespacedTenant renders a namespaced VirtualArgoCD with Crossplane's own engine: what it composes before it has a tenant, when that is
// Ready, and when it is degraded. The tenant behind it is rendered from what provider-kubernetes would write, and is that of a claim.
func TestNamespacedTenant(t *testing.T) {
	setUp(t)
	const claim = "examples/claims/customer1.yaml"
	te := newFront(t)
	var objects []*object
	at := func(reason, stage string) {
		t.Helper()
		te.reconcile()
		compareGolden(t, reason, filepath.Join("front", stage), te.rendered, nil)
		objects = append(objects, te.written()...)
	}
	at("Nothing exists but the VirtualArgoCD.", "1-new")

	back := te.behind(claim)
	before := te.required
	back.bringUp(func(stage string) {
		if stage != "5-ready" {
			return
		}
		te.condition("tenant", "True")
		te.required = append(slices.Clone(before), back.xr, connectionOf(back.xr, map[string]string{"kubeconfig": "a kubeconfig", "url": "https://argocd.example.org", "username": "admin", "password": "correct-horse-battery"}))
		at("The tenant is Ready.", "2-ready")
	})
	back.breakDown(func(string) {
		te.required = append(slices.Clone(before), back.xr)
		at("The tenant is degraded, and its connection Secret can't be read.", "3-degraded")
	})
	for i, wrong := range validate(t, objects) {
		if wrong != "" {
			t.Errorf("%s %s doesn't fit its schema: %s", objects[i].GetKind(), objects[i].GetName(), wrong)
		}
	}
}

// TestNamespacedTenantOfAClaim renders a namespaced VirtualArgoCD with the namespace and name of a claim that has a tenant: it observes that
// until the claim is gone, and then has the same composite resource.
func TestNamespacedTenantOfAClaim(t *testing.T) {
	setUp(t)
	const claim = "examples/claims/customer1.yaml"
	te := newFront(t)
	back := newTenant(t, claim, xrd, composition, "")
	te.required = append(te.required, back.xr)
	with := read(t, filepath.Join(root, claim))[0]
	te.required = append(te.required, with)
	te.reconcile()
	compareGolden(t, "The claim exists.", filepath.Join("front", "4-claim"), te.rendered, nil)
	te.required = te.required[:len(te.required)-1]
	te.reconcile()
	compareGolden(t, "The claim is gone.", filepath.Join("front", "5-taken-over"), te.rendered, nil)
}
