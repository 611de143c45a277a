package images

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Kinds of items.
const (
	KindImage   = "image"
	KindChart   = "chart"
	KindPackage = "package"
)

// An Item is something that is pulled.
type Item struct {
	Kind string `json:"kind"`
	// Name is the reference of an image or a package as the cluster names it, and with its registry. That of a chart is the URL of its repository, its
	// name and its version: https://charts.loft.sh/vcluster:0.36.1.
	Name string `json:"name"`
	// Digest is sha256:... of what Name stands for, "" for unknown: that of the manifest, or of the archive of a chart in a repository that is no registry.
	Digest string `json:"digest,omitempty"`
	// Chart is set for charts alone.
	Chart *Chart `json:"chart,omitempty"`
	// Sources say what needs it.
	Sources []string `json:"sources"`
	// runs: a container runs it, by this name.
	runs bool
}

// A Chart is where a chart is.
type Chart struct {
	Repository string `json:"repository"`
	Name       string `json:"name"`
	Version    string `json:"version"`
	// Digest is the one by which a chart in a registry is pulled; "" for none.
	Digest string `json:"-"`
}

// String is the name of the chart's item.
func (c Chart) String() string {
	return strings.TrimSuffix(c.Repository, "/") + "/" + c.Name + ":" + c.Version
}

// A collection has each item once.
type collection map[string]*Item

// add adds an item, or a source of one that is there.
func (c collection) add(kind, name, digest, source string, of *Chart) {
	is := c[name]
	if is == nil {
		is = &Item{Kind: kind, Name: name, Digest: digest, Chart: of}
		c[name] = is
	}
	if kind == KindPackage {
		// Crossplane runs the image of a function's package, and others run it by the same name.
		is.Kind = kind
	}
	is.runs = is.runs || kind == KindImage
	is.Digest = cmp.Or(is.Digest, digest)
	if !slices.Contains(is.Sources, source) {
		is.Sources = append(is.Sources, source)
	}
}

// sorted returns the items by kind and name.
func (c collection) sorted() []Item {
	out := make([]Item, 0, len(c))
	for _, item := range slices.Collect(maps.Values(c)) {
		slices.Sort(item.Sources)
		out = append(out, *item)
	}
	slices.SortFunc(out, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return out
}

// withRegistry returns a reference with the registry that a cluster takes for one without, and the tag for one without.
func withRegistry(reference string) string {
	reference = strings.TrimSpace(reference)
	if host, _ := split(reference); host == "" {
		reference = "docker.io/" + reference
	}
	if _, path := split(reference); !strings.ContainsAny(path, ":@") {
		reference += ":latest"
	}
	return reference
}

// split splits a reference into its registry, "" for none, and the rest.
func split(reference string) (registry, path string) {
	first, rest, ok := strings.Cut(reference, "/")
	if ok && (strings.ContainsAny(first, ".:") || first == "localhost") {
		return first, rest
	}
	return "", reference
}

// digestOf returns the digest that a reference has; "" for none.
func digestOf(reference string) string {
	_, digest, _ := strings.Cut(reference, "@")
	return digest
}
