package rollout

import (
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// A State is what a channel remembers from one call of Next to the next. The zero State is that of a
// new channel, or of one whose state is lost.
type State struct {
	// Revision is the number of the newest revision.
	Revision int64 `json:"revision"`
	// Digest of the content of the newest revision. The caller sets it.
	Digest string `json:"digest,omitempty"`
	// Complete is the number of the last revision that every tenant had, except for those that were
	// skipped or passed over; 0 before there is one.
	Complete int64 `json:"complete,omitempty"`
	// Percent of the tenants may have the newest revision in the current step. Over says that the step waits
	// for nothing but its minSuccessTime, and Settled when its last tenant became Ready or failed; the zero
	// time if it has changed none.
	Percent int       `json:"percent"`
	Over    bool      `json:"over,omitempty"`
	Settled time.Time `json:"settled,omitzero"`
	// Since is when the channel began with the revision, or went on with it after a pause; the zero time
	// while it is paused.
	Since time.Time `json:"since,omitzero"`
	// Begun says that the channel has rolled the revision out, and Pardon when it last went on with a
	// revision after a pause: what had failed before doesn't count any more.
	Begun  bool      `json:"begun,omitempty"`
	Pardon time.Time `json:"pardon,omitzero"`
	// Counted says that the channel has had tenants.
	Counted bool `json:"counted,omitempty"`
	// Halted says why the rollout has halted; nil if it hasn't.
	Halted *Halt `json:"halted,omitempty"`
	// Failures are the tenants that have failed, at most maxFailures and as many as progressed then.
	Failures []Failure `json:"failures,omitempty"`
}

// A Halt says when and why a rollout halted. It ends with a pause, or once fewer tenants have failed if another
// revision is at fault than the newest.
type Halt struct {
	// Revision is the number of the revision that is at fault; 0 if it was an earlier one than the newest of that moment.
	Revision int64     `json:"revision"`
	At       time.Time `json:"at"`
	// Message names the failed tenants, and says how they failed.
	Message string `json:"message"`
}

// A Failure is a tenant that has failed.
type Failure struct {
	Tenant string `json:"tenant"`
	// Name is that of its claim, if it has one.
	Name string `json:"name"`
}

// A Channel is what Next has to know of a channel.
type Channel struct {
	Strategy
	// Revision is the number of the newest revision.
	Revision int64
	Paused   bool
	// Records of the channel's tenants, and Assignments of those that have any.
	Records     []Record
	Assignments []Assignment
}

// A Result is what Next returns.
type Result struct {
	State State
	// Assignments that are to exist.
	Assignments []Assignment
	// Step is the number of the step, from 1.
	Step    int
	Tenants v1alpha1.ChannelTenants
	// Conditions Progressing, Halted and Complete of the channel, in this order.
	Conditions []Condition
	// Again is when the result may change although no record does; the zero time for never.
	Again time.Time
}

// Next decides which tenants get the newest revision now. was is the state that the last call
// returned.
func Next(c Channel, was State, now time.Time) Result {
	s := was
	if was.Revision != c.Revision {
		s = State{Revision: c.Revision, Complete: was.Complete, Counted: was.Counted, Pardon: was.Pardon, Halted: was.Halted}
	}
	s.Counted = s.Counted || len(c.Records) > 0
	switch {
	case c.Paused:
		s.Since, s.Halted, s.Failures = time.Time{}, nil, nil
	case s.Since.IsZero():
		if s.Begun {
			s.Pardon, s.Failures = now, nil
		}
		s.Since, s.Begun = now, true
	}
	t := count(&c, &s, now)
	t.remember(&s)
	s.setHalt(&c, t, now)
	stopped := c.Paused || s.Halted != nil || t.empty(&s)
	at := c.at(s.Percent)
	if c.Paused || c.steps[at].percent != s.Percent {
		// It begins anew, or is another one after an edit.
		s.Over, s.Settled = false, time.Time{}
	}
	for !stopped {
		if !s.Over && t.over(c.steps[at]) {
			s.Over, s.Settled = true, t.settled
		}
		if !s.Over || now.Before(s.soaks(c.steps[at])) || at+1 == len(c.steps) {
			break
		}
		at, s.Over, s.Settled = at+1, false, time.Time{}
	}
	step := c.steps[at]
	s.Percent = step.percent
	var soaks time.Time
	switch over := !stopped && s.Over; {
	case c.Paused:
		t.withdraw(now, false)
	case stopped:
		t.withdraw(now, true)
	case over && now.Before(s.soaks(step)):
		soaks = s.soaks(step)
		t.again = sooner(t.again, soaks)
	case over && step.percent == 100:
		s.Complete = s.Revision
	}
	if !c.Paused {
		t.assign(&c, step, !stopped && soaks.IsZero(), now)
	}
	return Result{
		State: s, Step: at + 1, Assignments: t.assignments, Tenants: t.counts(), Again: t.again,
		Conditions: conditions(&c, &s, t, at, soaks),
	}
}

// soaks returns until when a step that is over waits for its minSuccessTime.
func (s *State) soaks(in step) time.Time { return s.Settled.Add(in.minSuccessTime) }

// setHalt sets whether the rollout has halted, and why.
func (s *State) setHalt(c *Channel, t *tenants, now time.Time) {
	switch {
	case c.Paused:
	case t.counting(c.maxFailures) >= c.maxFailures:
		h := Halt{At: now, Message: t.failed.String() + " failed"}
		if s.Halted != nil {
			h.Revision, h.At = s.Halted.Revision, s.Halted.At
		}
		if t.blamed {
			h.Revision = s.Revision
		}
		s.Halted = &h
	case s.Halted != nil && s.Halted.Revision != s.Revision:
		s.Halted = nil
	}
	if s.Halted != nil && s.Halted.At.IsZero() {
		s.Halted.At = now
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
