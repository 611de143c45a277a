package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestSpare: a spare keeps what it began with, and is replaced exactly where a new tenant would get something else, whatever window, turn or
// halted channel its later owner will wait for.
func TestSpare(t *testing.T) {
	type edit func(*tenant.Accepted)
	with := func(edits ...edit) tenant.Accepted {
		a := tenant.Accepted{Plan: plan.Plan{Name: "small", Spec: v1alpha1.PlanSpec{Maintenance: closed}}, Offered: tenant.Offered{Defaults: v1alpha1.ChannelVersions{ArgoCDChart: "1.0.0"}}}
		for _, e := range edits {
			e(&a)
		}
		return a
	}
	input := func(v string) edit { return func(a *tenant.Accepted) { a.Offered.Defaults.ArgoCDChart = v } }
	values := func(n int64) edit { return func(a *tenant.Accepted) { a.Plan.Spec.LoadBalancers = n } }
	window := func(m *v1alpha1.MaintenanceSpec) edit {
		return func(a *tenant.Accepted) { a.Plan.Spec.Maintenance = m }
	}
	in := func(channel string) edit { return func(a *tenant.Accepted) { a.Plan.Spec.Channel = channel } }
	has := func(n int64, v string) edit {
		return func(a *tenant.Accepted) {
			a.Plan.Spec.Channel = "stable"
			a.Offered = givenBy("stable", n, v)
		}
	}
	content := func(n int64, v string) *tenant.Revision {
		return &tenant.Revision{Number: n, Offer: v1alpha1.ChannelOffer{ArgoCD: v1alpha1.ChannelChart{ChartVersion: v}}, Plans: map[string]v1alpha1.PlanSpec{"small": {}}, DefaultPlan: "small"}
	}
	// In a channel with a newest revision, which the spare is even assigned, and another with which new tenants begin.
	channel := func(newest, begins *tenant.Revision, edits ...func(*tenant.Channel)) tenant.Channel {
		c := tenant.Channel{Name: "stable", Newest: newest, Begins: begins, Published: tenant.Published{Revision: newest.Number}}
		c.Assignment = &rollout.Assignment{Revision: newest.Number, Until: testNow.AddDate(0, 0, 1), Mends: true}
		if begins != nil {
			c.Begin, c.Complete = begins.Number, begins.Number
		}
		for _, e := range edits {
			e(&c)
		}
		return c
	}
	one, two := content(1, "2.0.1"), content(2, "2.0.2")

	for name, tc := range map[string]struct {
		reason  string
		was     *tenant.Accepted
		asked   tenant.Accepted
		channel tenant.Channel
		want    tenant.Accepted
		// message is why it is replaced; "" if it isn't.
		message string
	}{
		"New":         {"Nothing was accepted before.", nil, with(), tenant.Channel{}, with(), ""},
		"Same":        {"Nothing changes.", new(with()), with(), tenant.Channel{}, with(), ""},
		"Versions":    {"A new tenant gets other versions at once, whatever the window.", new(with()), with(input("1.1.0")), tenant.Channel{}, with(), "is to be replaced, because a new tenant gets something else; would change: chart argo-cd 1.0.0 to 1.1.0"},
		"Plan":        {"So it does of a plan.", new(with()), with(values(1)), tenant.Channel{}, with(), "is to be replaced"},
		"Frozen":      {"A freeze is for those who have a tenant.", new(with(window(frozen))), with(window(frozen), input("1.1.0")), tenant.Channel{}, with(window(frozen)), "is to be replaced"},
		"AtOnce":      {"What takes effect at once does here, too.", new(with()), with(window(open)), tenant.Channel{}, with(window(open)), ""},
		"Lower":       {"It can't go back to what a new tenant gets.", new(with(input("1.1.0"))), with(input("held")), tenant.Channel{}, with(input("1.1.0")), "is to be replaced"},
		"Begin":       {"It begins as a new tenant, and waits for nothing.", nil, with(in("stable")), channel(two, one), with(has(1, "2.0.1")), ""},
		"Halted":      {"What has halted reaches no new tenant, and no spare.", new(with(has(1, "2.0.1"))), with(in("stable")), channel(two, one, halted), with(has(1, "2.0.1")), ""},
		"Paused":      {"Nor does what is paused.", new(with(has(1, "2.0.1"))), with(in("stable")), channel(two, one, paused), with(has(1, "2.0.1")), ""},
		"Turn":        {"It has no turn in a rollout.", new(with(has(1, "2.0.1"))), with(in("stable")), channel(two, one), with(has(1, "2.0.1")), ""},
		"Complete":    {"New tenants begin with what is complete.", new(with(has(1, "2.0.1"))), with(in("stable")), channel(two, two), with(has(1, "2.0.1")), "is to be replaced, because a new tenant gets something else; would change: chart argo-cd 2.0.1 to 2.0.2"},
		"HaltedFirst": {"It began with a first revision, with which nobody begins any more.", new(with(has(1, "2.0.1"))), with(in("stable")), channel(one, nil, halted), with(has(1, "2.0.1")), "is to be replaced"},
		"Unaffected":  {"What changes nothing it has at once.", new(with(has(1, "2.0.1"))), with(in("stable")), channel(content(2, "2.0.1"), content(2, "2.0.1")), with(has(2, "2.0.1")), ""},
		"PlanOf":      {"A plan's edit comes with a revision.", new(with(has(1, "2.0.1"))), with(in("stable"), values(1)), channel(two, one), with(has(1, "2.0.1")), ""},
		"Moves":       {"Its plan has another channel now.", new(with(in("fast"), func(a *tenant.Accepted) { has(7, "2.0.0")(a); a.Offered.Channel = "fast" })), with(in("stable")), channel(two, one), with(in("stable"), func(a *tenant.Accepted) { has(7, "2.0.0")(a); a.Offered.Channel = "fast" }), "is to be replaced"},
		"NoChannel":   {"Its plan has none any more.", new(with(has(1, "2.0.1"))), with(), tenant.Channel{}, with(has(1, "2.0.1"), in("")), "is to be replaced"},
		"Deleted":     {"Where no new tenant comes up, it stays.", new(with(has(1, "2.0.1"))), with(in("stable")), tenant.Channel{Name: "stable", Problem: "channel stable doesn't exist"}, with(has(1, "2.0.1")), ""},
		"Lost":        {"So it does where the revision is lost.", new(with(has(1, "2.0.1"))), with(in("stable")), channel(two, two, func(c *tenant.Channel) { c.Begins = nil }), with(has(1, "2.0.1")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Tenant(Spare(tc.was, tc.asked, tc.channel, testNow), func(a tenant.Accepted) (*tenant.Decision, error) {
				if a.Offered.Versions().ArgoCDChart == "held" {
					a.Offered.Defaults.ArgoCDChart = "1.1.0"
					d, err := decide(a)
					d.VersionsHeld = []string{"Chart argo-cd stays at 1.1.0"}
					return d, err
				}
				return decide(a)
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Accepted); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if got.UpdateAvailable != (tc.message != "") || !strings.HasPrefix(got.Message, tc.message) {
				t.Errorf("\n%s\nwant an update with %q, got %t, %q", tc.reason, tc.message, got.UpdateAvailable, got.Message)
			}
			if !got.Spare || got.InRollout() || got.Revision != got.Accepted.Offered.In(tc.channel.Name) {
				t.Errorf("\n%s\nit is in a rollout, or says that it has revision %d", tc.reason, got.Revision)
			}
		})
	}
}
