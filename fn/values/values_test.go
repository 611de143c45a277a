package values

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

// TestEmptyMapsReplaceNothing: a claim's values are checked by what is in them, so that nothing may come of a map
// without.
func TestEmptyMapsReplaceNothing(t *testing.T) {
	under := Values{"a": "text", "b": Values{"c": true}}
	got := Merge(under, Values{"a": Values{"x": Values{}}, "b": Values{}, "d": Values{"emptyDir": Values{}}})
	if want := (Values{"a": "text", "b": Values{"c": true}, "d": Values{"emptyDir": Values{}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
}

// FuzzMerge: the last layer's leaves win, and no layer is changed.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a":{"b":1}}`, `{"a":{"c":2}}`)
	f.Add(`{"a":1}`, `{"a":{"b":null}}`)
	f.Add(`{"a":{"b":[1]}}`, `{"a":{"b":{}}}`)
	f.Fuzz(func(t *testing.T, under, over string) {
		var u, o Values
		if json.Unmarshal([]byte(under), &u) != nil || json.Unmarshal([]byte(over), &o) != nil {
			t.Skip("not objects")
		}
		before := fmt.Sprint(u, o)
		m := Merge(u, o)
		if fmt.Sprint(u, o) != before {
			t.Errorf("a layer was changed: %s, now %v %v", before, u, o)
		}
		for _, path := range Leaves(o) {
			want, _ := Lookup(o, path...)
			if got, ok := Lookup(m, path...); !ok || !reflect.DeepEqual(want, got) {
				t.Errorf("%v: want %v of the upper layer, got %v", path, want, got)
			}
		}
		if !reflect.DeepEqual(m, Merge(m, o)) {
			t.Error("merging the same layer again changes something")
		}
		if !reflect.DeepEqual(Merge(u), Merge(Values{}, u, Values{})) {
			t.Error("empty layers change something")
		}
	})
}
