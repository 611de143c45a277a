package channel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestRevisionThatIsMissing: a new claim waits for the revision with which it is to begin, which may be written after what names it.
func TestRevisionThatIsMissing(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.NewFleet(t)
	fleet.SetChannel("stable", crossplanetest.Offer("10.0.0", `{}`))
	fleet.Step(time.Second)
	key := "ConfigMap/crossplane-system/" + tenant.RevisionName("stable", 1)
	revision, ok := fleet.Cluster[key]
	if !ok {
		t.Fatalf("there is no %s", key)
	}
	delete(fleet.Cluster, key)
	e := fleet.AddClaim("c0", `{"channel":"stable"}`, `{}`)
	e.Reconcile()
	if got := crossplanetest.Fatal(e.Response); !strings.Contains(got, "channel stable: revision 1, with which new tenants begin, isn't in ConfigMap "+tenant.RevisionName("stable", 1)) {
		t.Errorf("it says %q", got)
	}
	fleet.Cluster[key] = revision
	fleet.Settle(14, time.Minute)
	fleet.CheckVersions(map[string]int{"10.0.0": 1})
}

// TestHaltedRevisionIsLost: a revision that is lost is made again, and a halt goes on.
func TestHaltedRevisionIsLost(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 6, crossplanetest.InSteps)
	fleet.Broken["10.2.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(30, 20*time.Minute)
	delete(fleet.Cluster, "ConfigMap/crossplane-system/"+tenant.RevisionName("stable", 2))
	delete(fleet.Channels["stable"].Request.Observed.Resources, "revision-2")
	fleet.Settle(30, 20*time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 4, "10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	if got := fleet.Channels["stable"].StatusNumber("revision"); got != 2 {
		t.Errorf("the newest revision is %v", got)
	}
	if fleet.Cluster["ConfigMap/crossplane-system/"+tenant.RevisionName("stable", 2)] == nil {
		t.Error("the revision isn't made again")
	}
}

