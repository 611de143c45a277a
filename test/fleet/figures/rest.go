package figures

import (
	"fmt"
	"time"
)

// What a Ready tenant may cost that nobody changes: requests that write, a minute, and reconciles of its composite resource.
const (
	WritesAMinute   = 3
	ReconcilesEvery = 10 * time.Minute
)

// TellsFrom is how long tenants have to rest for their costs to tell something. Crossplane looks at a tenant at rest every quarter
// of an hour, so within less it may look at none of them, or at all.
const TellsFrom = 15 * time.Minute

// A Rest is what tenants have cost while nobody changed them.
type Rest struct {
	Tenants int
	Took    time.Duration
	// Writes are requests that write, by verb and kind: see APIServer.
	Writes map[string]float64
	// Reconciles of the tenants' composite resources.
	Reconciles float64
}

// Writing is how many requests have written for one tenant, a minute.
func (r Rest) Writing() float64 {
	n := 0.0
	for _, of := range r.Writes {
		n += of
	}
	return n / float64(r.Tenants) / r.Took.Minutes()
}

// Reconciled is how often the composite resource of one tenant was reconciled, in the time in which it may be once.
func (r Rest) Reconciled() float64 {
	return r.Reconciles / float64(r.Tenants) * float64(ReconcilesEvery) / float64(r.Took)
}

// Problems says which bounds the tenants exceed. Where they rested for less than TellsFrom, it says nothing.
func (r Rest) Problems() (out []string) {
	if r.Took < TellsFrom {
		return nil
	}
	if n := r.Writing(); n > WritesAMinute {
		out = append(out, fmt.Sprintf("a tenant at rest costs %.2f writes a minute, want at most %d", n, WritesAMinute))
	}
	if n := r.Reconciled(); n > 1 {
		out = append(out, fmt.Sprintf("the composite resource of a tenant at rest is reconciled %.2f times in %s, want at most once", n, ReconcilesEvery))
	}
	return out
}
