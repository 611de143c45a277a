package charts

import (
	"testing"
	"testing/fstest"
)

// TestComponent: a test chart has the controller of its component, of the version of the program, and the CustomResourceDefinitions of its module,
// which outlive it.
func TestComponent(t *testing.T) {
	for name, in := range definitions {
		t.Run(name, func(t *testing.T) {
			ch, err := Component(name, "v1.2.3", fstest.MapFS{
				in + "/kustomization.yaml": {Data: []byte("kind: Kustomization\n")},
				in + "/README.md":          {Data: []byte("# No manifest\n")},
				in + "/things.yaml": {Data: []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.argoproj.io}\n" +
					"spec: {description: \"has {{ a template }}\"}\n")},
			})
			if err != nil {
				t.Fatal(err)
			}
			objects, err := Render(ch, "a", "b", map[string]any{"controller": map[string]any{"resources": map[string]any{"limits": map[string]any{"memory": "1Gi"}}}})
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[string]int{}
			for _, o := range objects {
				kinds[o.GetKind()]++
				if o.GetKind() == "CustomResourceDefinition" && o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
					t.Errorf("%s goes with the chart", o.GetName())
				}
			}
			if kinds["Deployment"] != 1 || kinds["CustomResourceDefinition"] != 1 || kinds["Kustomization"] != 0 {
				t.Errorf("it has %v", kinds)
			}
		})
	}
}
