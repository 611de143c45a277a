// Package leak looks for secret values in the places where none may be: every object but Secrets, and every log.
package leak

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
)

// Needle is a secret value to look for, in each form it may have been written in.
type Needle struct {
	Name  string
	forms [][]byte
	any   *regexp.Regexp
}

// Value makes a needle of a secret value: as it is, and base64-encoded at each of the three alignments it may have
// inside something larger that was encoded as a whole. Of a text of several lines, the lines are what is looked for,
// since JSON and logs break or escape them differently.
func Value(name, value string) Needle {
	n := Needle{Name: name}
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		// Short lines and PEM's frame are no secret, and would be found everywhere.
		if len(line) < 8 || strings.HasPrefix(line, "-----") {
			continue
		}
		n.forms = append(n.forms, []byte(line))
		n.forms = append(n.forms, encoded(line)...)
	}
	return n
}

// Pattern makes a needle of everything that looks like a secret of some kind.
func Pattern(name, expression string) Needle {
	return Needle{Name: name, any: regexp.MustCompile(expression)}
}

// JWT is any JSON Web Token, such as a ServiceAccount's token, and PrivateKey any PEM private key.
var (
	JWT        = Pattern("JSON Web Token", `eyJhbGciOi[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`)
	PrivateKey = Pattern("PEM private key", `-----BEGIN ([A-Z]+ )?PRIVATE KEY-----(\\n|\s)`)
)

// in reports whether the haystack has the needle in any form.
func (n Needle) in(haystack []byte) bool {
	for _, form := range n.forms {
		if bytes.Contains(haystack, form) {
			return true
		}
	}
	return n.any != nil && n.any.Match(haystack)
}

// encoded is what stays the same of the base64 form of a value wherever it starts in the encoded text.
func encoded(value string) [][]byte {
	out := make([][]byte, 0, 3)
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), value...))
		// The first characters mix in what stands before the value, the last one what follows it.
		first := []int{0, 2, 3}[shift]
		if (shift+len(value))%3 != 0 {
			text = text[:len(text)-1]
		}
		out = append(out, []byte(text[first:]))
	}
	return out
}
