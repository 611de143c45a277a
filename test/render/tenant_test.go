package render

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

type object = unstructured.Unstructured

const nameInComposition = "crossplane.io/composition-resource-name"

// A tenant is a claim's composite resource on its way, reconcile after reconcile.
type tenant struct {
	t testing.TB
	// dir holds the files that go to the engine.
	dir string
	// xrd and composition are files.
	xrd, composition string
	xr               *object
	// observed are the composed resources with what the providers made of them.
	observed []*object
	// secrets are the connection Secrets that the providers have written.
	secrets []*object
	// required are the objects that the function may ask for.
	required []*object
	// rendered is the last reconcile's outcome: the composite resource, the
	// composed resources, and events.
	rendered []*object
}

// newTenant is the tenant of a claim with the Secrets beside it, an XRD, a Composition and, unless empty,
// another input of the function: all names of files below the project's root.
func newTenant(t testing.TB, claim, xrd, composition, input string) *tenant {
	t.Helper()
	te := &tenant{t: t, dir: t.TempDir(), xrd: filepath.Join(root, xrd)}
	manifests := read(t, filepath.Join(root, claim))
	te.xr, te.required = composite(manifests[0]), manifests[1:]
	for _, file := range []string{"tenants.yaml", "confinement.yaml", "claims.yaml"} {
		te.required = append(te.required, read(t, filepath.Join(root, "examples/install", file))...)
	}
	te.required = append(te.required, observedResolver(t), observedGateway(t))

	c := read(t, filepath.Join(root, composition))[0]
	steps, _, err := unstructured.NestedSlice(c.Object, "spec", "pipeline")
	check(t, err)
	step := steps[0].(map[string]any)
	if input != "" {
		step["input"] = read(t, filepath.Join(root, input))[0].Object
	}
	check(t, unstructured.SetNestedSlice(c.Object, steps, "spec", "pipeline"))
	te.composition = te.file("composition.yaml", c)
	name, _, err := unstructured.NestedString(step, "functionRef", "name")
	check(t, err)
	te.file("functions.yaml", &object{Object: map[string]any{
		"apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{
			"render.crossplane.io/runtime":                    "Development",
			"render.crossplane.io/runtime-development-target": env.function,
		}},
	}})
	return te
}

// observedResolver is the Object of providerconfigs.yaml, with the Service that provider-kubernetes observes.
func observedResolver(t testing.TB) *object {
	t.Helper()
	objects := read(t, filepath.Join(root, "examples/install/providerconfigs.yaml"))
	i := slices.IndexFunc(objects, isResolver)
	if i < 0 {
		t.Fatal("providerconfigs.yaml observes no resolver")
	}
	o := objects[i]
	manifest, _, err := unstructured.NestedMap(o.Object, "spec", "forProvider", "manifest")
	check(t, err)
	check(t, unstructured.SetNestedField(manifest, "10.96.0.53", "spec", "clusterIP"))
	check(t, unstructured.SetNestedField(o.Object, manifest, "status", "atProvider", "manifest"))
	return o
}

// observedGateway is the Object of gateway.yaml, with the Gateway that provider-kubernetes observes.
func observedGateway(t testing.TB) *object {
	t.Helper()
	objects := read(t, filepath.Join(root, "examples/install/gateway.yaml"))
	o := objects[len(objects)-1]
	manifest, _, err := unstructured.NestedMap(o.Object, "spec", "forProvider", "manifest")
	check(t, err)
	check(t, unstructured.SetNestedSlice(manifest, []any{map[string]any{"type": "IPAddress", "value": "192.0.2.7"}}, "status", "addresses"))
	check(t, unstructured.SetNestedField(o.Object, manifest, "status", "atProvider", "manifest"))
	return o
}

// isResolver reports whether an object observes the resolver for tenants.
func isResolver(o *object) bool {
	return o.GetKind() == "Object" && o.GetName() == "virtual-argocd-dns"
}

// composite is the composite resource that Crossplane makes for a claim.
func composite(claim *object) *object {
	name := claim.GetName() + "-7rw8j"
	xr := claim.DeepCopy()
	xr.SetKind("X" + claim.GetKind())
	xr.SetNamespace("")
	xr.SetName(name)
	xr.SetUID("4ba6c8a4-8a5c-4b8e-9d53-d1f1d6d6c2c1")
	// What is made for a new tenant has this time.
	xr.SetCreationTimestamp(metav1.Date(2026, time.November, 28, 2, 0, 0, 0, time.UTC))
	xr.SetLabels(map[string]string{
		"crossplane.io/claim-name":      claim.GetName(),
		"crossplane.io/claim-namespace": claim.GetNamespace(),
		"crossplane.io/composite":       name,
	})
	spec, _ := xr.Object["spec"].(map[string]any)
	spec["claimRef"] = map[string]any{
		"apiVersion": claim.GetAPIVersion(), "kind": claim.GetKind(), "name": claim.GetName(), "namespace": claim.GetNamespace(),
	}
	spec["writeConnectionSecretToRef"] = map[string]any{"name": string(xr.GetUID()), "namespace": "crossplane-system"}
	return xr
}

