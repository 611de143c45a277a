package rollout

import (
	"slices"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
)

// mostFailed is how many failed tenants a message names.
const mostFailed = 20

// tenants of a channel, counted.
type tenants struct {
	total int
	// statuses by tenant.
	statuses map[string]status
	// Names by status. Those of failed include whom the state remembers.
	progressing, failed, timedOut few.Names
	// closed are those of toApply whose windows are closed, silent those of toApply that haven't said what
	// the revision would change, frozen those of skipped that thaw, and asleep those that don't run.
	closed, silent, frozen, asleep few.Names
	// affected are those that the revision would change, and joined those that don't have it and were created
	// after it.
	affected, joined few.Names
	// mandatory are those of the mandatory group for which the others wait.
	mandatory few.Names

	// base is how many outside of the mandatory group the revision has changed or would change: steps allow a
	// share of them. have is how many of these have the revision or may, left is how many of them wait for
	// their turn or their window, and held how many are frozen or asleep.
	base, have, left, held int
	// taken is how many progress, and open how many of the assignments may still be followed.
	taken, open int
	// awaited is how many progress or are silent, and weren't passed over before: a step isn't over before
	// they have changed.
	awaited int
	// proved is how many have proved the revision.
	proved int
	// settled is when the last change to the revision ended; the zero time for never.
	settled time.Time

	// candidates can be assigned the revision now.
	candidates []candidate
	// assignments that are to exist.
	assignments []Assignment
	// busy counts the tenants that progress or have failed, by namespace, and namespaces are those with
	// tenants that the revision has changed.
	busy       map[string]int
	namespaces map[string]bool
	// records by tenant, and updated is how many have the revision.
	records map[string]*Record
	updated int
	// failures are the tenants of failed. blamed says that the revision itself has broken some of them.
	failures []Failure
	blamed   bool
	again    time.Time
}

// count counts the tenants of a channel.
func count(c *Channel, s *State, now time.Time) *tenants {
	t := &tenants{total: len(c.Records), statuses: make(map[string]status, len(c.Records)), busy: map[string]int{}, namespaces: map[string]bool{}, records: make(map[string]*Record, len(c.Records)), failed: few.Names{Most: mostFailed}}
	assigned := make(map[string]*Assignment, len(c.Assignments))
	for i := range c.Assignments {
		assigned[c.Assignments[i].Tenant] = &c.Assignments[i]
	}
	late := c.late(s)
	for i := range c.Records {
		r := &c.Records[i]
		t.records[r.Tenant] = r
		t.add(c, s, r, assigned[r.Tenant], late, now)
	}
	return t
}

// late returns until when a channel waits for tenants that haven't said what the revision would change; the zero time for ever. It is the
// deadline of progress after half of the tenants said that, or after the last as long as fewer did: while nothing is reconciled, all are
// silent. A few that come, go or change their mind don't delay it.
func (c *Channel) late(s *State) time.Time {
	if s.Since.IsZero() {
		return time.Time{}
	}
	var looked []time.Time
	silent := 0
	for i := range c.Records {
		switch r := &c.Records[i]; {
		case c.joined(r, s):
		case r.Looked == c.Revision:
			looked = append(looked, r.LookedAt)
		case !c.has(r):
			silent++
		}
	}
	from := s.Since
	if len(looked) > 0 {
		slices.SortFunc(looked, time.Time.Compare)
		from = latest(from, looked[min(len(looked), (len(looked)+silent+1)/2)-1])
	}
	return from.Add(max(c.progressDeadline, Settle))
}

// add counts a tenant. a is its assignment; nil for none.
func (t *tenants) add(c *Channel, s *State, r *Record, a *Assignment, late, now time.Time) {
	is, has, changed := c.judge(r, a, s, late, now), c.has(r), c.changed(r)
	name, mandatory := r.name(), c.mandatory.Matches(labelsOf(r))
	t.again = sooner(t.again, is.next)
	if a != nil && r.Revision < c.Revision {
		t.keep(*a, c.Revision, now)
	}
	t.addStatus(r, is)
	if is.status == progressing {
		t.taken++
	}
	if has {
		t.updated++
	}
	affected := !has && r.looks(c.Revision) == Changes
	if affected {
		t.affected.Add(name)
	}
	joined := c.joined(r, s)
	if joined && !has {
		t.joined.Add(name)
	}
	if is.assignable {
		t.candidates = append(t.candidates, candidate{
			Record: r, mandatory: mandatory, joined: joined, broken: is.status == failed, again: a.Assigns(c.Revision), rank: rankOf(r, mandatory, joined, is),
		})
	}
	if changed {
		t.blame(r, is)
	}
	if joined {
		return
	}
	// Nor for one that was passed over before, and may be again.
	awaited := is.silent || is.status == progressing && (has || a == nil || !a.Again)
	if awaited {
		t.awaited++
	}
	if changed {
		t.addEnd(c, r, is)
	}
	waits := is.status == toApply || awaited || is.status == failed && is.assignable
	switch {
	case mandatory && waits:
		t.mandatory.Add(name)
	case mandatory:
	case changed || affected && a.mayBegin(c.Revision, now):
		t.base++
		t.have++
	case affected:
		t.base++
		if waits {
			t.left++
		}
		if is.status == skipped {
			t.held++
		}
	}
}

