// Package fingerprint returns digests of values. Those that mean the same
// have the same digest.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// length is how many hexadecimal digits a digest has. It is short, because kubectl shows it in a
// column.
const length = 10

// Of returns the digest of a value, such as a revision or a claim's spec; "" if it can't be encoded as
// JSON. The order of keys, white space and empty objects outside of chart values don't change it.
func Of(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	// Chart values are raw JSON. Decoding and encoding sorts their keys.
	var decoded any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return ""
	}
	if raw, err = json.Marshal(withoutEmpty(decoded)); err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])[:length]
}

// free is the name of the fields with chart values, in which empty objects have a meaning.
const free = "values"

// withoutEmpty removes null and empty objects from an object, such as a chart of which nothing
// is offered, or a new field of a release. In lists and in chart values they stay.
func withoutEmpty(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for key, in := range m {
		if key != free {
			in = withoutEmpty(in)
		}
		if of, ok := in.(map[string]any); in == nil || ok && len(of) == 0 {
			delete(m, key)
		}
	}
	return m
}
