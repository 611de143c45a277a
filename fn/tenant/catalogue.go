package tenant

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

//go:embed catalogue.yaml
var builtInCatalogue []byte

var readCatalogue = sync.OnceValue(func() v1alpha1.Input {
	in := v1alpha1.Input{}
	if err := text.Own(builtInCatalogue, &in); err != nil {
		panic(fmt.Sprintf("cannot read the built-in catalogue: %v", err))
	}
	return in
})

// Catalogue returns the catalogue of components of an input, which is the built-in one where the input has none. An empty one is the platform's
// word that there are no components. Nobody may change what it returns.
func Catalogue(in v1alpha1.Input) []v1alpha1.Component {
	if in.Components != nil {
		return in.Components
	}
	return readCatalogue().Components
}
