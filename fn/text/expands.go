package text

import "unicode/utf8"

// Expands reports whether a text could become larger than it is when it is decoded as YAML, or when it is part of such a text: whether
// it has an anchor, which an alias can repeat, or a TAG directive, whose prefix each tag repeats. It doesn't parse the text, because
// what surrounds it decides where tokens begin. So it also reports an "&" within a word's beginning in quotes or prose, such as
// "Tom &Jerry"; but not "a && b", "2>&1", "?a=1&b=2", "AT&T", nor "&amp;".
func Expands(s string) bool {
	var c Scanner
	for _, r := range s {
		c.Rune(r)
	}
	return c.Expands()
}

// A Scanner looks for what Expands looks for, in a text that it gets piece by piece. Its zero value is at the beginning of a text.
//
// An anchor is an "&" where a token can begin, and its name: in YAML of go.yaml.in, which Helm and Kubernetes use, letters, digits, "_"
// and "-"; other implementations also allow characters beyond ASCII. A name before ";" is none: the parser refuses it there, and it is
// how HTML writes characters.
type Scanner struct {
	state  state
	column int
	found  bool
}

type state int

const (
	// begin is where a token may begin: it is the zero value, because one may at the beginning of a text.
	begin state = iota
	inside
	ampersand
	name
)

const directive = "%TAG"

// Reset begins another text. What was found before stays found.
func (c *Scanner) Reset() {
	c.end()
	c.state, c.column = begin, 0
}

// Rune takes the next character.
func (c *Scanner) Rune(r rune) {
	if c.state == name && !isName(r) {
		c.found = c.found || r != ';'
		c.state = inside
	}
	switch {
	case c.state == ampersand && isName(r), c.state == name:
		c.state = name
	case r == '&' && c.state == begin:
		c.state = ampersand
	case startsToken(r):
		c.state = begin
	default:
		c.state = inside
	}
	switch {
	case isBreak(r):
		c.column = 0
	case r == '\uFEFF' && c.column == 0: // A byte order mark takes no column.
	case c.column >= 0 && c.column < len(directive) && r == rune(directive[c.column]):
		c.column++
		c.found = c.found || c.column == len(directive)
	default:
		c.column = -1
	}
}

// Expands reports whether the text so far could expand.
func (c *Scanner) Expands() bool { return c.found || c.state == name }

func (c *Scanner) end() { c.found = c.Expands() }

// isName reports whether a character can be part of an anchor's name.
func isName(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_' || r == '-' ||
		r >= utf8.RuneSelf && !isBreak(r) && r != '\uFEFF' && r != '\u00A0'
}

// isBreak reports whether YAML begins a line after a character.
func isBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// startsToken reports whether a token may begin right after a character: white space, or what separates the items of a list or a map.
func startsToken(r rune) bool {
	switch r {
	case ' ', '\t', 0, '\uFEFF', '[', '{', ',', ':', '?':
		return true
	}
	return isBreak(r)
}

// BreaksLines reports whether a text has a line break that is none to the templates of Helm charts: all but "\n" and "\r\n". They
// indent a text by its "\n" alone, so what comes after another would be outside of the value that the text is.
func BreaksLines(s string) bool {
	after := rune(0)
	for _, r := range s {
		if after == '\r' && r != '\n' || isBreak(r) && r != '\n' && r != '\r' {
			return true
		}
		after = r
	}
	return after == '\r'
}
