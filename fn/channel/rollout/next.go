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
	// Complete is the number of the last revision that every tenant had, except for those that were
	// skipped or passed over; 0 before there is one.
	Complete int64 `json:"complete,omitempty"`
	// Percent of the tenants may have the newest revision in the current step.
	Percent int `json:"percent"`
	// Since is when the channel began with the revision, or went on with it after a pause; the zero time
	// while it is paused.
	Since time.Time `json:"since,omitzero"`
	// Paused says that the channel is paused, and Pardon when it last went on after that: failures of
	// tenants that had changed before don't count any more.
	Paused bool      `json:"paused,omitempty"`
	Pardon time.Time `json:"pardon,omitzero"`
	// Counted says that the channel has had tenants.
	Counted bool `json:"counted,omitempty"`
	// Halted says why the rollout has halted; nil if it hasn't.
	Halted *Halt `json:"halted,omitempty"`
	// Failures are the tenants that have failed, at most maxFailures and as many as progressed then.
	Failures []Failure `json:"failures,omitempty"`
}

// A Halt says when and why a rollout halted. It ends with a pause, or with another revision once the tenants
// that have failed have said what that changes for them.
type Halt struct {
	// Revision is the number of the revision that has halted.
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
	case was.Paused:
		s.Since, s.Pardon, s.Failures = now, now, nil
	case s.Since.IsZero():
		s.Since = now
	}
	s.Paused = c.Paused
	at := c.at(s.Percent)
	t := count(&c, &s, now)
	t.remember(&c, &s)
	switch halts := failures(s.Failures, len(t.namespaces), c.maxFailures) >= c.maxFailures; {
	case c.Paused:
	case halts:
		at := now
		if s.Halted != nil {
			at = s.Halted.At
		}
		s.Halted = &Halt{Revision: s.Revision, At: at, Message: t.failed.String() + " failed"}
	case s.Halted != nil && s.Halted.Revision != s.Revision && t.brokenSilent == 0:
		s.Halted = nil
	}
	stopped := c.Paused || s.Halted != nil || t.empty(&s)
	soaks := func() time.Time { return t.settled.Add(c.steps[at].minSuccessTime) }
	for !stopped && at+1 < len(c.steps) && t.over(c.steps[at]) && !now.Before(soaks()) {
		at++
	}
	step := c.steps[at]
	s.Percent = step.percent
	over := !stopped && t.over(step)
	var until time.Time
	switch {
	case over && now.Before(soaks()):
		until = soaks()
		t.again = sooner(t.again, until)
	case over && step.percent == 100 && s.Complete != s.Revision:
		// Those that joined meanwhile can have it now.
		s.Complete = s.Revision
		return Next(c, s, now)
	}
	if stopped {
		t.withdraw(now)
	} else {
		t.assign(&c, &s, step, now)
	}
	return Result{
		State: s, Step: at + 1, Assignments: t.assignments, Tenants: t.counts(), Again: t.again,
		Conditions: conditions(&c, &s, t, at, until),
	}
}
