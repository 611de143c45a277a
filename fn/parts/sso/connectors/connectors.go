// Package connectors says which fields the connectors of Dex have. Dex leaves out those that it doesn't know, without a word.
package connectors

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// What fields hold. Bytes are texts in base64.
const (
	Text     = "text"
	Bytes    = "bytes"
	Texts    = "texts"
	Bool     = "bool"
	Number   = "number"
	Map      = "map"
	Object   = "object"
	Objects  = "objects"
	Anything = "anything"
)

// Whole is the name of Dex's own configuration in the record, among the types of connectors.
const Whole = "(configuration)"

//go:embed fields.txt
var recorded string

// A field is one of a connector's configuration, or of an object in it.
type field struct {
	name, kind string
	below      []*field
}

// record has the fields by the type of the connector, and the version of Dex.
var record = sync.OnceValue(func() (out struct {
	version string
	types   map[string]*field
}) {
	out.types = map[string]*field{}
	// path are the last fields of each depth.
	var path []*field
	for line := range strings.Lines(recorded) {
		line = strings.TrimRight(line, "\n")
		name, kind, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		depth, f := len(line)-len(strings.TrimLeft(line, " ")), &field{name: name, kind: kind}
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case out.version == "":
			out.version = line
			continue
		case depth == 0:
			out.types[name] = f
		default:
			above := path[depth-1]
			above.below = append(above.below, f)
		}
		path = append(path[:depth], f)
	}
	return out
})

// Version is the version of Dex that the record was made from.
func Version() string { return record().version }

// older are names of types that Dex still knows, and doesn't document.
var older = []string{"samlExperimental"}

// Types returns the types of connectors, sorted.
func Types() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(record().types)), func(name string) bool { return name == Whole || slices.Contains(older, name) })
}

// IsType reports whether Dex has connectors of a type. It doesn't start with others.
func IsType(name string) bool { return name != Whole && record().types[name] != nil }

// Check refuses what Dex leaves out of the configuration of a connector, and what it can't start with. Numbers are those of decoding with
// UseNumber. at is the path of the configuration. A type that isn't known has no mistakes. hasFiles reports whether Dex's pod may have files that
// aren't known here.
func Check(at, name string, config map[string]any, hasFiles bool) error {
	if !IsType(name) {
		return nil
	}
	found := []error{record().types[name].check("Dex's connector "+name, at, config)}
	return mistakes.Join(append(found, argoCDs(at, name, config), cantStart(at, name, config, hasFiles), ignored(at, name, config))...)
}

// CheckWhole refuses what Dex leaves out of its own configuration, and what Argo CD overwrites in it.
func CheckWhole(at string, config map[string]any) error {
	found := []error{record().types[Whole].check("Dex", at, config)}
	for _, name := range []string{"grpc", "issuer", "storage", "telemetry", "web"} {
		if key, v := Get(config, name); !isEmpty(v) {
			found = append(found, fmt.Errorf("%s.%s: Argo CD overwrites it with its own: leave it out", at, key))
		}
	}
	return mistakes.Join(found...)
}

// CheckEntry refuses what Dex leaves out of an entry of its list of connectors.
func CheckEntry(at string, entry map[string]any) error {
	return (&field{below: []*field{{name: "config", kind: Map}, {name: "id", kind: Text}, {name: "name", kind: Text}, {name: "type", kind: Text}}}).check("a connector of Dex", at, entry)
}

// callback is the end of the redirect URL that Argo CD sets for each connector.
const callback = "/api/dex/callback"

// argoCDs refuses what Argo CD overwrites, and misses what no connector works without.
func argoCDs(at, name string, config map[string]any) error {
	var found []error
	if key, is := Get(config, "redirectURI"); key != "" && record().types[name].field("redirectURI") != nil {
		// Beside another spelling, Dex would take one or the other.
		if text, _ := is.(string); key != "redirectURI" || !strings.HasSuffix(text, callback) {
			found = append(found, fmt.Errorf("%s.%s: Argo CD sets it, to its own URL, which ends with %s: leave it out", at, key, callback))
		}
	}
	if _, is := Get(config, "clientID"); (is == nil || is == "") && record().types[name].field("clientID") != nil {
		found = append(found, fmt.Errorf("%s.clientID: is missing: write the ID that the provider has for this Argo CD", at))
	}
	return mistakes.Join(found...)
}

