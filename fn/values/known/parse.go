package known

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Parse reads a record that String has written. Lines that begin with # are comments.
func Parse(text string) (*Record, error) {
	r := &Record{root: &node{}}
	path := []*node{r.root}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if r.versions == nil {
			for _, version := range strings.Fields(line) {
				v, err := semver.StrictNewVersion(version)
				if err != nil {
					return nil, fmt.Errorf("line %d: %q is no version: %w", i+1, version, err)
				}
				r.versions = append(r.versions, v)
			}
			if len(r.versions) > maxVersions {
				return nil, fmt.Errorf("line %d: more than %d versions", i+1, maxVersions)
			}
			r.root.in = ^set(0) >> (maxVersions - len(r.versions))
			continue
		}
		key := strings.TrimLeft(line, " ")
		depth := len(line) - len(key)
		if depth >= len(path) {
			return nil, fmt.Errorf("line %d: is too deep", i+1)
		}
		path = path[:depth+1]
		parent := path[depth]
		n, name, err := r.node(key, parent.in)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if parent.below == nil {
			parent.below = map[string]*node{}
		}
		parent.below[name] = n
		path = append(path, n)
	}
	r.root.leaves()
	return r, nil
}

// node reads a line without its indent. all are the versions that have what it is below.
func (r *Record) node(line string, all set) (n *node, key string, err error) {
	parts := strings.Split(line, "\t")
	fields := strings.Fields(parts[0])
	n = &node{in: all}
	for _, field := range fields[1:] {
		switch field[0] {
		case '*':
			n.free, err = r.set(field[1:], n.in)
		case '!':
			n.templated, err = r.set(field[1:], n.in)
		default:
			n.in, err = r.set(field, all)
		}
		if err != nil {
			return nil, "", err
		}
	}
	for _, part := range parts[1:] {
		spans, text, ok := strings.Cut(part, "=")
		if !ok {
			return nil, "", fmt.Errorf("%q is no default", part)
		}
		if n.defaults == nil {
			n.defaults = map[string]set{}
		}
		if n.defaults[text], err = r.set(spans, n.in); err != nil {
			return nil, "", err
		}
	}
	return n, fields[0], nil
}

// set reads what spans has written. No text stands for all.
func (r *Record) set(text string, all set) (out set, err error) {
	if text == "" {
		return all, nil
	}
	for _, span := range strings.Split(text, ",") {
		from, to, ok := strings.Cut(span, "-")
		if !ok {
			to = from
		}
		first := slices.IndexFunc(r.versions, func(v *semver.Version) bool { return minor(v) == from })
		last := slices.IndexFunc(r.versions, func(v *semver.Version) bool { return minor(v) == to })
		if first < 0 || last < first {
			return 0, fmt.Errorf("%q are no versions of the record", span)
		}
		for i := first; i <= last; i++ {
			out |= 1 << i
		}
	}
	return out, nil
}

// leaves marks what has nothing below: anything may be there.
func (n *node) leaves() {
	var below set
	for _, b := range n.below {
		b.leaves()
		below |= b.in
	}
	n.free |= n.in &^ below
}
