package text

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Limits of a text that is decoded. A kubeconfig with the credentials of a hundred clusters has some 400 KiB, most of them certificates,
// and 3,000 items.
const (
	maxBytes = 512 << 10
	maxItems = 10_000
	maxDepth = 32
)

var (
	errNotText = errors.New("it isn't text in UTF-8")
	errItems   = fmt.Errorf("it has more than %d items", maxItems)
	errDepth   = fmt.Errorf("it is nested deeper than %d levels", maxDepth)
)

// check refuses a text that decoding could take much time or memory for, before it is decoded.
func check(raw []byte, items int) error {
	switch {
	case len(raw) > maxBytes:
		return fmt.Errorf("it has %d bytes, more than %d", len(raw), maxBytes)
	case !utf8.Valid(raw):
		return errNotText
	case items > maxItems:
		return errItems
	}
	return nil
}
