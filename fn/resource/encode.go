package resource

import (
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
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
	s, err := wire.EncodeMap(m)
	if err != nil || o.Raw == nil {
		return s, err
	}
	raw, err := wire.EncodeMap(o.Raw)
	if err != nil {
		return nil, err
	}
	at := s
	last := len(o.RawAt) - 1
	for _, key := range o.RawAt[:last] {
		next := at.GetFields()[key].GetStructValue()
		if next == nil {
			next = &structpb.Struct{Fields: map[string]*structpb.Value{}}
			at.Fields[key] = structpb.NewStructValue(next)
		}
		at = next
	}
	at.Fields[o.RawAt[last]] = structpb.NewStructValue(raw)
	return s, nil
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
