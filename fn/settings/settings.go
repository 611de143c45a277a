// Package settings says which settings Argo CD reads, where, and which values it takes for them. It ignores others without a word.
package settings

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// A Place is where settings are: a key of the argo-cd chart's configs.
type Place string

// Places of settings.
const (
	CM     Place = "cm"
	Params Place = "params"
	RBAC   Place = "rbac"
	// Secret is argocd-secret, whose other keys may be anything.
	Secret Place = "secret"
)

// A Kind is how Argo CD reads a setting: a word, and the least number that it takes, if that is known.
type Kind string

// Kinds of settings.
const (
	Text     Kind = "text"
	Bool     Kind = "bool"
	Number   Kind = "number"
	Float    Kind = "float"
	Duration Kind = "duration"
)

// AtLeast returns the kind with a least number; "" for none.
func (k Kind) AtLeast(least string) Kind {
	if least == "" {
		return k
	}
	return k + " " + Kind(least)
}

//go:embed recorded.txt
var recorded string

// record has the kinds of settings, by place and key.
var record = sync.OnceValue(func() map[Place]map[string]Kind {
	out := map[Place]map[string]Kind{}
	for line := range strings.Lines(recorded) {
		place, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		key, kind, ok := strings.Cut(rest, " ")
		if place == "#" || !ok {
			continue
		}
		if out[Place(place)] == nil {
			out[Place(place)] = map[string]Kind{}
		}
		out[Place(place)][key] = Kind(kind)
	}
	return out
})

// families are settings with names of somebody's own in their keys: * stands for one, which may be anything.
var families = []struct {
	place   Place
	pattern string
}{
	{Secret, "accounts.*.password"},
	{Secret, "accounts.*.passwordMtime"},
	{Secret, "accounts.*.tokens"},
	{CM, "accounts.*"},
	{CM, "help.download.*"},
	{CM, "kustomize.buildOptions.*"},
	{CM, "kustomize.path.*"},
	{CM, "kustomize.version.*"},
	{CM, "resource.customizations.*"},
	{CM, "extension.config.*"},
	{RBAC, "policy.*.csv"},
}

// undocumented are settings that Argo CD reads (3.6, util/settings), and its documentation doesn't have.
var undocumented = map[Place][]string{
	CM: {"globalProjects", "resource.customizations", "resource.manifest.compression", "resource.manifest.storage", "server.rbac.disableApplicationFineGrainedRBACInheritance", "ui.bannerpermanent", "ui.bannerposition", "ui.loginButtonText"},
}

func matches(key, pattern string) bool {
	before, after, _ := strings.Cut(pattern, "*")
	return len(key) > len(before)+len(after) && strings.HasPrefix(key, before) && strings.HasSuffix(key, after)
}

// family returns the place of the family of settings that a key belongs to; "" for none.
func family(key string) Place {
	for _, f := range families {
		if matches(key, f.pattern) {
			return f.place
		}
	}
	return ""
}

// Has reports whether Argo CD has a setting in a place.
func (p Place) Has(key string) bool {
	_, documented := record()[p][key]
	of := family(key)
	return of == p || of == "" && documented || slices.Contains(undocumented[p], key)
}

// Elsewhere returns the place of a setting that isn't one of the place in which it is; "" for none.
func (p Place) Elsewhere(key string) Place {
	if p.Has(key) {
		return ""
	}
	for _, other := range []Place{CM, Params, RBAC, Secret} {
		if other.Has(key) {
			return other
		}
	}
	return ""
}

// Nearest returns the setting of the place that is probably meant by a key that Argo CD doesn't have; "" for none. Other keys may be there for
// something else.
func (p Place) Nearest(key string) string {
	names := slices.Concat(slices.Sorted(maps.Keys(record()[p])), undocumented[p])
	near := known.Nearest(key, slices.DeleteFunc(names, func(name string) bool { return !known.Like(key, name) }))
	if of := family(near); of != "" {
		return ""
	}
	return near
}

// Unread returns why Argo CD doesn't read a key of argocd-secret whose name begins as those of its own do, and what to write instead; "" for others.
func Unread(key string) string {
	var names []string
	for name := range record()[Secret] {
		if strings.HasPrefix(name, "webhook.") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch place := Secret.Elsewhere(key); {
	case Secret.Has(key) || !strings.HasPrefix(key, "webhook.") && !strings.HasPrefix(key, "accounts."):
		return ""
	case place == CM && strings.HasPrefix(key, "webhook."):
		return "Argo CD reads it in argocd-cm: write it in spec.argocd.values.configs.cm"
	case strings.HasPrefix(key, "webhook."):
		return "Argo CD reads no such key: " + known.Instead(key, names, "write one of "+strings.Join(names, ", "))
	}
	return "Argo CD reads no such key: write accounts.<name>.password, accounts.<name>.passwordMtime or accounts.<name>.tokens"
}