// TestRecordThatIsBehind: a tenant whose record wasn't written when it took a revision is watched like others.
func TestRecordThatIsBehind(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 6, crossplanetest.InSteps)
	fleet.Broken["10.2.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	for range 40 {
		fleet.Channels["stable"].Reconcile()
		for name, e := range fleet.Tenants {
			was, record := fleet.Version(name), crossplanetest.Field(e.Observed(tenant.ChannelRecord), "data").Fields["record"]
			fleet.ReconcileTenant(name)
			if was == "10.1.1" && fleet.Version(name) == "10.2.0" {
				for _, o := range []*structpb.Struct{e.Observed(tenant.ChannelRecord), fleet.Cluster["ConfigMap/crossplane-system/"+name+"-channel"]} {
					crossplanetest.Field(o, "data").Fields["record"] = record
				}
			}
		}
		fleet.Now = fleet.Now.Add(20 * time.Minute)
	}
	fleet.CheckVersions(map[string]int{"10.1.1": 4, "10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
}

// TestPlanLeavesItsChannel: a plan that names no channel any more brings its tenants nothing before their windows open.
func TestPlanLeavesItsChannel(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.NewFleet(t)
	fleet.SetChannel("stable", crossplanetest.Offer("10.1.1", `{}`))
	fleet.Step(time.Second)
	e := fleet.AddClaim("c0", `{"plan":"large","maintenance":{"freeze":{"until":"2030-01-01"}}}`, `{}`)
	e.AddPlan("large", `{"channel":"stable"}`)
	fleet.Settle(14, time.Minute)
	fleet.SetInput(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.9.0"}}}`)
	e.AddPlan("large", `{"quota":{"count/pods":"77"}}`)
	fleet.Settle(3, time.Minute)
	if fleet.Version("c0") != "10.1.1" || edited(fleet, "c0") {
		t.Errorf("it is frozen, and has %s, and the plan's edit: %t", fleet.Version("c0"), edited(fleet, "c0"))
	}
	if got := e.Status("channel", "message"); !strings.HasPrefix(got, "is frozen until 2030-01-01; would change: chart argo-cd 10.1.1 to 10.9.0") {
		t.Errorf("it says %q", got)
	}
	fleet.Now = time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
	fleet.Settle(3, time.Minute)
	if fleet.Version("c0") != "10.9.0" || !edited(fleet, "c0") {
		t.Errorf("it has %s, and the plan's edit: %t", fleet.Version("c0"), edited(fleet, "c0"))
	}
}

// TestPlanThatIsHeldBack: neither a claim that names a plan newly nor a new claim gets an edit of it that is held back.
func TestPlanThatIsHeldBack(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 2, crossplanetest.InSteps)
	fleet.Tenants["c0"].AddPlan("large", `{"quota":{"count/pods":"50"}}`)
	fleet.Settle(10, time.Hour)
	fleet.SetChannel("stable", paused(crossplanetest.Offer("10.1.1", crossplanetest.InSteps)))
	fleet.Tenants["c0"].AddPlan("large", `{"quota":{"count/pods":"77"}}`)
	fleet.Settle(3, time.Minute)
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable","plan":"large"}`)
	fleet.AddClaim("new", `{"channel":"stable","plan":"large"}`, `{}`)
	fleet.Settle(14, time.Minute)
	for _, name := range []string{"c0", "new"} {
		if edited(fleet, name) {
			t.Errorf("%s has the edit", name)
		}
	}
}

// TestPlanAtFault: a halt that a plan has caused ends when that plan is mended, also in the middle of an offer, and with no edit of another.
func TestPlanAtFault(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 6, crossplanetest.InSteps)
	// What the plan breaks, it breaks whatever version there is.
	settle := func(steps int, d time.Duration) {
		for range steps {
			fleet.Step(d)
			for _, e := range fleet.Tenants {
				if replicas(e) == 2 {
					e.SetReplicas("argocd-server", 0)
				}
			}
		}
	}
	bad := func() (n int) {
		for _, e := range fleet.Tenants {
			if replicas(e) == 2 {
				n++
			}
		}
		return n
	}
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(2, time.Minute)
	fleet.Tenants["c0"].AddPlan("standard", `{"values":{"argocd":{"server":{"replicas":2}}}}`)
	settle(30, 20*time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	addPlan(fleet)
	settle(30, 20*time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	if got := bad(); got != 2 {
		t.Errorf("the plan has broken %d tenants, and maxFailures is 2", got)
	}
	fleet.Tenants["c0"].AddPlan("standard", `{}`)
	fleet.Settle(60, 20*time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 6})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, false, "")
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 6")
}

// TestRevisionBeforeIsThere: the revision with which new tenants began is there for one call after the next one is complete, since what names it is
// written at any time in that call.
func TestRevisionBeforeIsThere(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 2, `{}`)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	e := fleet.Channels["stable"]
	for range 60 {
		before := e.StatusNumber("completeRevision")
		fleet.Step(time.Minute)
		desired := e.Response.GetDesired().GetResources()
		switch now := e.StatusNumber("completeRevision"); {
		case now == 1 && desired["revision-1"] == nil:
			t.Error("the complete revision is deleted")
		case now == 2 && before == 1 && desired["revision-1"] == nil:
			t.Error("the revision is deleted with which new tenants begin that have read what was published before")
		case now == 2 && before == 2:
			if desired["revision-1"] != nil {
				t.Error("a revision stays that nobody needs")
			}
			return
		}
	}
	t.Error("the revision isn't complete after an hour")
}

// TestLargeRevision: an offer and plans that no ConfigMap can hold are refused, and tenants keep what they have.
func TestLargeRevision(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 1, `{}`)
	for i := range 40 {
		fleet.Tenants["c0"].AddPlan(fmt.Sprintf("large%d", i), `{"values":{"argocd":{"configs":{"cm":{"a":"`+strings.Repeat("x", 36<<10)+`"}}}}}`)
	}
	fleet.Settle(3, time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionSpecAccepted, false, "spec.offer: takes 1")
	if got := fleet.Tenants["c0"].StatusNumber("channel", "revision"); got != 1 {
		t.Errorf("the tenant has revision %v", got)
	}
}
