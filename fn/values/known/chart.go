package known

import (
	"embed"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

//go:embed charts moved.yaml
var files embed.FS

// A Chart is what is known of a chart.
type Chart struct {
	Name   string
	record *Record
	// moved has where values went that the chart doesn't have any more, by their paths.
	moved map[string]string
	// places returns all its values.
	places func() []place
}

// The charts that are recorded: those of every tenant, and the components of examples/install/components.yaml.
const (
	argoCD   = "argo-cd"
	vCluster = "vcluster"
)

var charts = recorded(argoCD, vCluster, "argo-events", "argo-rollouts", "argo-workflows", "argocd-image-updater")

// recorded has each chart loaded when it is asked for.
func recorded(names ...string) map[string]func() *Chart {
	out := map[string]func() *Chart{}
	for _, name := range names {
		out[name] = sync.OnceValue(func() *Chart { return load(name) })
	}
	return out
}

// Named returns the chart with a name; nil for one that isn't recorded.
func Named(name string) *Chart {
	if load := charts[name]; load != nil {
		return load()
	}
	return nil
}

func load(name string) *Chart {
	recorded, err := files.ReadFile("charts/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	c := &Chart{Name: name}
	if c.record, err = Parse(string(recorded)); err != nil {
		panic(err)
	}
	c.places = sync.OnceValue(c.record.places)
	raw, err := files.ReadFile("moved.yaml")
	if err != nil {
		panic(err)
	}
	var moved map[string]map[string]string
	if err := text.Own(raw, &moved); err != nil {
		panic(err)
	}
	c.moved = moved[name]
	return c
}

// A Version is a version of a chart, as the record has it.
type Version struct {
	*Chart
	// Exact reports whether the record has the version's minor version. Otherwise Minor is the nearest one that it has.
	Exact bool
	Minor string
	bit   set
	// older reports whether the recorded patch version is older.
	older bool
}

// At returns a version of the chart.
func (c *Chart) At(version string) Version {
	v, err := semver.NewVersion(version)
	if err != nil {
		v = semver.New(0, 0, 0, "", "")
	}
	at, exact := slices.BinarySearchFunc(c.record.versions, v, compareMinor)
	if !exact && at > 0 {
		at--
	}
	is := c.record.versions[at]
	return Version{Chart: c, Exact: exact, Minor: minor(is), bit: 1 << at, older: is.LessThan(v)}
}

// Any returns what is of any version of the chart that is recorded.
func (c *Chart) Any() Version { return Version{Chart: c, Exact: true, bit: ^set(0)} }

// Templated reports whether the chart renders a text at a path as a template, or may do so: that isn't known of versions that aren't
// recorded.
func (v Version) Templated(path []string) bool {
	if !v.Exact || v.older {
		return true
	}
	// A later patch version may render what others of the minor version don't, so what any version renders counts.
	n := v.record.root
	for _, key := range path {
		if n.templated != 0 {
			return true
		}
		if n = n.below[key]; n == nil {
			return false
		}
	}
	return n.templatedBelow()
}

func (n *node) templatedBelow() bool {
	if n.templated != 0 {
		return true
	}
	for _, below := range n.below {
		if below.templatedBelow() {
			return true
		}
	}
	return false
}

// IsDefault reports whether the chart has a value by default. Of versions that aren't recorded that isn't known.
func (v Version) IsDefault(path []string, is any) bool {
	if !v.Exact {
		return false
	}
	return v.at(path).isDefault(is, v.bit)
}

func (n *node) isDefault(is any, version set) bool {
	if n == nil || n.in&version == 0 {
		return false
	}
	if of, isMap := is.(map[string]any); isMap {
		for key, value := range of {
			if !n.below[key].isDefault(value, version) {
				return false
			}
		}
		return true
	}
	others := false
	for text, versions := range n.defaults {
		if versions&version == 0 {
			continue
		}
		if others = true; text == defaultText(is) {
			return true
		}
	}
	if others {
		return false
	}
	// The chart has no value other than an empty one.
	return isEmpty(is) && (is == nil || reflect.TypeOf(is).Kind() != reflect.Map) && !n.hasBelow(version)
}

func (n *node) hasBelow(version set) bool {
	for _, below := range n.below {
		if below.in&version != 0 {
			return true
		}
	}
	return false
}

// at returns the node at a path; nil for none in any version.
func (v Version) at(path []string) *node {
	n := v.record.root
	for _, key := range path {
		if n = n.below[key]; n == nil {
			return nil
		}
	}
	return n
}

// Path returns the keys of a path that is written with dots between them: a key may have dots in it. It is nil for a value that the version
// doesn't have.
func (v Version) Path(text string) []string {
	var find func(n *node, text string) []string
	find = func(n *node, text string) []string {
		for key, below := range n.below {
			if below.in&v.bit == 0 {
				continue
			}
			if key == text {
				return []string{key}
			}
			if rest, ok := strings.CutPrefix(text, key+"."); ok {
				if path := find(below, rest); path != nil {
					return append([]string{key}, path...)
				}
			}
		}
		return nil
	}
	return find(v.record.root, text)
}

// Join returns a path as messages have it. A key with a dot is in quotes.
func Join(path []string) string { return joined(path) }

// has reports whether the version has a value at a path.
func (v Version) has(path []string) bool {
	n := v.at(path)
	return n != nil && n.in&v.bit != 0
}

// joined returns a path as messages have it. A key with a dot is in quotes.
func joined(path []string) string {
	out := make([]string, len(path))
	for i, key := range path {
		if out[i] = key; strings.Contains(key, ".") {
			out[i] = `"` + key + `"`
		}
	}
	return strings.Join(out, ".")
}
