package channel

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// mostBroken is how many broken tenants a message names.
const mostBroken = 20

// tenants of a channel, counted by their records.
type tenants struct {
	total int
	// missing are those that don't have the offer.
	missing few.Names
	// updated have the offer, and have finished their update.
	updated int
	// updating take a slot: they are updating, or may have begun to.
	updating few.Names
	// holding are those of them that hold up the step: all but those that once didn't begin and are admitted again.
	holding int
	// broken by the offer.
	broken few.Names
	// remembered are those that were broken when Next was called last.
	remembered map[string]Broken
	// proved have the offer, were Ready before, are Ready with it, and aren't broken.
	proved int
	// closed and frozen lack the offer, and wait for their window or the end of a freeze.
	closed, frozen few.Names
	// silent were admitted and didn't begin.
	silent few.Names
	// late are the late tenants that could begin if the offer were complete.
	late few.Names

	// counted are those that have the offer, or for which the steps are; lacking are all late ones without it. If there are only these,
	// lonely says that no step is over before one had it.
	counted, lacking int
	lonely           bool
	// first are those that rollout.first selects and that hold up all others.
	first few.Names
	// mended counts, by customer, those that weren't well when they got the offer.
	mended map[string]int
	// base are those of which a step's percentage is taken; has are those of them that have the offer, or were admitted; left are those
	// that the step still waits for.
	base, has, left int
	// retried are those of has that didn't begin once, and were admitted again.
	retried int
	// settled is when the last update to the offer ended.
	settled time.Time

	// changed says that tenants were admitted, or admissions withdrawn.
	changed bool
	// ready are those that can be admitted now.
	ready []candidate
	// opens is when the next of those that wait can be admitted, if the step has room.
	opens time.Time
	// again is when Next has to be called again.
	again time.Time
}

// look counts tenants, and removes the admissions and the broken tenants from s that don't matter any more.
func look(u rules, paused bool, s *State, records []Record, now time.Time) *tenants {
	t := &tenants{total: len(records), mended: map[string]int{}, broken: few.Names{Most: mostBroken}, remembered: map[string]Broken{}}
	if !paused {
		for _, b := range s.Broken {
			t.remembered[b.Tenant] = b
		}
	}
	s.Broken = nil
	admissions := make(map[string]*Admission, len(s.Admitted))
	for i := range s.Admitted {
		admissions[s.Admitted[i].Tenant] = &s.Admitted[i]
	}
	keep := make(map[string]bool, len(s.Admitted))
	for i := range records {
		r := &records[i]
		a := admissions[r.Tenant]
		t.add(u, s, r, a, now)
		if a != nil && a.matters(s.Offer, r.Accepted, now) {
			keep[r.Tenant] = true
		}
		delete(t.remembered, r.Tenant)
	}
	left := map[string]bool{}
	for _, tenant := range slices.Sorted(maps.Keys(t.remembered)) {
		b := t.remembered[tenant]
		customer, _, _ := strings.Cut(b.Name, "/")
		if left[customer] && (s.complete() || s.Included.After(s.Since)) {
			// Claims of one customer that join later could be broken and leave one after the other.
			continue
		}
		left[customer] = true
		t.broken.Add(b.Name + " (has left the channel since)")
		s.Broken = append(s.Broken, b)
	}
	slices.SortFunc(s.Broken, func(a, b Broken) int { return strings.Compare(a.Tenant, b.Tenant) })
	s.Broken = s.Broken[:min(most, len(s.Broken))]
	kept := s.Admitted[:0]
	for _, a := range s.Admitted {
		if keep[a.Tenant] {
			kept = append(kept, a)
		}
	}
	s.Admitted = kept
	t.lonely = t.counted == 0 && t.lacking > 0 && s.patient(now)
	if t.missing.N > 0 && !s.Since.IsZero() && s.patient(now) {
		t.look(s.Since.Add(windowsWithin))
	}
	return t
}

// add counts a tenant.
func (t *tenants) add(u rules, s *State, r *Record, a *Admission, now time.Time) {
	has := r.Accepted == s.Offer
	joined := s.joined(r)
	late := joined && s.Complete != s.Offer
	selected := !joined && u.selects(r)
	state, next := r.Schedule.At(now)
	switch {
	case a == nil || has:
	case a.Offer != s.Offer:
		t.changed = a.withdraw(now) || t.changed
	case state != maintenance.Open && now.Before(a.Until):
		// It didn't begin in time. Others needn't wait for a tenant that closes its window each time.
		a.Until, t.changed = now, true
	}

	unseen := a != nil && !has && a.unseen(r.Accepted, now)
	silent := a != nil && a.silent(s.Offer, r.Accepted, now)
	underWay, until := u.underWay(r, now)
	broken := u.broken(r, now)
	switch {
	case unseen:
		t.updating.Add(r.name())
		t.look(a.Until.Add(Settle))
	case underWay:
		t.updating.Add(r.name())
		t.look(until)
	}
	if !late && (underWay || unseen && a.Tries == 0) {
		t.holding++
	}
	if has && r.Before != "" && r.Before != v1alpha1.PhaseReady && !r.Kept || unseen && a.Broken {
		t.mended[r.customer()]++
	}
	failing, counts := r.failing()
	if failing && now.Before(counts) {
		t.look(counts)
	}
	if has {
		t.addUpdated(u, s, r, underWay, broken, now)
	} else {
		t.missing.Add(r.name())
		t.addBroken(u, s, r, broken, now)
		if late {
			t.lacking++
		}
		switch {
		case unseen || underWay:
		case state == maintenance.Frozen:
			t.frozen.Add(r.name())
			t.waits(selected || late, next)
		case state == maintenance.Closed:
			t.closed.Add(r.name())
			t.waits(selected || late, next)
		case silent && now.Before(a.retry()):
			t.silent.Add(r.name())
			t.waits(selected || late, a.retry())
		default:
			if silent {
				t.silent.Add(r.name())
			}
			if late {
				t.late.Add(r.name())
			} else {
				t.ready = append(t.ready, candidate{Record: r, selected: selected, broken: broken, rank: rankOf(r, selected, broken, silent)})
			}
		}
	}

	// A tenant for which the offer changes nothing is counted in no step.
	if late || has && (r.Before == "" || r.Kept) {
		return
	}
	if at := u.settled(r); has && !underWay && at.After(t.settled) {
		t.settled = at
	}
	if has || !selected {
		t.counted++
	}
	waits := !has && !unseen && !silent && state != maintenance.Frozen
	switch {
	case selected && s.patient(now) && (underWay || waits || unseen && a.Tries == 0):
		t.first.Add(r.name())
	case selected:
	default:
		t.base++
		if has || unseen {
			t.has++
			if unseen && a.Tries > 0 {
				t.retried++
			}
		} else if waits && s.waitsForWindow(r, state, now) {
			t.left++
		}
	}
}