// Get returns a field of a configuration and its value, however it is spelt: JSON's decoder in Go takes upper and lower case for the same.
func Get(config map[string]any, name string) (key string, v any) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if strings.EqualFold(key, name) {
			return key, config[key]
		}
	}
	return "", nil
}

// field returns a field below f; nil for none.
func (f *field) field(name string) *field {
	for _, below := range f.below {
		if strings.EqualFold(below.name, name) {
			return below
		}
	}
	return nil
}

// check refuses what isn't one of the fields below f, or isn't of their kinds. of is what has them.
func (f *field) check(of, at string, object map[string]any) error {
	var found []error
	seen := map[*field]string{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch below := f.field(key); {
		case below == nil:
			found = append(found, f.unknown(of, at, key, object[key]))
		case seen[below] != "":
			found = append(found, fmt.Errorf("%s.%s: is the same field as %s: leave one of them out", at, key, seen[below]))
		default:
			seen[below] = key
			found = append(found, below.checkValue(of, at+"."+key, object[key]))
		}
	}
	return mistakes.Join(found...)
}

// unknown says that there is no such field, and which is probably meant: one that can hold the value, if there is one.
func (f *field) unknown(of, at, key string, v any) error {
	var names, fitting []string
	for _, below := range f.below {
		names = append(names, below.name)
		if below.checkValue(of, at, v) == nil {
			fitting = append(fitting, below.name)
		}
	}
	instead := "leave it out"
	if len(names) > 0 {
		instead = "write one of " + strings.Join(names, ", ")
	}
	instead = known.Instead(key, fitting, known.Instead(key, names, instead))
	return fmt.Errorf("%s.%s: %s has no such field: %s", at, key, of, instead)
}

// checkValue refuses a value of another kind, with which Dex doesn't start. Null is the same as nothing.
func (f *field) checkValue(of, at string, v any) error {
	wrong := func(want string) error {
		return fmt.Errorf("%s: is %s, and Dex wouldn't start: write %s", at, kindOf(v), want)
	}
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		if f.kind == Bytes {
			return checkBytes(at, v)
		}
		if f.kind != Text && f.kind != Anything {
			return wrong(wants[f.kind])
		}
	case bool:
		if f.kind == Text {
			return wrong("it in quotes")
		}
		if f.kind != Bool && f.kind != Anything {
			return wrong(wants[f.kind])
		}
	case json.Number, float64, int64, uint64, int:
		if f.kind == Text {
			return wrong("it in quotes")
		}
		if f.kind != Number && f.kind != Anything {
			return wrong(wants[f.kind])
		}
	case []any:
		return f.checkList(of, at, v, wrong)
	case map[string]any:
		switch f.kind {
		case Object:
			return f.check(of, at, v)
		case Map, Anything:
			return nil
		}
		return wrong(wants[f.kind])
	}
	return nil
}

func (f *field) checkList(of, at string, list []any, wrong func(string) error) error {
	item := map[string]string{Texts: Text, Objects: Object}[f.kind]
	switch {
	case f.kind == Anything:
		return nil
	case item == "":
		return wrong(wants[f.kind])
	}
	var found []error
	for i, v := range list {
		found = append(found, (&field{f.name, item, f.below}).checkValue(of, fmt.Sprintf("%s[%d]", at, i), v))
	}
	return mistakes.Join(found...)
}

// checkBytes refuses a text that isn't base64, as Go's decoder of JSON reads it. What refers to a secret may be anything, and PEM is named by what reads
// certificates.
func checkBytes(at, text string) error {
	if _, err := base64.StdEncoding.DecodeString(text); err == nil || strings.HasPrefix(text, "$") || strings.Contains(text, "-----BEGIN") {
		return nil
	}
	return fmt.Errorf("%s: is no base64, and Dex wouldn't start: write %s", at, wants[Bytes])
}

// wants are what to write for each kind.
var wants = map[string]string{
	Map: "an object, such as {a: b}", Text: "text", Bytes: "text in base64", Texts: "a list of texts, such as [a, b]", Bool: "true or false, without quotes", Number: "a number", Object: "an object, such as {a: b}", Objects: "a list of objects, such as [{name: a}]",
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
