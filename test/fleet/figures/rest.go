package figures

import (
	"fmt"
	"time"
)

// What a Ready tenant may cost while nothing about it changes: requests that write, a minute, and reconciles of its composite resource.
const (
	WritesAMinute   = 3
	ReconcilesEvery = 10 * time.Minute
)

// TellsFrom is how long tenants have to rest before their costs say something. Crossplane reconciles a tenant at rest about every 20
// minutes, so within less time it may reconcile none of them, or all.
const TellsFrom = 22 * time.Minute

// What a tenant may cost a minute if tenants rest for less than TellsFrom, but at least for LoopsTellFrom. It is far more than at rest, because
// tenants that have just become Ready may be reconciled once more, which takes up to 50 requests that write. It is less than what it costs to
// reconcile, or to write, the same over and over.
const (
	LoopingWrites     = 60
	LoopingReconciles = 2
	LoopsTellFrom     = time.Minute
)

// A Rest is what tenants have cost while nothing about them changed.
type Rest struct {
	Tenants int
	Took    time.Duration
	// Writes are requests that write, by verb and kind: see APIServer.
	Writes map[string]float64
	// Reconciles of the tenants' composite resources.
	Reconciles float64
}

// Writing returns how many requests wrote for one tenant, a minute.
func (r Rest) Writing() float64 {
	n := 0.0
	for _, of := range r.Writes {
		n += of
	}
	return n / float64(r.Tenants) / r.Took.Minutes()
}

// Reconciled returns how often the composite resource of one tenant was reconciled in ReconcilesEvery.
func (r Rest) Reconciled() float64 {
	return r.Reconciles / float64(r.Tenants) * float64(ReconcilesEvery) / float64(r.Took)
}

// Problems returns which bounds the tenants exceed, and whether the counts can't be true: some tenant is reconciled within TellsFrom, but maybe
// none within a minute. It returns nothing if tenants rested for less than LoopsTellFrom.
func (r Rest) Problems() (out []string) {
	writes, reconciles, every := float64(WritesAMinute), 1.0, ReconcilesEvery
	switch {
	case r.Took < LoopsTellFrom:
		return nil
	case r.Took < TellsFrom:
		writes, reconciles, every = LoopingWrites, LoopingReconciles, time.Minute
	}
	if nothing := len(r.Writes) == 0 || r.Reconciles == 0; r.Reconciles < 0 || nothing && r.Took >= TellsFrom {
		out = append(out, fmt.Sprintf("%g reconciles and %d kinds of writes were counted in %s: these are no figures", r.Reconciles, len(r.Writes), r.Took))
	}
	if n := r.Writing(); n > writes {
		out = append(out, fmt.Sprintf("a tenant at rest costs %.2f writes a minute, want at most %g", n, writes))
	}
	if n := r.Reconciled() * float64(every) / float64(ReconcilesEvery); n > reconciles {
		out = append(out, fmt.Sprintf("the composite resource of a tenant at rest is reconciled %.2f times in %s, want at most %g", n, every, reconciles))
	}
	return out
}
