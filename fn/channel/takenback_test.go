package channel_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestChannelOfferTakenBack: going back to the offer from before mends those that a version of argo-cd has broken, and nobody else goes
// back.
func TestChannelOfferTakenBack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		// after is for how long the version is well.
		after int
		// recovers has one of the two recover before.
		recovers bool
	}{
		"NeverReady": {reason: "It breaks tenants at once."},
		"Soaking":    {reason: "It breaks them after they were Ready.", after: 3},
		"Recovers":   {reason: "One of them has recovered: it stays.", recovers: true},
	} {
		t.Run(name, func(t *testing.T) {
			fleet := crossplanetest.ReadyFleet(t, 4, crossplanetest.InSteps)
			fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
			fleet.Settle(tc.after, time.Minute)
			fleet.Broken["10.2.0"] = true
			fleet.Settle(10, 20*time.Minute)
			fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
			want := map[string][]string{}
			for _, name := range slices.Sorted(maps.Keys(fleet.Tenants)) {
				if fleet.Version(name) == "10.1.1" {
					want[name] = []string{"10.1.1"}
				} else if want[name] = []string{"10.2.0", "10.1.1"}; tc.recovers && len(fleet.Cured) == 0 {
					fleet.Cured[name], want[name] = true, []string{"10.2.0"}
				}
			}
			fleet.CheckVersions(map[string]int{"10.1.1": 2, "10.2.0": 2})
			if tc.recovers {
				fleet.Settle(2, time.Minute)
			}

			fleet.SetChannel("stable", crossplanetest.Offer("10.1.1", crossplanetest.InSteps))
			had := map[string][]string{}
			for name := range fleet.Tenants {
				had[name] = []string{want[name][0]}
			}
			for range 20 {
				fleet.Step(5 * time.Minute)
				for name := range fleet.Tenants {
					had[name] = slices.Compact(append(had[name], fleet.Version(name)))
				}
			}
			if !maps.EqualFunc(had, want, slices.Equal) {
				t.Errorf("%s\nwant tenants to have these versions one after the other: %v, got %v", tc.reason, want, had)
			}
			for name, e := range fleet.Tenants {
				if e.Status("phase") != "Ready" {
					t.Errorf("%s\n%s is %s: %s", tc.reason, name, e.Status("phase"), e.Status("message"))
				}
				if held := e.StatusList("versionsHeld"); fleet.Cured[name] && (len(held) != 1 || held[0] != "Chart argo-cd stays at 10.2.0, which runs: the platform's version, 10.1.1, is lower") {
					t.Errorf("%s\n%s says %v", tc.reason, name, held)
				}
			}
			fleet.CheckCondition("stable", v1alpha1.ConditionHalted, false, "")
			fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 4")
			if n := len(slices.DeleteFunc(fleet.Channels["stable"].Events, func(e string) bool { return !strings.HasPrefix(e, v1alpha1.ReasonTenantsFailed+": ") })); n != 1 {
				t.Errorf("%s\nwant one halt, got %d", tc.reason, n)
			}
		})
	}
}

// TestChannelOfferTakenBackSlowly: a tenant that goes back to a version stays on its way to that, whatever is seen of it meanwhile.
func TestChannelOfferTakenBackSlowly(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 1, `{}`)
	fleet.Broken["10.2.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.Settle(10, time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c0")
	fleet.SetChannel("stable", crossplanetest.Offer("10.1.1", `{}`))
	e := fleet.Tenants["c0"]
	for range 6 {
		if fleet.Version("c0") != "10.1.1" {
			fleet.Channels["stable"].Reconcile()
			e.Reconcile()
		}
	}
	stays := func(phase string) {
		t.Helper()
		for range 3 {
			fleet.Now = fleet.Now.Add(15 * time.Second)
			e.Reconcile()
			fleet.Channels["stable"].Reconcile()
			if got := fleet.Version("c0"); got != "10.1.1" || e.Status("phase") != phase {
				t.Errorf("the tenant is to have %s and is %s, want 10.1.1 and %s", got, e.Status("phase"), phase)
			}
		}
	}
	e.SetRollingOut(tenant.ArgoCDRelease)
	stays("Updating")
	// Its pods are replaced before Helm's record of that is seen.
	e.RunProviders()
	e.SetDeployed(tenant.ArgoCDRelease, "10.2.0")
	stays("Ready")
	e.RunProviders()
	stays("Ready")
	fleet.Settle(3, time.Minute)
	stays("Ready")
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 1")
}

// TestChannelKubernetesTakenBack: what can't be lowered stays, and isn't the fault of an offer that it had before.
func TestChannelKubernetesTakenBack(t *testing.T) {
	t.Parallel()
	of := func(version string) string {
		return strings.Replace(crossplanetest.Offer("10.1.1", crossplanetest.InSteps), `{"offer":{`, `{"offer":{"kubernetes":{"version":"`+version+`"},`, 1)
	}
	fleet := crossplanetest.NewFleet(t)
	fleet.SetChannel("stable", of("v1.35.4"))
	for i := range 4 {
		fleet.AddClaim(fmt.Sprintf("c%d", i), `{"channel":"stable"}`, `{}`)
	}
	fleet.Settle(14, time.Minute)
	fleet.Settle(2, time.Hour)
	fleet.Broken["v1.36.0"] = true
	fleet.SetChannel("stable", of("v1.36.0"))
	fleet.Settle(10, 20*time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	fleet.SetChannel("stable", of("v1.35.4"))
	fleet.Settle(20, 5*time.Minute)
	n := map[string]int{}
	for name, e := range fleet.Tenants {
		n[fleet.Kubernetes(name)+" "+e.Status("phase")]++
	}
	if want := map[string]int{"v1.35.4 Ready": 2, "v1.36.0 Degraded": 2}; !maps.Equal(n, want) {
		t.Errorf("want tenants with these versions of Kubernetes: %v, got %v", want, n)
	}
	// They are broken still, until somebody goes on without them.
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	fleet.SetChannel("stable", paused(of("v1.35.4")))
	fleet.Settle(2, 5*time.Minute)
	fleet.SetChannel("stable", of("v1.35.4"))
	fleet.Settle(20, 5*time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, false, "")
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 4")
}
