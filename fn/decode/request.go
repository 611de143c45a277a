package decode

import (
	"errors"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// Observed is what exists.
type Observed struct {
	// XR is the composite resource.
	XR Struct
	// XRConnection are the connection details it has published.
	XRConnection map[string][]byte
	// Composed are the composed resources, by their name in the composition.
	Composed map[string]Composed
}

// Composed is an observed composed resource.
type Composed struct {
	Struct
	// Connection are its connection details: never to leave but as such.
	Connection map[string][]byte
}

// Exists tells whether the resource is observed.
func (c Composed) Exists() bool { return c.s != nil }

// Observe reads what exists. It can't fail: whatever is malformed reads as
// absent.
func Observe(req *fnv1.RunFunctionRequest) Observed {
	xr := req.GetObserved().GetComposite()
	o := Observed{
		XR:           Struct{xr.GetResource()},
		XRConnection: xr.GetConnectionDetails(),
		Composed:     make(map[string]Composed, len(req.GetObserved().GetResources())),
	}
	for name, r := range req.GetObserved().GetResources() {
		o.Composed[name] = Composed{Struct: Struct{r.GetResource()}, Connection: r.GetConnectionDetails()}
	}
	return o
}

// Request reads what a plan is made from.
func Request(req *fnv1.RunFunctionRequest, o Observed) (plan.Request, error) {
	name := o.XR.String("metadata", "name")
	if name == "" {
		return plan.Request{}, errors.New("metadata.name: the composite resource has no name: it is called by Crossplane alone, which gives one")
	}
	in, err := input(req.GetInput())
	if err != nil {
		return plan.Request{}, err
	}
	s, err := spec(o.XR)
	if err != nil {
		return plan.Request{}, err
	}
	return plan.Request{XRName: name, Spec: s, Input: in}, nil
}
