package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	kjson "sigs.k8s.io/json"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// Bounds of free-form values. Helm keeps a release, values included, in a
// Secret of at most 1 MiB.
const (
	MaxValuesDepth = 32
	maxValuesSize  = 256 << 10
	// SpecLevels is how far below a claim's spec the values are of which each has these bounds for itself.
	SpecLevels = 2
)

// Bound refuses a value that is nested too deep or too large. It counts about as many bytes
// as the value has in JSON. It looks at each value that is a number of levels below the field; its error has those that are refused.
func Bound(field string, v any, levels int) error {
	if object, ok := v.(map[string]any); ok && levels > 0 {
		var found []error
		for _, name := range slices.Sorted(maps.Keys(object)) {
			found = append(found, Bound(field+"."+name, object[name], levels-1))
		}
		return mistakes.Join(found...)
	}
	left := maxValuesSize
	var walk func(v any, depth int) error
	walk = func(v any, depth int) error {
		if depth > MaxValuesDepth {
			return fmt.Errorf("%s: values are nested deeper than %d levels: write flatter values", field, MaxValuesDepth)
		}
		left -= 4
		var below []any
		switch v := v.(type) {
		case string:
			left -= len(v)
		case []any:
			below = v
		case map[string]any:
			for key, value := range v {
				left -= len(key)
				below = append(below, value)
			}
		}
		if left < 0 {
			return fmt.Errorf("%s: values are larger than %d KiB: keep large data in a ConfigMap or Secret of the virtual cluster", field, maxValuesSize>>10)
		}
		for _, value := range below {
			if err := walk(value, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(v, 0)
}

// Cut returns a copy of an object without what is deeper than Bound refuses, so that it still refuses it. What is passed on to be decoded elsewhere
// must not be too deep for those that pass it on.
func Cut(o Struct, levels int) map[string]any {
	out := map[string]any{}
	for key, v := range o.s.GetFields() {
		out[key] = cut(v, levels+MaxValuesDepth)
	}
	return out
}

// cut returns a copy of a value with as many levels below it. Maps and lists at the last of them are empty.
func cut(v *structpb.Value, levels int) any {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		out := map[string]any{}
		for key, below := range kind.StructValue.GetFields() {
			if levels > 0 {
				out[key] = cut(below, levels-1)
			}
		}
		return out
	case *structpb.Value_ListValue:
		out := []any{}
		for _, below := range kind.ListValue.GetValues() {
			if levels > 0 {
				out = append(out, cut(below, levels-1))
			}
		}
		return out
	}
	return v.AsInterface()
}

// Object returns a copy of the object in a field; nil where there is none.
func Object(field string, v *structpb.Value) (map[string]any, error) {
	is := v.AsInterface()
	object, ok := is.(map[string]any)
	if !ok && is != nil {
		return nil, typeError(field, is, reflect.TypeOf(object))
	}
	return object, nil
}

// crossplanes are the fields that Crossplane adds to the specs of composite resources (2.2 to 2.4, internal/xcrd/schemas.go).
var crossplanes = []string{
	"claimRef", "compositeDeletePolicy", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector", "compositionSelector", "compositionUpdatePolicy", "crossplane",
	"environmentConfigRefs", "publishConnectionDetailsTo", "resourceRef", "resourceRefs", "writeConnectionSecretToRef",
}

// DropCrossplanes removes from a composite resource's spec what Crossplane has added.
func DropCrossplanes(spec map[string]any) {
	for _, name := range crossplanes {
		delete(spec, name)
	}
}

// Fields returns the names of the fields of a type of the API.
func Fields[T any]() map[string]bool {
	out := map[string]bool{}
	for i, t := 0, reflect.TypeFor[T](); i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out[name] = true
	}
	return out
}

// Strict decodes an object into one of the API's Go types. A field that the type doesn't
// have, such as a misspelt one, is an error, which names the page that lists the fields.
func Strict(field, page string, object map[string]any, into any) error {
	unknown, err := Decode(field, page, object, into)
	return mistakes.Join(err, unknown)
}

// Decode decodes as Strict does. It returns apart what is wrong with fields that the type doesn't
// have: the rest is decoded.
func Decode(field, page string, object map[string]any, into any) (unknown, err error) {
	// What is decoded from protobuf can always be encoded.
	raw, _ := json.Marshal(object)
	fields, err := kjson.UnmarshalStrict(raw, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		at, is := misfit(object, strings.Split(wrong.Field, "."), field, wrong.Type)
		return nil, typeError(at, is, wrong.Type)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	var found []error
	for _, err := range fields {
		var of kjson.FieldError
		if errors.As(err, &of) {
			instead := ""
			if near := nearest(reflect.TypeOf(into), strings.Split(of.FieldPath(), ".")); near != "" {
				instead = "did you mean " + near + "? See " + page + " for those there are"
			}
			found = append(found, fmt.Errorf("%s.%s: there is no such field: %s", field, of.FieldPath(), cmp.Or(instead, "see "+page+" for those there are")))
		}
	}
	return mistakes.Join(found...), nil
}

// nearest returns the field of a type that is probably meant by the last of a path, which has indexes; "" for none.
func nearest(of reflect.Type, path []string) string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return ""
	}
	name, _, _ := strings.Cut(path[0], "[")
	var names []string
	for _, f := range reflect.VisibleFields(of) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" || tag == "-" {
			continue
		}
		if tag == name && len(path) > 1 {
			return nearest(f.Type, path[1:])
		}
		names = append(names, tag)
	}
	if len(path) > 1 {
		return ""
	}
	return known.Nearest(name, names)
}

