package channel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// digestLength is how many hexadecimal digits a digest has. People read it in a column.
const digestLength = 10

// Digest returns a name for an offer, and for what else of the platform's goes with it, such
// as plans. It is the same for what means the same: the order of keys and white space don't
// count.
func Digest(offer v1alpha1.ChannelOffer, with ...any) (string, error) {
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
		// What is empty at the top, such as a chart of which nothing is offered, offers
		// nothing. Inside of values emptiness has a meaning.
		raw, err = json.Marshal(withoutEmpty(decoded, 2))
		if err != nil {
			return "", err
		}
		h.Write(append(raw, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil))[:digestLength], nil
}

// withoutEmpty takes empty objects out of some levels of an object.
func withoutEmpty(v any, levels int) any {
	m, ok := v.(map[string]any)
	if !ok || levels == 0 {
		return v
	}
	for key, in := range m {
		in = withoutEmpty(in, levels-1)
		if of, ok := in.(map[string]any); in == nil || ok && len(of) == 0 {
			delete(m, key)
		}
	}
	return m
}

// position of a tenant in the order of an offer. It has 64 bits, so that no two tenants
// have the same.
func position(tenant, offer string) uint64 {
	sum := sha256.Sum256([]byte(offer + "/" + tenant))
	return binary.BigEndian.Uint64(sum[:])
}
