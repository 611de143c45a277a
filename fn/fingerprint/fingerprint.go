// Package fingerprint has short names for what a platform offers: the same for what means the
// same.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// length is how many hexadecimal digits a digest has. People read it in a column.
const length = 10

// OfOffer returns the digest of an offer, and of what else of the platform's goes with it,
// such as plans. It is the same for what means the same: the order of keys and white space don't
// count.
func OfOffer(offer v1alpha1.ChannelOffer, with ...any) (string, error) {
	h := sha256.New()
	for _, of := range append([]any{offer}, with...) {
		raw, err := json.Marshal(of)
		if err != nil {
			return "", fmt.Errorf("spec.offer: cannot be written as JSON: %w", err)
		}
		// Values are kept as they were written. In Go's maps their keys are sorted.
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

// Of returns the digest of the settings of a plan, or of an input. What can't be written as
// JSON, which nothing is that was decoded from it, has none.
func Of(v any) string {
	digest, err := OfOffer(v1alpha1.ChannelOffer{}, v)
	if err != nil {
		return ""
	}
	return digest
}

// free is the field with the values of charts, wherever it is. In these emptiness has a meaning.
const free = "values"

// withoutEmpty takes empty objects out of an object, such as a chart of which nothing is
// offered, or a field that a release has added. In lists and in values of charts they stay.
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
