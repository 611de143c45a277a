package channel_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestChannelBadOffer: a bad offer breaks as many as maxFailures says, nobody else is touched,
// and the halt outlives lost state. An edit goes on.
func TestChannelBadOffer(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 6, crossplanetest.InSteps)
	before := map[string]*structpb.Struct{}
	for name, e := range fleet.Tenants {
		before[name] = proto.Clone(crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec")).(*structpb.Struct)
	}
	fleet.Broken["10.2.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(30, 20*time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 4, "10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, " (Degraded: \"Deployment argocd-server ")
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	for name, e := range fleet.Tenants {
		if fleet.Version(name) == "10.1.1" && !proto.Equal(before[name], crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec")) {
			t.Errorf("%s was touched", name)
		}
	}
	if !slices.ContainsFunc(fleet.Channels["stable"].Events, func(e string) bool { return strings.HasPrefix(e, v1alpha1.ReasonTenantsFailed+": ") }) {
		t.Errorf("want an event of the halt, got %v", fleet.Channels["stable"].Events)
	}
	delete(fleet.Channels["stable"].Request.Observed.Resources, "state")
	fleet.Settle(10, 20*time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 4, "10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")

	// After a failed call, nobody says that it isn't halted.
	e := fleet.Channels["stable"]
	e.FailCall()
	fleet.SetChannel("stable", `{"offer":"all"}`)
	fleet.Settle(2, time.Minute)
	if reasons := e.Condition(v1alpha1.ConditionHalted).GetReason(); reasons != "" || e.Condition(v1alpha1.ConditionSpecAccepted).GetReason() != v1alpha1.ReasonInvalidSpec {
		t.Errorf("Halted is %s", reasons)
	}
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	e.FailCall()
	events := len(fleet.Channels["stable"].Events)
	fleet.Settle(2, time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	if got := fleet.Channels["stable"].Events[events:]; len(got) > 0 {
		t.Errorf("want no events of what was known before, got %q", got)
	}

	// Nor does it end with the edit of a plan, which has nothing to do with it.
	events = len(fleet.Channels["stable"].Events)
	fleet.Tenants["c0"].AddPlan("huge", `{"quota":{"count/pods":"99"}}`)
	fleet.Settle(10, 20*time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 4, "10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")

	if len(fleet.Channels["stable"].Events) > events {
		t.Errorf("the halt isn't the same: %v", fleet.Channels["stable"].Events[events:])
	}
	for key := range fleet.Cluster {
		if strings.Contains(key, "vargo-assignment-") {
			t.Errorf("while it is halted somebody may begin: %s", key)
		}
	}

	// New tenants don't get what has halted.
	fleet.AddClaim("late", `{"channel":"stable"}`, `{}`)
	fleet.Settle(14, time.Minute)
	if got := fleet.Version("late"); got != "10.1.1" || fleet.Tenants["late"].StatusNumber("channel", "revision") == 0 {
		t.Errorf("a new tenant begins with %s while the offer is halted", got)
	}
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.1", crossplanetest.InSteps))
	fleet.Settle(30, 20*time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.1": 7})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, false, "")
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "")
}

// TestChannelHaltedForWeeks: a halt has no end of its own, whatever comes meanwhile, and the time that it takes is nobody's.
func TestChannelHaltedForWeeks(t *testing.T) {
	t.Parallel()
	const rollout = `{"mandatoryGroup":{"matchLabels":{"tier":"internal"}},"steps":[{"percent":50},{"percent":100}],"maxFailures":2,"progressDeadline":"5h"}`
	mended := false
	// On Sundays, so that the others wait for the first ones for days.
	const window = `{"channel":"stable","maintenance":{"timeWindow":{"begin":"080000+0000","end":"230000+0000"},"days":["Sun"]}}`
	fleet := crossplanetest.ReadyFleet(t, 3, rollout)
	for _, name := range []string{"i0", "i1"} {
		fleet.AddClaim(name, `{"channel":"stable"}`, `{"tier":"internal"}`)
	}
	fleet.Settle(14, time.Minute)
	fleet.Broken["10.2.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", rollout))
	fleet.Settle(40, time.Minute)
	halted := func() {
		t.Helper()
		fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/i0 (")
		fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/i1 (")
		for name, e := range fleet.Tenants {
			if bad := name == "i0" || name == "i1"; (fleet.Version(name) == "10.2.0") != bad {
				t.Errorf("%s has %s, and says %s", name, fleet.Version(name), e.Status("channel", "message"))
			}
			if bad := name == "i0" || name == "i1"; edited(fleet, name) != (bad && mended) {
				t.Errorf("%s has the plan's edit: %t", name, edited(fleet, name))
			}
		}
		for key := range fleet.Cluster {
			if strings.Contains(key, "vargo-assignment-") {
				t.Errorf("somebody may begin: %s", key)
			}
		}
	}
	halted()
	events, begin := len(fleet.Channels["stable"].Events), fleet.Now
	for day := range 30 {
		switch day {
		case 10:
			fleet.AddClaim("late", window, `{"tier":"internal"}`)
			fleet.Settle(14, time.Minute)
			fleet.CheckVersions(map[string]int{"10.1.1": 4, "10.2.0": 2})
		case 15:
			// Another revision comes to those that are broken, and doesn't mend them.
			editPlan(fleet)
			fleet.Settle(40, 15*time.Minute)
			mended, events = true, len(fleet.Channels["stable"].Events)
		case 20:
			fleet.Tenants["c0"].SetSpec(window)
		}
		fleet.Settle(2, 12*time.Hour)
		halted()
	}
	if len(fleet.Channels["stable"].Events) > events || fleet.Now.Sub(begin) < 30*24*time.Hour {
		t.Errorf("after %s the halt isn't the same: %v", fleet.Now.Sub(begin), fleet.Channels["stable"].Events[events:])
	}

	// It goes on by hand. Those that come first are waited for as at the beginning.
	fleet.Cured["i0"], fleet.Cured["i1"] = true, true
	fleet.Settle(2, time.Minute)
	delete(fleet.Broken, "10.2.0")
	for fleet.Now.Weekday() != time.Monday {
		fleet.Now = fleet.Now.Add(6 * time.Hour)
	}
	fleet.SetChannel("stable", paused(crossplanetest.Offer("10.2.0", rollout)))
	fleet.Settle(2, time.Minute)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", rollout))
	fleet.Settle(8, 2*time.Hour)
	fleet.CheckVersions(map[string]int{"10.1.1": 4, "10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionProgressing, true, "wait for their maintenance windows: team-a/c0, team-a/late")
	fleet.Settle(8*12, 2*time.Hour)
	fleet.CheckVersions(map[string]int{"10.2.0": 6})
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 6")
}
