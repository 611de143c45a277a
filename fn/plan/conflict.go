package plan

import (
	"fmt"
	"strings"
)

// A layer of chart values that isn't the function's.
type layer struct {
	// field that holds it.
	field  string
	values Values
}

// checkFree refuses a layer that sets what a field of the spec sets, or that
// takes a map away in which it would be set.
func checkFree(layers []layer, by string, path ...string) error {
	for _, l := range layers {
		if at := taken(l.values, path); at != nil {
			return fmt.Errorf("%s.%s is set by %s: leave it out", l.field, strings.Join(at, "."), by)
		}
	}
	return nil
}

// checkMaps refuses a layer that puts something else in the place of a map in
// which a field of the spec sets something.
func checkMaps(layers []layer, by string, path ...string) error {
	for _, l := range layers {
		for i := range path {
			at, ok := lookup(l.values, path[:i+1]...)
			if _, isMap := at.(Values); ok && !isMap {
				return fmt.Errorf("%s.%s is not a map, and %s go into it: leave it out", l.field, strings.Join(path[:i+1], "."), by)
			}
		}
	}
	return nil
}

// A demand is a value that a field of the spec needs to be as it is.
type demand struct {
	path []string
	// be is what the value has to be where it is set; nil when it mustn't be.
	be any
}

// checkDemands refuses values of the claim that contradict a field of its spec.
func checkDemands(field string, v Values, by string, demands ...demand) error {
	for _, d := range demands {
		at := taken(v, d.path)
		if at == nil {
			continue
		}
		// true and "true" are the same to a chart.
		if is, _ := lookup(v, d.path...); len(at) == len(d.path) && d.be != nil && fmt.Sprint(is) == fmt.Sprint(d.be) {
			continue
		}
		return fmt.Errorf("%s.%s is set by %s: leave it out", field, strings.Join(at, "."), by)
	}
	return nil
}

// taken is the path at which v sets what stands at path, or takes away a map
// that it stands in; nil when it does neither.
func taken(v Values, path []string) []string {
	var at any = v
	for i, key := range path {
		m, ok := at.(Values)
		if !ok {
			return path[:i]
		}
		if at, ok = m[key]; !ok {
			return nil
		}
	}
	return path
}
