package credentials

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Use says what becomes of a key that Argo CD's own Secrets can have.
type Use string

// Uses of keys.
const (
	// Taken keys have the effect that they have in Argo CD.
	Taken Use = "taken"
	// Compared keys must not contradict the entry of the spec.
	Compared Use = "compared"
	// NoEffect keys are ones that Argo CD doesn't read in such a Secret. The status names them.
	NoEffect Use = "no effect"
	// Impossible keys are refused.
	Impossible Use = "not possible"
)

// A Key of the Secrets that entries of the spec name. docs/api.md lists them.
type Key struct {
	Name string
	Use  Use
	// Why it is not possible or has no effect, or what else there is to say.
	Why string
	// Since is the first version of Argo CD that reads it, such as 3.5; "" for all that are supported.
	Since string
	// Is checks the text at the key, and returns how Argo CD gets it. Nil for any text.
	Is func(s *Reader, key, text string) string
}

// ReadKeys reads the texts at known keys, and refuses unknown ones and those that are not possible. other has further names of keys, by
// name.
func ReadKeys(s *Reader, keys []Key, other map[string]string, ignored ...string) map[string]string {
	known := slices.Concat(slices.Collect(maps.Values(other)), ignored)
	var write []string
	for _, k := range keys {
		known = append(known, k.Name)
		if k.Use == Taken {
			write = append(write, k.Name)
		}
	}
	s.Only(known, write)
	read := map[string]string{}
	for _, k := range keys {
		text := s.Text(k.Name)
		if name := other[k.Name]; name != "" && text == "" {
			text = s.Text(name)
		}
		if k.Is != nil && text != "" {
			text = k.Is(s, k.Name, text)
		}
		switch {
		case text == "":
		case k.Use == Impossible:
			// Not set is what it is without the key.
			if text != "false" {
				s.Fail("key %s is not possible here: %s", k.Name, k.Why)
			}
		case k.Use == NoEffect:
			s.Note("key %s has no effect: %s", k.Name, k.Why)
		default:
			read[k.Name] = text
			s.NoteSince("key "+k.Name, k.Since)
		}
	}
	return read
}

// Note says of a Secret that is used what of it has no effect.
func (s *Reader) Note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// OlderArgoCD reports whether the tenant's Argo CD is known to be older than a version.
func (s *Reader) OlderArgoCD(than string) bool { return s.given.Ignored(than) != "" }

// NoteSince says of something in a Secret that the tenant's Argo CD is too old for it, if it is.
func (s *Reader) NoteSince(what, since string) {
	if why := s.given.Ignored(since); why != "" {
		s.Note("%s has no effect: %s", what, why)
	}
}

// Notes returns what was noted; "" for nothing.
func (s *Reader) Notes() string {
	if len(s.notes) == 0 {
		return ""
	}
	return s.what + ": " + strings.Join(s.notes, "; ")
}

// lists are where a claim has what Argo CD calls so; "" for what no claim has.
var lists = map[string]string{"repository": "repositories", "repo-creds": "credentialTemplates", "cluster": "clusters", "repository-write": "", "repo-write-creds": "", "scm-creds": ""}

// CompareType notes where the Secret says of itself that it is for something else than the list of the spec that names it.
func (s *Reader) CompareType(list string) {
	is := s.Labels[LabelSecretType]
	switch of, known := lists[is]; {
	case !known || of == list:
	case of == "":
		s.Note("its label %s is %s, which nothing in a claim is for: have spec.bootstrap bring such a Secret; here it is taken for one of spec.%s", LabelSecretType, is, list)
	default:
		s.Note("its label %s is %s, and here it is taken for one of spec.%s: name it in spec.%s, if that is meant, or correct the label", LabelSecretType, is, list, of)
	}
}
