package decide

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

var testNow = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

var (
	open   = &v1alpha1.MaintenanceSpec{TimeWindow: &v1alpha1.TimeWindow{Begin: "020000+0000", End: "050000+0000"}}
	closed = &v1alpha1.MaintenanceSpec{TimeWindow: &v1alpha1.TimeWindow{Begin: "120000+0000", End: "140000+0000"}}
	frozen = &v1alpha1.MaintenanceSpec{Freeze: &v1alpha1.Freeze{Until: "2026-01-10", Reason: "year end"}}
)

// decide is a decision that has the version that the claim names, or else that of the revision, and the quota of the plan. Version "bad" is
// impossible.
func decide(a tenant.Accepted) (*tenant.Decision, error) {
	version := a.Spec.ArgoCDChartVersion
	if version == "" {
		version = a.Offered.Versions().ArgoCDChart
	}
	if version == "bad" {
		return nil, errors.New("channel stable: spec.offer.argocd.chartVersion: bad")
	}
	return &tenant.Decision{ArgoCD: tenant.Chart{Version: version, Values: values.Values{"plan": a.Plan.Name, "n": a.Plan.Spec.LoadBalancers}}}, nil
}

func paused(c *tenant.Channel) { c.Paused = true }
func halted(c *tenant.Channel) { c.Halted = true }

// givenBy is what a revision of a channel gives, with a version of the chart argo-cd.
func givenBy(channel string, n int64, version string) tenant.Offered {
	return tenant.Offered{Channel: channel, Number: n, ChannelOffer: v1alpha1.ChannelOffer{ArgoCD: v1alpha1.ChannelChart{ChartVersion: version}}}
}