// joined reports whether a tenant was created after the channel has begun with the revision, or gone on with it. Nobody waits for it, since claims can be created at any time.
func (c *Channel) joined(r *Record, s *State) bool {
	return !s.Since.IsZero() && r.Created.After(s.Since) && !c.mandatory.Matches(labelsOf(r))
}

func (t *tenants) addStatus(r *Record, is verdict) {
	name := r.name()
	t.statuses[r.Tenant] = is.status
	switch is.status {
	case progressing:
		t.progressing.Add(name)
		t.busy[namespaceOf(name)]++
	case timedOut:
		t.timedOut.Add(name)
	case failed:
		t.fail(Failure{Tenant: r.Tenant, Name: name}, is.why)
	}
	switch {
	case is.status == skipped && r.asleep():
		t.asleep.Add(name)
	case is.status == skipped && !is.next.IsZero():
		t.frozen.Add(name)
	case is.silent:
		t.silent.Add(name)
	case is.status == toApply && !is.assignable:
		t.closed.Add(name)
	}
}

// blame counts what the revision may be at fault for, in a tenant that it has changed.
func (t *tenants) blame(r *Record, is verdict) {
	t.namespaces[namespaceOf(r.name())] = true
	t.blamed = t.blamed || is.status == failed && !r.Mends
}

// addEnd counts how the change of a tenant to the revision has ended.
func (t *tenants) addEnd(c *Channel, r *Record, is verdict) {
	if proves(r) {
		t.proved++
	}
	if at := c.settled(r); (is.status == succeeded || is.status == failed) && at.After(t.settled) {
		t.settled = at
	}
}

// keep keeps an assignment that still matters.
func (t *tenants) keep(a Assignment, revision int64, now time.Time) {
	if a.Revision != revision {
		// The tenant may have begun to change to the earlier revision.
		a = a.withdraw(now)
	}
	if a.open(now) {
		t.open++
	}
	if a.open(now) || a.Assigns(revision) {
		t.assignments = append(t.assignments, a)
	}
}

// fail counts a tenant that has failed.
func (t *tenants) fail(f Failure, why string) {
	t.failures = append(t.failures, f)
	t.failed.Add(f.Name + " (" + why + ")")
	t.busy[namespaceOf(f.Name)]++
}

// remember counts the failures that the state remembers, too, and has it remember all of them.
func (t *tenants) remember(s *State) {
	for _, f := range s.Failures {
		switch r := t.records[f.Tenant]; {
		case t.statuses[f.Tenant] == failed:
		case r == nil:
			t.fail(f, "has left the channel since")
		case r.Phase != v1alpha1.PhaseReady:
			t.fail(f, string(r.Phase))
		case r.Edited.After(s.Since):
			t.fail(f, "its claim was changed since")
		}
	}
	s.Failures = t.failures
}

// counting returns how many failures count: one for each namespace, once the revision has changed tenants of
// as many namespaces as may fail.
func (t *tenants) counting(maxFailures int) int {
	if len(t.namespaces) < maxFailures {
		return len(t.failures)
	}
	in := map[string]bool{}
	for _, f := range t.failures {
		in[namespaceOf(f.Name)] = true
	}
	return len(in)
}

// empty reports whether the channel has no tenants any more, although its revision isn't complete.
// All may be excluded by a mistake in spec.namespaces, and must not get the revision without the steps
// once that is corrected.
func (t *tenants) empty(s *State) bool {
	return t.total == 0 && s.Counted && (s.Complete != s.Revision || s.Percent != 100)
}

// room returns how many more tenants may have the revision in a step.
func (t *tenants) room(in step) int { return (t.base*in.percent+99)/100 - t.have }

// over reports whether a step waits for nothing but its minSuccessTime.
func (t *tenants) over(in step) bool {
	if t.have == 0 && t.held > 0 && in.percent > 0 {
		// All that it would change are frozen.
		return false
	}
	return t.awaited == 0 && t.mandatory.N == 0 && (t.room(in) <= 0 || t.left == 0)
}

func (t *tenants) counts() v1alpha1.ChannelTenants {
	n := map[status]int64{}
	for _, is := range t.statuses {
		n[is]++
	}
	return v1alpha1.ChannelTenants{
		Total: int64(t.total), ToApply: n[toApply], Progressing: n[progressing], Succeeded: n[succeeded], Failed: n[failed], TimedOut: n[timedOut], Skipped: n[skipped],
	}
}

// withdraw ends all assignments; if mends is true, only those that aren't to mend a tenant.
func (t *tenants) withdraw(now time.Time, mends bool) {
	var kept []Assignment
	for _, a := range t.assignments {
		if a.Mends && mends {
			kept = append(kept, a)
			continue
		}
		if a = a.withdraw(now); a.open(now) || !a.Withdrawn {
			kept = append(kept, a)
			t.again = sooner(t.again, a.Until.Add(Settle))
		}
	}
	t.assignments = slices.Clip(kept)
}
