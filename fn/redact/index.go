package redact

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

const (
	// minSecret is the shortest text taken for a secret: shorter ones are words
	// that stand in any message.
	minSecret = 6
	// maxTexts and maxBytes bound the texts to hide: the private keys of 150 Secrets have 9,000 lines, and a request has 16 MiB.
	maxTexts = 100_000
	maxBytes = 16 << 20
	// maxRead is how much of a message is read, in bytes. A tenant writes some of them, and may hide most of one.
	maxRead = 16 << 10
)

// An index finds texts in a message. Its time is proportional to the part of the message that is shown, whatever the texts are.
type index struct {
	// texts to hide, sorted by sort.
	texts []string
	// shorter has, for each text, the index of the longest other text that it begins with; -1 for none.
	shorter []int
	// bytes of all secrets, without their other forms.
	bytes int
	// full reports that there were too many texts.
	full bool
}

// add adds a secret: as it is, in base64, which is how it stands in another Secret, and as Go and JSON quote it.
func (x *index) add(text string) {
	if len(text) < minSecret || x.full {
		return
	}
	if x.bytes += len(text); x.bytes > maxBytes {
		x.full = true
		return
	}
	x.put(text)
	x.put(base64.StdEncoding.EncodeToString([]byte(text)))
	quoted := strconv.Quote(text)
	x.put(quoted[1 : len(quoted)-1])
	if inJSON, err := json.Marshal(text); err == nil {
		x.put(string(inJSON[1 : len(inJSON)-1]))
	}
}

// addLines adds a secret, whole and line by line: an error may quote one line of it.
func (x *index) addLines(text string) {
	whole := strings.TrimSpace(text)
	x.add(whole)
	if !strings.Contains(whole, "\n") {
		return
	}
	for line := range strings.Lines(whole) {
		x.add(strings.TrimSpace(line))
	}
}

func (x *index) put(text string) {
	switch last := len(x.texts) - 1; {
	case len(text) < minSecret, last >= 0 && x.texts[last] == text:
	case last+1 == maxTexts:
		x.full = true
	default:
		x.texts = append(x.texts, text)
	}
}

// sort prepares the texts for hide.
func (x *index) sort() {
	slices.Sort(x.texts)
	x.texts = slices.Compact(x.texts)
	x.shorter = make([]int, len(x.texts))
	for i, text := range x.texts {
		// What a text begins with is before it, and so are the others that begin with that.
		at := i - 1
		for at >= 0 && !strings.HasPrefix(text, x.texts[at]) {
			at = x.shorter[at]
		}
		x.shorter[i] = at
	}
}

// longest returns the length of the longest text that a message begins with; 0 for none.
func (x *index) longest(message string) int {
	at, there := slices.BinarySearch(x.texts, message)
	if !there {
		// Whatever text the message begins with, the one before the message begins with it, too.
		at--
	}
	if at < 0 {
		return 0
	}
	same := 0
	for same < min(len(message), len(x.texts[at])) && message[same] == x.texts[at][same] {
		same++
	}
	for at >= 0 && len(x.texts[at]) > same {
		at = x.shorter[at]
	}
	if at < 0 {
		return 0
	}
	return len(x.texts[at])
}

// hide returns the beginning of a message with the texts replaced: about the supplied number of bytes, of the first maxRead. Texts may
// overlap: all of them are replaced as one.
func (x *index) hide(message string, most int) string {
	out := &strings.Builder{}
	// hidden is where the texts end that were found so far.
	hidden := 0
	for at := 0; at < min(len(message), maxRead) && out.Len() < most; at++ {
		begun := at < hidden
		hidden = max(hidden, at+x.longest(message[at:]))
		switch {
		case at >= hidden:
			out.WriteByte(message[at])
		case !begun:
			out.WriteString(redacted)
		}
	}
	return out.String()
}
