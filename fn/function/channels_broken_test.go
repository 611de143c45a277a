package function

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// edited says whether a tenant has the edit of the plan standard that editPlan makes.
func (w *world) edited(name string) bool {
	return strings.Contains(field(w.tenants[name].observed(tenant.Quota), "spec").String(), `"77"`)
}

func (w *world) editPlan() {
	w.tenants["c0"].plan("standard", `{"quota":{"count/pods":"77"}}`)
}

// addPlan adds a plan that nobody has, which is an edit of each channel's offer.
func (w *world) addPlan() {
	w.tenants["c0"].plan("huge", `{"quota":{"count/pods":"99"}}`)
}

func paused(spec string) string { return strings.TrimSuffix(spec, "}") + `,"paused":true}` }

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
			w := fleet(t, 6, rollout)
			w.broken["10.2.0"] = true
			// They can begin one after the other.
			for i := 1; i < 6; i++ {
				w.spec(fmt.Sprint("c", i), fmt.Sprintf(`{"channel":"stable","maintenance":{"timeWindow":{"begin":"%02d0000+0000","end":"%02d0000+0000"}}}`, 5+2*i, 6+2*i))
			}
			w.now = time.Date(2026, 2, 2, 5, 0, 0, 0, time.UTC)
			w.step(time.Minute)
			w.offer("stable", offer("10.2.0", rollout))
			had, helped := map[string]bool{}, map[string]bool{}
			for range 15 * 3 {
				w.step(20 * time.Minute)
				for name, e := range w.tenants {
					had[name] = had[name] || w.version(name) == "10.2.0"
					if tc.spec != "" && e.status("phase") == "Degraded" && !helped[name] {
						helped[name] = true
						w.step(10 * time.Minute)
						w.spec(name, tc.spec)
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
			w.wantCondition("stable", v1alpha1.ConditionHalted, true, tc.message)

			// A pause is for people who have looked at that.
			w.broken["10.2.0"] = false
			w.settle(2, time.Minute)
			w.offer("stable", paused(offer("10.2.0", rollout)))
			w.settle(2, time.Minute)
			w.offer("stable", offer("10.2.0", rollout))
			w.settle(2, time.Minute)
			w.wantCondition("stable", v1alpha1.ConditionHalted, false, "")
		})
	}
}

// TestChannelPlanEditWhileBroken: the edit of a plan that changes nothing for a tenant is no excuse for the offer that has broken it.
func TestChannelPlanEditWhileBroken(t *testing.T) {
	t.Parallel()
	// breaks makes an offer that breaks two tenants, the first of them while it soaks.
	breaks := func(t *testing.T, n int, meanwhile func(*world)) *world {
		w := fleet(t, n, inSteps)
		w.offer("stable", offer("10.2.0", inSteps))
		w.settle(3, 10*time.Minute)
		meanwhile(w)
		w.settle(3, time.Minute)
		w.broken["10.2.0"] = true
		w.settle(10, 20*time.Minute)
		w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
		return w
	}
	nothing := func(*world) {}
	t.Run("PauseEndsNoHalt", func(t *testing.T) {
		w := breaks(t, 6, nothing)
		before := w.versions()["10.2.0"]
		w.addPlan()
		w.settle(6, time.Minute)
		w.offer("stable", paused(offer("10.2.0", inSteps)))
		w.settle(3, time.Minute)
		w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
		w.offer("stable", offer("10.2.0", inSteps))
		w.settle(15, 20*time.Minute)
		if after := w.versions()["10.2.0"]; after != before {
			t.Errorf("%d tenants have the bad offer, and had %d", after, before)
		}
	})
	for name, tc := range map[string]struct{ before, after func(*world) }{
		"GoesBack":           {nothing, (*world).addPlan},
		"WatchedInItsSoak":   {(*world).addPlan, nothing},
		"WatchedAndGoesBack": {(*world).addPlan, (*world).addPlan},
	} {
		t.Run(name, func(t *testing.T) {
			w := breaks(t, 4, tc.before)
			tc.after(w)
			w.settle(6, time.Minute)
			w.offer("stable", offer("10.1.1", inSteps))
			w.settle(30, 20*time.Minute)
			w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 4")
			for name, e := range w.tenants {
				if e.status("phase") != "Ready" {
					t.Errorf("%s is %s with %s: %s", name, e.status("phase"), w.version(name), e.status("message"))
				}
			}
		})
	}
}

// TestChannelNamedPlan: a claim that names the plan that it has by default doesn't get that plan's edit before its turn.
func TestChannelNamedPlan(t *testing.T) {
	t.Parallel()
	w := fleet(t, 3, inSteps)
	w.offer("stable", paused(offer("10.1.1", inSteps)))
	w.step(time.Minute)
	w.editPlan()
	w.settle(4, time.Minute)
	w.spec("c0", `{"channel":"stable","plan":"standard"}`)
	w.settle(4, time.Minute)
	if got := w.tenants["c0"].status("channel", "message"); w.edited("c0") || !strings.HasPrefix(got, "the channel is paused; would change: quota") {
		t.Errorf("it has the plan's edit: %t, and it says %q", w.edited("c0"), got)
	}
}

// TestChannelNewClaimOfEditedPlan: a new claim has nothing to lose, and gets its plan as it is.
func TestChannelNewClaimOfEditedPlan(t *testing.T) {
	t.Parallel()
	w := fleet(t, 2, inSteps)
	w.offer("stable", paused(offer("10.1.1", inSteps)))
	w.step(time.Minute)
	w.editPlan()
	w.settle(4, time.Minute)
	w.claim("late", `{"channel":"stable"}`, `{}`)
	w.step(time.Minute)
	if got, want := w.tenants["late"].status("channel", "message"), "begins with revision 1, the last complete one"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	w.settle(14, time.Minute)
	if w.edited("c0") || !w.edited("late") {
		t.Errorf("the plan's edit is with c0: %t, with the new tenant: %t", w.edited("c0"), w.edited("late"))
	}
}

// TestChannelLosesItsHalt: the halt stays if the channel's state is lost, even if its tenants have recovered.
func TestChannelLosesItsHalt(t *testing.T) {
	t.Parallel()
	w := fleet(t, 6, inSteps)
	w.broken["10.2.0"] = true
	w.offer("stable", offer("10.2.0", inSteps))
	w.settle(10, 20*time.Minute)
	delete(w.broken, "10.2.0")
	w.settle(4, time.Minute)
	delete(w.channels["stable"].req.Observed.Resources, "state")
	w.settle(30, 20*time.Minute)
	w.want(map[string]int{"10.1.1": 4, "10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "it had halted before its state was lost")
	w.offer("stable", paused(offer("10.2.0", inSteps)))
	w.step(time.Minute)
	w.offer("stable", offer("10.2.0", inSteps))
	w.settle(30, 20*time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 6")
}
