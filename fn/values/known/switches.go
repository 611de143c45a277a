package known

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
)

// switches are the keys of switches of the map that they are in.
var switches = []string{"enabled", "create", "createSecret"}

// used are values beside a switch that take effect when it is off, because other templates use them. * stands for any keys.
var used = map[string]bool{
	"*.serviceAccount.create name":        true,
	"*.metrics.enabled applicationLabels": true,
	"dex.metrics.enabled service":         true,
	"configs.cm.create exec.enabled":      true,
	"notifications.secret.create name":    true,
	"redis.enabled servicePort":           true,
	"redis-ha.enabled servicePort":        true,
}

// A bound value has an effect only while a switch somewhere else is on, or off.
type bound struct {
	path, by string
	on       bool
}

var bounds = []bound{
	{"server.replicas", "server.autoscaling.enabled", false},
	{"repoServer.replicas", "repoServer.autoscaling.enabled", false},
	{"redis", "redis-ha.enabled", false},
	{"controller.deploymentAnnotations", "controller.dynamicClusterDistribution", true},
	{"controller.deploymentLabels", "controller.dynamicClusterDistribution", true},
	{"controller.statefulsetAnnotations", "controller.dynamicClusterDistribution", false},
	{"controller.statefulsetLabels", "controller.dynamicClusterDistribution", false},
	{"notifications.context", "notifications.cm.create", true},
	{"notifications.notifiers", "notifications.cm.create", true},
	{"notifications.subscriptions", "notifications.cm.create", true},
	{"notifications.templates", "notifications.cm.create", true},
	{"notifications.triggers", "notifications.cm.create", true},
}

// SwitchedOff returns the values that have no effect because of a switch, sorted by path: merged are the values that the chart gets. What is
// the chart's default isn't returned, so that a copy of its values has none. It returns nil for versions that aren't recorded.
func (v Version) SwitchedOff(values, merged map[string]any) []Unknown {
	if !v.Exact {
		return nil
	}
	var out []Unknown
	report := func(path []string, by []string, on bool) {
		out = append(out, Unknown{Path: path, Message: fmt.Sprintf("has no effect while %s is %v", joined(by), on)})
	}
	v.off(nil, values, merged, report)
	for _, b := range bounds {
		path, by := strings.Split(b.path, "."), strings.Split(b.by, ".")
		is, ok := lookup(values, path)
		if !ok || isEmpty(is) || v.IsDefault(path, is) || !v.has(path) || v.isOn(merged, by) == b.on || slices.ContainsFunc(out, func(u Unknown) bool { return below(path, u.Path) }) {
			continue
		}
		of, isMap := is.(map[string]any)
		if n := v.at(path); !isMap || n.free&v.bit != 0 {
			report(path, by, !b.on)
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if at := append(slices.Clone(path), key); !isEmpty(of[key]) && v.has(at) && !v.IsDefault(at, of[key]) && key != "enabled" && !isUsed(by, key) {
				report(at, by, !b.on)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Unknown) int { return slices.Compare(a.Path, b.Path) })
	return out
}

// off reports the values at and below a path that are beside a switch that is off.
func (v Version) off(path []string, values, merged map[string]any, report func(path, by []string, on bool)) {
	n := v.at(path)
	var offBy []string
	for _, key := range switches {
		if by := append(slices.Clone(path), key); len(path) > 0 && v.has(by) && !v.isOn(merged, by) && v.isSwitch(by) {
			offBy = by
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		is, at := values[key], append(slices.Clone(path), key)
		of, isMap := is.(map[string]any)
		// Whether the version has the value is checked elsewhere.
		if known := n.below[key]; isEmpty(is) || known == nil && n.free&v.bit == 0 || known != nil && known.in&v.bit == 0 {
			continue
		}
		switch {
		case offBy != nil && !slices.Equal(at, offBy) && !isUsed(offBy, key):
			if !v.IsDefault(at, is) {
				report(at, offBy, false)
			}
		case isMap && n.below[key] != nil:
			v.off(at, of, merged, report)
		}
	}
}

// isUsed reports whether a value takes effect when the switch beside it is off.
func isUsed(by []string, key string) bool {
	return used[strings.Join(by, ".")+" "+key] || len(by) > 1 && used["*."+strings.Join(by[len(by)-2:], ".")+" "+key]
}

// isSwitch reports whether a value is on or off by default.
func (v Version) isSwitch(path []string) bool {
	is := v.at(path).defaultIn(v.bit)
	return is == "true" || is == "false"
}

// isOn reports whether a switch is on in values, as a template reads it.
func (v Version) isOn(values map[string]any, path []string) bool {
	is, ok := lookup(values, path)
	if !ok {
		n := v.at(path)
		return n != nil && n.defaultIn(v.bit) == "true"
	}
	on, _ := template.IsTrue(is)
	return on
}

func lookup(values map[string]any, path []string) (any, bool) {
	var is any = values
	for _, key := range path {
		of, isMap := is.(map[string]any)
		if is = of[key]; !isMap {
			return nil, false
		}
		if _, ok := of[key]; !ok {
			return nil, false
		}
	}
	return is, true
}

func below(path, of []string) bool { return len(path) >= len(of) && slices.Equal(path[:len(of)], of) }
