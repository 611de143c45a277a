package rollout

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// testNow is a Friday.
var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var (
	open   = &v1alpha1.MaintenanceSpec{TimeWindow: &v1alpha1.TimeWindow{Begin: "020000+0000", End: "050000+0000"}}
	closed = &v1alpha1.MaintenanceSpec{TimeWindow: &v1alpha1.TimeWindow{Begin: "220000+0100", End: "030000+0100"}}
	zoned  = &v1alpha1.MaintenanceSpec{TimeWindow: &v1alpha1.TimeWindow{Begin: "020000", End: "050000", TimeZone: "UTC"}}
	frozen = &v1alpha1.MaintenanceSpec{Freeze: &v1alpha1.Freeze{Until: "2026-01-10", Reason: "year end"}}
)

// decide makes the version of argo-cd the whole decision: the claim's, the offer's, or the
// input's with the plan's name. Version "bad" can't be had.
func decide(a tenant.Accepted) (*tenant.Decision, error) {
	v := a.Spec.ArgoCDChartVersion
	if v == "" {
		v = a.Offer.ArgoCD.ChartVersion
	}
	if v == "" {
		v = a.Input.Charts.ArgoCD.Version
	}
	if v == "bad" {
		return nil, errors.New("channel stable: spec.offer.argocd.chartVersion: bad")
	}
	return &tenant.Decision{ArgoCD: tenant.Chart{Version: v}, LoadBalancers: a.Plan.Spec.LoadBalancers}, nil
}

func published(version string, plans map[string]string, input inputv1alpha1.Input) tenant.Published {
	p := tenant.Published{Offer: v1alpha1.ChannelOffer{ArgoCD: v1alpha1.ChannelChart{ChartVersion: version}}, With: tenant.With{Plans: plans, DefaultPlan: "small", Inputs: []string{fingerprint.Of(input)}}}
	p.Digest, _ = fingerprint.OfOffer(p.Offer, p.With)
	return p
}

