package status

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
)

const (
	// maxMessage bounds what a provider's error may take of a condition.
	maxMessage = 1024
	// minSecret is the shortest line taken for a secret: shorter ones are words
	// that stand in any message.
	minSecret = 6
)

// redact takes connection details out of a message that a provider wrote. Line
// by line, since a kubeconfig never turns up whole.
func redact(message string, o decode.Observed) string {
	if message == "" {
		return ""
	}
	hide := func(details map[string][]byte) {
		for key, secret := range details {
			if key == URLKey || key == UsernameKey {
				continue
			}
			for line := range bytes.Lines(secret) {
				if text := secretIn(string(line)); len(text) >= minSecret {
					message = strings.ReplaceAll(message, text, "[redacted]")
				}
			}
		}
	}
	hide(o.XRConnection)
	for _, c := range o.Composed {
		hide(c.Connection)
	}
	return cut(strings.ToValidUTF8(message, "?"))
}

// secretIn is the part of a line that may be secret: in a kubeconfig what
// follows the key.
func secretIn(line string) string {
	line = strings.TrimSpace(line)
	if _, value, ok := strings.Cut(line, ": "); ok {
		return strings.Trim(value, `"' `)
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
