// Package credentials reads the Secrets that a claim names. Messages about them name keys, never
// their contents.
package credentials

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// MaxPrivateKey bounds a private key, in bytes: one of RSA with 8,192 bits takes 6,400, and 2 ms
// to check. One with 20,000 bits takes 40 ms, and a claim may have many.
const MaxPrivateKey = 8 << 10

// A Problem keeps a Secret from being used.
type Problem struct {
	state   v1alpha1.ConnectionState
	message string
}

// A Reader of one Secret remembers the first problem.
type Reader struct {
	tenant.Secret
	// what the Secret is called in messages.
	what    string
	Problem *Problem
	notes   []string
	given   tenant.Given
}

// Read begins to read the Secret of that name.
func Read(g tenant.Given, name string) *Reader {
	s := &Reader{Secret: g.Secrets[name], given: g, what: fmt.Sprintf("Secret %s in namespace %s", name, g.Claim.Namespace)}
	labels := fmt.Sprintf("%s=true %s=%s", tenant.LabelCredentials, tenant.LabelSecretName, name)
	if g.Input.Credentials.Label == tenant.CredentialsLabelIgnored {
		labels = tenant.LabelSecretName + "=" + name
	}
	byLabel := tenant.ByLabel(len(g.SecretNames))
	switch {
	case byLabel && len(validation.IsValidLabelValue(name)) > 0:
		s.Problem = &Problem{v1alpha1.StateSecretInvalid, fmt.Sprintf("%s: a claim that names more than %d Secrets needs names of at most 63 characters: create it under a shorter one", s.what, tenant.MaxNamed)}
	case byLabel && s.Read && !s.Found:
		s.Problem = &Problem{v1alpha1.StateSecretMissing, fmt.Sprintf("%s does not exist, or doesn't have the labels by which it is found, because the claim names more than %d Secrets: create it, and kubectl -n %s label secret %s %s",
			s.what, tenant.MaxNamed, g.Claim.Namespace, name, labels)}
	case !s.Read && slices.Index(g.SecretNames, name) >= tenant.MaxSecrets:
		s.Problem = &Problem{v1alpha1.StateSecretMissing, fmt.Sprintf("%s isn't read, because the claim names more than %d Secrets: name fewer", s.what, tenant.MaxSecrets)}
	case !s.Read:
		s.Problem = &Problem{v1alpha1.StateSecretMissing, s.what + " has not been read yet"}
	case !s.Found:
		s.Problem = &Problem{v1alpha1.StateSecretMissing, s.what + " does not exist: create it"}
	case !s.Labelled && g.Input.Credentials.Label != tenant.CredentialsLabelIgnored:
		s.Fail("doesn't have the label %[1]s: \"true\", without which a claim can't use it: kubectl -n %[2]s label secret %[3]s %[1]s=true", tenant.LabelCredentials, g.Claim.Namespace, name)
		// Nothing may come of it, not even a message about a key.
		s.Data = nil
	case s.TooLarge:
		s.Fail("it is too large: keep it to %d KiB, and leave out what is no credential", wire.MaxSecretSize>>10)
	}
	return s
}

// Fail says why the Secret can't be used.
func (s *Reader) Fail(format string, args ...any) {
	if s.Problem == nil {
		s.Problem = &Problem{v1alpha1.StateSecretInvalid, s.what + ": " + fmt.Sprintf(format, args...)}
	}
}

// Wait says until when a Secret that could be used isn't.
func (s *Reader) Wait(state v1alpha1.ConnectionState, message string) {
	if s.Problem == nil {
		s.Problem = &Problem{state, message}
	}
}

// Has reports whether there is something at the key.
func (s *Reader) Has(key string) bool { return s.Data[key] != "" }

// Text is what stands at the key, without space around it.
func (s *Reader) Text(key string) string {
	v := s.Data[key]
	if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
		s.Fail("key %s is not text: write it in UTF-8", key)
		return ""
	}
	return strings.TrimSpace(v)
}