func TestNext(t *testing.T) {
	type ask func(*tenant.Accepted)
	with := func(asks ...ask) tenant.Accepted {
		a := tenant.Accepted{Plan: plan.Plan{Name: "small"}}
		a.Input.Charts.ArgoCD.Version = "1.0.0"
		for _, change := range asks {
			change(&a)
		}
		return a
	}
	version := func(v string) ask { return func(a *tenant.Accepted) { a.Spec.ArgoCDChartVersion = v } }
	input := func(v string) ask { return func(a *tenant.Accepted) { a.Input.Charts.ArgoCD.Version = v } }
	plans := func(n int64) ask { return func(a *tenant.Accepted) { a.Plan.Spec.LoadBalancers = n } }
	named := func(name string) ask { return func(a *tenant.Accepted) { a.Spec.Plan, a.Plan.Name = name, name } }
	in := func(name string) ask { return func(a *tenant.Accepted) { a.Spec.Channel = name } }
	window := func(m *v1alpha1.MaintenanceSpec) ask { return func(a *tenant.Accepted) { a.Spec.Maintenance = m } }
	offer := func(v string) ask {
		return func(a *tenant.Accepted) {
			p := published(v, nil, with().Input)
			a.Offer = tenant.Offer{Channel: "stable", Digest: p.Digest, ChannelOffer: p.Offer}
		}
	}
	one, two, bad := published("2.0.1", nil, with().Input), published("2.0.2", nil, with().Input), published("bad", nil, with().Input)
	gate := func(p tenant.Published, a *channel.Admission) tenant.Gate {
		return tenant.Gate{Name: "stable", Published: p, Admission: a}
	}
	admission := func(p tenant.Published) *channel.Admission {
		return &channel.Admission{Offer: p.Digest, Until: testNow.Add(time.Minute)}
	}
	// since has a tenant have an offer that has changed nothing since another.
	since := func(v string) ask {
		return func(a *tenant.Accepted) {
			was := with(offer(v))
			a.Offer.Since = &tenant.Platform{Plan: was.Plan, Input: was.Input, Offer: was.Offer}
		}
	}
	first := two
	first.Complete = tenant.Completed{Digest: one.Digest, Offer: one.Offer}
	planEdited := published("2.0.1", map[string]string{"small": fingerprint.Of(with(plans(1)).Plan.Spec)}, with().Input)

	for name, tc := range map[string]struct {
		reason string
		was    *tenant.Accepted
		asked  tenant.Accepted
		gate   tenant.Gate
		want   tenant.Accepted
		// message is a part of what the tenant waits for; "" where it has what is offered.
		message string
	}{
		"First":           {"Nothing was accepted before.", nil, with(), tenant.Gate{}, with(), ""},
		"Same":            {"Nothing changes.", new(with()), with(), tenant.Gate{}, with(), ""},
		"ClaimChanges":    {"A claim's own change is taken at once.", new(with()), with(version("1.1.0")), tenant.Gate{}, with(version("1.1.0")), ""},
		"PlatformChanges": {"Without a channel or a window so is the platform's.", new(with()), with(input("1.1.0")), tenant.Gate{}, with(input("1.1.0")), ""},
		"Open":            {"So is it while the window is open.", new(with(window(open))), with(window(open), input("1.1.0")), tenant.Gate{}, with(window(open), input("1.1.0")), ""},
		"Closed":          {"While it is closed, the platform's change waits.", new(with(window(closed))), with(window(closed), input("1.1.0")), tenant.Gate{}, with(window(closed)), "waits for its maintenance window"},
		"ClosedPlan":      {"Also that of a plan.", new(with(window(closed))), with(window(closed), plans(1)), tenant.Gate{}, with(window(closed)), "waits for its maintenance window"},
		"ClosedClaim":     {"The claim's own doesn't.", new(with(window(closed))), with(window(closed), named("large")), tenant.Gate{}, with(window(closed), named("large")), ""},
		"ClosedBoth":      {"Of both the claim's is taken.", new(with(window(closed))), with(window(closed), input("1.1.0"), named("large")), tenant.Gate{}, with(window(closed), named("large")), "waits for its maintenance window"},
		"Unaffected":      {"A change that changes nothing for the tenant is taken at any time.", new(with(window(frozen), version("1.2.0"))), with(window(frozen), version("1.2.0"), input("1.1.0")), tenant.Gate{}, with(window(frozen), version("1.2.0"), input("1.1.0")), ""},
		"Frozen":          {"A freeze says why.", new(with(window(frozen))), with(window(frozen), input("1.1.0")), tenant.Gate{}, with(window(frozen)), "is frozen until 2026-01-10: year end; would change: chart argo-cd 1.0.0 to 1.1.0"},

		"New":           {"A new tenant gets what was complete last.", nil, with(in("stable")), gate(first, nil), with(in("stable"), offer("2.0.1")), "begins with the last complete offer"},
		"NewFirst":      {"Where nothing was, it gets what is offered.", nil, with(in("stable")), gate(one, nil), with(in("stable"), offer("2.0.1")), ""},
		"Waits":         {"Without an admission a tenant waits.", new(with(in("stable"), offer("2.0.1"))), with(in("stable")), gate(two, nil), with(in("stable"), offer("2.0.1")), "waits for its turn; would change: chart argo-cd 2.0.1 to 2.0.2"},
		"Admitted":      {"With one it takes the offer.", new(with(in("stable"), offer("2.0.1"))), with(in("stable")), gate(two, admission(two)), with(in("stable"), offer("2.0.2")), ""},
		"AdmittedOther": {"One to another offer is none.", new(with(in("stable"), offer("2.0.1"))), with(in("stable")), gate(two, admission(one)), with(in("stable"), offer("2.0.1")), "waits for its turn"},
		"AdmittedLate":  {"Not outside of its window.", new(with(in("stable"), offer("2.0.1"), window(closed))), with(in("stable"), window(closed)), gate(two, admission(two)), with(in("stable"), offer("2.0.1"), window(closed)), "waits for its maintenance window"},
		"Pinned":        {"A claim that names the version itself takes the offer at once.", new(with(in("stable"), offer("2.0.1"), version("3.0.0"))), with(in("stable"), version("3.0.0")), gate(two, nil), with(in("stable"), offer("2.0.2"), version("3.0.0"), since("2.0.1")), ""},
		"PinnedBefore":  {"What it had when it was admitted last stays known.", new(with(in("stable"), offer("2.0.1"), version("3.0.0"), since("2.0.0"))), with(in("stable"), version("3.0.0")), gate(two, nil), with(in("stable"), offer("2.0.2"), version("3.0.0"), since("2.0.0")), ""},
		"PinnedStill":   {"It has the offer.", new(with(in("stable"), offer("2.0.2"), version("3.0.0"), since("2.0.1"))), with(in("stable"), version("3.0.0")), gate(two, nil), with(in("stable"), offer("2.0.2"), version("3.0.0"), since("2.0.1")), ""},
		"PinnedOther":   {"Also if it names another version.", new(with(in("stable"), offer("2.0.2"), version("3.0.0"), since("2.0.1"))), with(in("stable"), version("3.0.1")), gate(two, nil), with(in("stable"), offer("2.0.2"), version("3.0.1"), since("2.0.1")), ""},
		"Unpinned":      {"If it names none any more, it waits for its turn like others.", new(with(in("stable"), offer("2.0.2"), version("3.0.0"), since("2.0.1"))), with(in("stable")), gate(two, nil), with(in("stable"), offer("2.0.1")), "waits for its turn; would change: chart argo-cd 2.0.1 to 2.0.2"},
		"UnpinnedTurn":  {"Unless that is now.", new(with(in("stable"), offer("2.0.2"), version("3.0.0"), since("2.0.1"))), with(in("stable")), gate(two, admission(two)), with(in("stable"), offer("2.0.2")), ""},
		"OtherContent": {"An offer with the same content isn't kept apart.", new(with(in("stable"), offer("2.0.1"))), with(in("stable")), gate(planEdited, nil), with(in("stable"), func(a *tenant.Accepted) {
			a.Offer = tenant.Offer{Channel: "stable", Digest: planEdited.Digest, ChannelOffer: planEdited.Offer}
		}), ""},
		"OwnChange":     {"A claim that names the version now has all that is offered.", new(with(in("stable"), offer("2.0.1"))), with(in("stable"), version("3.0.0")), gate(first, nil), with(in("stable"), offer("2.0.2"), version("3.0.0"), since("2.0.1")), ""},
		"Enters":        {"A tenant that had no channel keeps what it has.", new(with()), with(in("stable")), gate(one, nil), with(in("stable")), "waits for its turn"},
		"Leaves":        {"One that leaves its channel has changed that itself.", new(with(in("stable"), offer("2.0.1"), window(closed))), with(window(closed)), tenant.Gate{}, with(window(closed)), ""},
		"Deleted":       {"Without the channel that it had a tenant keeps what it has.", new(with(in("stable"), offer("2.0.1"))), with(in("stable"), input("1.1.0"), version("3.0.0")), tenant.Gate{Name: "stable", Problem: "channel stable doesn't exist"}, with(in("stable"), offer("2.0.1"), version("3.0.0")), "doesn't exist"},
		"PlanUnseen":    {"A plan's edit that the channel hasn't seen waits.", new(with(in("stable"), offer("2.0.1"))), with(in("stable"), plans(1)), gate(one, nil), with(in("stable"), offer("2.0.1")), "waits until channel stable offers the change of the plan"},
		"InputUnseen":   {"So does the input's.", new(with(in("stable"), offer("2.0.1"))), with(in("stable"), input("1.1.0")), gate(one, nil), with(in("stable"), offer("2.0.1")), "waits until channel stable offers the change of the function's input"},
		"PlanWaits":     {"One that it has seen waits for its turn.", new(with(in("stable"), offer("2.0.1"))), with(in("stable"), plans(1)), gate(planEdited, nil), with(in("stable"), offer("2.0.1")), "waits for its turn"},
		"Impossible":    {"What a tenant can't have doesn't harm it.", new(with(in("stable"), offer("2.0.1"))), with(in("stable")), gate(bad, admission(bad)), with(in("stable"), offer("2.0.1")), "can't use the offer: channel stable: spec.offer.argocd.chartVersion: bad"},
		"ImpossibleYet": {"It is said before its turn, too.", new(with(in("stable"), offer("2.0.1"))), with(in("stable")), gate(bad, nil), with(in("stable"), offer("2.0.1")), "waits for its turn; can't use the offer: channel stable: spec.offer.argocd.chartVersion: bad"},
	} {
		t.Run(name, func(t *testing.T) {
			got, s := Next(tc.was, tc.asked, Moment{Now: testNow, Gate: tc.gate, Decide: decide})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nNext(...): -want, +got:\n%s", tc.reason, diff)
			}
			if !strings.Contains(s.Message, tc.message) || (tc.message == "") != (s.Message == "") {
				t.Errorf("\n%s\nwant a message with %q, got %q", tc.reason, tc.message, s.Message)
			}
			if s.Accepted != got.Offer.Digest || s.UpdateAvailable != (tc.message != "") && tc.gate.Problem == "" {
				t.Errorf("\n%s\nthe standing doesn't fit: %+v", tc.reason, s)
			}
		})
	}
}

