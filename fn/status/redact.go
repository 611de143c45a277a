package status

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
)

const (
	// maxMessage bounds what a provider's error may take of a condition.
	maxMessage = 1024
	// minSecret is the shortest text taken for a secret: shorter ones are words
	// that stand in any message.
	minSecret = 6

	redacted = "[redacted]"
)

// secretField is a field of a kubeconfig, or of anything like it, that holds a
// secret. The rest of a kubeconfig, its server above all, is what makes an error
// worth reading.
var secretField = regexp.MustCompile(`(?i)((?:token|password|client-key-data|bearer)"?\s*[:=]\s*"?)([^\s",}]+)`)

// redact takes secrets out of a message that a provider wrote: the connection
// details that are known, line by line since a kubeconfig never turns up whole,
// and what has the form of a secret.
func redact(message string, o decode.Observed) string {
	if message == "" {
		return ""
	}
	for _, secret := range secrets(o) {
		message = strings.ReplaceAll(message, secret, redacted)
	}
	message = secretField.ReplaceAllString(message, "${1}"+redacted)
	return cut(strings.ToValidUTF8(message, "?"))
}

// secrets are the texts to hide, the longest first: one may be part of another.
func secrets(o decode.Observed) []string {
	var out []string
	add := func(details map[string][]byte) {
		for key, value := range details {
			if key == URLKey || key == UsernameKey {
				continue
			}
			for line := range bytes.Lines(value) {
				if text := secretIn(strings.TrimSpace(string(line))); len(text) >= minSecret {
					out = append(out, text)
				}
			}
		}
	}
	add(o.XRConnection)
	for _, c := range o.Composed {
		add(c.Connection)
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return slices.Compact(out)
}

// secretIn is the part of a line that is secret. A line of a kubeconfig is a
// field, and most of its fields aren't.
func secretIn(line string) string {
	if m := secretField.FindStringSubmatch(line); m != nil {
		return m[2]
	}
	if strings.Contains(line, ": ") || strings.HasSuffix(line, ":") {
		return ""
	}
	return line
}

func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	at := maxMessage
	for !utf8.RuneStart(message[at]) {
		at--
	}
	return message[:at] + "..."
}