// Need is the text at a key that must be there.
func (s *Reader) Need(key, why string) string {
	v := s.Text(key)
	if v == "" {
		s.Fail("key %s is missing or empty: %s", key, why)
	}
	return v
}

// Only refuses keys that aren't known, and names those to write.
func (s *Reader) Only(known, write []string) {
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		if !slices.Contains(known, key) {
			s.Fail("key %s is unknown: write one of %s", key, strings.Join(write, ", "))
		}
	}
}

// maxSensitive bounds the values that come from Secrets, in bytes of JSON. Helm
// keeps them twice in a Secret of at most 1 MiB, as values and as the manifests
// they become, beside the rest of the chart; and credentials hardly compress.
const maxSensitive = 192 << 10

// ExtraObjects is the list of the argo-cd chart that adds objects to its own.
const ExtraObjects = "extraObjects"

// Sensitive collects the values that come from Secrets.
type Sensitive struct {
	Values values.Values
	// Objects that the argo-cd chart creates in addition to its own.
	Objects []any
	// Before are the values as they are in use now. What a Secret that is
	// missing or broken gave before stays.
	Before values.Values
	size   int
}

// Add adds the value of an entry or, when there was a problem, what stood in its
// place.
func (s *Sensitive) Add(c tenant.Connection, p *Problem, value any, path ...string) tenant.Connection {
	return s.add(c, p, value, func(v any) bool { return s.Put(v, path) }, func() any { return at(s.Before, path) })
}

// AddObject adds the Secret that an entry becomes in Argo CD's namespace or, when there was a problem, the one that was there before.
func (s *Sensitive) AddObject(c tenant.Connection, p *Problem, object values.Values, name string) tenant.Connection {
	return s.add(c, p, object, s.putObject, func() any { return s.ObjectBefore(name) })
}

func (s *Sensitive) add(c tenant.Connection, p *Problem, value any, put func(any) bool, before func() any) tenant.Connection {
	if p == nil && breaksLines(value) {
		p = &Problem{v1alpha1.StateSecretInvalid, "the Secret of " + c.Name + " has a line break other than \\n and \\r\\n, such as U+2028: write \\n"}
	}
	if p == nil && !put(value) {
		p = &Problem{v1alpha1.StateSecretInvalid, "the credentials of this claim are too large together for Helm, which keeps them in one Secret: use fewer or smaller ones"}
	}
	if p == nil {
		c.State = v1alpha1.StateConfigured
		return c
	}
	c.State, c.Message = p.state, p.message
	if old := before(); old != nil && put(old) {
		c.Message += "; what it gave before stays in use"
	}
	return c
}

// at returns what is at a path; nil for nothing.
func at(v values.Values, path []string) any {
	is, _ := values.Lookup(v, path...)
	return is
}

// ObjectBefore returns the Secret of that name among the objects in use now; nil for none.
func (s *Sensitive) ObjectBefore(name string) any {
	for _, o := range values.At[[]any](s.Before, ExtraObjects) {
		if o, ok := o.(values.Values); ok && values.At[string](o, "metadata", "name") == name {
			return o
		}
	}
	return nil
}

// breaksLines reports whether there is a text in a value that could leave its place in the manifests of a chart.
func breaksLines(v any) bool {
	switch v := v.(type) {
	case string:
		return text.BreaksLines(v)
	case []any:
		return slices.ContainsFunc(v, breaksLines)
	case values.Values:
		for key, at := range v {
			if text.BreaksLines(key) || breaksLines(at) {
				return true
			}
		}
	}
	return false
}

// Put sets the value at the path, unless all would be too large then.
func (s *Sensitive) Put(value any, path []string) bool {
	if !s.fits(value) {
		return false
	}
	values.Insert(s.Values, value, path...)
	return true
}

func (s *Sensitive) putObject(object any) bool {
	if !s.fits(object) {
		return false
	}
	s.Objects = append(s.Objects, object)
	return true
}

func (s *Sensitive) fits(value any) bool {
	raw, err := json.Marshal(value)
	if err != nil || s.size+len(raw) > maxSensitive {
		return false
	}
	s.size += len(raw)
	return true
}
