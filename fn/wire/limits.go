package wire

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
)

// Bounds of free-form values. Helm keeps a release, values included, in a
// Secret of at most 1 MiB.
const (
	MaxValuesDepth = 32
	maxValuesSize  = 256 << 10
)

// Bound refuses a value that is too deep or too large to be anyone's. It counts about
// as many bytes as the value has in JSON.
func Bound(field string, v *structpb.Value) error {
	left := maxValuesSize
	var walk func(v *structpb.Value, depth int) error
	walk = func(v *structpb.Value, depth int) error {
		if depth > MaxValuesDepth {
			return fmt.Errorf("%s: values are nested deeper than %d levels: write flatter values", field, MaxValuesDepth)
		}
		left -= 4 + len(v.GetStringValue())
		for key, at := range v.GetStructValue().GetFields() {
			left -= len(key)
			if err := walk(at, depth+1); err != nil {
				return err
			}
		}
		for _, at := range v.GetListValue().GetValues() {
			if err := walk(at, depth+1); err != nil {
				return err
			}
		}
		if left < 0 {
			return fmt.Errorf("%s: values are larger than %d KiB: keep large data in a ConfigMap or Secret of the virtual cluster", field, maxValuesSize>>10)
		}
		return nil
	}
	return walk(v, 0)
}
