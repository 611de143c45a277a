package schema

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

const root = "../../.."

func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is stale: run go generate ./apis/...", path)
		}
	}
}

// TestSchemaMatchesGoTypes walks the generated files and the Go types together:
// it fails when either has a field more, or a field without a description.
func TestSchemaMatchesGoTypes(t *testing.T) {
	x := xrd{}
	read(t, XRDFile, &x)
	schema := x.Spec.Versions[0].Schema.Schema
	match(t, "spec", schema.Properties["spec"], reflect.TypeFor[v1alpha1.Spec]())
	match(t, "status", schema.Properties["status"], reflect.TypeFor[v1alpha1.Status]())

	c := extv1.CustomResourceDefinition{}
	read(t, InputCRDFile, &c)
	match(t, "input", *c.Spec.Versions[0].Schema.OpenAPIV3Schema, reflect.TypeFor[inputv1alpha1.Input]())
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		t.Fatal(err)
	}
}

func match(t *testing.T, path string, s extv1.JSONSchemaProps, typ reflect.Type) {
	t.Helper()
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if path != "input" && s.Description == "" {
		t.Errorf("%s has no description for kubectl explain", path)
	}
	switch {
	case typ == reflect.TypeFor[runtime.RawExtension]():
		if s.XPreserveUnknownFields == nil || !*s.XPreserveUnknownFields || s.Type != "object" {
			t.Errorf("%s must be a free-form object", path)
		}
		return
	case typ.Kind() != reflect.Struct:
		if len(s.Properties) > 0 {
			t.Errorf("%s is a %s in Go and an object in the schema", path, typ)
		}
		return
	}
	fields := []string{}
	for f := range goFields(typ) {
		fields = append(fields, f)
	}
	inSchema := []string{}
	for name := range s.Properties {
		if path != "input" || !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			inSchema = append(inSchema, name)
		}
	}
	slices.Sort(fields)
	slices.Sort(inSchema)
	if !slices.Equal(fields, inSchema) {
		t.Errorf("%s: Go has the fields %v, the schema %v", path, fields, inSchema)
	}
	if len(s.Required) > 0 && path != "input" {
		t.Errorf("%s: every field is optional, but %v are required", path, s.Required)
	}
	for name, field := range goFields(typ) {
		match(t, path+"."+name, s.Properties[name], field)
	}
}

func goFields(typ reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || f.Type == reflect.TypeFor[metav1.TypeMeta]() || f.Type == reflect.TypeFor[metav1.ObjectMeta]() {
			continue
		}
		out[name] = f.Type
	}
	return out
}

// TestGroups: the demo's group offers the same kind.
func TestGroups(t *testing.T) {
	ours, demo := xrd{}, xrd{}
	read(t, XRDFile, &ours)
	read(t, "examples/demo-group/definition.yaml", &demo)
	if demo.Spec.Group != "demo.example.org" || demo.Metadata.Name != "xvirtualargocds.demo.example.org" {
		t.Errorf("group %s, name %s", demo.Spec.Group, demo.Metadata.Name)
	}
	if !reflect.DeepEqual(ours.Spec.Versions, demo.Spec.Versions) {
		t.Error("examples/demo-group/definition.yaml differs from the API: copy the versions of " + XRDFile)
	}
}
