package crossplanetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// fleets are those that ReadyFleet has made, which take seconds to come up.
var fleets = struct {
	sync.Mutex
	of map[string]*Fleet
}{of: map[string]*Fleet{}}

// ReadyFleet returns a fleet of n Ready tenants, c0 and so on, in channel stable. They have what it offers, chart argo-cd 10.1.1. rollout
// is the channel's, as JSON.
func ReadyFleet(t testing.TB, n int, rollout string) *Fleet {
	t.Helper()
	fleets.Lock()
	defer fleets.Unlock()
	key := fmt.Sprint(n, rollout)
	if fleets.of[key] == nil {
		fleets.of[key] = newReadyFleet(t, n, rollout)
	}
	return fleets.of[key].Fork(t)
}

// Fork returns another fleet that is as this one, and goes on by itself, for a test of its own.
func (f *Fleet) Fork(t testing.TB) *Fleet {
	other := NewFleet(t)
	other.Now, other.Events = f.Now, slices.Clone(f.Events)
	clear(other.Cluster)
	for key, o := range f.Cluster {
		other.Cluster[key] = proto.Clone(o).(*structpb.Struct)
	}
	for into, engines := range map[*map[string]*Engine]map[string]*Engine{&other.Tenants: f.Tenants, &other.Channels: f.Channels} {
		for name, e := range engines {
			o := e.Fork(t)
			o.Cluster = other.Cluster
			o.Now = func() time.Time { return other.Now }
			(*into)[name] = o
		}
	}
	return other
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
