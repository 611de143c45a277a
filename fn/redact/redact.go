// Package redact takes secrets out of messages.
package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
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

// New returns a function that takes secrets out of messages: the connection details that
// are known, what the Secrets hold that were read, and what has the form of a secret. They
// are looked up when there is a message to look at.
func New(o tenant.Observed) func(message string) string {
	known := sync.OnceValue(func() []string { return secrets(o) })
	return func(message string) string {
		if message == "" {
			return ""
		}
		for _, secret := range known() {
			message = strings.ReplaceAll(message, secret, redacted)
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

// secrets are the texts to hide, the longest first: one may be part of another.
func secrets(o tenant.Observed) []string {
	all := slices.Clone(o.Secrets)
	for _, name := range []string{tenant.KubeconfigSecret, tenant.InstallerCredentials, tenant.ValuesSecret} {
		all = append(all, wire.SecretData(o.Composed[name].Struct))
	}
	add := func(details map[string][]byte) {
		data := map[string]string{}
		for key, value := range details {
			data[key] = string(value)
		}
		all = append(all, data)
	}
	add(o.XRConnection)
	for _, c := range o.Composed {
		add(c.Connection)
	}
	var out []string
	for _, data := range all {
		out = append(out, secretTexts(data)...)
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return slices.Compact(out)
}

// publicKey is a key of a Secret, or a field of what stands in one, that holds no
// secret. Hiding it would take from a message what makes it worth reading.
var publicKey = regexp.MustCompile(`(?i)^(server|name|namespaces?|project|shard|clusterResources|url|type|username|insecure.*|enable.*|force.*|noProxy|githubApp(ID|InstallationID|EnterpriseBaseUrl)|.*ca\.crt|tls\.crt|tlsClientCertData|ca-?data|certificate-authority.*|cert-?data|client-certificate.*|known_?hosts|apiVersion|kind|current-context|context|cluster|user|issuer|clientID|serverName)$`)

// fromSpec is a key of the values under which stands what the claim itself says. A
// label is often the name of what it labels, and names make a message worth reading.
var fromSpec = regexp.MustCompile(`^(labels|annotations)$`)

// secretTexts are the texts to hide of a Secret that was read: whole and line by line,
// as they are, in base64, which is how they stand in another Secret, and as Go and JSON
// quote them.
func secretTexts(data map[string]string) []string {
	var out []string
	hide := func(text string) {
		if len(text) >= minSecret {
			quoted := strconv.Quote(text)
			out = append(out, text, base64.StdEncoding.EncodeToString([]byte(text)), quoted[1:len(quoted)-1])
			if inJSON, err := json.Marshal(text); err == nil {
				out = append(out, string(inJSON[1:len(inJSON)-1]))
			}
		}
	}
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if fromSpec.MatchString(key) {
				return
			}
			for key, at := range v {
				walk(key, at)
			}
		case []any:
			for _, at := range v {
				walk(key, at)
			}
		case string:
			// A URL may have a password in it.
			if publicKey.MatchString(key) && (!strings.Contains(v, "://") || !strings.Contains(v, "@")) {
				return
			}
			hide(strings.TrimSpace(v))
			for line := range strings.Lines(v) {
				hide(strings.TrimSpace(line))
			}
		}
	}
	for key, text := range data {
		var nested map[string]any
		if yaml.Unmarshal([]byte(text), &nested) == nil && nested != nil {
			walk(key, nested)
			hide(strings.TrimSpace(text))
			continue
		}
		walk(key, text)
	}
	return out
}