// typeError returns the error of a field with a value that isn't of the type that it has.
func typeError(field string, is any, want reflect.Type) error {
	seen := fmt.Sprint(is)
	switch is.(type) {
	case string:
		seen = fmt.Sprintf("%.60q", is)
	case []any, map[string]any:
		seen = typeName(reflect.TypeOf(is))
	}
	return fmt.Errorf("%s: %s is not %s: write %[3]s", field, seen, typeName(want))
}

// misfit returns the path of the first value that isn't of a type, and the value. It looks at
// and below path, from a decoding error, which lacks the indexes of lists and keys of maps.
func misfit(v any, path []string, at string, want reflect.Type) (string, any) {
	if list, ok := v.([]any); ok && (len(path) > 0 || want.Kind() != reflect.Slice) {
		for i, item := range list {
			if at, is := misfit(item, path, fmt.Sprintf("%s[%d]", at, i), want); is != nil {
				return at, is
			}
		}
	}
	of, isObject := v.(map[string]any)
	n, _ := v.(float64)
	if len(path) > 0 && path[0] != "" && isObject {
		if below, has := of[path[0]]; has {
			return misfit(below, path[1:], at+"."+path[0], want)
		}
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if at, is := misfit(of[key], path, at+"."+key, want); is != nil {
				return at, is
			}
		}
		// A type that another one has in it as a part.
		return misfit(v, path[1:], at, want)
	}
	switch {
	case isObject && want.Kind() == reflect.Slice:
		return at, v
	case len(path) > 0 && path[0] != "", v == nil, typeName(reflect.TypeOf(v)) == typeName(want) && n == math.Trunc(n):
		return at, nil
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		if at, is := misfit(of[key], nil, at+"."+key, want); is != nil {
			return at, is
		}
	}
	return at, v
}

// typeName returns the name of a type in errors.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return "a whole number"
	}
	return "an object"
}

// Prune removes fields that are empty objects, because they set nothing; but not in chart values, nor in what is Argo CD's or Dex's own,
// where an empty object can mean something, nor restoreFrom and tunnel: without fields, one means the latest backup, and the other is one.
func Prune(m map[string]any) {
	maps.DeleteFunc(m, func(key string, v any) bool {
		switch object, ok := v.(map[string]any); key {
		case "values", "restoreFrom", "tunnel":
			return false
		case "bootstrap", "dex", "requestedIDTokenClaims":
			return ok && len(object) == 0
		}
		items, _ := v.([]any)
		for _, item := range items {
			object, _ := item.(map[string]any)
			Prune(object)
		}
		object, ok := v.(map[string]any)
		Prune(object)
		return ok && len(object) == 0
	})
}
