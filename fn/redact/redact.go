// Package redact takes secrets out of messages. It knows the secrets that are in use, and decodes nothing to find others: what a message
// shows or hides of a text would answer guesses.
package redact

import (
	"regexp"
	"strings"
	"sync"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/visible"
)

const (
	// maxMessage bounds what a provider's error may take of a condition.
	maxMessage = 1024
	redacted   = "[redacted]"
	// unknown replaces messages of a tenant whose Secrets have more texts than can be looked for.
	unknown = "this message isn't shown, because the Secrets of this claim have too many lines to take out of it: leave out what is no credential"
)

// secretField is a field of a kubeconfig, or of anything like it, that holds a
// secret. The rest of a kubeconfig, its server above all, is what makes an error
// worth reading.
var secretField = regexp.MustCompile(`(?i)((?:token|password|client-key-data|bearer)"?\s*[:=]\s*"?)([^\s",}]+)`)

// New returns a function that takes secrets out of messages: those that are in use, and what has the form of a secret. They are
// collected when there is a message. What is left is on one line.
func New(o tenant.Observed) func(message string) string {
	known := sync.OnceValue(func() *index { return secrets(o) })
	return func(message string) string {
		if message == "" {
			return ""
		}
		if known().full {
			return unknown
		}
		// What has the form of a secret is replaced afterwards, which may make the message shorter.
		message = known().hide(message, 4*maxMessage)
		if line := visible.Line(message); line != message {
			// What was between the parts of a secret is gone.
			message = known().hide(line, 4*maxMessage)
		}
		message = secretField.ReplaceAllString(message, "${1}"+redacted)
		message = strings.ToValidUTF8(message, "?")
		if len(message) > maxMessage {
			// Without the part of a character at the end.
			message = strings.ToValidUTF8(message[:maxMessage], "") + "..."
		}
		return message
	}
}
