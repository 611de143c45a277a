package compose

import (
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"
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
	valuesPath   = []string{"spec", "forProvider", "values"}
	manifestPath = []string{"spec", "forProvider", "manifest"}
)

// encode turns the object into the intent that Crossplane applies: no status,
// no nulls, no empty objects that Go's types leave behind.
func (o Object) encode() (*structpb.Struct, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Typed)
	if err != nil {
		return nil, err
	}
	delete(m, "status")
	dropEmpty(m)
	s, err := EncodeMap(m)
	if err != nil || o.Raw == nil {
		return s, err
	}
	raw, err := EncodeMap(o.Raw)
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

// EncodeMap turns a map of JSON types into a protobuf struct.
func EncodeMap(m map[string]any) (*structpb.Struct, error) {
	s := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(m))}
	for k, v := range m {
		if !utf8.ValidString(k) {
			return nil, fmt.Errorf("key %q is not UTF-8", k)
		}
		e, err := encodeValue(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		s.Fields[k] = e
	}
	return s, nil
}

func encodeValue(v any) (*structpb.Value, error) {
	switch v := v.(type) {
	case nil:
		return structpb.NewNullValue(), nil
	case bool:
		return structpb.NewBoolValue(v), nil
	case int64:
		return structpb.NewNumberValue(float64(v)), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a number of JSON", v)
		}
		return structpb.NewNumberValue(v), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("%.40q is not UTF-8", v)
		}
		return structpb.NewStringValue(v), nil
	case []any:
		l := &structpb.ListValue{Values: make([]*structpb.Value, 0, len(v))}
		for _, at := range v {
			e, err := encodeValue(at)
			if err != nil {
				return nil, err
			}
			l.Values = append(l.Values, e)
		}
		return structpb.NewListValue(l), nil
	case map[string]any:
		s, err := EncodeMap(v)
		if err != nil {
			return nil, err
		}
		return structpb.NewStructValue(s), nil
	}
	return nil, fmt.Errorf("%T is no type of JSON", v)
}
