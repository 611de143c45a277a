// Package visible makes what strangers have written fit to be read in a terminal.
package visible

import (
	"strings"
	"unicode"
)

// Line returns a message on one line, without characters that nobody sees: those that a terminal obeys, such as escape sequences, and those that
// change the direction of the text.
func Line(message string) string {
	if !strings.ContainsFunc(message, unseen) {
		return message
	}
	message = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unseen(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(message, ""))
	return strings.Join(strings.Fields(message), " ")
}

func unseen(r rune) bool { return !unicode.IsGraphic(r) || r == unicode.ReplacementChar }
