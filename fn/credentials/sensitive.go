package credentials

import (
	"encoding/json"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// maxSensitive bounds the values that come from Secrets, in bytes of JSON. Helm
// keeps them twice in a Secret of at most 1 MiB, as values and as the manifests
// they become, beside the rest of the chart; and credentials hardly compress.
const maxSensitive = 192 << 10

// Sensitive collects the values that come from Secrets.
type Sensitive struct {
	Values values.Values
	// Before are the values as they are in use now. What a Secret that is
	// missing or broken gave before stays.
	Before func() values.Values
	size   int
}

// Add adds the value of an entry or, when there was a problem, what stood in its
// place.
func (s *Sensitive) Add(c tenant.Connection, p *Problem, value any, path ...string) tenant.Connection {
	if p == nil && !s.Put(value, path) {
		p = &Problem{v1alpha1.StateSecretInvalid, "the credentials of this claim are too large together for Helm, which keeps them in one Secret: use fewer or smaller ones"}
	}
	if p == nil {
		c.State = v1alpha1.StateConnected
		return c
	}
	c.State, c.Message = p.state, p.message
	if s.Before != nil {
		if old, ok := values.Lookup(s.Before(), path...); ok && s.Put(old, path) {
			c.Message += "; what it gave before stays in use"
		}
	}
	return c
}

// Put sets the value at the path, unless all would be too large then.
func (s *Sensitive) Put(value any, path []string) bool {
	raw, err := json.Marshal(value)
	if err != nil || s.size+len(raw) > maxSensitive {
		return false
	}
	s.size += len(raw)
	values.Insert(s.Values, value, path...)
	return true
}
