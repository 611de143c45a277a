// Package values holds the values of Helm charts: how layers of them merge, who has set
// one, and who may.
package values

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Values of a Helm chart.
type Values = map[string]any

// Merge lays each set of values over those before it, as Helm does: maps merge
// key by key, anything else replaces. A map without leaves replaces nothing, because the
// checks of who may set a value look only at leaves. The layers aren't changed.
func Merge(layers ...Values) Values {
	out := Values{}
	for _, layer := range layers {
		lay(out, layer)
	}
	return out
}

// lay lays values over others, whose maps it changes.
func lay(under, over Values) {
	for key, v := range over {
		above, isMap := v.(Values)
		if !isMap {
			under[key] = v
			continue
		}
		below, there := under[key]
		base, isMap := below.(Values)
		if !isMap {
			if there && len(Leaves(above)) == 0 {
				continue
			}
			base = make(Values, len(above))
			under[key] = base
		}
		lay(base, above)
	}
}

// Lookup returns the value at the path.
func Lookup(v Values, path ...string) (any, bool) {
	// It is an error if a value above it isn't a map.
	at, ok, _ := unstructured.NestedFieldNoCopy(v, path...)
	return at, ok
}

// At returns the value at the path; T's zero value where there is none of that type.
func At[T any](v Values, path ...string) T {
	at, _ := Lookup(v, path...)
	is, _ := at.(T)
	return is
}

// Enabled reads a switch as a Helm template does: false, "", 0, null and empty lists are off.
func Enabled(v Values, otherwise bool, path ...string) bool {
	at, ok := Lookup(v, path...)
	if !ok {
		return otherwise
	}
	on, _ := template.IsTrue(at)
	return on
}

// Leaves returns the paths of everything in v that isn't a map, sorted.
func Leaves(v Values) [][]string {
	var out [][]string
	for _, key := range slices.Sorted(maps.Keys(v)) {
		below, ok := v[key].(Values)
		if !ok {
			out = append(out, []string{key})
			continue
		}
		for _, path := range Leaves(below) {
			out = append(out, append([]string{key}, path...))
		}
	}
	return out
}

// Insert sets the value at the path, with the maps on the way.
func Insert(v Values, value any, path ...string) {
	last := len(path) - 1
	for _, key := range path[:last] {
		next, ok := v[key].(Values)
		if !ok {
			next = Values{}
			v[key] = next
		}
		v = next
	}
	v[path[last]] = value
}

// Decode are the values in a field of the platform's.
func Decode(field string, raw *runtime.RawExtension) (Values, error) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, nil
	}
	v := Values{}
	if json.Unmarshal(raw.Raw, &v) != nil {
		return nil, fmt.Errorf("%s: write an object of chart values, not a text that contains them or a list", field)
	}
	return v, nil
}
