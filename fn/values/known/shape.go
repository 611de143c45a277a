package known

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Misshapen returns the values that are of another kind than the chart's, sorted by path: templates fail on them, or take a text such as
// "false" for true. settings reports whether the chart writes what is at a path into a setting as text, whatever it is.
func (v Version) Misshapen(values map[string]any, settings func(path []string) bool) []Unknown {
	var out []Unknown
	var walk func(n *node, path []string, values map[string]any)
	walk = func(n *node, path []string, values map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			is, below, at := values[key], n.below[key], append(slices.Clone(path), key)
			if is == nil || below == nil || below.in&v.bit == 0 || settings(at) {
				continue
			}
			if message := below.misfit(is, v.bit, key); message != "" {
				out = append(out, Unknown{Path: at, Message: message})
			} else if of, isMap := is.(map[string]any); isMap {
				walk(below, at, of)
			}
		}
	}
	walk(v.record.root, nil, values)
	return out
}

// misfit says why a value can't be in place of the chart's; "" if it can.
func (n *node) misfit(is any, version set, key string) string {
	_, isMap := is.(map[string]any)
	_, isList := is.([]any)
	if n.hasBelow(version) {
		if isMap {
			return ""
		}
		advice := ": write " + key + ": {...}"
		if on := n.below["enabled"]; on != nil && on.in&version != 0 && !isList {
			advice = ": write " + key + ": {enabled: true}, or false"
		}
		return fmt.Sprintf("%s is no object, as the chart has there%s", shown(is), advice)
	}
	text := n.defaultIn(version)
	switch {
	case text == "" || strings.HasPrefix(text, "#"):
		return ""
	case strings.HasPrefix(text, "["):
		if !isList {
			return fmt.Sprintf("%s is no list, as the chart has there: write a list, such as %.40s", shown(is), text)
		}
	case isMap || isList:
		return fmt.Sprintf("%s is not possible: write one value, such as %s, the chart's default", shown(is), text)
	case text == "true" || text == "false":
		if is, isText := is.(string); isText && slices.Contains(off, strings.ToLower(strings.TrimSpace(is))) {
			return fmt.Sprintf("%q is text, which the chart takes for true: write false, without quotes", is)
		}
	}
	return ""
}

// off are texts that mean false to people, and true to a template.
var off = []string{"false", "no", "off", "n", "0", "disabled"}

func (n *node) defaultIn(version set) string {
	for text, versions := range n.defaults {
		if versions&version != 0 {
			return text
		}
	}
	return ""
}

// shown returns a value as messages have it.
func shown(is any) string {
	switch is := is.(type) {
	case string:
		return fmt.Sprintf("%.40q", is)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(is)
}
