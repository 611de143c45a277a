// Package values holds the values of Helm charts: how layers of them merge, who has set
// one, and who may.
package values

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Values of a Helm chart.
type Values = map[string]any

// Merge lays each set of values over those before it, as Helm does: maps merge
// key by key, anything else replaces. A map with no value in it, however deep,
// replaces nothing: checks of whose a value is don't see it. Nothing that is passed
// in is changed.
func Merge(layers ...Values) Values {
	out := Values{}
	for _, layer := range layers {
		mergeInto(out, layer)
	}
	return out
}

func mergeInto(dst, src Values) {
	for k, v := range src {
		over, ok := v.(Values)
		if !ok {
			dst[k] = v
			continue
		}
		// A map in dst may belong to a layer, so it is copied before it is written to.
		merged := Values{}
		if under, ok := dst[k].(Values); ok {
			maps.Copy(merged, under)
		} else if _, there := dst[k]; there && len(Leaves(over)) == 0 {
			continue
		}
		mergeInto(merged, over)
		dst[k] = merged
	}
}

// Lookup returns the value at the path.
func Lookup(v Values, path ...string) (any, bool) {
	// What stands below something else than a map isn't there.
	at, ok, _ := unstructured.NestedFieldNoCopy(v, path...)
	return at, ok
}

// At returns the value at the path; T's zero value where there is none of that type.
func At[T any](v Values, path ...string) T {
	at, _ := Lookup(v, path...)
	is, _ := at.(T)
	return is
}

// Enabled reads a switch as a Helm template would: false, "", 0 and null are off.
func Enabled(v Values, otherwise bool, path ...string) bool {
	switch at, ok := Lookup(v, path...); at := at.(type) {
	case bool:
		return at
	case string:
		return at != ""
	case float64:
		return at != 0
	case nil:
		return otherwise && !ok
	default:
		return true
	}
}

// Leaves are the paths of everything in v that isn't a map, sorted. A map that
// is empty sets nothing.
func Leaves(v Values) [][]string {
	var out [][]string
	var walk func(prefix []string, v Values)
	walk = func(prefix []string, v Values) {
		for key, at := range v {
			path := append(slices.Clone(prefix), key)
			if m, ok := at.(Values); ok {
				walk(path, m)
				continue
			}
			out = append(out, path)
		}
	}
	walk(nil, v)
	slices.SortFunc(out, slices.Compare[[]string])
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
	if err := json.Unmarshal(raw.Raw, &v); err != nil {
		return nil, fmt.Errorf("%s: write an object of chart values: %w", field, err)
	}
	return v, nil
}

// Bounds of the text of an amount. Kubernetes reads 1e99999999, too, which takes
// minutes and gigabytes to compare with another or to add to one.
const (
	maxAmount   = 40
	maxExponent = len("e+99")
)

// ParseAmount reads an amount of a resource, and reports whether it is one.
func ParseAmount(text string) (resource.Quantity, bool) {
	if e := strings.IndexAny(text, "eE"); len(text) > maxAmount || e >= 0 && len(text)-e > maxExponent {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// AmountText returns an amount of chart values, which may be a number there, as text.
func AmountText(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
