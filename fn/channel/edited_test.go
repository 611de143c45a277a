package channel_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestChannelEditedInTheMiddle: an offer that is edited while tenants update to the one before begins with the first step, and these
// tenants finish first.
func TestChannelEditedInTheMiddle(t *testing.T) {
	t.Parallel()
	const rollout = `{"steps":[{"percent":40,"minSuccessTime":"1h"},{"percent":80,"minSuccessTime":"1h"},{"percent":100}],"maxConcurrency":2,"maxFailures":2,"progressDeadline":"5h"}`
	fleet := crossplanetest.ReadyFleet(t, 6, rollout)
	slow, had := map[string]bool{}, map[string][]string{}
	for name := range fleet.Tenants {
		had[name] = []string{"10.1.1"}
	}
	settle := func(steps int, d time.Duration) {
		t.Helper()
		for range steps {
			phases, updating := map[string]string{}, 0
			for name, e := range fleet.Tenants {
				if phases[name] = e.Status("phase"); slow[name] {
					e.SetRollingOut(tenant.ArgoCDRelease)
				}
			}
			fleet.Step(d)
			for name, e := range fleet.Tenants {
				was, is := had[name], fleet.Version(name)
				begins := is != was[len(was)-1]
				if begins || e.Status("phase") == "Updating" {
					updating++
				}
				if begins {
					had[name] = append(was, is)
				}
				if begins && phases[name] != "Ready" {
					t.Errorf("%s begins to update to %s, and was %s", name, is, phases[name])
				}
			}
			if updating > 2 {
				t.Errorf("%d tenants are updating to both offers, want at most 2", updating)
			}
		}
	}
	// with are the tenants that are to run a version, once there are n of them.
	with := func(version string, n int) (names []string) {
		t.Helper()
		for range 20 {
			if fleet.Versions()[version] == n {
				break
			}
			settle(1, 10*time.Minute)
		}
		for _, name := range slices.Sorted(maps.Keys(fleet.Tenants)) {
			if fleet.Version(name) == version {
				names = append(names, name)
			}
		}
		if len(names) != n {
			t.Fatalf("%v have %s, want %d tenants", names, version, n)
		}
		return names
	}
	wantStep := func(percent float64) (revision float64) {
		t.Helper()
		status := crossplanetest.Field(fleet.Channels["stable"].XR(), "status").GetFields()
		if got := status["percent"].GetNumberValue(); got != percent {
			t.Errorf("the step is of %v percent, want %v", got, percent)
		}
		return status["revision"].GetNumberValue()
	}

	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", rollout))
	first := with("10.2.0", 3)
	middle := slices.DeleteFunc(with("10.2.0", 5), func(name string) bool { return slices.Contains(first, name) })
	last := with("10.1.1", 1)[0]
	for _, name := range middle {
		slow[name] = true
	}
	// So the first step has room even for a tenant that is still updating.
	for _, name := range first {
		fleet.Tenants[name].SetSpec(`{"channel":"stable","maintenance":{"freeze":{"until":"2026-01-03"}}}`)
	}
	settle(1, time.Minute)
	old := wantStep(80)

	fleet.SetChannel("stable", crossplanetest.Offer("10.3.0", rollout))
	settle(3, 10*time.Minute)
	if wantStep(40) == old {
		t.Errorf("the edit makes no other revision than %v", old)
	}
	fleet.CheckVersions(map[string]int{"10.1.1": 1, "10.2.0": 5})
	delete(slow, middle[0])
	settle(6, 10*time.Minute)
	wantStep(40)
	fleet.CheckVersions(map[string]int{"10.2.0": 4, "10.3.0": 2})
	if e := fleet.Tenants[middle[1]]; fleet.Version(middle[1]) != "10.2.0" || e.Status("phase") != "Updating" {
		t.Errorf("%s hasn't finished its update to 10.2.0, and is %s with %s", middle[1], e.Status("phase"), fleet.Version(middle[1]))
	}
	delete(slow, middle[1])
	settle(14, 2*time.Hour)
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 6")
	want := map[string][]string{}
	for name := range fleet.Tenants {
		if want[name] = []string{"10.1.1", "10.2.0", "10.3.0"}; name == last {
			want[name] = []string{"10.1.1", "10.3.0"}
		}
	}
	if !maps.EqualFunc(had, want, slices.Equal) {
		t.Errorf("want tenants to have these versions one after the other: %v, got %v", want, had)
	}
}
