// Package fingerprint returns digests of offers, plans and inputs. Those that mean the same
// have the same digest.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// length is how many hexadecimal digits a digest has. It is short, because kubectl shows it in a
// column.
const length = 10

// OfOffer returns the digest of an offer and of what else is part of it, such as plans. The
// order of keys, white space and empty objects outside of chart values don't change it.
func OfOffer(offer v1alpha1.ChannelOffer, with ...any) (string, error) {
	h := sha256.New()
	for _, of := range append([]any{offer}, with...) {
		raw, err := json.Marshal(of)
		if err != nil {
			return "", fmt.Errorf("spec.offer: cannot be written as JSON: %w", err)
		}
		// Chart values are raw JSON. Decoding and encoding sorts their keys.
		var decoded any
		if err := json.Unmarshal(raw, &decoded); err != nil {
			return "", fmt.Errorf("spec.offer: cannot be read as JSON: %w", err)
		}
		raw, err = json.Marshal(withoutEmpty(decoded))
		if err != nil {
			return "", err
		}
		h.Write(append(raw, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil))[:length], nil
}

// Of returns the digest of a value, such as the data of a plan or an input; "" if it can't be
// encoded as JSON.
func Of(v any) string {
	digest, err := OfOffer(v1alpha1.ChannelOffer{}, v)
	if err != nil {
		return ""
	}
	return digest
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
