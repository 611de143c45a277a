package known

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Unknown is a value that a chart doesn't have, and that changes nothing therefore.
type Unknown struct {
	Path []string
	// Message says so, and what to write instead.
	Message string
}

// maxAdvised is the number of values for which something to write instead is looked for.
const maxAdvised = 20

// Unknown returns the values that the version doesn't have, sorted by path. What is empty changes nothing anyway.
func (v Version) Unknown(values map[string]any) []Unknown {
	var out []Unknown
	v.walk(v.record.root, nil, values, func(path []string, is any) {
		message := v.message(path)
		if len(out) < maxAdvised {
			message += v.advice(path, is)
		}
		out = append(out, Unknown{Path: path, Message: message})
	})
	return out
}

// Misspelt returns the values without anything in them that the version doesn't have, and that are written almost like one that it has. They change
// nothing, and may show what was meant.
func (v Version) Misspelt(values map[string]any) []Unknown {
	var out []Unknown
	compared := 0
	v.each(v.record.root, nil, values, func(path []string, is any) {
		if !isEmpty(is) || v.at(path) != nil || compared == maxAdvised {
			return
		}
		compared++
		if near := v.nearest(path); len(near) > 0 {
			out = append(out, Unknown{Path: path, Message: v.message(path) + ": did you mean " + strings.Join(near, " or ") + "?"})
		}
	})
	return out
}

// walk reports the values that the version doesn't have, without those that are empty.
func (v Version) walk(n *node, path []string, values map[string]any, report func(path []string, is any)) {
	v.each(n, path, values, func(path []string, is any) {
		if !isEmpty(is) {
			report(path, is)
		}
	})
}

// each reports the values that the version doesn't have.
func (v Version) each(n *node, path []string, values map[string]any, report func(path []string, is any)) {
	if n.free&v.bit != 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		is, below := values[key], n.below[key]
		at := append(slices.Clone(path), key)
		if below == nil || below.in&v.bit == 0 {
			report(at, is)
		} else if of, isMap := is.(map[string]any); isMap {
			v.each(below, at, of, report)
		}
	}
}

// message says that the version doesn't have a value, and where it may belong.
func (v Version) message(path []string) string {
	out := fmt.Sprintf("the %s chart has no such value", v.Name)
	switch n := v.at(path); {
	case !v.Exact:
		out = fmt.Sprintf("the %s chart has no such value in version %s, the nearest one that is known here", v.Name, v.Minor)
	case n != nil && n.in < v.bit:
		out += " any more"
	case n != nil && n.in&(v.bit-1) == 0:
		out = fmt.Sprintf("the %s chart has no such value yet in version %s", v.Name, v.Minor)
	}
	return out
}

// advice returns what to write instead, as the end of a message; "" for what isn't known.
func (v Version) advice(path []string, is any) string {
	key := path[len(path)-1]
	if at := v.chartBelow(is); len(path) == 1 && at != nil {
		return fmt.Sprintf(": write what is below %s here, without %[1]s", joined(append(slices.Clone(path), at...)))
	}
	if parts := strings.Split(key, "."); len(parts) > 1 {
		if at := append(slices.Clone(path[:len(path)-1]), parts...); v.has(at) {
			return ": a key with dots is one key; write " + nested(parts)
		}
	}
	for n := len(path); n > 0; n-- {
		if to, ok := v.moved[strings.Join(path[:n], ".")]; ok {
			if why, gone := strings.CutPrefix(to, "none, "); gone {
				return ": " + why
			}
			return ": write " + to
		}
	}
	if near := v.nearest(path); len(near) > 0 {
		return ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// nested returns keys as they are written below each other.
func nested(keys []string) string {
	return strings.Join(keys, ": {") + ": ..." + strings.Repeat("}", len(keys)-1)
}

// maxUmbrella is how deep the chart's own values are looked for below a value that it doesn't have.
const maxUmbrella = 3

// chartBelow returns the path of a map that has the chart's own values at and below a value, as the values of a chart that depends on
// it do; nil for none. The path is empty for the value itself.
func (v Version) chartBelow(is any) []string {
	of, _ := is.(map[string]any)
	var search func(of map[string]any, path []string) []string
	search = func(of map[string]any, path []string) []string {
		known := 0
		for key, below := range of {
			switch {
			case key == "enabled":
			case key == "global":
				// Many charts have these.
				if is, _ := below.(map[string]any); slices.ContainsFunc(slices.Collect(maps.Keys(is)), func(key string) bool { return v.has([]string{"global", key}) }) {
					known++
				}
			case v.has([]string{key}):
				known++
			}
		}
		if known > 0 && known*2 >= len(of) {
			return path
		}
		if len(path) == maxUmbrella {
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if below, isMap := of[key].(map[string]any); isMap {
				if at := search(below, append(slices.Clone(path), key)); at != nil {
					return at
				}
			}
		}
		return nil
	}
	return search(of, []string{})
}
