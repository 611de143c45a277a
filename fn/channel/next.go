package channel

import (
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// A Channel is the spec of a channel.
type Channel struct {
	// Offer is the digest of the offer: see fingerprint.OfOffer.
	Offer   string
	Rollout v1alpha1.ChannelRollout
	Paused  bool
	// Unread says that the tenants' records don't have the labels yet that rollout.first selects by. No tenant is admitted until then.
	Unread bool
}

// A State is what a channel remembers from one call of Next to the next. The zero State is that of a new channel, or of one that has lost
// its state.
type State struct {
	// Offer is the digest of the current offer.
	Offer string `json:"offer,omitempty"`
	// Percent of the tenants may have it in the current step.
	Percent int `json:"percent"`
	// Complete is the digest of the last complete offer: every tenant had it, except for those that were frozen, didn't begin or moved
	// their windows. It is empty before there is one.
	Complete string `json:"complete,omitempty"`
	// Counted says that the channel had tenants when Next was called some time before.
	Counted bool `json:"counted,omitempty"`
	// Since is when the channel began to admit tenants to the offer, or resumed after a pause, a halt, or while it was Unread; the zero
	// time until then.
	Since time.Time `json:"since,omitzero"`
	// Included is until when tenants have joined that aren't late. It is Since, or later if the channel began with late tenants because no
	// other could begin.
	Included time.Time `json:"included,omitzero"`
	// Halted says why the rollout has halted; nil if it hasn't.
	Halted *Halt `json:"halted,omitempty"`
	// Admitted are the admissions of tenants that may begin, of those that may have begun although their records don't say so yet, and of
	// those that didn't begin.
	Admitted []Admission `json:"admitted,omitempty"`
	// Broken are tenants that the offer has broken, at most 500. While the channel isn't paused, they count as broken even if they have
	// left the channel or are well because their claims were changed.
	Broken []Broken `json:"broken,omitempty"`
	// NotBefore is when the first tenant may be admitted after the state was lost.
	NotBefore time.Time `json:"notBefore,omitzero"`
}

// A Broken tenant.
type Broken struct {
	Tenant string `json:"tenant"`
	// Name is that of its claim, if it has one.
	Name string `json:"name"`
	// Since is when the channel first saw it broken.
	Since time.Time `json:"since"`
}

// A Halt says when and why a rollout halted.
type Halt struct {
	At time.Time `json:"at"`
	// Message names the broken tenants, and says how they are broken. Next fills in an empty one.
	Message string `json:"message"`
}

// A Result is what Next returns.
type Result struct {
	State State
	// Step is the number of the step, from 1.
	Step int
	// Tenants of the channel, counted.
	Tenants v1alpha1.ChannelTenants
	// Conditions Progressing, Halted and Complete of the channel, in this order.
	Conditions []Condition
	// Again is when the result may change although no record does; the zero time for never.
	Again time.Time
}

// A Condition of a channel.
type Condition struct {
	Type    string
	True    bool
	Reason  string
	Message string
}

// Next decides which tenants get the offer now, and returns the channel's new state and status. was is the state that the last call
// returned. If the rollout can't be used, Next returns an error that names the field, and the channel must stay as it was.
func Next(c Channel, was State, records []Record, now time.Time) (Result, error) {
	u, err := rulesOf(c.Rollout)
	if err != nil {
		return Result{}, err
	}
	s := begin(c, was, records, now)
	s.Counted = s.Counted || len(records) > 0
	at := u.at(s.Percent)
	t := look(u, c.Paused, &s, records, now)

	switch broke := t.broken.N >= u.degraded; {
	case broke && (s.Halted == nil || s.Halted.Message == ""):
		s.Halted = &Halt{At: now, Message: t.broken.String() + " broke"}
	case !broke && c.Paused:
		s.Halted = nil
	case s.Halted != nil && s.Halted.Message == "":
		s.Halted = &Halt{At: now, Message: "it had halted before its state was lost"}
	}
	stopped, empty := c.Paused || c.Unread || s.Halted != nil, t.empty(&s)
	switch {
	case stopped || empty:
		s.Since, s.Included = time.Time{}, time.Time{}
	case s.Since.IsZero():
		s.Since, s.Included = now, now
	}

	for !stopped && !empty && at+1 < len(u.steps) && t.over(u.steps[at]) && !now.Before(t.soaked(u.steps[at])) {
		at++
	}
	step := u.steps[at]
	s.Percent = step.percent
	over := t.over(step)
	soaking := over && now.Before(t.soaked(step))
	if over && !soaking && !stopped && !empty && step.percent == 100 {
		s.Complete = s.Offer
	}
	switch {
	case stopped || t.late.N == 0:
	case !over && t.has+t.left+t.holding+t.first.N == 0:
		// None of the earlier tenants can begin: those that have joined since are next. Since stays, because whoever may write claims may
		// have one join each time.
		s.Included = now
		t.look(now.Add(time.Second))
	case s.Complete == s.Offer:
		t.look(now.Add(time.Second))
	}

	switch {
	case stopped:
		t.withdraw(&s, now)
	case now.Before(s.NotBefore):
		t.look(s.NotBefore)
	default:
		t.admit(u, &s, step, now)
	}
	if !t.changed {
		// Admissions that don't matter any more are removed with the next change.
		s.Admitted = was.Admitted
	}
	if soaking && !stopped {
		t.look(t.soaked(step))
	}
	return Result{
		State: s, Step: at + 1, Again: t.again, Tenants: t.counts(),
		Conditions: conditions(c, s, t, u, at, soaking),
	}, nil
}

// begin returns the state from which Next goes on: at the first step if the offer is another.
func begin(c Channel, was State, records []Record, now time.Time) State {
	s := was
	// The caller's state must not change.
	s.Admitted = append([]Admission(nil), was.Admitted...)
	if was.Offer == c.Offer {
		return s
	}
	s.Offer, s.Percent, s.Since, s.Included, s.Broken = c.Offer, 0, time.Time{}, time.Time{}, nil
	if was.Offer != "" {
		s.Halted = nil
	} else {
		for i := range records {
			// This tenant was in a channel before, and this channel doesn't remember it.
			if records[i].Accepted != "" {
				s.NotBefore = now.Add(Settle)
			}
		}
	}
	return s
}
