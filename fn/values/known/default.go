package known

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
)

// maxDefault is the length of a default beyond which its digest is recorded.
const maxDefault = 40

// defaultText returns what is recorded of a default: its JSON, or a digest of that; "" for a value that is empty, which isn't recorded.
func defaultText(v any) string {
	if isEmpty(v) {
		return ""
	}
	raw, err := json.Marshal(v)
	switch {
	case err != nil:
		return ""
	case len(raw) > maxDefault:
		return fmt.Sprintf("#%x", sha256.Sum256(raw))[:maxDefault/2]
	}
	return string(raw)
}

// isEmpty reports whether a value is null, "", or an empty list or map.
func isEmpty(v any) bool {
	of := reflect.ValueOf(v)
	switch of.Kind() {
	case reflect.Invalid:
		return true
	case reflect.String, reflect.Map, reflect.Slice:
		return of.Len() == 0
	}
	return false
}
