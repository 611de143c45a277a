package golden

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// object is one with texts of all kinds that are shown decoded, and some that look like these.
const object = `
apiVersion: v1
kind: Secret
metadata:
  name: a
  annotations:
    crossplane.io/composition-resource-name: values-secret
    number: "1"
    bool: "true"
    date: "2026-01-02"
    indented: "{\n  \"a\": 1\n}"
    spaces: '{"a": 1}'
    sorted: '{"b":1,"a":[{"c":"<>"}],"d":1.50,"e":null}'
    escaped: '{"b":1,"a":[{"c":"\u003c\u003e"}],"d":1.50,"e":null}'
    empty: '{}'
    lines: "a\n b \n"
    yaml: "a: 1\nb:\n- c: '{\"d\":1}'\n"
    otherYAML: "b: 1 # why\na: 2\n"
    encoded: eyJzZXJ2ZXIiOiJhIn0
    padded: dGhlIGhvc3QncyBDQQ==
    line: "{\"a\":1}\n"
spec:
  integer: 3
  number: 0.5
data:
  json: eyJiIjoxLCJhIjoiMiJ9
  text: YToge30K
`

// TestParse: the object that was formatted is read again, whatever is shown decoded.
func TestParse(t *testing.T) {
	for name, edit := range map[string]func(o *unstructured.Unstructured){
		"Text":      func(*unstructured.Unstructured) {},
		"Binary":    func(o *unstructured.Unstructured) { set(t, o, "gIGC", "data", "json") },
		"NoData":    func(o *unstructured.Unstructured) { delete(o.Object, "data") },
		"ConfigMap": func(o *unstructured.Unstructured) { o.SetKind("ConfigMap") },
	} {
		t.Run(name, func(t *testing.T) {
			o := decoded(t, object)
			edit(o)
			files, err := Format([]*unstructured.Unstructured{o})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Parse(files["values-secret.yaml"])
			if err != nil {
				t.Fatalf("%v\n%s", err, files["values-secret.yaml"])
			}
			if diff := cmp.Diff(o.Object, got.Object); diff != "" {
				t.Errorf("-formatted, +read:\n%s\n%s", diff, files["values-secret.yaml"])
			}
		})
	}
}

// TestFormat: people see what is in encoded texts.
func TestFormat(t *testing.T) {
	files, err := Format([]*unstructured.Unstructured{decoded(t, object)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"data: !base64\n  json: !json\n    b: 1\n    a: \"2\"\n",
		"  text: !yaml\n    a: {}\n",
		"    sorted: !json\n      b: 1\n      a:\n        - c: <>\n      d: 1.50\n      e: null\n",
		"    escaped: !htmljson\n      b: 1\n      a:\n        - c: <>\n      d: 1.50\n      e: null\n",
		"    yaml: !yaml\n      a: 1\n      b:\n        - c: !json\n            d: 1\n",
		"    encoded: !base64url-json\n      server: a\n",
		"    padded: !base64 the host's CA\n",
		"    line: !jsonline\n      a: 1\n",
		"    number: \"1\"\n",
		"    spaces: '{\"a\": 1}'\n",
	} {
		if !strings.Contains(string(files["values-secret.yaml"]), want) {
			t.Errorf("want in it:\n%s\ngot:\n%s", want, files["values-secret.yaml"])
		}
	}
}

// TestOneFileEach: two objects never share a file, but events.
func TestOneFileEach(t *testing.T) {
	o := decoded(t, object)
	if _, err := Format([]*unstructured.Unstructured{o, o}); err == nil {
		t.Error("want an error for two objects of the same name")
	}
	event := decoded(t, "apiVersion: render.crossplane.io/v1beta1\nkind: Result\n")
	files, err := Format([]*unstructured.Unstructured{event, event})
	if want := "apiVersion: render.crossplane.io/v1beta1\nkind: Result\n"; err != nil || string(files["events.yaml"]) != want+"---\n"+want {
		t.Errorf("got %v, %q", err, files)
	}
}

func decoded(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func set(t *testing.T, o *unstructured.Unstructured, to string, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, to, path...); err != nil {
		t.Fatal(err)
	}
}