// TestBroken: a tenant is known to have been broken only when the admission that it takes says so.
func TestBroken(t *testing.T) {
	was := tenant.Accepted{Plan: plan.Plan{Name: "small"}}
	p := published("2.0.0", nil, was.Input)
	for name, tc := range map[string]struct{ broken, named, want bool }{"Broken": {true, false, true}, "Well": {false, false, false}, "Unaffected": {true, true, false}} {
		t.Run(name, func(t *testing.T) {
			asked := was
			if tc.named {
				asked.Spec.ArgoCDChartVersion = "1.0.0"
			}
			a := &channel.Admission{Offer: p.Digest, Until: testNow.Add(time.Minute), Broken: tc.broken}
			if _, s := Next(&asked, asked, Moment{Now: testNow, Gate: tenant.Gate{Name: "stable", Published: p, Admission: a}, Decide: decide}); !s.Took || s.Broken != tc.want {
				t.Errorf("want it to take the offer, and broken: %t, got %+v", tc.want, s)
			}
		})
	}
}

// TestHeld: an offer that changes nothing because it is below what runs is told from one that is the same for a tenant.
func TestHeld(t *testing.T) {
	was := tenant.Accepted{Plan: plan.Plan{Name: "small"}}
	lower, same := published("1.0.0", nil, was.Input), published("2.0.0", map[string]string{"huge": "a"}, was.Input)
	was.Offer = tenant.Offer{Channel: "stable", Digest: "old", ChannelOffer: v1alpha1.ChannelOffer{ArgoCD: v1alpha1.ChannelChart{ChartVersion: "2.0.0"}}}
	for name, tc := range map[string]struct {
		offered tenant.Published
		want    bool
	}{"Lower": {lower, true}, "Same": {same, false}} {
		t.Run(name, func(t *testing.T) {
			_, s := Next(&was, was, Moment{Now: testNow, Gate: tenant.Gate{Name: "stable", Published: tc.offered}, Decide: func(a tenant.Accepted) (*tenant.Decision, error) {
				d := &tenant.Decision{ArgoCD: tenant.Chart{Version: "2.0.0"}}
				if a.Offer.ArgoCD.ChartVersion != "2.0.0" {
					d.VersionsHeld = []string{"stays at 2.0.0"}
				}
				return d, nil
			}})
			if !s.Unaffected || s.Held != tc.want || s.Accepted != tc.offered.Digest {
				t.Errorf("want it to be taken at once, and held: %t, got %+v", tc.want, s)
			}
		})
	}
}

