package channel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestChannelPaused: while it is paused, a channel says whom the offer would change, and no
// tenant changes.
func TestChannelPaused(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 3, `{}`)
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable","argocd":{"chartVersion":"10.1.1"}}`)
	fleet.Step(time.Minute)
	fleet.SetChannel("stable", paused(crossplanetest.Offer("10.2.0", `{}`)))
	fleet.Settle(4, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 3})
	fleet.CheckCondition("stable", v1alpha1.ConditionProgressing, false, "would change 2 of 3 tenants: team-a/c1, team-a/c2")
	if got := fleet.Tenants["c1"].Status("channel", "message"); got != "the channel is paused; would change: chart argo-cd 10.1.1 to 10.2.0" {
		t.Errorf("a tenant says what would change: %q", got)
	}
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.Settle(10, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1, "10.2.0": 2})

	// The same of what goes with an offer, which is edited once the channel is paused.
	fleet.SetChannel("stable", paused(crossplanetest.Offer("10.2.0", `{}`)))
	fleet.Step(time.Minute)
	fleet.Tenants["c0"].AddPlan("standard", `{"quota":{"count/pods":"77"},"limits":{"default":{"cpu":"750m"}},"podSecurity":"restricted","loadBalancers":2,"vcluster":{"resources":{"limits":{"memory":"3Gi"}}},"argocd":{"server":{"replicas":2}}}`)
	fleet.Settle(4, time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionProgressing, false, "would change 3 of 3 tenants")
	const would = "the channel is paused; would change: Pod Security baseline to restricted, LoadBalancers 0 to 2, " +
		"values of argo-cd (server.lifecycle.preStop.sleep.seconds, server.replicas), values of vcluster (controlPlane.statefulSet.resources.limits.memory, policies.podSecurityStandard), " +
		"quota (count/pods, services.loadbalancers, services.nodeports), limits (default.cpu), network policies (virtual-argocd-load-balancers, virtual-argocd-url)"
	for name, e := range fleet.Tenants {
		if got := e.Status("channel", "message"); got != would {
			t.Errorf("%s says what would change: %q", name, got)
		}
	}
}

// TestChannelPinned: a claim that names the running versions for a while doesn't get a revision before its turn.
func TestChannelPinned(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 2, crossplanetest.InSteps)
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable","argocd":{"chartVersion":"10.1.1"}}`)
	fleet.Step(time.Minute)
	paused := strings.TrimSuffix(crossplanetest.Offer("10.2.0", crossplanetest.InSteps), "}") + `,"paused":true}`
	fleet.SetChannel("stable", paused)
	fleet.Settle(4, time.Minute)
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable"}`)
	fleet.Settle(4, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionProgressing, false, "would change 2 of 2 tenants")
	if got := fleet.Tenants["c0"].StatusNumber("channel", "revision"); got != 1 {
		t.Errorf("it has revision %d", got)
	}
	// In its turn it is watched like others.
	fleet.Broken["10.2.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(30, 10*time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c0")
}

// TestChannelPausedFromTheStart: a new claim doesn't get the first offer of a channel while that is paused.
func TestChannelPausedFromTheStart(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.NewFleet(t)
	fleet.SetChannel("stable", paused(crossplanetest.Offer("10.2.0", `{}`)))
	fleet.Step(time.Second)
	e := fleet.AddClaim("c0", `{"channel":"stable"}`, `{}`)
	fleet.Settle(14, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1})
	if got := e.Status("channel", "message"); e.Status("phase") != "Ready" || !strings.HasPrefix(got, "the channel is paused; would change: chart argo-cd 10.1.1 to 10.2.0") {
		t.Errorf("the tenant is %s and says %q", e.Status("phase"), got)
	}
	fleet.CheckCondition("stable", v1alpha1.ConditionProgressing, false, "would change 1 of 1 tenants: team-a/c0")
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.Settle(10, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 1})
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 1")
}
