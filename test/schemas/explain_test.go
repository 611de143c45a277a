package schemas

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	explain "k8s.io/kubectl/pkg/explain/v2"
	"sigs.k8s.io/yaml"
)

// TestExplain prints every level of the API with the code of `kubectl explain`. No line ends long before the others do in the middle of a
// sentence, as the lines of Go comments do.
func TestExplain(t *testing.T) {
	t.Parallel()
	for file, plural := range map[string]string{"xvirtualargocds.yaml": "virtualargocds", "xargocdchannels.yaml": "xargocdchannels", "xargocdplans.yaml": "xargocdplans", "xargocdpools.yaml": "xargocdpools", "../examples/install/front-definition.yaml": "virtualargocds"} {
		x := &unstructured.Unstructured{}
		raw, err := os.ReadFile(filepath.Join(root, "apis", file))
		if err == nil {
			err = yaml.Unmarshal(raw, &x.Object)
		}
		if err != nil {
			t.Fatal(err)
		}
		versions, _, _ := unstructured.NestedSlice(x.Object, "spec", "versions")
		top, _, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
		paths := objects(top, nil)
		if len(paths) < 3 {
			t.Fatalf("%s has %d objects", file, len(paths))
		}
		for _, path := range paths {
			out := &bytes.Buffer{}
			gvr := schema.GroupVersionResource{Group: "virtualargocd.io", Version: "v1alpha1", Resource: plural}
			if err := explain.PrintModelDescription(path, out, client{plural, top}, gvr, false, "plaintext"); err != nil {
				t.Fatalf("%s: %v", strings.Join(path, "."), err)
			}
			for _, line := range ragged(out.String()) {
				t.Errorf("kubectl explain %s.%s breaks a sentence:\n%s", plural, strings.Join(path, "."), line)
			}
		}
	}
}

func TestRagged(t *testing.T) {
	t.Parallel()
	const wide = "    This line is as wide as a line of a description is, when it was wrapped at"
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"Wrapped":   {wide + "\n    its end.", 0},
		"Comment":   {"    of the\n    platform's default version.", 1},
		"Paragraph": {"    A whole sentence.\n\n    another one.", 0},
		"Items":     {"    One of:\n    - a\n    - b", 0},
		"LongWord":  {"    See\n    https://example.org/a/page/with/an/address/that/does/not/fit/onto/the/same/line/as/it/is", 0},
	} {
		if got := ragged(tc.text); len(got) != tc.want {
			t.Errorf("%s: want %d, got %q", name, tc.want, got)
		}
	}
}

// ragged returns the lines that end before the first word of the next one would no longer fit, with that line.
func ragged(text string) []string {
	const width = 72
	var out []string
	lines := strings.Split(text, "\n")
	for i := range len(lines) - 1 {
		this, next := strings.TrimSpace(lines[i]), strings.TrimSpace(lines[i+1])
		if this == "" || next == "" || strings.HasPrefix(lines[i+1], "FIELDS") || !strings.HasPrefix(lines[i], "  ") || strings.Contains(this, "\t") {
			continue
		}
		first, _, _ := strings.Cut(next, " ")
		if unicode.IsLower(rune(next[0])) && len(lines[i])+1+len(first) < width {
			out = append(out, lines[i]+"\n"+lines[i+1])
		}
	}
	return out
}

// objects returns the paths of everything below a schema that has fields.
func objects(s map[string]any, at []string) [][]string {
	items, _ := s["items"].(map[string]any)
	if items != nil {
		return objects(items, at)
	}
	fields, _ := s["properties"].(map[string]any)
	if len(fields) == 0 {
		return nil
	}
	out := [][]string{at}
	for name, field := range fields {
		out = append(out, objects(field.(map[string]any), append(slices.Clone(at), name))...)
	}
	return out
}

// client answers as an API server that has one kind.
type client struct {
	plural string
	schema map[string]any
}

func (c client) Paths() (map[string]openapi.GroupVersion, error) {
	return map[string]openapi.GroupVersion{"apis/virtualargocd.io/v1alpha1": c}, nil
}

func (client) ServerRelativeURL() string { return "" }

func (c client) Schema(string) ([]byte, error) {
	kind := map[string]any{"group": "virtualargocd.io", "version": "v1alpha1", "kind": "Kind"}
	is := map[string]any{"x-kubernetes-group-version-kind": []any{kind}}
	for key, value := range c.schema {
		is[key] = value
	}
	return json.Marshal(map[string]any{
		"paths": map[string]any{"/apis/virtualargocd.io/v1alpha1/" + c.plural: map[string]any{
			"get": map[string]any{"x-kubernetes-group-version-kind": kind},
		}},
		"components": map[string]any{"schemas": map[string]any{"kind": is}},
	})
}
