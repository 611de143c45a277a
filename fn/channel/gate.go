package channel

import (
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// A Gate is what a tenant knows of its channel: what the channel has published for all its
// tenants, and this tenant's admission.
type Gate struct {
	// Offer is the digest of the channel's current offer.
	Offer string
	// Complete is the digest of the last complete offer; empty before there is one. See
	// State.Complete.
	Complete string
	Paused   bool
	Halted   bool
	// Admission of the tenant; nil for none.
	Admission *Admission
}

// Facts are what Gate.Decide has to know about a tenant.
type Facts struct {
	// New says that nothing runs yet, and nothing was accepted.
	New bool
	// Accepted is the digest of the offer that the tenant has; empty for none.
	Accepted string
	// Unaffected says that the offer changes nothing that runs.
	Unaffected bool
	// Schedule says when platform changes may begin.
	Schedule maintenance.Schedule
}

// A Verdict says which offer a tenant is to have now.
type Verdict struct {
	// Offer is its digest: of the current offer, of the one that the tenant has, or, for a
	// new tenant, of the last complete one; empty for no offer of the channel.
	Offer string
	// Message says what the tenant waits for before it gets the current offer; empty if it
	// waits for nothing.
	Message string
	// Again is when the verdict may change although neither the gate nor the tenant does; the
	// zero time for never.
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
