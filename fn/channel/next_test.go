package channel

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// start is a Monday.
var start = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

// ago is a time before start.
func ago(d time.Duration) time.Time { return start.Add(-d) }

// tenant returns the record of one that runs with the offer "old".
func tenant(name string, edits ...func(*Record)) Record {
	r := Record{
		Tenant: name, Claim: "acme/" + name, Phase: v1alpha1.PhaseReady, Since: ago(100 * 24 * time.Hour),
		Accepted: "old", Changed: ago(100 * 24 * time.Hour), Before: v1alpha1.PhaseReady, Ready: ago(100 * 24 * time.Hour),
	}
	for _, edit := range edits {
		edit(&r)
	}
	return r
}

// tenantsNamed returns the records of some, with the same edits.
func tenantsNamed(names string, edits ...func(*Record)) []Record {
	var out []Record
	for _, name := range strings.Fields(names) {
		out = append(out, tenant(name, edits...))
	}
	return out
}

// updating has a tenant change to an offer.
func updating(offer string, since time.Duration) func(*Record) {
	return func(r *Record) { *r = r.Accept(offer, false, false, ago(since)) }
}

// in has it seen in a phase.
func in(phase v1alpha1.Phase, since time.Duration) func(*Record) {
	return func(r *Record) { *r = r.See(phase, "", ago(since)) }
}

// updated has it changed to an offer, and Ready since.
func updated(offer string, since time.Duration) func(*Record) {
	return func(r *Record) {
		updating(offer, since+time.Minute)(r)
		in(v1alpha1.PhaseReady, since)(r)
	}
}

// broken has the offer "bad" have broken it.
func broken(r *Record) {
	updating("bad", time.Hour)(r)
	in(v1alpha1.PhaseDegraded, 50*time.Minute)(r)
}

func unaffected(offer string) func(*Record) {
	return func(r *Record) { *r = r.Accept(offer, true, false, ago(0)) }
}

func internal(r *Record) { r.Labels = map[string]string{"tier": "internal"} }

// frozen and closed have it change in a week, and tomorrow.
func frozen(r *Record) { r.Schedule.Thaws = start.Add(7 * 24 * time.Hour) }
func closed(r *Record) {
	r.Schedule.Window = maintenance.Window{Begin: 8 * 3600, Open: 1800, Days: 1<<7 - 1}
}

// moved has its claim have moved its window.
func moved(since time.Duration) func(*Record) {
	return func(r *Record) { r.Moved = ago(since) }
}

// joined has it join the channel.
func joined(since time.Duration) func(*Record) {
	return func(r *Record) { r.Joined = ago(since) }
}

// created has its claim be created.
func created(since time.Duration) func(*Record) {
	return func(r *Record) { r.Created, r.Joined = ago(since), ago(since) }
}

func steps(percents ...int32) []v1alpha1.ChannelStep {
	var out []v1alpha1.ChannelStep
	for _, percent := range percents {
		out = append(out, v1alpha1.ChannelStep{Percent: percent, Soak: "24h"})
	}
	return out
}

var internalFirst = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "internal"}}

