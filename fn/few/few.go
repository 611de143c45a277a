// Package few names the first few of many things in messages.
package few

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// few is how many names a message has, unless Names.Most says otherwise.
const few = 3

// Names counts names, and has the first few of them in alphabetical order.
type Names struct {
	// N is how many names were added.
	N int
	// Most is how many of them String returns; 0 means three.
	Most  int
	first []string
}

// Add adds a name.
func (l *Names) Add(name string) {
	l.N++
	most := cmp.Or(l.Most, few)
	if len(l.first) == most && name > l.first[most-1] {
		return
	}
	at, _ := slices.BinarySearch(l.first, name)
	l.first = slices.Insert(l.first, at, name)
	l.first = l.first[:min(most, len(l.first))]
}

// String returns the first names, and how many others there are.
func (l Names) String() string {
	text := strings.Join(l.first, ", ")
	if more := l.N - len(l.first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxTexts bounds what Texts returns, in bytes, beyond the first text.
const maxTexts = 4 << 10

// Texts returns the first of several texts, and how many others there are.
func Texts(all []string) string {
	var b strings.Builder
	for i, text := range all {
		if i > 0 && b.Len()+len(text) > maxTexts {
			fmt.Fprintf(&b, "; and %d more", len(all)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(text)
	}
	return b.String()
}
