// Package known knows which values Helm charts have: those of each minor version that `make chart-values` has recorded from the
// chart itself.
package known

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// A Value is a value of one version of a chart.
type Value struct {
	// Below are the values below it, by key; none for a value that is no map by default, or an empty one.
	Below map[string]*Value
	// Free reports whether templates use the map as a whole, so that any key may be in it.
	Free bool
	// Templated reports whether the chart renders texts at and below it as templates.
	Templated bool
	// Default is the value's own default, if it isn't a map.
	Default any
}

// A Record has the values of several versions of a chart, one for each minor version.
type Record struct {
	// versions in increasing order, and the bit of each in the sets of nodes by its place.
	versions []*semver.Version
	root     *node
}

// A set of versions of a record.
type set = uint64

// maxVersions is the number of bits of a set.
const maxVersions = 64

// A node is a key of the values.
type node struct {
	// in has the versions that have it, free those in which any key may be below, and templated those that render it as a template.
	in, free, templated set
	// defaults are the versions by the value that it has by default in them: see defaultText.
	defaults map[string]set
	below    map[string]*node
}

// Set records the values of a version, in place of those of another version with the same minor version.
func (r *Record) Set(version string, values *Value) error {
	v, err := semver.StrictNewVersion(version)
	if err != nil {
		return fmt.Errorf("%q is no version: %w", version, err)
	}
	if r.root == nil {
		r.root = &node{}
	}
	at, there := slices.BinarySearchFunc(r.versions, v, compareMinor)
	switch {
	case there:
		r.versions[at] = v
	case len(r.versions) == maxVersions:
		return fmt.Errorf("more than %d versions are recorded", maxVersions)
	default:
		r.versions = slices.Insert(r.versions, at, v)
		r.root.makeRoom(at)
	}
	r.root.set(values, 1<<at)
	return nil
}

func compareMinor(a, b *semver.Version) int {
	return semver.New(a.Major(), a.Minor(), 0, "", "").Compare(semver.New(b.Major(), b.Minor(), 0, "", ""))
}

// makeRoom moves the versions from a place on up by one.
func (n *node) makeRoom(at int) {
	low := set(1)<<at - 1
	move := func(s set) set { return s&low | s&^low<<1 }
	n.in, n.free, n.templated = move(n.in), move(n.free), move(n.templated)
	for text, s := range n.defaults {
		n.defaults[text] = move(s)
	}
	for _, below := range n.below {
		below.makeRoom(at)
	}
}

// set sets what is at and below a node in a version.
func (n *node) set(v *Value, version set) {
	put := func(s *set, on bool) {
		if *s &^= version; on {
			*s |= version
		}
	}
	put(&n.in, v != nil)
	if v == nil {
		v = &Value{}
	}
	put(&n.free, n.in&version != 0 && (v.Free || len(v.Below) == 0))
	put(&n.templated, v.Templated)
	for text := range n.defaults {
		if n.defaults[text] &^= version; n.defaults[text] == 0 {
			delete(n.defaults, text)
		}
	}
	if text := defaultText(v.Default); text != "" {
		if n.defaults == nil {
			n.defaults = map[string]set{}
		}
		n.defaults[text] |= version
	}
	for key := range v.Below {
		if n.below[key] == nil {
			if n.below == nil {
				n.below = map[string]*node{}
			}
			n.below[key] = &node{}
		}
	}
	for key, below := range n.below {
		if below.set(v.Below[key], version); below.in == 0 {
			delete(n.below, key)
		}
	}
}

// String returns the record as text: the versions, then the keys of the values, each below the one that it belongs to, with the
// minor versions that have it, if not all do, * if any key may be below it, and ! if it is rendered as a template. After tabs are
// defaults.
func (r *Record) String() string {
	var b strings.Builder
	for i, v := range r.versions {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(v.String())
	}
	b.WriteByte('\n')
	r.root.write(&b, 0, r)
	return b.String()
}

func (n *node) write(b *strings.Builder, depth int, r *Record) {
	for _, key := range slices.Sorted(maps.Keys(n.below)) {
		below := n.below[key]
		fmt.Fprintf(b, "%s%s", strings.Repeat(" ", depth), key)
		if below.in != n.in {
			fmt.Fprintf(b, " %s", r.spans(below.in))
		}
		// spans returns a set, if it isn't that of all versions that have the key.
		spans := func(s set) string {
			if s == below.in {
				return ""
			}
			return r.spans(s)
		}
		if len(below.below) > 0 && below.free != 0 {
			fmt.Fprintf(b, " *%s", spans(below.free))
		}
		if below.templated != 0 {
			fmt.Fprintf(b, " !%s", spans(below.templated))
		}
		for _, text := range slices.Sorted(maps.Keys(below.defaults)) {
			fmt.Fprintf(b, "\t%s=%s", spans(below.defaults[text]), text)
		}
		b.WriteByte('\n')
		below.write(b, depth+1, r)
	}
}

// spans returns a set of versions as text, such as 8.0-9.1,10.0.
func (r *Record) spans(s set) string {
	var out []string
	for i := 0; i < len(r.versions); i++ {
		if s>>i&1 == 0 {
			continue
		}
		from := i
		for i+1 < len(r.versions) && s>>(i+1)&1 == 1 {
			i++
		}
		span := minor(r.versions[from])
		if i > from {
			span += "-" + minor(r.versions[i])
		}
		out = append(out, span)
	}
	return strings.Join(out, ",")
}

func minor(v *semver.Version) string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }
