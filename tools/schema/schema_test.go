package schema

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

const root = "../.."

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

	// The namespaced kind has the same fields, and those that Crossplane gives to claims.
	front := xrd{}
	read(t, FrontXRDFile, &front)
	schema = front.Spec.Versions[0].Schema.Schema
	for name := range crossplanesFields() {
		if _, ok := schema.Properties["spec"].Properties[name]; ok == (name == "resourceRef" || name == "compositeDeletePolicy") {
			t.Errorf("the namespaced kind has the field %s of claims: %t", name, ok)
		}
		delete(schema.Properties["spec"].Properties, name)
	}
	match(t, "spec", schema.Properties["spec"], reflect.TypeFor[v1alpha1.Spec]())
	match(t, "status", schema.Properties["status"], reflect.TypeFor[v1alpha1.Status]())

	channel := xrd{}
	read(t, ChannelXRDFile, &channel)
	schema = channel.Spec.Versions[0].Schema.Schema
	match(t, "spec", schema.Properties["spec"], reflect.TypeFor[v1alpha1.ChannelSpec]())
	match(t, "status", schema.Properties["status"], reflect.TypeFor[v1alpha1.ChannelStatus]())

	plan := xrd{}
	read(t, PlanXRDFile, &plan)
	schema = plan.Spec.Versions[0].Schema.Schema
	match(t, "spec", schema.Properties["spec"], reflect.TypeFor[v1alpha1.PlanSpec]())
	match(t, "status", schema.Properties["status"], reflect.TypeFor[v1alpha1.PlanStatus]())

	pool := xrd{}
	read(t, PoolXRDFile, &pool)
	schema = pool.Spec.Versions[0].Schema.Schema
	match(t, "spec", schema.Properties["spec"], reflect.TypeFor[v1alpha1.PoolSpec]())
	match(t, "status", schema.Properties["status"], reflect.TypeFor[v1alpha1.PoolStatus]())

	c := extv1.CustomResourceDefinition{}
	read(t, InputCRDFile, &c)
	match(t, "input", *c.Spec.Versions[0].Schema.OpenAPIV3Schema, reflect.TypeFor[inputv1alpha1.Input]())
}

// TestUnchanged: a field of which no change is listed is found, however deep it is.
func TestUnchanged(t *testing.T) {
	below := func(names ...string) extv1.JSONSchemaProps {
		p := extv1.JSONSchemaProps{Properties: map[string]extv1.JSONSchemaProps{}}
		for _, name := range names {
			p.Properties[name] = extv1.JSONSchemaProps{}
		}
		return p
	}
	fields := map[string]extv1.JSONSchemaProps{"quota": below("a"), "vcluster": below("backingStore", "replicas")}
	for name, tc := range map[string]struct {
		reason  string
		changes []string
		want    string
	}{
		"Whole":  {"A change of a field stands for all below it.", []string{"quota", "vcluster"}, ""},
		"Parts":  {"So do changes of all below it.", []string{"quota", "vcluster.backingStore", "vcluster.replicas"}, ""},
		"Absent": {"No change of it or below it.", []string{"vcluster"}, "quota"},
		"Below":  {"Changes of a part alone.", []string{"quota", "vcluster.replicas"}, "vcluster.backingStore"},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []change
			for _, field := range tc.changes {
				changes = append(changes, change{field: field})
			}
			if got := unchanged(fields, changes, ""); got != tc.want {
				t.Errorf("\n%s\nunchanged(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
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
	if path != "input" && s.Description == "" && !strings.HasSuffix(path, "[]") {
		t.Errorf("%s has no description for kubectl explain", path)
	}
	switch {
	case typ.Kind() == reflect.Slice && s.Items != nil:
		item := *s.Items.Schema
		if typ.Elem().Kind() == reflect.Struct {
			match(t, path+"[]", item, typ.Elem())
		}
		return
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
	// A part of the spec may need something; the spec needs no part.
	if len(s.Required) > 0 && (path == "spec" || strings.HasPrefix(path, "status")) {
		t.Errorf("%s: every field is optional, but %v are required", path, s.Required)
	}
	for name, field := range goFields(typ) {
		match(t, path+"."+name, s.Properties[name], field)
	}
}

func goFields(typ reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options == "inline" && f.Type != reflect.TypeFor[metav1.TypeMeta]() {
			maps.Copy(out, goFields(f.Type))
		}
		if name == "" || f.Type == reflect.TypeFor[metav1.TypeMeta]() || f.Type == reflect.TypeFor[metav1.ObjectMeta]() {
			continue
		}
		out[name] = f.Type
	}
	return out
}

// TestAPIServersAcceptTheSchema holds the schema against what an API server
// demands of one: that it is structural, and that no rule in it can take too long.
func TestAPIServersAcceptTheSchema(t *testing.T) {
	for _, file := range []string{ChannelXRDFile, PlanXRDFile, PoolXRDFile, XRDFile, FrontXRDFile} {
		x := xrd{}
		read(t, file, &x)
		if errs := validate(t, x); len(errs) > 0 {
			t.Errorf("%s: %v", file, errs.ToAggregate())
		}
	}
	x := xrd{}
	read(t, XRDFile, &x)
	// A list without a bound makes every rule in it too costly.
	clusters := x.Spec.Versions[0].Schema.Schema.Properties["spec"].Properties["clusters"]
	clusters.MaxItems = nil
	x.Spec.Versions[0].Schema.Schema.Properties["spec"].Properties["clusters"] = clusters
	if errs := validate(t, x); !strings.Contains(fmt.Sprint(errs.ToAggregate()), "exceeds budget") {
		t.Errorf("costs are not looked at: %v", errs.ToAggregate())
	}
}

// validate checks the CRD of the claim, or of the composite resource where there is no
// claim, as Crossplane derives it from the XRD.
func validate(t *testing.T, x xrd) field.ErrorList {
	t.Helper()
	v := x.Spec.Versions[0]
	schema := v.Schema.Schema
	names, scope := x.Spec.Names, extv1.ClusterScoped
	if x.Spec.ClaimNames != nil {
		names, scope = *x.Spec.ClaimNames, extv1.NamespaceScoped
	}
	crd := &extv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: names.Plural + "." + x.Spec.Group},
		Spec: extv1.CustomResourceDefinitionSpec{
			Group: x.Spec.Group, Names: names, Scope: scope,
			Versions: []extv1.CustomResourceDefinitionVersion{{
				Name: v.Name, Served: true, Storage: true,
				Schema:       &extv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
				Subresources: &extv1.CustomResourceSubresources{Status: &extv1.CustomResourceSubresourceStatus{}},
			}},
		},
		Status: extv1.CustomResourceDefinitionStatus{StoredVersions: []string{v.Name}},
	}
	extv1.SetDefaults_CustomResourceDefinition(crd)
	extv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := extv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		t.Fatal(err)
	}
	return validation.ValidateCustomResourceDefinition(t.Context(), internal)
}
