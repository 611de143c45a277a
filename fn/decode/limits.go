package decode

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
)

// Bounds of free-form values. Helm keeps a release, values included, in a
// Secret of at most 1 MiB.
const (
	MaxValuesDepth = 32
	MaxValuesSize  = 256 << 10
)

// bound refuses values that are too deep or too large to be anyone's real chart
// values. It counts about as many bytes as the values have in JSON.
func bound(field string, v *structpb.Struct) error {
	left := MaxValuesSize
	var walk func(v *structpb.Value, depth int) error
	spend := func(n int) error {
		if left -= n; left < 0 {
			return fmt.Errorf("%s: values are larger than %d KiB: keep large data in a ConfigMap or Secret of the virtual cluster", field, MaxValuesSize>>10)
		}
		return nil
	}
	object := func(s *structpb.Struct, depth int) error {
		for key, at := range s.GetFields() {
			if err := spend(len(key) + 4); err != nil {
				return err
			}
			if err := walk(at, depth); err != nil {
				return err
			}
		}
		return nil
	}
	walk = func(v *structpb.Value, depth int) error {
		if depth > MaxValuesDepth {
			return fmt.Errorf("%s: values are nested deeper than %d levels: write flatter values", field, MaxValuesDepth)
		}
		switch k := v.GetKind().(type) {
		case *structpb.Value_StringValue:
			return spend(len(k.StringValue) + 2)
		case *structpb.Value_StructValue:
			return object(k.StructValue, depth+1)
		case *structpb.Value_ListValue:
			for _, at := range k.ListValue.GetValues() {
				if err := spend(1); err != nil {
					return err
				}
				if err := walk(at, depth+1); err != nil {
					return err
				}
			}
			return nil
		default:
			return spend(4)
		}
	}
	return object(v, 1)
}
