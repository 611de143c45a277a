package limits

import (
	"unicode/utf8"

	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// A Counter counts what there is in JSON that is written to it. Three bytes of it, such as "{},", take a hundred times as much memory once
// they are decoded, as JSON or, in a string, as YAML.
type Counter struct {
	// Values are objects, lists and members, and TextItems what looks like one in a string.
	Values, TextItems int
	// Depth is how deep objects and lists are nested at most.
	Depth int

	// nesting is how deep they are nested at this place.
	nesting int
	// yaml looks for what makes a string grow when it is read as YAML.
	yaml text.Scanner

	quoted bool
	// escape is how many characters of an escape sequence were read, and code what they say.
	escape int
	code   rune
	// partial is the beginning of a character of more than one byte.
	partial []byte
}

// Expands reports whether a string in the JSON could become larger once it is read as YAML.
func (c *Counter) Expands() bool { return c.yaml.Expands() }

// Write counts the next part of a document. It returns no error.
func (c *Counter) Write(json []byte) (int, error) {
	for _, b := range json {
		if b < utf8.RuneSelf && len(c.partial) == 0 {
			c.next(rune(b))
			continue
		}
		// What is no UTF-8, the decoder of JSON replaces, too.
		for c.partial = append(c.partial, b); utf8.FullRune(c.partial); {
			r, n := utf8.DecodeRune(c.partial)
			c.next(r)
			c.partial = append(c.partial[:0], c.partial[n:]...)
		}
	}
	return len(json), nil
}

// Reset begins another document.
func (c *Counter) Reset() {
	c.quoted, c.escape, c.partial, c.nesting = false, 0, c.partial[:0], 0
	c.yaml.Reset()
}

// next takes the next character of JSON.
func (c *Counter) next(r rune) {
	switch {
	case c.escape > 0:
		c.unescape(r)
	case c.quoted && r == '\\':
		c.escape, c.code = 1, 0
	case r == '"':
		c.quoted = !c.quoted
		c.yaml.Reset()
	case c.quoted:
		c.inText(r)
	case r == '{' || r == '[':
		c.Values++
		c.nesting++
		c.Depth = max(c.Depth, c.nesting)
	case r == '}' || r == ']':
		c.nesting--
	case r == ',':
		c.Values++
	}
}

// controls are the characters that JSON writes as a letter after a backslash.
var controls = map[rune]rune{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape takes the next character of an escape sequence. The halves of a surrogate pair stand for letters here.
func (c *Counter) unescape(r rune) {
	if c.escape == 1 && r != 'u' {
		c.escape = 0
		if control, ok := controls[r]; ok {
			r = control
		}
		c.inText(r)
		return
	}
	if c.escape > 1 {
		c.code = c.code<<4 | hexDigit(r)
	}
	if c.escape++; c.escape == 6 {
		c.escape = 0
		c.inText(c.code)
	}
}

// hexDigit returns the value of a hexadecimal digit. The decoder of JSON refuses others.
func hexDigit(r rune) rune {
	switch {
	case r >= '0' && r <= '9':
		return r - '0'
	case r >= 'a' && r <= 'f':
		return r - 'a' + 10
	case r >= 'A' && r <= 'F':
		return r - 'A' + 10
	}
	return 0
}

// inText takes the next character of a string, as it is once JSON is decoded.
func (c *Counter) inText(r rune) {
	c.yaml.Rune(r)
	switch r {
	case '{', '[', ',', ':', '-', '?', '!', '\n', '\r', '\u0085', '\u2028', '\u2029':
		c.TextItems++
	}
}

// Count counts what there is in a document.
func Count(json []byte) *Counter {
	c := &Counter{}
	_, _ = c.Write(json)
	return c
}
