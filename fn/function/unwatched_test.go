package function

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// A clocked world is one in which Crossplane watches nothing that the function reads, as before 2.4: it looks at a channel or
// a tenant when the function has asked for that, and never before.
type clocked struct {
	*world
	// due is when Crossplane looks next, by the name of a composite resource.
	due map[string]time.Time
}

func newClocked(t testing.TB) *clocked {
	w := newWorld(t)
	w.unwatched = true
	return &clocked{world: w, due: map[string]time.Time{}}
}

// pass lets time pass.
func (w *clocked) pass(d time.Duration) {
	w.t.Helper()
	look := func(name string, e *engine, reconcile func()) {
		if w.now.Before(w.due[name]) {
			return
		}
		reconcile()
		asked := e.rsp.GetMeta().GetTtl().AsDuration()
		if asked > ttl {
			w.t.Errorf("%s is looked at again in %s, though nobody watches what it depends on", name, asked)
		}
		w.due[name] = w.now.Add(asked)
	}
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(7 * time.Second) {
		for _, name := range slices.Sorted(maps.Keys(w.channels)) {
			look(name, w.channels[name], func() { w.reconcileChannel(w.channels[name]) })
		}
		for _, name := range slices.Sorted(maps.Keys(w.tenants)) {
			look(name, w.tenants[name], func() { w.reconcileTenant(name) })
		}
	}
}

// has waits until tenants have versions of the argo-cd chart, and returns how long that took.
func (w *clocked) has(within time.Duration, versions map[string]int) time.Duration {
	w.t.Helper()
	began := w.now
	for w.now.Before(began.Add(within)) && !maps.Equal(w.versions(), versions) {
		w.pass(7 * time.Second)
	}
	w.want(versions)
	return w.now.Sub(began)
}

// TestChannelUnwatched: where Crossplane doesn't watch what functions read, a channel works as it does elsewhere, minutes later.
func TestChannelUnwatched(t *testing.T) {
	t.Parallel()
	const rollout = `{"steps":[{"percent":25,"minSuccessTime":"10m"},{"percent":100}],"maxFailures":1,"progressDeadline":"5m"}`
	w := newClocked(t)
	w.offer("stable", offer("10.1.1", rollout))
	w.pass(time.Minute)
	for i := range 4 {
		w.claim(fmt.Sprintf("c%d", i), `{"channel":"stable"}`, `{}`)
	}
	w.pass(15 * time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 4")

	// A good offer reaches one of four first, and the others after the soak.
	w.offer("stable", offer("10.2.0", rollout))
	one := w.has(5*time.Minute, map[string]int{"10.1.1": 3, "10.2.0": 1})
	w.pass(8 * time.Minute)
	w.want(map[string]int{"10.1.1": 3, "10.2.0": 1})
	all := w.has(15*time.Minute, map[string]int{"10.2.0": 4})
	w.pass(2 * time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 4")
	t.Logf("one tenant has the offer after %s, and all %s after the eighth minute of the soak", one, all)

	// What is to happen at a time happens then.
	w.spec("c0", `{"channel":"stable","maintenance":{"freeze":{"until":"2026-01-03"}}}`)
	w.pass(2 * time.Minute)
	w.offer("stable", offer("10.3.0", `{}`))
	w.has(15*time.Minute, map[string]int{"10.2.0": 1, "10.3.0": 3})
	w.pass(3 * time.Minute)
	w.now = time.Date(2026, 1, 2, 23, 58, 0, 0, time.UTC)
	w.pass(2 * time.Minute)
	w.want(map[string]int{"10.2.0": 1, "10.3.0": 3})
	w.has(5*time.Minute, map[string]int{"10.3.0": 4})
	w.spec("c0", `{"channel":"stable"}`)

	// A bad offer breaks as many as haltAfter says.
	w.pass(3 * time.Minute)
	w.broken["10.4.0"] = true
	w.offer("stable", offer("10.4.0", rollout))
	w.has(5*time.Minute, map[string]int{"10.3.0": 3, "10.4.0": 1})
	w.pass(15 * time.Minute)
	w.want(map[string]int{"10.3.0": 3, "10.4.0": 1})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	w.offer("stable", offer("10.4.1", `{}`))
	w.has(15*time.Minute, map[string]int{"10.4.1": 4})

	// Paused, it says what would change, and deleted, it leaves its tenants as they are.
	w.offer("stable", strings.TrimSuffix(offer("10.5.0", `{}`), "}")+`,"paused":true}`)
	w.pass(3 * time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionProgressing, false, "would change 4 of 4 tenants")
	w.remove("stable")
	w.pass(3 * time.Minute)
	w.want(map[string]int{"10.4.1": 4})
	if got := w.tenants["c3"].status("channel", "message"); !strings.HasPrefix(got, "channel stable doesn't exist") {
		t.Errorf("without its channel a tenant says %q", got)
	}
}
