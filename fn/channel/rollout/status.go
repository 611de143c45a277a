package rollout

import (
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// A status of a tenant in a rollout.
type status int

const (
	// toApply: the tenant doesn't have the revision, and waits for its turn or its window, or hasn't said
	// yet what the revision would change.
	toApply status = iota
	// progressing: it was assigned the revision, or is changing to it or to an earlier one.
	progressing
	// succeeded: it has the revision, or this would change nothing for it.
	succeeded
	// failed: it was Ready before it took the revision, or an earlier one, and isn't well with it.
	failed
	// timedOut: it was assigned the revision and didn't begin in time, or didn't say in time what this would
	// change. It is passed over.
	timedOut
	// skipped: it is frozen, or it wasn't Ready before it took the revision, and isn't now, or it had failed
	// when the channel went on after a pause.
	skipped
)

// A verdict on a tenant.
type verdict struct {
	status status
	// next is when it may change although neither the record nor the assignment does; the zero time
	// for never.
	next time.Time
	// assignable says that the tenant can be assigned the revision now, and silent that it hasn't said yet what
	// this would change.
	assignable, silent bool
	// why says how a tenant failed.
	why string
}

// has reports whether a tenant has the newest revision, or this would change nothing for it.
func (c *Channel) has(r *Record) bool {
	return r.Revision >= c.Revision || r.looks(c.Revision) == None
}

// changed reports whether the newest revision has changed a tenant.
func (c *Channel) changed(r *Record) bool {
	return r.Revision >= c.Revision && !r.Took.IsZero() && !r.Unchanged
}

// judge returns the verdict on a tenant. a is its assignment; nil for none. Until late, the channel waits for
// those that haven't said what the revision would change; the zero time for ever.
func (c *Channel) judge(r *Record, a *Assignment, s *State, late, now time.Time) verdict {
	own := c.health(r, s.Pardon, now)
	if c.has(r) {
		return own
	}
	state, next := r.Schedule.At(now)
	switch {
	case a != nil && a.open(now) && a.Revision > r.Revision:
		return verdict{status: progressing, next: a.Until.Add(Settle)}
	case own.status == progressing:
		return own
	}
	is := verdict{status: toApply}
	switch {
	case own.status == failed:
		is = own
	case state == maintenance.Frozen:
		return verdict{status: skipped, next: next}
	}
	switch {
	case r.looks(c.Revision) == "":
		is.silent = late.IsZero() || now.Before(late)
		if is.next = late; !is.silent {
			is.next = now.Add(retry)
		}
		if !is.silent && is.status == toApply {
			is.status = timedOut
		}
		return is
	case a.Assigns(c.Revision):
		if is.status == toApply {
			is.status = timedOut
		}
		if again := a.Until.Add(retry); now.Before(again) {
			is.next = again
			return is
		}
	}
	if is.assignable = state == maintenance.Open; !is.assignable {
		is.next = next
	}
	return is
}

// health returns how a tenant is with the revision that it has. What failed before pardon doesn't count.
func (s Strategy) health(r *Record, pardon, now time.Time) verdict {
	failing, counts := r.failing()
	deadline := r.Took.Add(s.progressDeadline)
	switch {
	case r.Took.IsZero():
		return verdict{status: succeeded}
	case r.asleep() && r.Ready.IsZero():
		return verdict{status: skipped}
	case failing && now.Before(counts):
		is := succeeded
		if r.Ready.IsZero() {
			is = progressing
		}
		return verdict{status: is, next: counts}
	// One that was broken is so until it is mended, and has the whole time for that.
	case r.Ready.IsZero() && (!failing || r.Mends) && now.Before(deadline):
		return verdict{status: progressing, next: deadline}
	case !failing && !r.Ready.IsZero(), failing && !r.Ready.IsZero() && !r.Since.Before(r.Ready.Add(s.Proved)):
		return verdict{status: succeeded}
	case !r.WasReady, s.failedAt(r).Before(pardon):
		return verdict{status: skipped}
	}
	return verdict{status: failed, why: s.how(r)}
}

// how says how a tenant failed, for messages.
func (s Strategy) how(r *Record) string {
	how := string(r.Phase)
	if failing, _ := r.failing(); !failing {
		how += fmt.Sprintf(" for more than %s", s.progressDeadline)
	}
	if r.Why != "" {
		// Quoted, since it has texts of the tenant, such as names of pods, which could look like another tenant.
		how += fmt.Sprintf(": %.150q", r.Why)
	}
	return how
}

// failedAt returns when a tenant that has failed did so.
func (s Strategy) failedAt(r *Record) time.Time {
	if failing, _ := r.failing(); failing {
		return r.Since
	}
	return r.Took.Add(s.progressDeadline)
}

// settled returns when the change of a tenant to the revision that it has ended.
func (s Strategy) settled(r *Record) time.Time {
	switch failing, _ := r.failing(); {
	case !r.Ready.IsZero():
		return r.Ready
	case failing:
		return sooner(r.Since, r.Took.Add(s.progressDeadline))
	}
	return r.Took.Add(s.progressDeadline)
}

// proves reports whether a tenant that the revision has changed proves it.
func proves(r *Record) bool {
	return r.WasReady && r.Edited.IsZero() && r.Phase == v1alpha1.PhaseReady && !r.Ready.IsZero()
}

// sooner returns the earlier of two times. The zero time stands for never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
