package v1alpha1

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestApplicationFields compares the fields of spec.bootstrap with those of Argo CD's Applications. With APPLICATION_CRD=<file>, such as
// manifests/crds/application-crd.yaml of a newer Argo CD, it writes that file's fields down first.
func TestApplicationFields(t *testing.T) {
	const recorded = "testdata/application.txt"
	if path := os.Getenv("APPLICATION_CRD"); path != "" {
		crd := extv1.CustomResourceDefinition{}
		read(t, path, &crd)
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		if err := os.WriteFile(recorded, []byte(strings.Join(applicationFields(spec), "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	xrd := struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema extv1.JSONSchemaProps `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}{}
	read(t, filepath.Join("..", "xvirtualargocds.yaml"), &xrd)
	got := applicationFields(xrd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["bootstrap"])
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), got); diff != "" {
		t.Errorf("fields of an Application in Argo CD, and of spec.bootstrap: -want, +got:\n%s", diff)
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// applicationFields are the fields below source, sources and syncPolicy, with their types.
func applicationFields(spec extv1.JSONSchemaProps) []string {
	var out []string
	var walk func(path string, s extv1.JSONSchemaProps)
	walk = func(path string, s extv1.JSONSchemaProps) {
		typ := s.Type
		if s.XIntOrString {
			typ = "int-or-string"
		}
		out = append(out, fmt.Sprintf("%s %s", path, typ))
		for name, p := range s.Properties {
			walk(path+"."+name, p)
		}
		if s.Items != nil {
			walk(path+"[]", *s.Items.Schema)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			walk(path+"{}", *s.AdditionalProperties.Schema)
		}
	}
	for _, name := range []string{"source", "sources", "syncPolicy"} {
		walk(name, spec.Properties[name])
	}
	slices.Sort(out)
	return out
}
