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
	// toApply: the tenant doesn't have the revision, and waits for its turn or its window.
	toApply status = iota
	// progressing: it was assigned the revision, or is changing to it or to an earlier one.
	progressing
	// succeeded: it has the revision.
	succeeded
	// failed: it was Ready before it took the revision, and isn't well with it.
	failed
	// timedOut: it was assigned the revision, and didn't begin in time. It is passed over.
	timedOut
	// skipped: it is frozen, or it wasn't Ready before it took the revision, and isn't now.
	skipped
)

// A verdict on a tenant.
type verdict struct {
	status status
	// next is when it may change although neither the record nor the assignment does; the zero time
	// for never.
	next time.Time
	// ready says that the tenant can be assigned the revision now.
	ready bool
	// why says how a tenant failed.
	why string
}

// judge returns the verdict on a tenant. a is its assignment; nil for none.
func (s Strategy) judge(r *Record, a *Assignment, revision int64, now time.Time) verdict {
	failing, counts := r.failing()
	deadline := r.Took.Add(s.progressDeadline)
	if r.Revision >= revision {
		switch {
		case r.Took.IsZero():
			return verdict{status: succeeded}
		case failing && now.Before(counts):
			is := succeeded
			if r.Ready.IsZero() {
				is = progressing
			}
			return verdict{status: is, next: counts}
		case r.Ready.IsZero() && !failing && now.Before(deadline):
			return verdict{status: progressing, next: deadline}
		case !failing && !r.Ready.IsZero(), failing && !r.Ready.IsZero() && !r.Since.Before(r.Ready.Add(s.Proved)):
			return verdict{status: succeeded}
		case !r.WasReady:
			return verdict{status: skipped}
		}
		return verdict{status: failed, why: s.how(r)}
	}
	state, next := r.Schedule.At(now)
	switch {
	case a != nil && a.open(now) && a.Revision > r.Revision:
		return verdict{status: progressing, next: a.Until.Add(Settle)}
	case r.Updating() && now.Before(deadline) && (!failing || now.Before(counts)):
		if failing {
			deadline = sooner(deadline, counts)
		}
		return verdict{status: progressing, next: deadline}
	case state == maintenance.Frozen:
		return verdict{status: skipped, next: next}
	}
	is := verdict{status: toApply}
	if a.Assigns(revision) {
		is.status = timedOut
		if again := a.Until.Add(retry); now.Before(again) {
			is.next = again
			return is
		}
	}
	if is.ready = state == maintenance.Open; !is.ready {
		is.next = next
	}
	return is
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

// settled returns when the change of a tenant that has the revision ended; the zero time if there was
// none.
func (s Strategy) settled(r *Record) time.Time {
	switch failing, _ := r.failing(); {
	case r.Took.IsZero() || !r.Ready.IsZero():
		return r.Ready
	case failing:
		return sooner(r.Since, r.Took.Add(s.progressDeadline))
	}
	return r.Took.Add(s.progressDeadline)
}

// proves reports whether a tenant that has the revision proves it.
func proves(r *Record) bool {
	return r.WasReady && !r.Unchanged && r.Edited.IsZero() && r.Phase == v1alpha1.PhaseReady && !r.Ready.IsZero()
}

// sooner returns the earlier of two times. The zero time stands for never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