// TestTenant: changes of a claim are taken at once; what the platform gives is taken when the window and the channel allow it, and never where
// that isn't possible.
func TestTenant(t *testing.T) {
	type edit func(*tenant.Accepted)
	with := func(edits ...edit) tenant.Accepted {
		a := tenant.Accepted{Plan: plan.Plan{Name: "small"}, Offered: tenant.Offered{Defaults: v1alpha1.ChannelVersions{ArgoCDChart: "1.0.0"}}}
		for _, e := range edits {
			e(&a)
		}
		return a
	}
	version := func(v string) edit { return func(a *tenant.Accepted) { a.Spec.ArgoCDChartVersion = v } }
	input := func(v string) edit { return func(a *tenant.Accepted) { a.Offered.Defaults.ArgoCDChart = v } }
	plans := func(n int64) edit { return func(a *tenant.Accepted) { a.Plan.Spec.LoadBalancers = n } }
	named := func(name string) edit { return func(a *tenant.Accepted) { a.Spec.Plan, a.Plan.Name = name, name } }
	in := func(name string) edit { return func(a *tenant.Accepted) { a.Spec.Channel = name } }
	window := func(m *v1alpha1.MaintenanceSpec) edit { return func(a *tenant.Accepted) { a.Spec.Maintenance = m } }
	revision := func(n int64, v string) edit {
		return func(a *tenant.Accepted) {
			a.Offered = givenBy("stable", n, v)
		}
	}
	content := func(n int64, v string, loadBalancers int64) *tenant.Revision {
		return &tenant.Revision{
			Number: n, Offer: v1alpha1.ChannelOffer{ArgoCD: v1alpha1.ChannelChart{ChartVersion: v}},
			Plans: map[string]v1alpha1.PlanSpec{"small": {LoadBalancers: loadBalancers}}, DefaultPlan: "small",
		}
	}
	channel := func(newest *tenant.Revision, edits ...func(*tenant.Channel)) tenant.Channel {
		c := tenant.Channel{Name: "stable", Newest: newest, Begins: newest}
		c.Published = tenant.Published{Revision: newest.Number, Begin: newest.Number}
		for _, e := range edits {
			e(&c)
		}
		return c
	}
	assigned := func(c *tenant.Channel) {
		c.Assignment = &rollout.Assignment{Revision: c.Published.Revision, Until: testNow.Add(time.Minute)}
	}
	begins := func(of *tenant.Revision) func(*tenant.Channel) {
		return func(c *tenant.Channel) {
			if c.Begins = of; of == nil {
				c.Begin = 0
				return
			}
			c.Begin = of.Number
		}
	}
	one, two := content(1, "2.0.1", 0), content(2, "2.0.2", 0)

	for name, tc := range map[string]struct {
		reason  string
		was     *tenant.Accepted
		asked   tenant.Accepted
		channel tenant.Channel
		want    tenant.Accepted
		// message is what it waits for; "" for nothing.
		message string
	}{
		"First":           {"Nothing was accepted before.", nil, with(), tenant.Channel{}, with(), ""},
		"Same":            {"Nothing changes.", new(with()), with(), tenant.Channel{}, with(), ""},
		"ClaimChanges":    {"A claim's own change is taken at once.", new(with()), with(version("1.1.0")), tenant.Channel{}, with(version("1.1.0")), ""},
		"PlatformChanges": {"Without a channel or a window so is the platform's.", new(with()), with(input("1.1.0")), tenant.Channel{}, with(input("1.1.0")), ""},
		"Open":            {"So is it while the window is open.", new(with(window(open))), with(window(open), input("1.1.0")), tenant.Channel{}, with(window(open), input("1.1.0")), ""},
		"Closed":          {"While it is closed, the platform's change waits.", new(with(window(closed))), with(window(closed), input("1.1.0")), tenant.Channel{}, with(window(closed)), "waits for its maintenance window, Friday 2026-01-02 12:00 +0000; would change: chart argo-cd 1.0.0 to 1.1.0"},
		"ClosedPlan":      {"Also that of a plan.", new(with(window(closed))), with(window(closed), plans(1)), tenant.Channel{}, with(window(closed)), "waits for its maintenance window"},
		"ClosedClaim":     {"The claim's own doesn't.", new(with(window(closed))), with(window(closed), named("large")), tenant.Channel{}, with(window(closed), named("large")), ""},
		"ClosedBoth":      {"Of both the claim's is taken.", new(with(window(closed))), with(window(closed), input("1.1.0"), named("large")), tenant.Channel{}, with(window(closed), named("large")), "waits for its maintenance window"},
		"Unaffected":      {"A change that changes nothing for the tenant is taken at any time.", new(with(window(frozen), version("1.2.0"))), with(window(frozen), version("1.2.0"), input("1.1.0")), tenant.Channel{}, with(window(frozen), version("1.2.0"), input("1.1.0")), ""},
		"Frozen":          {"A freeze says why.", new(with(window(frozen))), with(window(frozen), input("1.1.0")), tenant.Channel{}, with(window(frozen)), "is frozen until 2026-01-10: year end; would change: chart argo-cd 1.0.0 to 1.1.0"},

		"Asleep":         {"A tenant that is asleep takes nothing of the platform.", new(with()), with(input("1.1.0")), tenant.Channel{}, with(), "is asleep, and takes changes when it wakes up; would change"},
		"AsleepClaims":   {"It accepts its claim's own change.", new(with()), with(version("1.1.0")), tenant.Channel{}, with(version("1.1.0")), ""},
		"AsleepAssigned": {"No revision either.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable")), channel(two, assigned), with(in("stable"), revision(1, "2.0.1")), "is asleep"},

		"New":           {"A new tenant gets what was complete last.", nil, with(in("stable")), channel(two, begins(one)), with(in("stable"), revision(1, "2.0.1")), "begins with revision 1, the last complete one"},
		"NewFirst":      {"Where nothing was, it gets the newest.", nil, with(in("stable")), channel(one), with(in("stable"), revision(1, "2.0.1")), ""},
		"NewPaused":     {"Or nothing, while that is held back.", nil, with(in("stable")), channel(one, begins(nil), paused), with(in("stable")), "begins without a revision, because the channel is paused"},
		"NewHalted":     {"Or nothing, while that is held back.", nil, with(in("stable")), channel(one, begins(nil), halted), with(in("stable")), "begins without a revision, because the channel has halted"},
		"Waits":         {"Without an assignment a tenant waits.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable")), channel(two), with(in("stable"), revision(1, "2.0.1")), "waits for its turn; would change: chart argo-cd 2.0.1 to 2.0.2"},
		"Obeys":         {"With one it takes the revision.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable")), channel(two, assigned), with(in("stable"), revision(2, "2.0.2")), ""},
		"Lower":         {"Never a lower one.", new(with(in("stable"), revision(3, "2.0.3"))), with(in("stable")), channel(two, assigned), with(in("stable"), revision(3, "2.0.3")), ""},
		"Paused":        {"Not while the channel is paused.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable")), channel(two, assigned, paused), with(in("stable"), revision(1, "2.0.1")), "the channel is paused; would change"},
		"Halted":        {"Nor once it has halted.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable")), channel(two, assigned, halted), with(in("stable"), revision(1, "2.0.1")), "the channel has halted; would change"},
		"Mends":         {"But with what may mend it.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable")), channel(two, assigned, halted, func(c *tenant.Channel) { c.Assignment.Mends = true }), with(in("stable"), revision(2, "2.0.2")), ""},
		"AssignedLate":  {"Not outside of its window.", new(with(in("stable"), revision(1, "2.0.1"), window(closed))), with(in("stable"), window(closed)), channel(two, assigned), with(in("stable"), revision(1, "2.0.1"), window(closed)), "waits for its maintenance window"},
		"Pinned":        {"What changes nothing for it, it doesn't wait for.", new(with(in("stable"), revision(1, "2.0.1"), version("3.0.0"))), with(in("stable"), version("3.0.0")), channel(two), with(in("stable"), revision(1, "2.0.1"), version("3.0.0")), ""},
		"Unpinned":      {"A claim's edit brings no revision.", new(with(in("stable"), revision(1, "2.0.1"), version("3.0.0"))), with(in("stable")), channel(two), with(in("stable"), revision(1, "2.0.1")), "waits for its turn"},
		"PlanWaits":     {"A plan's edit waits for its turn.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable"), plans(1)), channel(content(2, "2.0.1", 1)), with(in("stable"), revision(1, "2.0.1")), "waits for its turn; would change: values of argo-cd (n)"},
		"PlanUnseen":    {"Also before the channel has seen it.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable"), plans(1)), channel(one), with(in("stable"), revision(1, "2.0.1")), ""},
		"PlanComes":     {"And comes with the revision.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable"), plans(1)), channel(content(2, "2.0.1", 1), assigned), with(in("stable"), revision(2, "2.0.1"), plans(1)), ""},
		"Enters":        {"A tenant that had no channel keeps what it has.", new(with()), with(in("stable")), channel(one), with(in("stable")), "waits for its turn"},
		"Moves":         {"So does one of another channel, whatever its number is.", new(with(in("fast"), func(a *tenant.Accepted) { revision(7, "2.0.0")(a); a.Offered.Channel = "fast" })), with(in("stable")), channel(one), with(in("stable"), func(a *tenant.Accepted) { revision(7, "2.0.0")(a); a.Offered.Channel = "fast" }), "waits for its turn"},
		"Leaves":        {"One that leaves its channel keeps what it has until its window.", new(with(in("stable"), revision(1, "2.0.1"), window(closed))), with(window(closed)), tenant.Channel{}, with(revision(1, "2.0.1"), window(closed)), "waits for its maintenance window"},
		"LeavesOpen":    {"Without one it gets what the platform gives now.", new(with(in("stable"), revision(1, "2.0.1"))), with(), tenant.Channel{}, with(), ""},
		"PlanOfBegins":  {"A plan that a claim names newly is that of the last complete revision.", new(with(in("stable"), revision(1, "2.0.1"), named("large"))), with(in("stable"), named("small"), plans(2)), channel(content(2, "2.0.2", 1), begins(content(1, "2.0.1", 0))), with(in("stable"), revision(1, "2.0.1"), named("small")), "waits for its turn"},
		"Complete":      {"What changes nothing for it, it takes by itself once that is complete.", new(with(in("stable"), revision(1, "2.0.1"), version("3.0.0"))), with(in("stable"), version("3.0.0")), channel(two, func(c *tenant.Channel) { c.Complete = 2 }), with(in("stable"), revision(2, "2.0.2"), version("3.0.0")), ""},
		"Deleted":       {"Without the channel that it had a tenant keeps what it has.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable"), version("3.0.0")), tenant.Channel{Name: "stable", Problem: "channel stable doesn't exist"}, with(in("stable"), revision(1, "2.0.1"), version("3.0.0")), "channel stable doesn't exist; the tenant keeps"},
		"Lost":          {"So it does when the revision is lost.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable")), channel(two, assigned, func(c *tenant.Channel) { c.Newest = nil }), with(in("stable"), revision(1, "2.0.1")), "revision 2 of channel stable is missing"},
		"Impossible":    {"What a tenant can't have doesn't harm it.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable")), channel(content(2, "bad", 0), assigned), with(in("stable"), revision(1, "2.0.1")), "can't use the revision: channel stable: spec.offer.argocd.chartVersion: bad"},
		"ImpossibleYet": {"It is said before its turn, too.", new(with(in("stable"), revision(1, "2.0.1"))), with(in("stable")), channel(content(2, "bad", 0)), with(in("stable"), revision(1, "2.0.1")), "waits for its turn; can't use the revision: channel stable: spec.offer.argocd.chartVersion: bad"},
	} {
		t.Run(name, func(t *testing.T) {
			decisions := 0
			got, err := Tenant(Choose(tc.was, tc.asked, tc.channel, strings.HasPrefix(name, "Asleep"), testNow), func(a tenant.Accepted) (*tenant.Decision, error) { decisions++; return decide(a) })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Accepted); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if !strings.HasPrefix(got.Message, tc.message) || (tc.message == "") != (got.Message == "") {
				t.Errorf("\n%s\nwant a message with %q, got %q", tc.reason, tc.message, got.Message)
			}
			if want := tc.message != "" && tc.channel.Problem == ""; got.UpdateAvailable != want {
				t.Errorf("\n%s\nan update is available: %t", tc.reason, got.UpdateAvailable)
			}
			number := got.Accepted.Offered.Number
			if got.Accepted.Offered.Channel != tc.channel.Name {
				number = 0
			}
			if got.Revision != number {
				t.Errorf("\n%s\nit says that it has revision %d", tc.reason, got.Revision)
			}
			if decisions > 2 {
				t.Errorf("\n%s\nit was decided about %d times", tc.reason, decisions)
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

// TestRefusedIsDecidedOnce: of a claim that is refused, it is not tried what else its tenant could have.
func TestRefusedIsDecidedOnce(t *testing.T) {
	calls := 0
	bad, next := tenant.Accepted{}, tenant.Accepted{}
	bad.Spec.ArgoCDChartVersion = "bad"
	_, err := Tenant(Choice{Take: bad, Other: &next}, func(a tenant.Accepted) (*tenant.Decision, error) {
		calls++
		return decide(a)
	})
	if err == nil || calls != 1 {
		t.Errorf("decided %d times: %v", calls, err)
	}
}
