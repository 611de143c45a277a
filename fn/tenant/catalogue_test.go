package tenant

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// TestBuiltInCatalogue: an input without a catalogue has the one that users copy, and one with an empty catalogue has none.
func TestBuiltInCatalogue(t *testing.T) {
	raw, err := os.ReadFile("../../examples/install/components.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var copied v1alpha1.Input
	if err := yaml.UnmarshalStrict(raw, &copied); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(copied.Components, WithDefaults(v1alpha1.Input{}).Components); diff != "" || len(copied.Components) == 0 {
		t.Errorf("-examples/install/components.yaml +catalogue.yaml:\n%s", diff)
	}
	if got := WithDefaults(v1alpha1.Input{Components: []v1alpha1.Component{}}).Components; len(got) > 0 {
		t.Errorf("an empty catalogue has %d components", len(got))
	}
	kept, err := Accepted{Input: v1alpha1.Input{Components: []v1alpha1.Component{}}}.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var accepted Accepted
	if err := yaml.UnmarshalStrict(kept, &accepted); err != nil || len(Catalogue(accepted.Input)) > 0 {
		t.Errorf("what was accepted without components has %d: %v", len(Catalogue(accepted.Input)), err)
	}
}

// TestBuiltInCatalogueIsOffered: a channel offers versions of the built-in catalogue, too.
func TestBuiltInCatalogueIsOffered(t *testing.T) {
	offered := Offered{Defaults: DefaultsOf(v1alpha1.Input{})}
	offered.Defaults.Components["rollouts"] = "2.40.0"
	for _, c := range offered.Over(v1alpha1.Input{}).Components {
		if c.Name == "rollouts" && c.Chart.Version == "2.40.0" {
			return
		}
	}
	t.Error("a version that is offered of a built-in entry isn't in use")
}
