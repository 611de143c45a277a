package wire

import (
	"math"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
)

func TestNumbersOfJSON(t *testing.T) {
	for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		s := &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNumberValue(n)}}
		if _, err := goMap(s); err == nil {
			t.Errorf("%v is no number of JSON, but was let in", n)
		}
	}
}
