package wire

import (
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/internal/visible"
)

// Report writes the status of a composite resource, a pointer to its Go type, into a response,
// and returns the desired composite resource. It keeps what other functions of the pipeline
// desire, except at paths that the status has, too.
func Report(rsp *fnv1.RunFunctionResponse, xr Struct, status any) (*fnv1.Resource, error) {
	of, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return nil, err
	}
	// Strangers have written parts of it.
	lines(of)
	// Crossplane needs to know what it applies a status to.
	object := map[string]any{"apiVersion": xr.String("apiVersion"), "kind": xr.String("kind"), "status": of}
	// Server-side apply makes null of an empty object in whose place there was one with fields, and then nothing of the status can be applied.
	Prune(object)
	s, err := structpb.NewStruct(object)
	if err != nil {
		return nil, err
	}
	// A copy: the response shares the request's desired state.
	composite := &fnv1.Resource{Resource: &structpb.Struct{}}
	proto.Merge(composite, rsp.GetDesired().GetComposite())
	merge(composite.GetResource(), s)
	rsp.Desired = &fnv1.State{Composite: composite, Resources: maps.Clone(rsp.GetDesired().GetResources())}
	return composite, nil
}

// lines has each text in a value on one line.
func lines(v any) any {
	switch v := v.(type) {
	case string:
		return visible.Line(v)
	case []any:
		for i := range v {
			v[i] = lines(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = lines(v[key])
		}
	}
	return v
}

// merge writes the fields of one object over those of another. Only objects are merged, because
// no schema says by what the entries of a list are.
func merge(into, from *structpb.Struct) {
	if into.Fields == nil {
		into.Fields = make(map[string]*structpb.Value, len(from.GetFields()))
	}
	for key, value := range from.GetFields() {
		was, is := into.Fields[key].GetStructValue(), value.GetStructValue()
		if was != nil && is != nil {
			merge(was, is)
			continue
		}
		into.Fields[key] = value
	}
}
