package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// A Claim that a tenant belongs to; the zero Claim where there is none.
type Claim struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

// MaxSecretSize bounds a Secret of credentials, in bytes.
const MaxSecretSize = 256 << 10

// maxPrivateKey bounds a private key, in bytes: one of RSA with 4,096 bits takes 3,300,
// and what checks a much longer one takes seconds.
const maxPrivateKey = 16 << 10

// LabelCredentials is the label of Secrets that claims may use, with the value "true".
const LabelCredentials = "virtualargocd.io/credentials"

// What the input may say of that label.
const (
	CredentialsLabelRequired = "Required"
	CredentialsLabelIgnored  = "Ignored"
)

// A Secret that the spec names, in the namespace of the claim.
type Secret struct {
	// Read tells whether Crossplane has looked for it.
	Read bool
	// Found tells whether it is there.
	Found bool
	// Labelled: it has LabelCredentials.
	Labelled bool
	// TooLarge: it holds more than MaxSecretSize, and has not been decoded.
	TooLarge bool
	// Type of the Secret, such as kubernetes.io/tls.
	Type string
	// Data of the Secret, decoded.
	Data map[string]string
}

// A problem keeps a Secret from being used. Its message names keys, never what
// stands at them.
type problem struct {
	state   v1alpha1.ConnectionState
	message string
}

// A reader of one Secret remembers the first problem.
type secretReader struct {
	Secret
	// what the Secret is called in messages.
	what    string
	problem *problem
}

// readSecret begins to read the Secret of that name.
func (r Request) readSecret(name string) *secretReader {
	s := &secretReader{Secret: r.Secrets[name], what: fmt.Sprintf("Secret %s in namespace %s", name, r.Claim.Namespace)}
	switch {
	case !s.Read:
		s.problem = &problem{v1alpha1.StateSecretMissing, s.what + " has not been read yet"}
	case !s.Found:
		s.problem = &problem{v1alpha1.StateSecretMissing, s.what + " does not exist: create it"}
	case !s.Labelled && r.Input.Credentials.Label != CredentialsLabelIgnored:
		s.fail("doesn't have the label %[1]s: \"true\", without which a claim can't use it: kubectl -n %[2]s label secret %[3]s %[1]s=true", LabelCredentials, r.Claim.Namespace, name)
		// Nothing may come of it, not even a message about a key.
		s.Data = nil
	case s.TooLarge:
		s.fail("it is too large: keep it to %d KiB, and leave out what is no credential", MaxSecretSize>>10)
	}
	return s
}

// fail says why the Secret can't be used.
func (s *secretReader) fail(format string, args ...any) {
	if s.problem == nil {
		s.problem = &problem{v1alpha1.StateSecretInvalid, s.what + ": " + fmt.Sprintf(format, args...)}
	}
}

func (s *secretReader) has(key string) bool { return s.Data[key] != "" }

// text is what stands at the key, without space around it.
func (s *secretReader) text(key string) string {
	v := s.Data[key]
	if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
		s.fail("key %s is not text: write it in UTF-8", key)
		return ""
	}
	return strings.TrimSpace(v)
}

// need is the text at a key that must be there.
func (s *secretReader) need(key, why string) string {
	v := s.text(key)
	if v == "" {
		s.fail("key %s is missing or empty: %s", key, why)
	}
	return v
}

// only refuses keys that aren't known, and names those to write.
func (s *secretReader) only(known, write []string) {
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		if !slices.Contains(known, key) {
			s.fail("key %s is unknown: write one of %s", key, strings.Join(write, ", "))
		}
	}
}
