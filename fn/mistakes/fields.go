package mistakes

import (
	"reflect"
	"strings"
)

// Fields returns the paths of the fields of a type of the API, in its order, each before those below it. An item of a list has the
// path of the list.
func Fields(path string, of reflect.Type) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		out = append(out, path+"."+name)
		out = append(out, Fields(path+"."+name, f.Type)...)
	}
	return out
}