// state of a channel that offers "new".
func state(percent int, edits ...func(*State)) State {
	s := State{Offer: "new", Percent: percent, Complete: "old"}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

// admits has a tenant admitted to an offer until a time from start.
func admits(tenant, offer string, until time.Duration) func(*State) {
	return func(s *State) {
		s.Admitted = append(s.Admitted, Admission{Tenant: tenant, Offer: offer, Until: start.Add(until)})
	}
}

// since has the channel admit tenants to the offer for some time.
func since(d time.Duration) func(*State) {
	return func(s *State) { s.Since, s.Included = ago(d), ago(d) }
}

func counted(s *State) { s.Counted = true }

func halted(s *State) { s.Halted = &Halt{At: ago(time.Hour), Message: "acme/x broke"} }

// By position the order of the offer "new" is z, e, d, y, x, a, b, c.
func TestNext(t *testing.T) {
	const day = 24 * time.Hour
	rollout := v1alpha1.ChannelRollout{Steps: steps(10, 50, 100), MaxUpdating: 4, HaltAfter: v1alpha1.ChannelHalt{Degraded: 2}}
	withFirst := rollout
	withFirst.First = internalFirst
	zero := withFirst
	zero.Steps = steps(0, 100)
	half := rollout
	half.Steps = steps(50)

	for name, tc := range map[string]struct {
		reason  string
		rollout v1alpha1.ChannelRollout
		paused  bool
		was     State
		records []Record

		admitted   int    // how many are admitted now
		named      string // those that are, where their order is of interest
		percent    int
		conditions []string // beginnings of those of interest
		complete   string   // the offer that was complete last, where it isn't "old" or none
		again      time.Duration
	}{
		"Empty": {
			reason: "A channel without tenants has nothing to wait for.", rollout: rollout, was: State{},
			percent: 100, conditions: []string{"Progressing=false Complete", "Complete=true Complete: all 0 tenants"}, complete: "new",
		},
		"Emptied": {
			reason: "All tenants are gone, maybe by mistake: those that come back get the offer in steps.", rollout: rollout, was: state(10, counted),
			percent: 10, conditions: []string{"Progressing=false NoTenants: step 1 of 3, 10 percent: the channel has no tenants any more", "Complete=false Incomplete: 0 of 0"},
		},
		"EmptiedBefore": {
			reason: "The same holds for an offer that begins then.", rollout: rollout, was: State{Offer: "old", Percent: 100, Complete: "old", Counted: true},
			percent: 10, conditions: []string{"Progressing=false NoTenants"},
		},
		"EmptiedComplete": {
			reason: "What is complete stays so.", rollout: rollout, was: State{Offer: "new", Percent: 100, Complete: "new", Counted: true},
			percent: 100, conditions: []string{"Progressing=false Complete", "Complete=true Complete: all 0 tenants"},
		},
		"Back": {
			reason: "They are back.", rollout: rollout, was: state(10, counted),
			records: tenantsNamed("a b c d e f g h i j"), admitted: 1, percent: 10, again: inForce + Settle,
		},
		"EmptiedAtLast": {
			reason: "The last step isn't over either.", rollout: rollout, was: state(100, counted),
			percent: 100, conditions: []string{"Progressing=false NoTenants: step 3 of 3, 100 percent", "Complete=false"},
		},
		"EmptiedRestored": {
			reason: "An offer that was complete before another one isn't any more.", rollout: rollout, was: State{Offer: "new", Percent: 10, Complete: "new", Counted: true},
			percent: 10, conditions: []string{"Progressing=false NoTenants"},
		},
		"Begin": {
			reason: "10 percent of 10 tenants are one.", rollout: rollout, was: State{Offer: "old", Percent: 100, Complete: "old"},
			records: tenantsNamed("a b c d e f g h i j"), admitted: 1, percent: 10, again: inForce + Settle,
			conditions: []string{"Progressing=true UpdatingTenants: step 1 of 3, 10 percent: updating or admitted: acme/", "Halted=false", "Complete=false Incomplete: 0 of 10 tenants have the offer"},
		},
		"RoundsUp": {
			reason: "10 percent of 11 are two.", rollout: rollout, was: state(10),
			records: tenantsNamed("a b c d e f g h i j k"), admitted: 2, percent: 10, again: inForce + Settle,
		},
		"AtOnce": {
			reason: "Without steps all may have it, though no more begin than may break.", rollout: v1alpha1.ChannelRollout{HaltAfter: v1alpha1.ChannelHalt{Degraded: 3}}, was: state(0),
			records: tenantsNamed("a b c d e f g h i j"), admitted: 3, percent: 100, again: inForce + Settle,
		},
		"GrowsWithProof": {
			reason: "Three have proved it, so three may change.", rollout: rollout, was: state(100),
			records: append(tenantsNamed("a b c", updated("new", day)), tenantsNamed("d e f g h i j")...), admitted: 3, percent: 100, again: inForce + Settle,
		},
		"MaxUpdating": {
			reason: "Five have proved it, and four may change.", rollout: rollout, was: state(100),
			records: append(tenantsNamed("a b c d e", updated("new", day)), tenantsNamed("f g h i j")...), admitted: 4, percent: 100, again: inForce + Settle,
		},
		"WaitsForHalf": {
			reason: "One of four slots is free: it isn't used before another is.", rollout: rollout, was: state(100),
			records: slices.Concat(tenantsNamed("a b c d e", updated("new", day)), tenantsNamed("f g h", updating("new", time.Minute)), tenantsNamed("i j")),
			percent: 100, again: defaultStuckFor - time.Minute,
		},
		"LastOne": {
			reason: "It is, where no other waits.", rollout: rollout, was: state(100),
			records:  slices.Concat(tenantsNamed("a b c d e", updated("new", day)), tenantsNamed("f g h", updating("new", time.Minute)), tenantsNamed("i")),
			admitted: 1, percent: 100, again: defaultStuckFor - time.Minute,
		},
		"OldOffersTakeSlots": {
			reason: "Those that still change to an earlier offer take theirs.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a b", updating("old2", time.Minute)), tenantsNamed("c d e f g h i j")...), percent: 10, again: defaultStuckFor - time.Minute,
		},
		"Unseen": {
			reason: "One that was admitted a moment before the edit may have begun.", rollout: rollout, was: State{Offer: "old", Percent: 100, Admitted: []Admission{{Tenant: "a", Offer: "old", Until: start.Add(time.Minute)}, {Tenant: "b", Offer: "old", Until: start.Add(time.Minute)}}},
			records: tenantsNamed("a b c d e f g h i j", updated("older", day)), percent: 10, again: Settle,
		},
		"Soaks": {
			reason: "The last tenant of the step was Ready 23 hours ago.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a", updated("new", 23*time.Hour)), tenantsNamed("b c d e f g h i j")...), percent: 10, again: time.Hour,
			conditions: []string{"Progressing=true Soaking: step 1 of 3, 10 percent: soaks until 2026-11-23T10:00:00Z"},
		},
		"Soaked": {
			reason: "24 hours ago: the next step begins.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("b c d e f g h i j")...), admitted: 2, percent: 50, again: inForce + Settle,
		},
		"Complete": {
			reason: "All have it, and the last soak is over.", rollout: rollout, was: state(100),
			records: tenantsNamed("a b", updated("new", day)), percent: 100,
			conditions: []string{"Progressing=false Complete", "Halted=false", "Complete=true Complete: all 2 tenants have the offer"}, complete: "new",
		},
		"HaltedAtTheEnd": {
			reason: "An offer that has halted isn't one for new tenants.", rollout: rollout, was: state(100, halted),
			records: tenantsNamed("a b", updated("new", day)), percent: 100, conditions: []string{"Progressing=false Halted", "Complete=false"},
		},
		"LastStepOfOne": {
			reason: "Nor is one that isn't for all, though the only tenant has it.", rollout: half, was: state(50),
			records: tenantsNamed("a", updated("new", day)), percent: 50, conditions: []string{"Complete=false LastStep: 1 of 1 tenants"},
		},
		"FirstIsTriedAgain": {
			reason: "While one that didn't begin is tried again, the others go on.", rollout: withFirst, was: state(10, admits("x", "new", inForce), func(s *State) { s.Admitted[0].Tries = 1 }),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal)...), admitted: 1, percent: 10, again: inForce + Settle,
		},
		"LastStep": {
			reason: "Nothing goes on by itself after a last step of 50 percent.", rollout: half, was: state(50),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("b")...), percent: 50,
			conditions: []string{"Progressing=false LastStep: step 1 of 1, 50 percent: this is the last step: add a step of 100 percent to spec.rollout.steps to go on", "Complete=false LastStep: 1 of 2 tenants have the offer"},
		},
		"StepsEdited": {
			reason: "Where steps are taken out, the first that is left is next.", rollout: half, was: state(10),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("b c d e f g h i j")...), admitted: 2, percent: 50, again: inForce + Settle,
		},
		"StepsEditedSoak": {
			reason: "The step before isn't passed over: its tenants soak.", rollout: rollout, was: state(40),
			records: append(tenantsNamed("a b c d", updated("new", time.Hour)), tenantsNamed("e f g h i j")...), percent: 10, again: 23 * time.Hour,
			conditions: []string{"Progressing=true Soaking: step 1 of 3, 10 percent"},
		},
		"StepsEditedSoaked": {
			reason: "If they have, the next step begins.", rollout: rollout, was: state(40),
			records: append(tenantsNamed("a b c d", updated("new", day)), tenantsNamed("e f g h i j")...), admitted: 1, percent: 50, again: inForce + Settle,
		},
		"Halts": {
			reason: "Two were Ready before, and are Degraded since.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a b", updating("new", time.Hour), in(v1alpha1.PhaseDegraded, time.Minute)), tenantsNamed("c d e f")...), percent: 10,
			conditions: []string{"Progressing=false Halted", "Halted=true TenantsBroken: acme/a (Degraded), acme/b (Degraded) broke: edit spec.offer, or restore an earlier one; or fix these tenants"},
		},
		"Stuck": {
			reason: "So does one that takes too long.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a b", updating("new", defaultStuckFor)), tenantsNamed("c d e f")...), percent: 10,
			conditions: []string{"Halted=true TenantsBroken: acme/a (Updating for more than 30m0s), acme/b (Updating for more than 30m0s) broke"},
		},
		"OneIsPutUpWith": {
			reason: "One may be broken: the step soaks from then on.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a", updating("new", 10*time.Minute), in(v1alpha1.PhaseDegraded, time.Minute)), tenantsNamed("c d e f")...), percent: 10, again: day - time.Minute,
			conditions: []string{"Progressing=true Soaking", "Halted=false TenantsWell: broken by the offer: acme/a (Degraded); halts at 2"},
		},
		"BrokenAgain": {
			reason: "A tenant that is broken again and again doesn't restart the soak.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a", updating("new", 10*time.Hour), in(v1alpha1.PhaseDegraded, 9*time.Hour), in(v1alpha1.PhaseUpdating, time.Hour), in(v1alpha1.PhaseDegraded, time.Minute)), tenantsNamed("c d e f")...), percent: 10, again: 14*time.Hour + 30*time.Minute,
		},
		"BrokenBefore": {
			reason: "Those that were Degraded before don't count against the offer.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a b", in(v1alpha1.PhaseDegraded, 2*time.Hour), updating("new", 10*time.Minute), in(v1alpha1.PhaseDegraded, time.Minute)), tenantsNamed("c d e f")...), percent: 10, again: day - time.Minute,
			conditions: []string{"Halted=false TenantsWell: "},
		},
		"BrokenLater": {
			reason: "Those that break after the longest soak don't, either.", rollout: rollout, was: state(100),
			records: tenantsNamed("a b", updated("new", 3*day), in(v1alpha1.PhaseDegraded, 2*day)), percent: 100,
			conditions: []string{"Halted=false TenantsWell: ", "Complete=true"}, complete: "new",
		},
		"BrokenInItsSoak": {
			reason: "Within the longest soak they do.", rollout: rollout, was: state(100),
			records: tenantsNamed("a b", updated("new", 3*day), in(v1alpha1.PhaseDegraded, 2*day+time.Minute)), percent: 100,
			conditions: []string{"Halted=true"},
		},
		"StaysHalted": {
			reason: "It doesn't go on by itself when they recover.", rollout: rollout, was: state(10, halted),
			records: tenantsNamed("a b c d"), percent: 10, conditions: []string{"Progressing=false Halted: step 1 of 3, 10 percent: halted since 2026-11-23T08:00:00Z", "Halted=true TenantsBroken: acme/x broke: edit"},
		},
		"PausedEndsAHalt": {
			reason: "Whoever pauses and goes on says that it may.", rollout: rollout, paused: true, was: state(10, halted),
			records: tenantsNamed("a b c d"), percent: 10, conditions: []string{"Progressing=false Paused", "Halted=false"},
		},
		"PausedWhileBroken": {
			reason: "Not while as many are broken.", rollout: rollout, paused: true, was: state(10, halted),
			records: tenantsNamed("a b", updating("new", time.Hour), in(v1alpha1.PhaseDegraded, time.Minute)), percent: 10, conditions: []string{"Halted=true TenantsBroken: acme/x"},
		},
		"EditEndsAHalt": {
			reason: "Another offer begins anew, with the tenants that the last one broke.", rollout: rollout, was: State{Offer: "bad", Percent: 50, Halted: &Halt{}},
			records: append(tenantsNamed("a d e x y z"), tenantsNamed("b c", updating("bad", time.Hour), in(v1alpha1.PhaseDegraded, time.Minute))...),
			named:   "b c", percent: 10, again: inForce + Settle, conditions: []string{"Progressing=true UpdatingTenants", "Halted=false"},
		},
		"BrokenOfOneCustomer": {
			reason: "Of a customer as many as may break come before others.", rollout: rollout, was: state(50),
			records: slices.Concat(tenantsNamed("a b", broken, updating("new", 2*time.Minute), in(v1alpha1.PhaseDegraded, 2*time.Minute)), tenantsNamed("c d e f", broken), tenantsNamed("x y z")),
			named:   "x y z", percent: 50, again: inForce + Settle,
		},
		"BrokenOfOneCustomerBegin": {
			reason: "Also of those that may have begun.", rollout: rollout, was: state(100, admits("a", "new", 0), admits("b", "new", 0), func(s *State) { s.Admitted[0].Broken, s.Admitted[1].Broken = true, true }),
			records: slices.Concat(tenantsNamed("a b c d", broken), tenantsNamed("e", broken, updated("new", time.Hour)), tenantsNamed("g h i j k l", updated("new", 2*time.Hour)), tenantsNamed("x y z")),
			named:   "x y z", percent: 100, again: Settle,
		},
		"BrokenOfOthers": {
			reason: "Those of another customer aren't held back by that.", rollout: rollout, was: state(50),
			records: slices.Concat(tenantsNamed("a b", broken, updating("new", 2*time.Minute), in(v1alpha1.PhaseDegraded, 2*time.Minute)), tenantsNamed("c d", broken, func(r *Record) { r.Claim = "other/" + r.Tenant }), tenantsNamed("x y z")),
			named:   "c d", percent: 50, again: inForce + Settle,
		},
		"PausedWithdraws": {
			reason: "Who was admitted may begin no more, and may have begun.", rollout: rollout, paused: true, was: state(10, admits("a", "new", 20*time.Minute)),
			records: tenantsNamed("a b c d"), percent: 10, again: Settle, conditions: []string{"Progressing=false Paused: step 1 of 3, 10 percent: paused"},
		},
		"FirstFirst": {
			reason: "Those that first selects come before all others, and are in no percentage.", rollout: withFirst, was: state(10),
			records: append(tenantsNamed("a b c"), tenantsNamed("x y z", internal)...), named: "x y z", percent: 10, again: inForce + Settle,
		},
		"OthersAfterFirst": {
			reason: "Then comes the step's share of the others.", rollout: withFirst, was: state(10),
			records: append(tenantsNamed("a b c"), tenantsNamed("x y z", internal, updated("new", time.Hour))...), admitted: 1, percent: 10, again: inForce + Settle,
		},
		"FirstChanges": {
			reason: "The others wait until they are Ready.", rollout: withFirst, was: state(10),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, updating("new", time.Minute))...), percent: 10, again: defaultStuckFor - time.Minute,
		},
		"FirstWaits": {
			reason: "And for their windows.", rollout: withFirst, was: state(10),
			records: append(tenantsNamed("a b c", closed), tenantsNamed("x", internal, closed)...), percent: 10, again: 23 * time.Hour,
			conditions: []string{"Progressing=true WaitingForTenants: step 1 of 3, 10 percent: the others wait for those that spec.rollout.first selects: acme/x; wait for their maintenance windows: acme/a, acme/b, acme/c and 1 more"},
		},
		"FirstWaitsForLong": {
			reason: "Not for ever: whoever writes a claim can keep its window from opening.", rollout: withFirst, was: state(10, since(8*day)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, closed)...), admitted: 1, percent: 10, again: inForce + Settle,
		},
		"FirstIsAskedForLong": {
			reason: "Nor for one that closes its window whenever it is admitted.", rollout: withFirst, was: state(10, since(8*day)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal)...), admitted: 2, percent: 10, again: inForce + Settle,
		},
		"FirstChangesForLong": {
			reason: "Nor while it changes.", rollout: withFirst, was: state(10, since(8*day)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, updating("new", time.Minute))...), admitted: 1, percent: 10, again: defaultStuckFor - time.Minute,
		},
		"FirstJoins": {
			reason: "Nor for one that joined after the offer began: it gets the offer after the others.", rollout: withFirst, was: state(10, since(2*time.Hour)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x y", internal, joined(time.Hour-time.Second))...), named: "a b c", percent: 10, again: inForce + Settle,
		},
		"FirstJoinsAndChanges": {
			reason: "Nor while that one changes.", rollout: withFirst, was: state(10, since(2*time.Hour)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, updating("new", time.Minute), joined(time.Minute))...), admitted: 1, percent: 10, again: defaultStuckFor - time.Minute,
		},
		"FirstJoinsSoon": {
			reason: "It waits for one that joined just after that.", rollout: withFirst, was: state(10, since(2*time.Hour)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, joined(time.Hour))...), named: "x", percent: 10, again: inForce + Settle,
		},
		"FirstIsCreated": {
			reason: "Nor for one that was created after that: it would be the next that its author breaks.", rollout: withFirst, was: state(10, since(2*time.Hour)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x y", internal, created(2*time.Hour-time.Second))...), named: "a b c", percent: 10, again: inForce + Settle,
		},
		"FirstIsOlder": {
			reason: "It waits for one that was created just before that.", rollout: withFirst, was: state(10, since(2*time.Hour)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, created(2*time.Hour))...), named: "x", percent: 10, again: inForce + Settle,
		},
		"FirstIsRestored": {
			reason: "And for one that was restored from a backup, or whose API server has a fast clock: it had joined before.", rollout: withFirst, was: state(10, since(2*time.Hour)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, created(time.Minute), joined(2*time.Hour))...), named: "x", percent: 10, again: inForce + Settle,
		},
		"FirstReturns": {
			reason: "Nor for one that gives an offer back: its claim may take it and give it back for ever.", rollout: withFirst, was: state(10, since(2*time.Hour)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, func(r *Record) { r.Returned = ago(time.Hour) })...), named: "a b c", percent: 10, again: inForce + Settle,
		},
		"FirstOpensLate": {
			reason: "The channel looks again when the others have waited for long enough.", rollout: withFirst, was: state(10, since(8*day-time.Hour)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, closed)...), percent: 10, again: time.Hour,
		},
		"AllAreNew": {
			reason: "An offer that nobody has isn't complete: the steps are for those that have joined since.", rollout: rollout, was: state(10, since(2*time.Hour)),
			records: append(tenantsNamed("a b c d", created(time.Hour)), tenantsNamed("x", unaffected("new"))...), percent: 10, again: time.Second,
		},
		"AllAreNewAndWait": {
			reason: "Also while none of them can begin.", rollout: rollout, was: state(10, since(2*time.Hour)),
			records: slices.Concat(tenantsNamed("a b", created(time.Hour), closed), tenantsNamed("c", created(time.Hour), frozen), tenantsNamed("x", unaffected("new"))), percent: 10, again: 23 * time.Hour,
			conditions: []string{"Progressing=true WaitingForTenants: step 1 of 3, 10 percent: wait for their maintenance windows: acme/a, acme/b; frozen: acme/c"},
		},
		"AllOthersAreNew": {
			reason: "A tenant that first selects and that holds up nobody doesn't have it either.", rollout: withFirst, was: state(10, since(2*time.Hour)),
			records: append(tenantsNamed("a b c", created(time.Hour)), tenantsNamed("x", internal, frozen)...), percent: 10, again: time.Second,
		},
		"AllAreNewForLong": {
			reason: "Otherwise whoever writes claims could keep an offer from being complete.", rollout: rollout, was: state(10, since(8*day)),
			records: append(tenantsNamed("a b c d", created(time.Hour)), tenantsNamed("x", unaffected("new"))...), percent: 100, complete: "new", again: time.Second,
		},
		"AllAreIncluded": {
			reason: "Then they are as others.", rollout: rollout, was: state(10, since(2*time.Hour), func(s *State) { s.Included = ago(time.Minute) }),
			records: append(tenantsNamed("a b c d", created(time.Hour)), tenantsNamed("x", unaffected("new"))...), admitted: 1, percent: 10, again: inForce + Settle,
		},
		"MovedWindowForLong": {
			reason: "That others were included since doesn't have a step wait for longer.", rollout: rollout,
			was:     state(100, since(9*day), func(s *State) { s.Included = ago(day) }),
			records: slices.Concat(tenantsNamed("a", frozen), tenantsNamed("l", updated("new", 2*day)), tenantsNamed("x", closed, moved(2*day))), percent: 100, complete: "new", again: 23 * time.Hour,
		},
		"Joins": {
			reason: "The offer is complete though one that has joined since lacks it, and another changes.", rollout: rollout, was: state(100, since(3*day)),
			records: slices.Concat(tenantsNamed("a b", updated("new", day)), tenantsNamed("x", joined(time.Minute)), tenantsNamed("y", updating("other", time.Minute), joined(time.Minute))),
			percent: 100, complete: "new", again: time.Second,
			conditions: []string{"Complete=false Incomplete: 2 of 4 tenants have the offer; late: acme/x"},
		},
		"JoinsCompleteOffer": {
			reason: "It gets the offer once that is complete.", rollout: withFirst, was: state(100, since(3*day), func(s *State) { s.Complete = "new" }),
			records: append(tenantsNamed("a b", updated("new", day)), tenantsNamed("x", internal, joined(time.Minute))...), named: "x", percent: 100, again: inForce + Settle,
		},
		"JoinsAndSoaks": {
			reason: "It neither counts in a step nor restarts its soak.", rollout: rollout, was: state(50, since(3*day)),
			records:  slices.Concat(tenantsNamed("a", updated("new", day)), tenantsNamed("b"), tenantsNamed("x y z", updated("new", time.Hour), joined(2*time.Hour))),
			admitted: 1, percent: 100, again: inForce + Settle,
		},
		"JoinsAlone": {
			reason: "Where no other can begin it is next.", rollout: rollout, was: state(10, since(3*day)),
			records: append(tenantsNamed("a", frozen), tenantsNamed("x", joined(time.Minute))...), percent: 10, again: time.Second,
		},
		"FirstFrozen": {
			reason: "Not for one that is frozen.", rollout: withFirst, was: state(10),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, frozen)...), admitted: 1, percent: 10, again: inForce + Settle,
		},
		"FirstThaws": {
			reason: "It gets the offer after its freeze, also where the others have it.", rollout: withFirst, was: state(100),
			records: append(tenantsNamed("a b", updated("new", day)), tenantsNamed("x", internal, frozen)...), percent: 100, complete: "new", again: 7 * day,
		},
		"FirstSilent": {
			reason: "Nor for one that doesn't begin.", rollout: withFirst, was: state(10, admits("x", "new", -Settle)),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal)...), admitted: 1, percent: 10, again: inForce + Settle,
		},
		"FirstAlone": {
			reason: "A step of 0 percent is for them alone.", rollout: zero, was: state(0),
			records: append(tenantsNamed("a b c"), tenantsNamed("x", internal, updated("new", time.Hour))...), percent: 0, again: 23 * time.Hour,
			conditions: []string{"Progressing=true Soaking: step 1 of 2, 0 percent"},
		},
		"NoneFirst": {
			reason: "Where there are none it is over.", rollout: zero, was: state(0),
			records: tenantsNamed("a b c"), admitted: 2, percent: 100, again: inForce + Settle,
		},
		"Overtaken": {
			reason: "Who waits for a window is overtaken.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a b c d e f g h i", closed), tenantsNamed("z")...), named: "z", percent: 10, again: inForce + Settle,
		},
		"WindowsAreWaitedFor": {
			reason: "A step waits for windows.", rollout: rollout, was: state(10),
			records: tenantsNamed("a b c d", closed), percent: 10, again: 23 * time.Hour,
			conditions: []string{"Progressing=true WaitingForTenants: step 1 of 3, 10 percent: wait for their maintenance windows: acme/a, acme/b, acme/c and 1 more"},
		},
		"MovedWindow": {
			reason: "Not for ever for one that was moved: the step goes on, and the tenant still gets the offer.", rollout: rollout, was: state(50, since(8*day)),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("x", closed, moved(time.Hour))...), percent: 100, complete: "new", again: 23 * time.Hour,
			conditions: []string{"Progressing=true WaitingForTenants: step 3 of 3, 100 percent: wait for their maintenance windows: acme/x", "Complete=false Incomplete: 1 of 2 tenants have the offer; wait for their maintenance windows: acme/x"},
		},
		"MovedWindowOpensInAWeek": {
			reason: "Until then it may open as others do.", rollout: rollout, was: state(100, since(8*day-time.Minute)),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("x", closed, moved(time.Hour))...), percent: 100, again: time.Minute,
		},
		"MovedWindowBefore": {
			reason: "One that was moved before the offer opens within a week, if it has its turn then.", rollout: rollout, was: state(50, since(30*day)),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("x y", closed, moved(31*day))...), percent: 50, again: 23 * time.Hour,
		},
		"MovedWindowAlone": {
			reason: "A step waits for one tenant in any case.", rollout: rollout, was: state(10, since(30*day)),
			records: tenantsNamed("x y", closed, moved(time.Hour)), percent: 10, again: 23 * time.Hour,
		},
		"FrozenAreNot": {
			reason: "It doesn't wait for those that are frozen, if it has one.", rollout: rollout, was: state(50),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("b c d", frozen)...), percent: 100, complete: "new", again: 7 * day,
			conditions: []string{"Progressing=true WaitingForTenants: step 3 of 3, 100 percent: frozen: acme/b, acme/c, acme/d"},
		},
		"AllFrozen": {
			reason: "Without one it waits.", rollout: rollout, was: state(10),
			records: tenantsNamed("a b c d", frozen), percent: 10, again: 7 * day, conditions: []string{"Progressing=true WaitingForTenants"},
		},
		"Silent": {
			reason: "One that didn't begin isn't tried again at once, and holds up no step.", rollout: rollout, was: state(50, admits("b", "new", -Settle)),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("b")...), percent: 100, complete: "new", again: retry - Settle,
			conditions: []string{"Progressing=true WaitingForTenants: step 3 of 3, 100 percent: admitted and didn't begin: acme/b", "Complete=false Incomplete: 1 of 2 tenants have the offer; admitted and didn't begin: acme/b"},
		},
		"SilentIsLast": {
			reason: "It comes after all others.", rollout: rollout, was: state(10, admits("a", "new", -retry), admits("b", "new", -retry), admits("z", "new", -retry)),
			records: tenantsNamed("a b c z"), named: "c", percent: 10, again: inForce + Settle,
		},
		"SilentIsTriedAgain": {
			reason: "After an hour it is tried again.", rollout: rollout, was: state(100, admits("b", "new", -retry)),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("b")...), named: "b", percent: 100, complete: "new", again: inForce + Settle,
		},
		"SilentIsNotWaitedFor": {
			reason: "While it is tried again the step is over for all others.", rollout: rollout, was: state(50, admits("b", "new", inForce), func(s *State) { s.Admitted[0].Tries = 1 }),
			records: append(tenantsNamed("a", updated("new", day)), tenantsNamed("b")...), percent: 100, complete: "new", again: inForce + Settle,
			conditions: []string{"Progressing=true UpdatingTenants: step 3 of 3, 100 percent: updating or admitted: acme/b"},
		},
		"NotReadyIsLast": {
			reason: "Those that aren't Ready come after those that are.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a b z", in(v1alpha1.PhaseDegraded, time.Hour), func(r *Record) { r.Before = v1alpha1.PhaseDegraded }), tenant("c")), named: "c", percent: 10, again: inForce + Settle,
		},
		"Unaffected": {
			reason: "Those for which it changes nothing are in no step: 10 percent of the other two are one.", rollout: rollout, was: state(10),
			records: append(tenantsNamed("a b c d e f g h i j", unaffected("new")), tenantsNamed("y z")...), admitted: 1, percent: 10, again: inForce + Settle,
			conditions: []string{"Complete=false Incomplete: 10 of 12 tenants have the offer"},
		},
		"LostState": {
			reason: "Where state is lost nobody is admitted for a while, and what tenants have counts.", rollout: rollout, was: State{},
			records: append(tenantsNamed("a", updated("new", 23*time.Hour)), tenantsNamed("b c d e f g h i j")...), percent: 10, again: Settle,
			conditions: []string{"Progressing=true Soaking"},
		},
		"LostStateWaits": {
			reason: "It says so.", rollout: rollout, was: State{}, records: tenantsNamed("a b"), percent: 10, again: Settle,
			conditions: []string{"Progressing=true WaitingForTenants: step 1 of 3, 10 percent: goes on at 2026-11-23T09:05:00Z"},
		},
		"LostStateOfSeveralSteps": {
			reason: "Steps whose tenants have soaked are passed at once.", rollout: rollout, was: State{},
			records: append(tenantsNamed("a b c d e", updated("new", day)), tenantsNamed("f g h i j")...), percent: 100, again: Settle,
		},
		"Gone": {
			reason: "Admissions of tenants that are gone are forgotten.", rollout: rollout, was: state(10, admits("x", "new", 20*time.Minute), admits("y", "new", 20*time.Minute)),
			records: tenantsNamed("a b c d"), admitted: 1, percent: 10, again: inForce + Settle,
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Next(Channel{Offer: "new", Rollout: tc.rollout, Paused: tc.paused}, tc.was, tc.records, start)
			if err != nil {
				t.Fatal(err)
			}
			var named []string
			for _, a := range newIn(tc.was, result.State, start) {
				named = append(named, a.Tenant)
			}
			slices.Sort(named)
			switch want := strings.Fields(tc.named); {
			case tc.named != "" && len(named) > 0 && !subset(named, want), len(want) == 0 && len(named) != tc.admitted, len(want) > 0 && len(named) == 0:
				t.Errorf("%s\nadmits %v, want %d of %q", tc.reason, named, tc.admitted, tc.named)
			}
			if want := stdcmp.Or(tc.complete, tc.was.Complete); result.State.Complete != want {
				t.Errorf("%s\n%q is complete, want %q", tc.reason, result.State.Complete, want)
			}
			if result.State.Percent != tc.percent {
				t.Errorf("%s\n%d percent, want %d", tc.reason, result.State.Percent, tc.percent)
			}
			var again time.Duration
			if !result.Again.IsZero() {
				again = result.Again.Sub(start)
			}
			if again != tc.again {
				t.Errorf("%s\nlook again in %s, want %s", tc.reason, again, tc.again)
			}
			var conditions []string
			for _, c := range result.Conditions {
				conditions = append(conditions, fmt.Sprintf("%s=%t %s: %s", c.Type, c.True, c.Reason, c.Message))
			}
			for _, want := range tc.conditions {
				if !slices.ContainsFunc(conditions, func(c string) bool { return strings.HasPrefix(c, want) }) {
					t.Errorf("%s\nno condition begins with %q:\n%s", tc.reason, want, strings.Join(conditions, "\n"))
				}
			}
		})
	}
}

