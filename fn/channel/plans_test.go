package channel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestChannelPlansAndInput: the edit of a plan makes a revision, and the edit of the input applies at once.
func TestChannelPlansAndInput(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 5, crossplanetest.InSteps)
	withPlan := func() (n int) {
		for _, e := range fleet.Tenants {
			if strings.Contains(crossplanetest.Field(e.Observed(tenant.Quota), "spec").String(), `"77"`) {
				n++
			}
		}
		return n
	}
	fleet.Tenants["c0"].AddPlan("standard", `{"quota":{"count/pods":"77"}}`)
	// The tenants see it before the channel does.
	for _, e := range fleet.Tenants {
		e.Reconcile()
	}
	if n := withPlan(); n != 0 {
		t.Errorf("%d tenants have the plan's edit before the channel offers it", n)
	}
	fleet.Settle(6, time.Minute)
	if n := withPlan(); n != 1 {
		t.Errorf("%d tenants have the plan's edit in the first step, want 1", n)
	}
	fleet.Settle(30, 10*time.Minute)
	if n := withPlan(); n != 5 {
		t.Errorf("%d tenants have the plan's edit in the end", n)
	}
	fleet.SetInput(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"server":{"replicas":2}}}}}`)
	withInput := func() (n int) {
		for _, e := range fleet.Tenants {
			if replicas(e) == 2 {
				n++
			}
		}
		return n
	}
	// The input is what is true of the host, and applies at once.
	fleet.Step(time.Minute)
	if n := withInput(); n != 5 {
		t.Errorf("%d tenants have the input's edit at once", n)
	}
	fleet.Settle(6, time.Minute)
	if got := fleet.Channels["stable"].StatusNumber("revision"); got != 2 {
		t.Errorf("the input's edit makes revision %d", got)
	}
	// A plan that nobody has changes nothing.
	fleet.Tenants["c0"].AddPlan("huge", `{"quota":{"count/pods":"99"}}`)
	fleet.Settle(8, time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 5")
}

// TestChannelOfAnotherPlan: a claim can't take the channel of its plan along when it chooses another plan.
func TestChannelOfAnotherPlan(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.NewFleet(t)
	fleet.SetChannel("vip", strings.Replace(crossplanetest.Offer("10.2.0", `{}`), "{", `{"namespaces":["team-b"],`, 1))
	e := fleet.AddClaim("c0", `{"plan":"large","channel":"vip"}`, `{}`)
	e.AddPlan("large", `{"channel":"vip"}`)
	fleet.Settle(14, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 1})
	fleet.Tenants["c0"].SetSpec(`{"channel":"vip"}`)
	fleet.Settle(2, time.Minute)
	if got := crossplanetest.Refusal(e.Response); !strings.HasPrefix(got, "spec.channel: channel vip is not for claims of namespace team-a") {
		t.Errorf("the channel of the plan before: %q", got)
	}
	fleet.SetChannel("vip", strings.Replace(crossplanetest.Offer("10.3.0", `{}`), "{", `{"namespaces":["team-b"],`, 1))
	fleet.Settle(6, time.Minute)
	fleet.Tenants["c0"].SetSpec(`{"plan":"large","channel":"vip"}`)
	fleet.Settle(6, time.Minute)
	if got := crossplanetest.Refusal(e.Response); got != "" {
		t.Errorf("the channel of its plan: %q", got)
	}
	fleet.CheckVersions(map[string]int{"10.3.0": 1})
}

// TestChannelOfPlan: a plan may set channel and maintenance, and a claim can name no other
// channel then.
func TestChannelOfPlan(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.NewFleet(t)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	e := fleet.AddClaim("c0", `{}`, `{}`)
	e.AddPlan("standard", `{"channel":"stable","maintenance":{"freeze":{"until":"2027-01-01"}}}`)
	fleet.Settle(14, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 1})
	fleet.Tenants["c0"].SetSpec(`{"channel":"fast"}`)
	fleet.Step(time.Minute)
	if got := crossplanetest.Refusal(e.Response); got != `spec.channel: "fast" is not possible, because plan standard sets channel stable: leave it out, or choose another plan` {
		t.Errorf("another channel than the plan's: %q", got)
	}
	fleet.Tenants["c0"].SetSpec(`{}`)
	fleet.SetChannel("stable", crossplanetest.Offer("10.3.0", `{}`))
	fleet.Settle(5, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 1})
	if got := e.Status("channel", "message"); !strings.HasPrefix(got, "is frozen until 2027-01-01") {
		t.Errorf("the plan's freeze says %q", got)
	}
	// The platform ends its freeze at once.
	e.AddPlan("standard", `{"channel":"stable"}`)
	fleet.Settle(8, time.Minute)
	fleet.CheckVersions(map[string]int{"10.3.0": 1})
}
