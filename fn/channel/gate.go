package channel

import (
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// A Gate is what a tenant knows of its channel.
type Gate struct {
	// Offer is the digest of what the channel offers.
	Offer string
	// Complete is the digest of the offer that was complete last; empty before there was one.
	// See State.Complete.
	Complete string
	Paused   bool
	Halted   bool
	// Admission of the tenant; nil for none.
	Admission *Admission
}

// Facts are what the gate's answer depends on of a tenant.
type Facts struct {
	// New: nothing runs yet, and nothing was accepted.
	New bool
	// Accepted is the digest of the offer that the tenant has; empty for none.
	Accepted string
	// Unaffected: what is offered changes nothing that runs.
	Unaffected bool
	Schedule   maintenance.Schedule
}

// A Verdict says which offer a tenant is to have now.
type Verdict struct {
	// Offer is its digest: the offered one, the one that the tenant has, or for a new one
	// the one that was complete last; empty for none of the channel's.
	Offer string
	// Message says what a tenant that is to have the channel's offer later waits for; empty
	// where it has it.
	Message string
	// Again is when the answer may be another, without a change of gate or tenant; the zero
	// time where it isn't.
	Again time.Time
}

// Decide says which offer a tenant is to have now.
func (g Gate) Decide(t Facts, now time.Time) Verdict {
	has := t.Accepted
	if t.New {
		has = g.Complete
		if has == "" && !g.Halted && !g.Paused {
			has = g.Offer
		}
	}
	wait := func(message string) Verdict { return Verdict{Offer: has, Message: message} }
	state, next := t.Schedule.At(now)
	switch {
	case has == g.Offer || t.Unaffected:
		return Verdict{Offer: g.Offer}
	case t.New && has == "" && g.Halted:
		return wait("begins without an offer, because the channel has halted")
	case t.New && has == "":
		return wait("begins without an offer, because the channel is paused")
	case t.New:
		return wait("begins with the last complete offer")
	case g.Halted:
		return wait("the channel has halted")
	case g.Paused:
		return wait("the channel is paused")
	case state != maintenance.Open:
		return Verdict{Offer: has, Message: t.Schedule.Waits(now), Again: next}
	case !g.Admission.Valid(g.Offer, now):
		return wait("waits for its turn")
	}
	return Verdict{Offer: g.Offer}
}
