package channel_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// A clocked fleet is one in which Crossplane watches nothing that the function reads, as before 2.4: it looks at a channel or
// a tenant when the function has asked for that, and never before.
type clocked struct {
	*crossplanetest.Fleet
	// due is when Crossplane looks next, by the name of a composite resource.
	due map[string]time.Time
}

func newClocked(t testing.TB) *clocked {
	fleet := crossplanetest.NewFleet(t)
	fleet.Unwatched = true
	return &clocked{Fleet: fleet, due: map[string]time.Time{}}
}

// pass lets time pass.
func (c *clocked) pass(d time.Duration) {
	c.T.Helper()
	look := func(name string, e *crossplanetest.Engine, reconcile func()) {
		if c.Now.Before(c.due[name]) {
			return
		}
		reconcile()
		asked := e.Response.GetMeta().GetTtl().AsDuration()
		if asked > crossplanetest.TTL {
			c.T.Errorf("%s is looked at again in %s, though nobody watches what it depends on", name, asked)
		}
		c.due[name] = c.Now.Add(asked)
	}
	for end := c.Now.Add(d); c.Now.Before(end); c.Now = c.Now.Add(7 * time.Second) {
		for _, name := range slices.Sorted(maps.Keys(c.Channels)) {
			look(name, c.Channels[name], func() { c.Channels[name].Reconcile() })
		}
		for _, name := range slices.Sorted(maps.Keys(c.Tenants)) {
			look(name, c.Tenants[name], func() { c.ReconcileTenant(name) })
		}
	}
}

// has waits until tenants have versions of the argo-cd chart, and returns how long that took.
func (c *clocked) has(within time.Duration, versions map[string]int) time.Duration {
	c.T.Helper()
	began := c.Now
	for c.Now.Before(began.Add(within)) && !maps.Equal(c.Versions(), versions) {
		c.pass(7 * time.Second)
	}
	c.CheckVersions(versions)
	return c.Now.Sub(began)
}

// TestChannelUnwatched: where Crossplane doesn't watch what functions read, a channel works as it does elsewhere, minutes later.
func TestChannelUnwatched(t *testing.T) {
	t.Parallel()
	const rollout = `{"steps":[{"percent":25,"minSuccessTime":"10m"},{"percent":100}],"maxFailures":1,"progressDeadline":"5m"}`
	fleet := newClocked(t)
	fleet.SetChannel("stable", crossplanetest.Offer("10.1.1", rollout))
	fleet.pass(time.Minute)
	for i := range 4 {
		fleet.AddClaim(fmt.Sprintf("c%d", i), `{"channel":"stable"}`, `{}`)
	}
	fleet.pass(15 * time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 4")

	// A good offer reaches one of four first, and the others after the soak.
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", rollout))
	one := fleet.has(5*time.Minute, map[string]int{"10.1.1": 3, "10.2.0": 1})
	fleet.pass(8 * time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 3, "10.2.0": 1})
	all := fleet.has(15*time.Minute, map[string]int{"10.2.0": 4})
	fleet.pass(2 * time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 4")
	t.Logf("one tenant has the offer after %s, and all %s after the eighth minute of the soak", one, all)

	// What is to happen at a time happens then.
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable","maintenance":{"freeze":{"until":"2026-01-03"}}}`)
	fleet.pass(2 * time.Minute)
	fleet.SetChannel("stable", crossplanetest.Offer("10.3.0", `{}`))
	fleet.has(15*time.Minute, map[string]int{"10.2.0": 1, "10.3.0": 3})
	fleet.pass(3 * time.Minute)
	fleet.Now = time.Date(2026, 1, 2, 23, 58, 0, 0, time.UTC)
	fleet.pass(2 * time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 1, "10.3.0": 3})
	fleet.has(5*time.Minute, map[string]int{"10.3.0": 4})
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable"}`)

	// A bad offer breaks as many as maxFailures says.
	fleet.pass(3 * time.Minute)
	fleet.Broken["10.4.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.4.0", rollout))
	fleet.has(5*time.Minute, map[string]int{"10.3.0": 3, "10.4.0": 1})
	fleet.pass(15 * time.Minute)
	fleet.CheckVersions(map[string]int{"10.3.0": 3, "10.4.0": 1})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	fleet.SetChannel("stable", crossplanetest.Offer("10.4.1", `{}`))
	fleet.has(15*time.Minute, map[string]int{"10.4.1": 4})

	// Paused, it says what would change, and deleted, it leaves its tenants as they are.
	fleet.SetChannel("stable", strings.TrimSuffix(crossplanetest.Offer("10.5.0", `{}`), "}")+`,"paused":true}`)
	fleet.pass(3 * time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionProgressing, false, "would change 4 of 4 tenants")
	fleet.RemoveChannel("stable")
	fleet.pass(3 * time.Minute)
	fleet.CheckVersions(map[string]int{"10.4.1": 4})
	if got := fleet.Tenants["c3"].Status("channel", "message"); !strings.HasPrefix(got, "channel stable doesn't exist") {
		t.Errorf("without its channel a tenant says %q", got)
	}
}
