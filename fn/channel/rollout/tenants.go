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
	// Names by status.
	toApply, progressing, succeeded, failed, timedOut, skipped few.Names
	// closed are those of toApply whose windows are closed, silent those of toApply that haven't said what
	// the revision would change, and frozen those of skipped that thaw.
	closed, silent, frozen few.Names
	// affected are those that the revision would change, and joined those that came after it.
	affected, joined few.Names
	// mandatory are those of the mandatory group for which the others wait.
	mandatory few.Names

	// base is how many outside of the mandatory group the revision has changed or would change: steps allow a
	// share of them. have is how many of these have the revision or may, and left is how many of them wait for
	// their turn or their window.
	base, have, left int
	// taken is how many progress, and broken how many can have the revision now, and an earlier one has
	// broken them. brokenSilent are those of them that are silent.
	taken, broken, brokenSilent int
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
	// tenants that the revision has changed, or is to change.
	busy       map[string]int
	namespaces map[string]bool
	// records by tenant, and judged are the verdicts on those that have the revision.
	records map[string]*Record
	judged  map[string]verdict
	again   time.Time
}

// count counts the tenants of a channel.
func count(c *Channel, s *State, now time.Time) *tenants {
	t := &tenants{total: len(c.Records), busy: map[string]int{}, namespaces: map[string]bool{}, records: make(map[string]*Record, len(c.Records)), judged: make(map[string]verdict, len(c.Records)), failed: few.Names{Most: mostFailed}}
	assigned := make(map[string]*Assignment, len(c.Assignments))
	for i := range c.Assignments {
		assigned[c.Assignments[i].Tenant] = &c.Assignments[i]
	}
	for i := range c.Records {
		r := &c.Records[i]
		t.records[r.Tenant] = r
		t.add(c, s, r, assigned[r.Tenant], now)
	}
	return t
}

// add counts a tenant. a is its assignment; nil for none.
func (t *tenants) add(c *Channel, s *State, r *Record, a *Assignment, now time.Time) {
	is, has, changed := c.judge(r, a, s.Since, now), c.has(r), c.changed(r)
	pardoned := r.Took.Before(s.Pardon)
	if is.status == failed && pardoned {
		is.status = skipped
	}
	name, mandatory := r.name(), c.mandatory.Matches(labelsOf(r))
	t.again = sooner(t.again, is.next)
	if a != nil && r.Revision < c.Revision {
		t.keep(*a, c.Revision, now)
	}
	affected := !has && r.Looked == c.Revision
	if affected {
		t.affected.Add(name)
	}
	if changed || !has && (is.status == toApply || is.status == progressing) {
		t.namespaces[namespaceOf(name)] = true
	}
	t.addStatus(r, is)
	if is.status == progressing {
		t.taken++
	}
	if has {
		t.judged[r.Tenant] = is
	}
	if is.broken && (is.silent || is.ready) && is.status == toApply && !pardoned {
		t.broken++
		if is.silent {
			t.brokenSilent++
		}
	}
	// Who came later than the revision, which its claim may do at any time, isn't waited for, and gets it
	// once it is complete.
	if s.Complete != c.Revision && !s.Since.IsZero() && r.Joined.After(s.Since) {
		if !has {
			t.joined.Add(name)
		}
		return
	}
	// Nor is one that was passed over before, and may be again.
	awaited := is.silent || is.status == progressing && (has || a == nil || !a.Again)
	if awaited {
		t.awaited++
	}
	if changed {
		t.addChanged(c, r, is)
	}
	waits := is.status == toApply || awaited
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
	}
	if is.ready {
		t.candidates = append(t.candidates, candidate{Record: r, mandatory: mandatory, broken: is.broken, again: is.status == timedOut, rank: rankOf(r, mandatory, is)})
	}
}

func (t *tenants) addStatus(r *Record, is verdict) {
	name := r.name()
	switch is.status {
	case toApply:
		t.toApply.Add(name)
	case progressing:
		t.progressing.Add(name)
		t.busy[namespaceOf(name)]++
	case succeeded:
		t.succeeded.Add(name)
	case timedOut:
		t.timedOut.Add(name)
	case skipped:
		t.skipped.Add(name)
	}
	switch {
	case is.status == skipped && !is.next.IsZero():
		t.frozen.Add(name)
	case is.silent:
		t.silent.Add(name)
	case is.status == toApply && !is.ready:
		t.closed.Add(name)
	}
}

// addChanged counts a tenant that the revision has changed.
func (t *tenants) addChanged(c *Channel, r *Record, is verdict) {
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
	if a.open(now) || a.Assigns(revision) {
		t.assignments = append(t.assignments, a)
	}
}

// remember counts the failures, those that the state remembers among them, and has it remember them.
func (t *tenants) remember(c *Channel, s *State) {
	var all []Failure
	seen := map[string]bool{}
	add := func(f Failure, why string) {
		if seen[f.Tenant] {
			return
		}
		seen[f.Tenant] = true
		all = append(all, f)
		t.failed.Add(f.Name + " (" + why + ")")
		t.busy[namespaceOf(f.Name)]++
	}
	for i := range c.Records {
		r := &c.Records[i]
		if is, has := t.judged[r.Tenant]; has && is.status == failed {
			add(Failure{Tenant: r.Tenant, Name: r.name()}, is.why)
		}
	}
	for _, f := range s.Failures {
		switch r := t.records[f.Tenant]; {
		case r == nil:
			add(f, "has left the channel since")
		case r.Phase != v1alpha1.PhaseReady:
			add(f, string(r.Phase))
		case r.Edited.After(s.Since):
			add(f, "its claim was changed since")
		}
	}
	s.Failures = all
}

// failures returns how many failures count: one for each namespace, unless the channel has tenants in
// fewer namespaces than most.
func failures(all []Failure, namespaces, most int) int {
	if namespaces < most {
		return len(all)
	}
	in := map[string]bool{}
	for _, f := range all {
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
	if t.total > 0 && len(t.judged) == 0 && in.percent > 0 {
		// All of them are skipped or passed over.
		return false
	}
	return t.awaited == 0 && t.mandatory.N == 0 && (t.room(in) <= 0 || t.left == 0)
}

func (t *tenants) counts() v1alpha1.ChannelTenants {
	return v1alpha1.ChannelTenants{
		Total: int64(t.total), ToApply: int64(t.toApply.N), Progressing: int64(t.progressing.N), Succeeded: int64(t.succeeded.N),
		Failed: int64(t.failed.N), TimedOut: int64(t.timedOut.N), Skipped: int64(t.skipped.N),
	}
}

// withdraw ends all assignments.
func (t *tenants) withdraw(now time.Time) {
	var kept []Assignment
	for _, a := range t.assignments {
		if a = a.withdraw(now); a.open(now) || !a.Withdrawn {
			kept = append(kept, a)
			t.again = sooner(t.again, a.Until.Add(Settle))
		}
	}
	t.assignments = slices.Clip(kept)
}