// subset reports whether all of a list are in another.
func subset(of, all []string) bool {
	return !slices.ContainsFunc(of, func(s string) bool { return !slices.Contains(all, s) })
}

func TestCounts(t *testing.T) {
	records := slices.Concat(
		tenantsNamed("a b", updated("new", time.Hour)), tenantsNamed("c", updating("new", time.Minute)),
		tenantsNamed("d", updating("new", time.Hour), in(v1alpha1.PhaseDegraded, time.Minute)),
		tenantsNamed("e", unaffected("new")), tenantsNamed("f g", closed), tenantsNamed("h", frozen), tenantsNamed("i j"),
	)
	was := state(100, admits("i", "new", 20*time.Minute))
	result, err := Next(Channel{Offer: "new", Rollout: v1alpha1.ChannelRollout{HaltAfter: v1alpha1.ChannelHalt{Degraded: 2}}}, was, records, start)
	if err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.ChannelTenants{Total: 10, Updated: 4, Updating: 2, Degraded: 1, WaitingForWindow: 2, Frozen: 1}
	if diff := cmp.Diff(want, result.Tenants); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestHaltNamesAll: a halt names all tenants that haltAfter waits for, up to a number that people read.
func TestHaltNamesAll(t *testing.T) {
	for _, broken := range []int{7, 20, 500} {
		var records []Record
		for i := range broken {
			records = append(records, tenant(fmt.Sprintf("t%03d", i), updating("new", time.Hour), func(r *Record) { *r = r.See(v1alpha1.PhaseDegraded, strings.Repeat("x", 1000), ago(time.Minute)) }))
		}
		c := Channel{Offer: "new", Rollout: v1alpha1.ChannelRollout{HaltAfter: v1alpha1.ChannelHalt{Degraded: int32(broken)}}}
		result, err := Next(c, state(100), records, start)
		if err != nil {
			t.Fatal(err)
		}
		message := result.Conditions[1].Message
		named, rest := min(broken, 20), ""
		if broken > named {
			rest = fmt.Sprintf(" and %d more", broken-named)
		}
		if got := strings.Count(message, `(Degraded: "x`); got != named || !strings.HasPrefix(message, "acme/t000 (") || !strings.Contains(message, `x")`+rest+" broke: edit spec.offer") || len(message) > 6000 {
			t.Errorf("%d are broken: want %d named, got %d with %d bytes: %s", broken, named, got, len(message), message)
		}
	}
}

// TestAdmittedWhileBroken: an admission says whether an offer had broken the tenant, which comes before others for that.
func TestAdmittedWhileBroken(t *testing.T) {
	c := Channel{Offer: "new", Rollout: v1alpha1.ChannelRollout{HaltAfter: v1alpha1.ChannelHalt{Degraded: 2}}}
	result, err := Next(c, state(100), append(tenantsNamed("a", broken), tenantsNamed("x")...), start)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, a := range result.State.Admitted {
		got[a.Tenant] = a.Broken
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "x": false}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestStateStays: the state is as it was where a tenant that was admitted has begun. Each
// change of it wakes tenants.
func TestStateStays(t *testing.T) {
	was := state(100, counted, since(time.Hour), admits("a", "new", 20*time.Minute), admits("gone", "new", 20*time.Minute))
	records := append(tenantsNamed("a", updating("new", time.Minute)), tenantsNamed("b c")...)
	result, err := Next(Channel{Offer: "new"}, was, records, start)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(was, result.State); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestClosesWhileAdmitted: nobody waits for a tenant that closes its window when it is admitted.
func TestClosesWhileAdmitted(t *testing.T) {
	c := Channel{Offer: "new", Rollout: v1alpha1.ChannelRollout{HaltAfter: v1alpha1.ChannelHalt{Degraded: 2}}}
	records := append(tenantsNamed("a", updated("new", time.Hour)), tenantsNamed("x", closed)...)
	result, err := Next(c, state(100, admits("x", "new", 20*time.Minute)), records, start)
	if err != nil {
		t.Fatal(err)
	}
	if result.State.Gate("x", false).Admission.Valid("new", start) || result.State.Complete == "new" {
		t.Errorf("it may begin, or is forgotten while it may have begun: %+v", result.State)
	}
	if result, err = Next(c, result.State, records, start.Add(Settle)); err != nil || result.State.Complete != "new" {
		t.Errorf("it is waited for: %+v, %v", result, err)
	}
}

// TestSince: the time in which a channel may admit tenants begins with an offer, and anew after a pause. Tenants that join where no other can
// begin are included, and don't have others wait for longer.
func TestSince(t *testing.T) {
	ready := tenantsNamed("a b c")
	for name, tc := range map[string]struct {
		was      State
		paused   bool
		records  []Record
		want     time.Time
		included time.Time
	}{
		"Edited": {State{Offer: "old", Since: ago(time.Hour), Included: ago(time.Minute)}, false, ready, start, start},
		"GoesOn": {state(100, since(time.Hour)), false, ready, ago(time.Hour), ago(time.Hour)},
		"Paused": {state(100, since(time.Hour)), true, ready, time.Time{}, time.Time{}},
		"After":  {state(100), false, ready, start, start},
		"Halted": {state(100, since(time.Hour), halted), false, ready, time.Time{}, time.Time{}},
		"JoinsAlone": {
			state(100, since(2*time.Hour)), false, append(tenantsNamed("a", frozen), tenantsNamed("x", joined(time.Minute))...), ago(2 * time.Hour), start,
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Next(Channel{Offer: "new", Paused: tc.paused}, tc.was, tc.records, start)
			if err != nil {
				t.Fatal(err)
			}
			if is := result.State; !is.Since.Equal(tc.want) || !is.Included.Equal(tc.included) {
				t.Errorf("want %s and %s, got %s and %s", tc.want, tc.included, is.Since, is.Included)
			}
		})
	}
}

// TestNobodyAnswers: where thousands don't begin, the channel's state still has room in a
// ConfigMap, and those that are remembered are tried again.
func TestNobodyAnswers(t *testing.T) {
	var records []Record
	for i := range 5000 {
		records = append(records, tenant(fmt.Sprintf("%s-%d", strings.Repeat("x", 63), i)))
	}
	c := Channel{Offer: "new", Rollout: v1alpha1.ChannelRollout{MaxUpdating: most, HaltAfter: v1alpha1.ChannelHalt{Degraded: most}}}
	s, now, admitted := State{}, start, 0
	for range 100 {
		result, err := Next(c, s, records, now)
		if err != nil {
			t.Fatal(err)
		}
		admitted = len(newIn(s, result.State, now))
		s = result.State
		if again := result.Again; again.After(now) {
			now = again
		} else {
			t.Fatalf("it looks again at %s, and it is %s", again, now)
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 400_000 {
			t.Fatalf("the state has %d bytes, with %d tenants", len(raw), len(s.Admitted))
		}
	}
	if now.Before(start.Add(24*time.Hour)) || len(s.Admitted) < 1000 {
		t.Errorf("%d tenants are remembered after %s, of which %d are new", len(s.Admitted), now.Sub(start), admitted)
	}
}

// TestOrder: the same records in another order have the same result, and another offer
// begins with others.
func TestOrder(t *testing.T) {
	records := tenantsNamed("a b c d e f g h i j k l m n o p q r s t u v w x y z")
	firsts := map[string]bool{}
	for _, offer := range []string{"1", "2", "3", "4", "5"} {
		c := Channel{Offer: offer, Rollout: v1alpha1.ChannelRollout{HaltAfter: v1alpha1.ChannelHalt{Degraded: 3}}}
		one, err := Next(c, State{Offer: "old"}, records, start)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(records)
		two, err := Next(c, State{Offer: "old"}, records, start)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one, two); diff != "" {
			t.Errorf("the order of records counts: -one, +two:\n%s", diff)
		}
		firsts[one.State.Admitted[0].Tenant] = true
	}
	if len(firsts) < 3 {
		t.Errorf("five offers begin with %v", firsts)
	}
}

// TestEmptiedForLong: a channel that had no tenants for long begins with the first step for those that join it.
func TestEmptiedForLong(t *testing.T) {
	c := Channel{Offer: "new", Rollout: v1alpha1.ChannelRollout{Steps: steps(10, 50, 100)}}
	was := state(10, counted, since(9*24*time.Hour))
	empty, err := Next(c, was, nil, ago(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for name, joined := range map[string]func(*Record){"New": created(time.Minute), "Moved": joined(time.Minute)} {
		result, err := Next(c, empty.State, tenantsNamed("a b c d e f g h i j k", joined), start)
		if err != nil || result.State.Percent != 10 || result.State.Complete != "old" || len(result.State.Admitted) != 1 {
			t.Errorf("%s: want one of 10 percent, got %+v, %v", name, result.State, err)
		}
	}
}

// TestRemembered: a tenant that the offer has broken still counts if its author has helped it, until the channel is paused or its offer edited.
func TestRemembered(t *testing.T) {
	c := Channel{Offer: "new", Rollout: v1alpha1.ChannelRollout{HaltAfter: v1alpha1.ChannelHalt{Degraded: 2}}}
	breaks := tenant("a", updating("new", 10*time.Minute), in(v1alpha1.PhaseDegraded, 5*time.Minute))
	others := tenantsNamed("b c d e f g", updated("new", time.Hour))
	next := func(was State, records ...Record) Result {
		t.Helper()
		result, err := Next(c, was, append(records, others...), start)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	halts := func(r Result, want bool, message string) {
		t.Helper()
		if halted := r.Conditions[1]; halted.True != want || !strings.Contains(halted.Message, message) || (message == "") != (halted.Message == "") {
			t.Errorf("want halted %t with %q, got %t with %q", want, message, halted.True, halted.Message)
		}
	}
	was := next(state(100), breaks).State
	if want := []Broken{{Tenant: "a", Name: "acme/a", Since: start}}; !slices.Equal(was.Broken, want) {
		t.Fatalf("want %+v, got %+v", want, was.Broken)
	}
	edited, other := breaks.Edit().See(v1alpha1.PhaseReady, "", start), tenant("x", updating("new", 10*time.Minute), in(v1alpha1.PhaseDegraded, 5*time.Minute))

	halts(next(was, breaks.See(v1alpha1.PhaseReady, "", start)), false, "")
	halts(next(was, edited), false, "acme/a (its claim was changed since)")
	halts(next(was), false, "acme/a (has left the channel since)")
	returned := tenant("a", unaffected("new"))
	returned.Joined = start.Add(time.Second)
	halts(next(was, returned), false, "acme/a (its claim was changed since)")
	elsewhere, gave := tenant("a", updated("other", time.Hour), joined(-time.Second)), tenant("a", updated("old", time.Hour))
	halts(next(was, elsewhere), false, "acme/a (its claim was changed since)")
	halts(next(was, gave), false, "")
	gave.Returned = start.Add(time.Second)
	halts(next(was, gave), false, "acme/a (its claim was changed since)")
	halts(next(next(was, gave).State, gave.Accept("new", true, false, start.Add(time.Minute))), false, "acme/a (its claim was changed since)")
	halts(next(was, edited, other), true, "acme/a (its claim was changed since), acme/x (Degraded) broke")
	halts(next(was, other), true, "acme/a (has left the channel since), acme/x (Degraded) broke")
	if r := next(next(was, edited).State, edited); r.Tenants.Degraded != 1 || !slices.Equal(r.State.Broken, was.Broken) {
		t.Errorf("it is forgotten: %+v", r)
	}
	// It is proof of nothing.
	c.Rollout.MaxUpdating, others = 10, tenantsNamed("m n o p")
	if r := next(state(100), edited); len(r.State.Admitted) != 2 {
		t.Errorf("want 2 admitted, got %+v", r.State.Admitted)
	}
	// Once the offer is complete, a customer can't have one tenant after the other broken and leave. Before that, nobody joins.
	left := was
	left.Broken = []Broken{{Tenant: "a", Name: "acme/a", Since: start}, {Tenant: "b2", Name: "acme/b", Since: start}}
	halts(next(left), false, "acme/a (has left the channel since); halts at 2")
	left.Broken[1].Name = "globex/b"
	halts(next(left), true, "acme/a (has left the channel since), globex/b (has left the channel since) broke")
	left.Broken[1].Name, left.Complete, left.Percent, c.Rollout.Steps = "acme/b", "old", 1, steps(1, 100)
	halts(next(left), true, "acme/a (has left the channel since), acme/b (has left the channel since) broke")
	// A late tenant was treated like others, because no other could begin.
	left.Since, left.Included = ago(time.Hour), ago(time.Minute)
	halts(next(left), false, "acme/a (has left the channel since); halts at 2")
	c.Rollout.Steps = nil
	was = next(was, other).State
	c.Paused = true
	halts(next(was, edited), false, "")
	halts(next(was), false, "")
	c.Paused, c.Offer = false, "newer"
	halts(next(was, edited), false, "")
	halts(next(was), false, "")
}

// TestBrokenElsewhere: an offer that two channels have halts the one in which it breaks a tenant.
func TestBrokenElsewhere(t *testing.T) {
	c := Channel{Offer: "new", Rollout: v1alpha1.ChannelRollout{Steps: steps(1, 100)}}
	is := tenant("x", updated("new", time.Hour), in(v1alpha1.PhaseDegraded, 10*time.Minute))
	for since, want := range map[time.Duration]bool{time.Minute: false, 2 * time.Hour: true} {
		joined(since)(&is)
		result, err := Next(c, state(1), append(tenantsNamed("a b c d e f"), is), start)
		if err != nil {
			t.Fatal(err)
		}
		if got := result.State.Halted != nil; got != want {
			t.Errorf("it joined %s ago: want halted %t, got %t", since, want, got)
		}
	}
}

// TestStillToBeProved: an offer that changes nothing for a tenant isn't counted there, and neither forgives nor ends what came before.
func TestStillToBeProved(t *testing.T) {
	c := Channel{Offer: "newer", Rollout: v1alpha1.ChannelRollout{Steps: steps(50, 100)}}
	for name, tc := range map[string]struct {
		record Record
		halts  bool
		most   int
	}{
		"Broken":      {tenant("x", updated("new", time.Hour), in(v1alpha1.PhaseDegraded, 10*time.Minute), unaffected("newer")), true, 0},
		"BreaksLater": {tenant("x", updated("new", time.Hour), unaffected("newer"), in(v1alpha1.PhaseDegraded, time.Minute)), true, 0},
		"Well":        {tenant("x", updated("new", time.Hour), unaffected("newer")), false, 1},
		"LongAgo":     {tenant("x", updated("new", 30*24*time.Hour), unaffected("newer"), in(v1alpha1.PhaseDegraded, time.Minute)), false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Next(c, State{Offer: "newer"}, append(tenantsNamed("a b"), tc.record), start)
			if err != nil {
				t.Fatal(err)
			}
			if halts := result.State.Halted != nil; halts != tc.halts || len(result.State.Admitted) > tc.most {
				t.Errorf("want halted %t with %d admitted, got %t: %+v", tc.halts, tc.most, halts, result.State)
			}
		})
	}
}

// TestRetriedAlone: a tenant that is admitted again, and again doesn't begin, ends no step.
func TestRetriedAlone(t *testing.T) {
	for name, others := range map[string][]Record{"Closed": tenantsNamed("a b c d e f g h i", closed), "Frozen": tenantsNamed("a b c", frozen)} {
		t.Run(name, func(t *testing.T) {
			c := Channel{Offer: "new", Rollout: v1alpha1.ChannelRollout{Steps: steps(1, 10, 50, 100)}}
			s, now, tries := State{Offer: "old", Complete: "old"}, start, 0
			for now.Before(start.Add(20 * time.Hour)) {
				result, err := Next(c, s, append(tenantsNamed("x"), others...), now)
				if err != nil {
					t.Fatal(err)
				}
				if s = result.State; s.Percent > 1 || s.Complete == "new" {
					t.Fatalf("%s: nobody has the offer, and the state is %+v", now, s)
				}
				for _, a := range s.Admitted {
					tries = max(tries, a.Tries)
				}
				now = now.Add(time.Minute)
			}
			if tries < 2 {
				t.Errorf("it was tried %d times", tries)
			}
		})
	}
}

func TestRetryLasts(t *testing.T) {
	var got []time.Duration
	for tries := range 6 {
		a := Admission{Until: start, Tries: tries}
		got = append(got, a.retry().Sub(start))
	}
	if diff := cmp.Diff([]time.Duration{1 * retry, 2 * retry, 4 * retry, 8 * retry, 16 * retry, 16 * retry}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		rollout v1alpha1.ChannelRollout
		want    string
	}{
		"Nothing":    {v1alpha1.ChannelRollout{}, ""},
		"Descending": {v1alpha1.ChannelRollout{Steps: steps(50, 10)}, "spec.rollout.steps[1].percent: 10 is not more than the step before has, 50: write the steps in ascending order"},
		"Twice":      {v1alpha1.ChannelRollout{Steps: steps(50, 50)}, "spec.rollout.steps[1].percent: 50 is not more than the step before has, 50: write the steps in ascending order"},
		"Above":      {v1alpha1.ChannelRollout{Steps: steps(101)}, "spec.rollout.steps[0].percent: 101 is not possible: write a number from 0 to 100"},
		"Many":       {v1alpha1.ChannelRollout{Steps: make([]v1alpha1.ChannelStep, 21)}, "spec.rollout.steps: there are 21: write 20 at most"},
		"Soak":       {v1alpha1.ChannelRollout{Steps: []v1alpha1.ChannelStep{{Percent: 1, Soak: "1d"}}}, `spec.rollout.steps[0].soak: "1d" is not a duration: write hours, minutes or seconds, such as 24h or 30m`},
		"Backwards":  {v1alpha1.ChannelRollout{Steps: []v1alpha1.ChannelStep{{Percent: 1, Soak: "-1h"}}}, `spec.rollout.steps[0].soak: "-1h" is not a duration: write hours, minutes or seconds, such as 24h or 30m`},
		"Max":        {v1alpha1.ChannelRollout{MaxUpdating: 501}, "spec.rollout.maxUpdating: 501 is not possible: write a number from 1 to 500, or leave it out"},
		"Degraded":   {v1alpha1.ChannelRollout{HaltAfter: v1alpha1.ChannelHalt{Degraded: -1}}, "spec.rollout.haltAfter.degraded: -1 is not possible: write a number from 1 to 500, or leave it out"},
		"StuckFor":   {v1alpha1.ChannelRollout{HaltAfter: v1alpha1.ChannelHalt{StuckFor: "0s"}}, "spec.rollout.haltAfter.stuckFor: 0s leaves no tenant the time to change: write how long that may take, such as 30m"},
		"Everybody":  {v1alpha1.ChannelRollout{First: &metav1.LabelSelector{}}, "spec.rollout.first: selects every claim: write labels of claims, such as matchLabels: {tier: internal}, or leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(tc.rollout)
			if err == nil && tc.want != "" || err != nil && err.Error() != tc.want {
				t.Errorf("want %q, got %v", tc.want, err)
			}
			if _, nextErr := Next(Channel{Rollout: tc.rollout}, State{}, nil, start); (nextErr == nil) != (err == nil) {
				t.Errorf("Next says %v", nextErr)
			}
		})
	}
}
