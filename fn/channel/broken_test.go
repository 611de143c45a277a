package channel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestChannelHelped: an offer that breaks every tenant breaks no more of them if their authors help themselves.
func TestChannelHelped(t *testing.T) {
	t.Parallel()
	const rollout = `{"steps":[{"percent":100,"minSuccessTime":"1h"}],"maxConcurrency":4,"maxFailures":2}`
	for name, tc := range map[string]struct{ spec, message string }{
		"Waits":  {"", "team-a/c"},
		"Pins":   {`{"channel":"stable","argocd":{"chartVersion":"10.1.1"}}`, "(its claim was changed since)"},
		"Leaves": {`{"argocd":{"chartVersion":"10.1.1"}}`, "(has left the channel since)"},
	} {
		t.Run(name, func(t *testing.T) {
			fleet := crossplanetest.ReadyFleet(t, 6, rollout)
			fleet.Broken["10.2.0"] = true
			// They can begin one after the other.
			for i := 1; i < 6; i++ {
				fleet.Tenants[fmt.Sprint("c", i)].SetSpec(fmt.Sprintf(`{"channel":"stable","maintenance":{"timeWindow":{"begin":"%02d0000+0000","end":"%02d0000+0000"}}}`, 5+2*i, 6+2*i))
			}
			fleet.Now = time.Date(2026, 2, 2, 5, 0, 0, 0, time.UTC)
			fleet.Step(time.Minute)
			fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", rollout))
			had, helped := map[string]bool{}, map[string]bool{}
			for range 15 * 3 {
				fleet.Step(20 * time.Minute)
				for name, e := range fleet.Tenants {
					had[name] = had[name] || fleet.Version(name) == "10.2.0"
					if tc.spec != "" && e.Status("phase") == "Degraded" && !helped[name] {
						helped[name] = true
						fleet.Step(10 * time.Minute)
						fleet.Tenants[name].SetSpec(tc.spec)
					}
				}
			}
			broken := 0
			for _, had := range had {
				if had {
					broken++
				}
			}
			if broken != 2 {
				t.Errorf("%d tenants had the bad offer, want 2", broken)
			}
			fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, tc.message)

			// A pause is for people who have looked at that.
			fleet.Broken["10.2.0"] = false
			fleet.Settle(2, time.Minute)
			fleet.SetChannel("stable", paused(crossplanetest.Offer("10.2.0", rollout)))
			fleet.Settle(2, time.Minute)
			fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", rollout))
			fleet.Settle(2, time.Minute)
			fleet.CheckCondition("stable", v1alpha1.ConditionHalted, false, "")
		})
	}
}

// TestChannelPlanEditWhileBroken: the edit of a plan that changes nothing for a tenant is no excuse for the offer that has broken it.
func TestChannelPlanEditWhileBroken(t *testing.T) {
	t.Parallel()
	// breaks makes an offer that breaks two tenants, the first of them while it soaks.
	breaks := func(t *testing.T, n int, meanwhile func(*crossplanetest.Fleet)) *crossplanetest.Fleet {
		fleet := crossplanetest.ReadyFleet(t, n, crossplanetest.InSteps)
		fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
		fleet.Settle(3, 10*time.Minute)
		meanwhile(fleet)
		fleet.Settle(3, time.Minute)
		fleet.Broken["10.2.0"] = true
		fleet.Settle(10, 20*time.Minute)
		fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
		return fleet
	}
	nothing := func(*crossplanetest.Fleet) {}
	t.Run("HaltsOn", func(t *testing.T) {
		fleet := breaks(t, 6, nothing)
		before := fleet.Versions()["10.2.0"]
		addPlan(fleet)
		fleet.Settle(15, 20*time.Minute)
		fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
		if after := fleet.Versions()["10.2.0"]; after != before {
			t.Errorf("%d tenants have the bad offer, and had %d", after, before)
		}
		// Until somebody wants to go on.
		fleet.SetChannel("stable", paused(crossplanetest.Offer("10.2.0", crossplanetest.InSteps)))
		fleet.Settle(3, time.Minute)
		fleet.CheckCondition("stable", v1alpha1.ConditionHalted, false, "")
		fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
		fleet.Settle(15, 20*time.Minute)
		fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
		if after := fleet.Versions()["10.2.0"]; after != before+2 {
			t.Errorf("%d tenants have the bad offer, had %d, and maxFailures is 2", after, before)
		}
	})
	for name, tc := range map[string]struct{ before, after func(*crossplanetest.Fleet) }{
		"GoesBack":           {nothing, addPlan},
		"WatchedInItsSoak":   {addPlan, nothing},
		"WatchedAndGoesBack": {addPlan, addPlan},
	} {
		t.Run(name, func(t *testing.T) {
			fleet := breaks(t, 4, tc.before)
			tc.after(fleet)
			fleet.Settle(6, time.Minute)
			fleet.SetChannel("stable", crossplanetest.Offer("10.1.1", crossplanetest.InSteps))
			fleet.Settle(30, 20*time.Minute)
			fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 4")
			for name, e := range fleet.Tenants {
				if e.Status("phase") != "Ready" {
					t.Errorf("%s is %s with %s: %s", name, e.Status("phase"), fleet.Version(name), e.Status("message"))
				}
			}
		})
	}
}

// TestChannelNamedPlan: a claim that names the plan that it has by default doesn't get that plan's edit before its turn.
func TestChannelNamedPlan(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 3, crossplanetest.InSteps)
	fleet.SetChannel("stable", paused(crossplanetest.Offer("10.1.1", crossplanetest.InSteps)))
	fleet.Step(time.Minute)
	editPlan(fleet)
	fleet.Settle(4, time.Minute)
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable","plan":"standard"}`)
	fleet.Settle(4, time.Minute)
	if got := fleet.Tenants["c0"].Status("channel", "message"); edited(fleet, "c0") || !strings.HasPrefix(got, "the channel is paused; would change: quota") {
		t.Errorf("it has the plan's edit: %t, and it says %q", edited(fleet, "c0"), got)
	}
}

// TestChannelNewClaimOfEditedPlan: a new claim has nothing to lose, and gets its plan as it is.
func TestChannelNewClaimOfEditedPlan(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 2, crossplanetest.InSteps)
	fleet.SetChannel("stable", paused(crossplanetest.Offer("10.1.1", crossplanetest.InSteps)))
	fleet.Step(time.Minute)
	editPlan(fleet)
	fleet.Settle(4, time.Minute)
	fleet.AddClaim("late", `{"channel":"stable"}`, `{}`)
	fleet.Step(time.Minute)
	if got, want := fleet.Tenants["late"].Status("channel", "message"), "begins with revision 1, the last complete one"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	fleet.Settle(14, time.Minute)
	if edited(fleet, "c0") || !edited(fleet, "late") {
		t.Errorf("the plan's edit is with c0: %t, with the new tenant: %t", edited(fleet, "c0"), edited(fleet, "late"))
	}
}

// TestChannelLosesItsHalt: the halt stays if the channel's state is lost, even if its tenants have recovered.
func TestChannelLosesItsHalt(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 6, crossplanetest.InSteps)
	fleet.Broken["10.2.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(10, 20*time.Minute)
	delete(fleet.Broken, "10.2.0")
	fleet.Settle(4, time.Minute)
	delete(fleet.Channels["stable"].Request.Observed.Resources, "state")
	fleet.Settle(30, 20*time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 4, "10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "it had halted before its state was lost")
	fleet.SetChannel("stable", paused(crossplanetest.Offer("10.2.0", crossplanetest.InSteps)))
	fleet.Step(time.Minute)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(30, 20*time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 6")
}