// reconcile renders the tenant with the real engine, and applies the outcome.
func (te *tenant) reconcile() {
	te.t.Helper()
	args := []string{
		"composition", "render", te.file("xr.yaml", te.xr), te.composition, filepath.Join(te.dir, "functions.yaml"),
		"--crossplane-binary=" + env.crossplane, "--xrd=" + te.xrd, "--include-full-xr", "--include-function-results",
	}
	if len(te.observed) > 0 {
		args = append(args, "--observed-resources="+te.file("observed.yaml", te.observed...))
	}
	if len(te.secrets) > 0 {
		// The engine reads connection details where it reads credentials.
		args = append(args, "--function-credentials="+te.file("secrets.yaml", te.secrets...))
	}
	if len(te.required) > 0 {
		args = append(args, "--required-resources="+te.file("required.yaml", te.required...))
	}
	out, err := crossplane(te.t.Context(), args...)
	check(te.t, err)
	te.rendered = parse(te.t, out)
	sortEvents(te.rendered)

	te.xr = te.rendered[0].DeepCopy()
	was := te.observed
	te.observed = nil
	for _, o := range te.composed() {
		o = o.DeepCopy()
		name := o.GetAnnotations()[nameInComposition]
		o.SetUID(types.UID("uid-of-" + name))
		if i := slices.IndexFunc(was, named(name)); i >= 0 {
			if was[i].Object["status"] != nil {
				o.Object["status"] = was[i].Object["status"]
			}
			keepToken(o, was[i])
		}
		te.observed = append(te.observed, o)
	}
}

// keepToken keeps what Kubernetes writes into the Secret of an account: server-side
// apply leaves it alone.
func keepToken(o, was *object) {
	if text(o, "type") != "kubernetes.io/service-account-token" {
		return
	}
	before, _, _ := unstructured.NestedStringMap(was.Object, "data")
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	maps.Copy(before, data)
	if len(before) > 0 {
		_ = unstructured.SetNestedStringMap(o.Object, before, "data")
	}
}

// sortEvents brings the engine's events, which come in no order, into one.
func sortEvents(objects []*object) {
	slices.SortStableFunc(objects, func(a, b *object) int {
		if !isEvent(a) || !isEvent(b) {
			return 0
		}
		return cmp.Or(
			cmp.Compare(text(a, "reason"), text(b, "reason")),
			cmp.Compare(text(a, "message"), text(b, "message")))
	})
}

func isEvent(o *object) bool { return strings.HasPrefix(o.GetAPIVersion(), "render.crossplane.io/") }

// composed are the composed resources of the last reconcile.
func (te *tenant) composed() []*object {
	return slices.DeleteFunc(slices.Clone(te.rendered[1:]), isEvent)
}

// get is an observed composed resource, by its name in the composition.
func (te *tenant) get(name string) *object {
	te.t.Helper()
	i := slices.IndexFunc(te.observed, named(name))
	if i < 0 {
		te.t.Fatalf("composed resource %q doesn't exist", name)
	}
	return te.observed[i]
}

func named(name string) func(*object) bool {
	return func(o *object) bool { return o.GetAnnotations()[nameInComposition] == name }
}

// file writes objects into the tenant's folder.
func (te *tenant) file(name string, objects ...*object) string {
	te.t.Helper()
	path := filepath.Join(te.dir, name)
	check(te.t, os.WriteFile(path, manifests(te.t, objects), 0o600))
	return path
}

// manifests writes objects as YAML.
func manifests(t testing.TB, objects []*object) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, o := range objects {
		y, err := yaml.Marshal(o.Object)
		check(t, err)
		b.WriteString("---\n")
		b.Write(y)
	}
	return b.Bytes()
}

// read reads a file of manifests.
func read(t testing.TB, path string) []*object {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	return parse(t, data)
}

// parse reads manifests.
func parse(t testing.TB, data []byte) []*object {
	t.Helper()
	var out []*object
	for _, doc := range strings.Split("\n"+string(data), "\n---") {
		o := &object{}
		check(t, yaml.Unmarshal([]byte(doc), &o.Object))
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
	return out
}

func text(o *object, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