// TestGoesBackTo: only where the channel's offer hasn't proved itself does a tenant go back.
func TestGoesBackTo(t *testing.T) {
	gate := tenant.Gate{Name: "stable", Published: tenant.Published{Proved: metav1.Duration{Duration: time.Hour}}}
	breaks := func(after time.Duration) channel.Record {
		r := channel.Record{Phase: v1alpha1.PhaseReady, ArgoCD: "1.0.0"}.Accept("new", false, false, testNow)
		return r.See(v1alpha1.PhaseReady, "", testNow).See(v1alpha1.PhaseDegraded, "", testNow.Add(after))
	}
	for name, tc := range map[string]struct {
		record channel.Record
		gate   tenant.Gate
		want   string
	}{
		"Soon":      {breaks(59 * time.Minute), gate, "1.0.0"},
		"Later":     {breaks(time.Hour), gate, ""},
		"NoChannel": {breaks(0), tenant.Gate{}, ""},
		"Nothing":   {channel.Record{}, gate, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := GoesBackTo(tc.record, tc.gate); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

// TestSchedule: a claim's window replaces the plan's, and of two freezes the longer holds.
func TestSchedule(t *testing.T) {
	a := tenant.Accepted{}
	a.Plan.Spec.Maintenance = &v1alpha1.MaintenanceSpec{TimeWindow: open.TimeWindow, Freeze: &v1alpha1.Freeze{Until: "2026-01-05"}}
	a.Spec.Maintenance = &v1alpha1.MaintenanceSpec{TimeWindow: closed.TimeWindow}
	s := schedule(a)
	if got := s.Waits(testNow); got != "is frozen until 2026-01-05" {
		t.Errorf("the plan's freeze holds for claims with a window, got %q", got)
	}
	if got := s.Waits(time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)); !strings.HasPrefix(got, "waits for its maintenance window") {
		t.Errorf("the claim's window replaces the plan's, got %q", got)
	}
	a.Spec.Maintenance = frozen
	if got := schedule(a).Waits(testNow); got != "is frozen until 2026-01-10: year end" {
		t.Errorf("want the longer freeze, got %q", got)
	}
}
