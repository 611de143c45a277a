package wire

import (
	"bytes"
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
)

// Strict decodes an object into one of the API's Go types. A field that the type doesn't
// have is an error: a misspelt one must not pass for one that was left out. Each edit
// may change what is decoded.
func Strict(field string, s *structpb.Struct, into any, edits ...func(map[string]any)) error {
	m, err := goMap(s)
	if err != nil {
		return fmt.Errorf("%s.%w", field, err)
	}
	for _, edit := range edits {
		edit(m)
	}
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	// An escape takes six bytes, and values are kept as they are written here.
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return fmt.Errorf("%s: cannot be written as JSON: %w", field, err)
	}
	unknown, err := kjson.UnmarshalStrict(raw.Bytes(), into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		at, is := misfit(structpb.NewStructValue(s), strings.Split(wrong.Field, "."), field, wrong.Type)
		return typeError(at, is, wrong.Type)
	case err != nil:
		return fmt.Errorf("%s: %w", field, err)
	}
	var paths []string
	for _, err := range unknown {
		if at, ok := err.(kjson.FieldError); ok { //nolint:errorlint // Errors in that list aren't wrapped.
			paths = append(paths, at.FieldPath())
		}
	}
	if len(paths) > 0 {
		return fmt.Errorf("%s.%s: there is no such field: see docs/api.md for those there are", field, slices.Min(paths))
	}
	return errors.Join(unknown...)
}

// Object returns the object that a field holds; nil where there is none.
func Object(field string, v *structpb.Value) (*structpb.Struct, error) {
	if t := reflect.TypeFor[map[string]any](); !fits(v, t) {
		return nil, typeError(field, v, t)
	}
	return v.GetStructValue(), nil
}

func typeError(field string, is *structpb.Value, want reflect.Type) error {
	return fmt.Errorf("%s: %s is not %s: write %[3]s", field, show(is), typeName(want))
}

// misfit finds the value that isn't of a type, and its path: that of a decoding error has
// neither the places in lists nor the keys of maps.
func misfit(v *structpb.Value, path []string, at string, want reflect.Type) (string, *structpb.Value) {
	if list := v.GetListValue(); list != nil && (len(path) > 0 || want.Kind() != reflect.Slice) {
		for i, item := range list.GetValues() {
			if at, is := misfit(item, path, fmt.Sprintf("%s[%d]", at, i), want); is != nil {
				return at, is
			}
		}
	}
	of := v.GetStructValue().GetFields()
	switch {
	case len(path) > 0 && path[0] != "" && of != nil:
		return misfit(of[path[0]], path[1:], at+"."+path[0], want)
	case len(path) > 0 && path[0] != "" || fits(v, want):
		return at, nil
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		if at, is := misfit(of[key], nil, at+"."+key, want); is != nil {
			return at, is
		}
	}
	return at, v
}

func fits(v *structpb.Value, want reflect.Type) bool {
	switch k := v.GetKind().(type) {
	case nil, *structpb.Value_NullValue:
		return true
	case *structpb.Value_StructValue:
		return typeName(want) == anObject
	case *structpb.Value_ListValue:
		return want.Kind() == reflect.Slice
	case *structpb.Value_StringValue:
		return want.Kind() == reflect.String
	case *structpb.Value_BoolValue:
		return want.Kind() == reflect.Bool
	case *structpb.Value_NumberValue:
		return typeName(want) == aNumber && k.NumberValue == math.Trunc(k.NumberValue)
	}
	return false
}

// What fields take.
const (
	anObject = "an object"
	aNumber  = "a whole number"
)

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return aNumber
	}
	return anObject
}

// Prune removes objects without fields, which are as good as none, but for those in chart
// values.
func Prune(m map[string]any) {
	for key, v := range m {
		if key == "values" {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			if Prune(v); len(v) == 0 {
				delete(m, key)
			}
		case []any:
			for _, item := range v {
				if of, ok := item.(map[string]any); ok {
					Prune(of)
				}
			}
		}
	}
}

// goMap is Struct.AsMap, but refuses numbers that JSON can't carry.
func goMap(s *structpb.Struct) (map[string]any, error) {
	out := make(map[string]any, len(s.GetFields()))
	for key, v := range s.GetFields() {
		at, err := goValue(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		out[key] = at
	}
	return out, nil
}

func goValue(v *structpb.Value) (any, error) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return goMap(k.StructValue)
	case *structpb.Value_ListValue:
		out := make([]any, 0, len(k.ListValue.GetValues()))
		for _, at := range k.ListValue.GetValues() {
			g, err := goValue(at)
			if err != nil {
				return nil, err
			}
			out = append(out, g)
		}
		return out, nil
	case *structpb.Value_NumberValue:
		if math.IsNaN(k.NumberValue) || math.IsInf(k.NumberValue, 0) {
			return nil, fmt.Errorf("%v is not a number of JSON: write a finite number", k.NumberValue)
		}
	}
	return v.AsInterface(), nil
}

// show prints a short form of a value for an error.
func show(v *structpb.Value) string {
	switch is := v.AsInterface().(type) {
	case string:
		return fmt.Sprintf("%.60q", is)
	case []any:
		return "a list"
	case map[string]any:
		return anObject
	default:
		return fmt.Sprint(is)
	}
}