// waitsForWindow reports whether a step still waits for a tenant whose schedule has a state. A claim that has moved its window since the
// offer began may do so again and again.
func (s *State) waitsForWindow(r *Record, state maintenance.State, now time.Time) bool {
	return state != maintenance.Closed || !r.Moved.After(s.Since) || s.patient(now)
}

// patient reports whether tenants that rollout.first selects, or whose windows were moved, still hold up others. Whoever may write a claim
// may have it selected, and make sure that it never begins.
func (s *State) patient(now time.Time) bool {
	return s.Since.IsZero() || now.Before(s.Since.Add(windowsWithin))
}

// joined reports whether a tenant was created or has joined the channel since the offer began, or has given it back. Nobody waits for such
// a tenant, because whoever may write claims may have one after the other. One that is restored from a backup has joined earlier.
func (s *State) joined(r *Record) bool {
	isNew := r.Created.After(s.Included) && r.Joined.After(s.Included)
	return !s.Since.IsZero() && (isNew || r.Returned.After(s.Included) || r.Joined.After(s.Included.Add(joining)))
}

// addUpdated counts a tenant that has the offer.
func (t *tenants) addUpdated(u rules, s *State, r *Record, underWay, broken bool, now time.Time) {
	if !underWay {
		t.updated++
	}
	failing, _ := r.failing()
	switch {
	case t.addBroken(u, s, r, broken, now):
	case r.Before == v1alpha1.PhaseReady && !r.Ready.IsZero() && !failing && !r.Kept && !r.Edited && !r.elsewhere():
		t.proved++
	}
}

// addBroken counts a tenant as broken by the offer, or doesn't, and reports which. One that was counted before still is if its author has
// helped it, even if it no longer has the offer.
func (t *tenants) addBroken(u rules, s *State, r *Record, broken bool, now time.Time) bool {
	was, remembered := t.remembered[r.Tenant]
	if !remembered {
		was = Broken{Tenant: r.Tenant, Name: r.name(), Since: now}
	}
	how := ""
	switch {
	case broken && (remembered || r.Accepted == s.Offer):
		how = u.how(r)
	case remembered && (r.Edited || r.Joined.After(was.Since) || r.Returned.After(was.Since)):
		how = "its claim was changed since"
	default:
		return false
	}
	t.broken.Add(r.name() + " (" + how + ")")
	s.Broken = append(s.Broken, was)
	return true
}

// empty reports whether the channel has no tenants any more, although its offer isn't complete. All may be excluded by a mistake in
// spec.namespaces, and must not get the offer without the steps once that is corrected.
func (t *tenants) empty(s *State) bool { return t.total == 0 && s.Counted && !s.complete() }

// complete reports whether the offer is complete. One that is restored isn't until all have it again, although it was.
func (s *State) complete() bool { return s.Complete == s.Offer && s.Percent == 100 }

// room returns how many more tenants may have the offer in a step, beside those that rollout.first selects.
func (t *tenants) room(s step) int { return (t.base*s.percent+99)/100 - t.has }

// over reports whether a step waits for nothing but its soak. Tenants that didn't begin and are admitted again may not begin this time
// either.
func (t *tenants) over(s step) bool {
	return !t.lonely && t.holding == 0 && t.first.N == 0 && (t.room(s)+t.retried <= 0 || t.has > t.retried && t.left == 0)
}

// soaked returns when the soak of a step ends.
func (t *tenants) soaked(s step) time.Time { return t.settled.Add(s.soak) }

// look has Next called again at a time, or earlier.
func (t *tenants) look(at time.Time) { t.again = sooner(t.again, at) }

// waits notes when a tenant that has to wait can be admitted.
func (t *tenants) waits(selected bool, until time.Time) {
	if selected {
		// It needs no room in the step.
		t.look(until)
	} else {
		t.opens = sooner(t.opens, until)
	}
}

// sooner returns the earlier of two times. The zero time stands for never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (t *tenants) counts() v1alpha1.ChannelTenants {
	return v1alpha1.ChannelTenants{
		Total: int64(t.total), Updated: int64(t.updated), Updating: int64(t.updating.N), Degraded: int64(t.broken.N),
		WaitingForWindow: int64(t.closed.N), Frozen: int64(t.frozen.N),
	}
}
