package resource

import (
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// An Object to compose: a typed object, and free-form content that goes into it
// at a path. The content skips the detour over JSON bytes that a RawExtension in
// a typed object takes, which is most of the cost of encoding.
type Object struct {
	Typed any
	Raw   map[string]any
	RawAt []string
}

// Where the providers' types have free-form content.
var (
	ValuesPath   = []string{"spec", "forProvider", "values"}
	ManifestPath = []string{"spec", "forProvider", "manifest"}
)

// Encode turns the object into the intent that Crossplane applies: no status,
// no nulls, no empty objects that Go's types leave behind.
func (o Object) Encode() (*structpb.Struct, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Typed)
	if err != nil {
		return nil, err
	}
	delete(m, "status")
	dropEmpty(m)
	if o.Raw != nil {
		values.Insert(m, o.Raw, o.RawAt...)
	}
	return structpb.NewStruct(m)
}

// dropEmpty removes nulls, empty text and what is empty without them.
func dropEmpty(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case string:
			if v == "" {
				delete(m, k)
			}
		case map[string]any:
			if dropEmpty(v); len(v) == 0 {
				delete(m, k)
			}
		}
	}
}
