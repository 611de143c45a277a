package plan

import (
	"encoding/json"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// maxSensitive bounds the values that come from Secrets, in bytes of JSON. Helm
// keeps them twice in a Secret of at most 1 MiB, as values and as the manifests
// they become, beside the rest of the chart; and credentials hardly compress.
const maxSensitive = 192 << 10

// A Connection is what became of one Secret that the spec names.
type Connection struct {
	// Kind tells lists of connections apart that share a list in the status.
	Kind    string
	Name    string
	State   v1alpha1.ConnectionState
	Message string
}

// sensitive collects the values that come from Secrets.
type sensitive struct {
	values values.Values
	// before are the values as they are in use now. What a Secret that is
	// missing or broken gave before stays.
	before func() values.Values
	size   int
}

// add adds the value of an entry or, when there was a problem, what stood in its
// place.
func (s *sensitive) add(c Connection, p *problem, value any, path ...string) Connection {
	if p == nil && !s.put(value, path) {
		p = &problem{v1alpha1.StateSecretInvalid, "the credentials of this claim are too large together for Helm, which keeps them in one Secret: use fewer or smaller ones"}
	}
	if p == nil {
		c.State = v1alpha1.StateConnected
		return c
	}
	c.State, c.Message = p.state, p.message
	if s.before != nil {
		if old, ok := values.Lookup(s.before(), path...); ok && s.put(old, path) {
			c.Message += "; what it gave before stays in use"
		}
	}
	return c
}

// put sets the value at the path, unless all would be too large then.
func (s *sensitive) put(value any, path []string) bool {
	raw, err := json.Marshal(value)
	if err != nil || s.size+len(raw) > maxSensitive {
		return false
	}
	s.size += len(raw)
	values.Insert(s.values, value, path...)
	return true
}
