package platform

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestComponentsOfInput: a cluster offers components where it has their images, and otherwise none, not even those that the function offers without a
// catalogue.
func TestComponentsOfInput(t *testing.T) {
	for name, full := range map[string]bool{"Demo": false, "Full": true} {
		t.Run(name, func(t *testing.T) {
			i := &installer{Options: Options{Root: "../..", Full: full}, embedded: &embedded{}, out: t.TempDir()}
			file, err := i.writeInput()
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var input struct{ Components []any }
			if err := yaml.Unmarshal(raw, &input); err != nil {
				t.Fatal(err)
			}
			if input.Components == nil || (len(input.Components) > 0) != full {
				t.Errorf("it offers %v", input.Components)
			}
		})
	}
}
