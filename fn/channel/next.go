package channel

import (
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// A Channel is what a platform team wants of it.
type Channel struct {
	// Offer is the digest of what is offered: see Digest.
	Offer   string
	Rollout v1alpha1.ChannelRollout
	Paused  bool
	// Unread says that the tenants' records don't tell yet whom rollout.first selects.
	Unread bool
}

// A State is what a channel remembers from one time to the next. The zero State is that of
// a channel that remembers nothing.
type State struct {
	// Offer is the digest of what is offered.
	Offer string `json:"offer,omitempty"`
	// Percent of the tenants that may have it in the step.
	Percent int `json:"percent"`
	// Complete is the digest of the offer that every tenant had last, but for those that were
	// frozen or didn't answer.
	Complete string `json:"complete,omitempty"`
	// Since is when it began to admit tenants to the offer, or did so again after a pause or
	// a halt; the zero time while it doesn't.
	Since time.Time `json:"since,omitzero"`
	// Halted is why the rollout halted; nil where it didn't.
	Halted *Halt `json:"halted,omitempty"`
	// Admitted are the tenants that may begin, those that may have begun unseen, and those
	// that didn't.
	Admitted []Admission `json:"admitted,omitempty"`
	// NotBefore is when the first tenant is admitted where state was lost.
	NotBefore time.Time `json:"notBefore,omitzero"`
}

// A Halt is why a rollout halted.
type Halt struct {
	At time.Time `json:"at"`
	// Message names the tenants that broke.
	Message string `json:"message"`
}

// A Result is what has become of a channel.
type Result struct {
	State State
	// Step is the number of the step, from 1.
	Step int
	// Tenants of the channel, counted.
	Tenants v1alpha1.ChannelTenants
	// Conditions of the channel, each of them at all times.
	Conditions []Condition
	// Again is when the answer may be another though no record changes; the zero time
	// where it won't.
	Again time.Time
}

// A Condition of a channel.
type Condition struct {
	Type    string
	True    bool
	Reason  string
	Message string
}

// Next decides who gets the offer now, and says how far it is. It returns an error, and the
// channel is to stay as it was, where the rollout can't be used.
func Next(c Channel, was State, records []Record, now time.Time) (Result, error) {
	u, err := rulesOf(c.Rollout)
	if err != nil {
		return Result{}, err
	}
	s := begin(c, was, records, now)
	at := u.at(s.Percent)
	t := look(u, &s, records, now)

	switch {
	case t.broken.n >= u.degraded && s.Halted == nil:
		s.Halted = &Halt{At: now, Message: t.broken.String() + " broke"}
	case t.broken.n < u.degraded && c.Paused:
		s.Halted = nil
	}
	stopped := c.Paused || c.Unread || s.Halted != nil
	switch {
	case stopped:
		s.Since = time.Time{}
	case s.Since.IsZero():
		s.Since = now
	}

	for !stopped && at+1 < len(u.steps) && t.over(u.steps[at]) && !now.Before(t.soaked(u.steps[at])) {
		at++
	}
	step := u.steps[at]
	s.Percent = step.percent
	over := t.over(step)
	soaking := over && now.Before(t.soaked(step))
	if over && !soaking && !stopped && step.percent == 100 {
		s.Complete = s.Offer
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
		// What has no meaning any more is taken out with the next change.
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

// begin returns the state with which to go on.
func begin(c Channel, was State, records []Record, now time.Time) State {
	s := was
	// What is remembered stays as it was for whoever has it.
	s.Admitted = append([]Admission(nil), was.Admitted...)
	if was.Offer == c.Offer {
		return s
	}
	s.Offer, s.Percent, s.Since, s.Halted = c.Offer, 0, time.Time{}, nil
	if was.Offer == "" {
		for i := range records {
			// These have been in a channel, and this one doesn't remember it.
			if records[i].Accepted != "" {
				s.NotBefore = now.Add(Settle)
			}
		}
	}
	return s
}
