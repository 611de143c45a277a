package crossplanetest

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// fleets are those that ReadyFleet has made, which take seconds to come up.
var fleets = struct {
	sync.Mutex
	of map[string]*Fleet
}{of: map[string]*Fleet{}}

// ReadyFleet returns a fleet of n Ready tenants, c0 and so on, in channel stable, whose offer they have: chart argo-cd 10.1.1. The channel has
// that rollout, as JSON.
func ReadyFleet(t testing.TB, n int, rollout string) *Fleet {
	t.Helper()
	fleets.Lock()
	defer fleets.Unlock()
	key := fmt.Sprint(n, rollout)
	if fleets.of[key] == nil {
		fleets.of[key] = newReadyFleet(t, n, rollout)
	}
	return fleets.of[key].fork(t)
}

// fork returns another fleet that is as this one, and goes on by itself, for a test of its own.
func (f *Fleet) fork(t testing.TB) *Fleet {
	other := *f
	other.T = t
	other.Broken, other.Cured, other.Stuck = maps.Clone(f.Broken), maps.Clone(f.Cured), maps.Clone(f.Stuck)
	other.Cluster = cloneObjects(f.Cluster)
	fork := func(engines map[string]*Engine) map[string]*Engine {
		out := map[string]*Engine{}
		for name, e := range engines {
			out[name] = e.forkIn(t, other.Cluster)
			out[name].Now = func() time.Time { return other.Now }
		}
		return out
	}
	other.Tenants, other.Channels = fork(f.Tenants), fork(f.Channels)
	return &other
}

func newReadyFleet(t testing.TB, n int, rollout string) *Fleet {
	t.Helper()
	f := NewFleet(t)
	f.SetChannel("stable", Offer("10.1.1", rollout))
	f.Step(time.Second)
	for i := range n {
		f.AddClaim(fmt.Sprintf("c%d", i), `{"channel":"stable"}`, `{"tier":"customer"}`)
	}
	f.Settle(14, time.Minute)
	f.Settle(2, time.Hour)
	for name, e := range f.Tenants {
		if e.Status("phase") != "Ready" {
			t.Fatalf("tenant %s is %s: %s", name, e.Status("phase"), e.Status("message"))
		}
	}
	f.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all")
	return f
}
