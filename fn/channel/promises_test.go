package channel

import (
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// The promises of the package, held against a simulation. They are written out again here,
// in other words than those of the product.

// checkBegin checks what is true of a tenant that begins to change, on a state that it saw.
func (s *simulation) checkBegin(t *simTenant, offer simOffer, seen State, changesNothing bool) {
	s.t.Helper()
	switch name := t.record.Tenant; {
	case changesNothing:
	case offer.number <= t.number:
		s.failf("%s goes back from offer %d to %d", name, t.number, offer.number)
	case !opened(t.record.Schedule, s.now):
		s.failf("%s changes outside its window, or while it is frozen: %+v", name, t.record.Schedule)
	case s.now.Sub(s.edited) < inForce+Settle:
		// It may have been admitted by the rollout before.
	case s.holding >= s.maxUpdating():
		s.failf("%s is one more than %d that change", name, s.maxUpdating())
	default:
		s.checkPercent(t, seen)
	}
}

// checkPercent checks that a tenant that begins is none too many for the step. The step is that of the state that the tenant saw, or one
// that the channel has reached since. The channel knew of the others what was true up to recordLag before it admitted this one, so those
// that have left since, or that the offer didn't change, still counted then.
func (s *simulation) checkPercent(t *simTenant, seen State) {
	s.t.Helper()
	is, percent := s.state, seen.Percent
	if is.Offer == seen.Offer {
		percent = max(percent, is.Percent)
	} else {
		is = seen
	}
	counts := func(t *simTenant) bool {
		if cameLate(t.record, is) {
			return is.Complete == is.Offer
		}
		return !s.isFirst(t.record)
	}
	if percent == 100 || !counts(t) {
		return
	}
	knew := s.now.Add(-inForce - recordLag)
	of, have := 0, 1
	for _, other := range s.tenants {
		has := other.record.Accepted == seen.Offer
		switch {
		case !counts(other):
		case !other.gone && has && other.changed:
			of++
			have++
		case !other.gone && !has, other.out.After(knew):
			of++
		}
	}
	if most := (of*percent + 99) / 100; have > most {
		s.failf("%s is one more than %d of %d that may have the offer: %d percent", t.record.Tenant, most, of, percent)
	}
}

func (s *simulation) maxUpdating() int {
	if n := s.channel.Rollout.MaxUpdating; n > 0 {
		return int(n)
	}
	return 20
}

func (s *simulation) degraded() int { return max(1, int(s.channel.Rollout.HaltAfter.Degraded)) }

func (s *simulation) isFirst(r Record) bool {
	return s.channel.Rollout.First != nil && r.Labels["tier"] == "internal"
}

// opened says whether a schedule lets a change begin, by the calendar.
func opened(of maintenance.Schedule, now time.Time) bool {
	if now.Before(of.Thaws) {
		return false
	}
	w := of.Window
	if w.Open == 0 {
		return true
	}
	zone := time.FixedZone("", int(w.Offset))
	if w.Zone != "" {
		zone, _ = time.LoadLocation(w.Zone)
	}
	local := now.In(zone)
	for _, ago := range []int{0, 1} {
		day := time.Date(local.Year(), local.Month(), local.Day()-ago, 0, 0, 0, 0, time.UTC)
		begin := shownAt(zone, day.Add(time.Duration(w.Begin)*time.Second))
		end := shownAt(zone, day.Add(time.Duration(w.Begin+w.Open)*time.Second+15*time.Minute))
		last := end.Add(-15 * time.Minute)
		if least := begin.Add(15 * time.Minute); last.Before(least) {
			last = least
		}
		if w.Days>>day.Weekday()&1 == 1 && !now.Before(begin) && now.Before(last) {
			return true
		}
	}
	return false
}

// shownAt is when a clock first shows a time that is given as if the clock showed UTC. Each window of a simulation begins and ends
// at a quarter of an hour, and so do the changes of its clock.
func shownAt(zone *time.Location, clock time.Time) time.Time {
	if zone.String() == "" {
		_, offset := clock.In(zone).Zone()
		return clock.Add(-time.Duration(offset) * time.Second)
	}
	for at := clock.Add(-15 * time.Hour); ; at = at.Add(15 * time.Minute) {
		if _, offset := at.In(zone).Zone(); !at.Add(time.Duration(offset) * time.Second).Before(clock) {
			return at
		}
	}
}

// checkResult checks a call of the channel.
func (s *simulation) checkResult(was State, result Result) {
	s.t.Helper()
	is := result.State
	same := was.Offer == is.Offer
	if same && is.Percent < was.Percent && !s.isEdited {
		s.failf("from %d to %d percent", was.Percent, is.Percent)
	}
	if same && was.Halted != nil && is.Halted == nil && !s.channel.Paused {
		s.failf("the halt is over, and nobody has ended it")
	}

	// Package offers looks again when labels have been read.
	if c := result.Conditions[0]; c.True && (result.Again.IsZero() && !s.channel.Unread || strings.Contains(c.Message, "0001-")) {
		s.failf("nobody will look again: %+v", result)
	}

	stuckFor, proof := s.stuckFor(), s.stuckFor()
	for _, step := range s.channel.Rollout.Steps {
		if d, err := time.ParseDuration(string(step.Soak)); err == nil {
			proof = max(proof, d)
		}
	}
	waiting := waitingIn(is, s.now)
	// These came later than an hour after the offer, which isn't for all yet.
	isLate := func(r Record) bool {
		return cameLate(r, is) && is.Since.Equal(was.Since) && is.Included.Equal(was.Included) && (!same || was.Complete != is.Offer)
	}
	var broken, proved, changing, of, have, firsts int
	var last time.Time
	for i, r := range s.records {
		has := r.Accepted == is.Offer
		bad, taken := false, false
		degraded := r.Phase == v1alpha1.PhaseDegraded
		counts := degraded && s.now.Sub(r.Since) >= time.Minute
		if r.Before != "" && r.Ready.IsZero() {
			late := s.now.Sub(r.Changed) >= stuckFor
			taken = !counts && !late
			bad = !taken
		} else if r.Before != "" && counts {
			bad = r.Since.Sub(r.Ready) < proof && !r.Edited
		}
		// What it has of another offer isn't this one's fault.
		bad = bad && r.Before == v1alpha1.PhaseReady && s.runs[i] == s.offers[r.Accepted].version
		a, admitted := waiting[r.Tenant]
		admitted = admitted && !has && r.Accepted != a.Offer
		switch {
		case has && bad:
			broken++
		case has && r.Before == v1alpha1.PhaseReady && !r.Ready.IsZero() && !degraded && !r.Kept && !r.Edited:
			proved++
		}
		if taken || admitted {
			changing++
		}
		if has && r.Before != "" && !r.Kept && r.Ready.After(last) && !isLate(r) {
			last = r.Ready
		}
		switch {
		case has && (r.Before == "" || r.Kept), isLate(r):
		case s.isFirst(r) && !cameLate(r, is):
			lacks := !has && s.now.After(r.Schedule.Thaws) && !silentIn(is, r.Tenant, s.now)
			patient := is.Since.IsZero() || s.now.Sub(is.Since) < 8*24*time.Hour
			if patient && (taken || lacks || admitted && a.Tries == 0) {
				firsts++
			}
		default:
			of++
			if has || admitted {
				have++
			}
		}
	}
	if broken >= s.degraded() && is.Halted == nil && !s.channel.Paused {
		s.failf("%d broken, and no halt", broken)
	}
	if is.Halted != nil && (was.Halted == nil || !same) && broken+s.helped[is.Offer] < s.degraded() {
		s.failf("halts, or goes on with the halt of another offer, with %d of %d broken, and %d before", broken, s.degraded(), s.helped[is.Offer])
	}
	for _, step := range s.channel.Rollout.Steps {
		if d, _ := time.ParseDuration(string(step.Soak)); s.passed(was, is, step) && s.now.Before(last.Add(d)) {
			s.failf("from %d to %d percent, %s after the last tenant was Ready", was.Percent, is.Percent, s.now.Sub(last))
		}
	}
	s.checkSteps(was, is, firsts)

	begun := newIn(was, is, s.now)
	if len(begun) == 0 {
		return
	}
	if is.Halted != nil || s.channel.Paused || s.channel.Unread || is.Offer != s.channel.Offer {
		s.failf("admits %v while halted, paused or without labels", begun)
	}
	others := 0
	for _, a := range begun {
		t := s.byName[a.Tenant]
		r := s.records[t.seen]
		if !opened(r.Schedule, s.now) {
			s.failf("admits %s, whose window is closed", a.Tenant)
		}
		if isLate(r) {
			s.failf("admits %s, which came at %s, before all others have the offer of %s", a.Tenant, r.Joined, is.Since)
		}
		if !s.isFirst(r) || cameLate(r, is) {
			others++
		}
	}
	if changing > s.maxUpdating() || changing+broken > max(s.degraded(), proved) {
		s.failf("%d change and %d are broken, where %d have proved the offer", changing, broken, proved)
	}
	if most := (of*is.Percent + 99) / 100; others > 0 && have > most {
		s.failf("%d of %d have the offer, or may have it: %d percent are %d", have, of, is.Percent, most)
	}
	if others > 0 && firsts > 0 {
		s.failf("admits others while %d that come first haven't the offer", firsts)
	}
}

// passed says whether a call has left a step behind. Each offer begins with the first step.
func (s *simulation) passed(was, is State, step v1alpha1.ChannelStep) bool {
	from := was.Percent
	if s.isEdited {
		// Of other steps, it goes on with the last one that allows no more.
		for _, other := range s.channel.Rollout.Steps {
			if percent := int(other.Percent); percent <= was.Percent {
				from = percent
			}
		}
	}
	percent := int(step.Percent)
	return percent < is.Percent && (was.Offer != is.Offer || percent >= from)
}

// checkSteps checks that each step that a call has left behind was over: its share of the tenants had the offer, or all that
// could get it, and none was changing.
func (s *simulation) checkSteps(was, is State, firsts int) {
	s.t.Helper()
	same := was.Offer == is.Offer
	waiting := waitingIn(was, s.now)
	lost := map[string]bool{}
	for _, a := range was.Admitted {
		lost[a.Tenant] = a.Offer == is.Offer && !a.Withdrawn && !s.now.Before(a.Until.Add(Settle))
	}
	long := same && !was.Since.IsZero() && s.now.Sub(was.Since) >= 8*24*time.Hour
	var of, have, left, changing int
	for _, r := range s.records {
		came := same && cameLate(r, was)
		if came && was.Complete != is.Offer {
			continue
		}
		a, admitted := waiting[r.Tenant]
		has := r.Accepted == is.Offer
		admitted = admitted && !has && r.Accepted != a.Offer
		// It may not begin this time either.
		again := admitted && a.Tries > 0
		settled := !r.Ready.IsZero() || r.Phase == v1alpha1.PhaseDegraded && s.now.Sub(r.Since) >= time.Minute || s.now.Sub(r.Changed) >= s.stuckFor()
		if r.Before != "" && !settled || admitted && !again {
			changing++
		}
		if has && (r.Before == "" || r.Kept) || s.isFirst(r) && !came {
			continue
		}
		of++
		switch {
		case again:
		case has, admitted:
			have++
		case lost[r.Tenant], s.now.Before(r.Schedule.Thaws):
		case long && r.Moved.After(was.Since) && !opened(r.Schedule, s.now):
		default:
			left++
		}
	}
	for _, step := range s.channel.Rollout.Steps {
		want := (of*int(step.Percent) + 99) / 100
		if s.passed(was, is, step) && (changing > 0 || firsts > 0 || have < want && (have == 0 || left > 0)) {
			s.failf("from %d to %d percent: %d of %d have the offer, want %d; %d more can get it, %d change, %d come first and lack it",
				was.Percent, is.Percent, have, of, want, left, changing, firsts)
		}
	}
}

// cameLate reports whether a tenant has come since the offer of a state began, or has given it back, or has joined more than an hour after
// that.
func cameLate(r Record, in State) bool {
	if in.Since.IsZero() {
		return false
	}
	began := in.Included
	isNew := r.Created.Sub(began) > 0 && r.Joined.Sub(began) > 0
	return isNew || r.Returned.Sub(began) > 0 || r.Joined.Sub(began) > time.Hour
}

// waitingIn are the admissions of tenants that may begin, or may have begun without the channel's knowledge.
func waitingIn(s State, now time.Time) map[string]Admission {
	out := map[string]Admission{}
	for _, a := range s.Admitted {
		if now.Before(a.Until.Add(Settle)) {
			out[a.Tenant] = a
		}
	}
	return out
}

func silentIn(s State, tenant string, now time.Time) bool {
	for _, a := range s.Admitted {
		if a.Tenant == tenant && (a.Tries > 0 || !a.Withdrawn && now.After(a.Until)) {
			return true
		}
	}
	return false
}

// checkEnd checks that all has come to its end.
func (s *simulation) checkEnd() {
	s.t.Helper()
	for digest, n := range s.began {
		if s.offers[digest].breaks == 1 && s.offers[digest].late == 0 && n > s.most[digest] {
			s.failf("an offer that breaks every tenant was begun by %d, want at most %d", n, s.most[digest])
		}
	}
	// Since then every window has been open.
	since := s.now.Add(-8 * 24 * time.Hour)
	// Those that don't answer, and those whose windows never open.
	lack, have := false, false
	for _, t := range s.tenants {
		lack = lack || !t.gone && (t.mute || t.moves)
		have = have || !t.gone && t.record.Accepted == s.offer.digest && t.record.Before != ""
		if !t.gone && !t.mute && !t.moves && t.record.Accepted != s.offer.digest && since.After(t.record.Schedule.Thaws) {
			s.failf("%s hasn't the offer: %+v\n%+v", t.record.Tenant, t.record, s.result.Conditions)
		}
	}
	if complete := s.result.Conditions[2]; !lack && !complete.True || (!lack || have) && s.state.Complete != s.offer.digest {
		s.failf("not complete: %+v", s.result.Conditions)
	}
}
