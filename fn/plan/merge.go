package plan

import "maps"

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
		} else if _, there := dst[k]; there && len(leaves(over)) == 0 {
			continue
		}
		mergeInto(merged, over)
		dst[k] = merged
	}
}

// lookup returns the value at the path.
func lookup(v Values, path ...string) (any, bool) {
	var at any = v
	for _, key := range path {
		m, ok := at.(Values)
		if !ok {
			return nil, false
		}
		if at, ok = m[key]; !ok {
			return nil, false
		}
	}
	return at, true
}

// enabled reads a switch as a Helm template would: false, "", 0 and null are off.
func enabled(v Values, otherwise bool, path ...string) bool {
	switch at, ok := lookup(v, path...); at := at.(type) {
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
