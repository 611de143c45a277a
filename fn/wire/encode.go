package wire

import (
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
)

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
