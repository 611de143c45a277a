package channel_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// addSpare adds a spare of a plan, as a pool makes it.
func addSpare(fleet *crossplanetest.Fleet, name, plan string, asleep bool) {
	hibernation := map[bool]string{true: `{"enabled":true}`, false: `{"enabled":false}`}[asleep]
	e := fleet.NewXR(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"` + name + `","uid":"uid-of-` + name + `","generation":1,"creationTimestamp":"` +
		fleet.Now.Format(time.RFC3339) + `","labels":{"virtualargocd.io/spare":"true"}},"spec":{"plan":"` + plan + `","backup":{"enabled":false},"hibernation":` + hibernation + `}}`)
	fleet.Tenants[name] = e
}

// checkSpare checks which version a spare has, and whether it says that a new tenant would get something else.
func checkSpare(t *testing.T, fleet *crossplanetest.Fleet, name, when, phase, version string, outdated bool) {
	t.Helper()
	e := fleet.Tenants[name]
	got := crossplanetest.Field(e.XR(), "status", "channel").GetFields()["updateAvailable"].GetBoolValue()
	if fleet.Version(name) != version || got != outdated || e.Status("phase") != phase || outdated != strings.Contains(e.Status("channel", "message"), "a new tenant gets something else") {
		t.Errorf("%s, %s is %s and has %s, want %s and %s; an update is available: %t, %s", when, name, e.Status("phase"), fleet.Version(name), phase, version, got, e.Status("channel", "message"))
	}
}

// TestChannelSpares: a spare of a plan with a channel has what a new tenant of it gets. The channel doesn't count it, waits for none, and gives it
// nothing. Once it is taken, it is a tenant that is as new as who took it.
func TestChannelSpares(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 5, crossplanetest.InSteps)
	fleet.Tenants["c0"].AddPlan("pooled", `{"channel":"stable","maintenance":{"freeze":{"until":"2030-01-01"}}}`)
	fleet.Settle(10, 20*time.Minute)
	addSpare(fleet, "spare-1", "pooled", false)
	addSpare(fleet, "spare-2", "pooled", true)
	fleet.Settle(14, time.Minute)
	counted := func(when string) {
		t.Helper()
		if n := fleet.Channels["stable"].StatusNumber("tenants", "total"); n != 5 {
			t.Errorf("%s, the channel counts %d tenants, want 5", when, n)
		}
	}
	check := func(when, version string, outdated bool) {
		t.Helper()
		counted(when)
		checkSpare(t, fleet, "spare-1", when, "Ready", version, outdated)
		checkSpare(t, fleet, "spare-2", when, "Hibernated", version, outdated)
	}
	check("at first", "10.1.1", false)

	fleet.Broken["10.2.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(30, 20*time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	check("with a channel that has halted", "10.1.1", false)

	fleet.SetChannel("stable", crossplanetest.Offer("10.3.0", crossplanetest.InSteps))
	fleet.Settle(6, time.Minute)
	check("while a revision is rolled out", "10.1.1", false)
	fleet.Settle(40, 20*time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 5")
	check("once it is complete", "10.1.1", true)

	// The pool replaces them.
	for _, name := range []string{"spare-1", "spare-2"} {
		delete(fleet.Tenants, name)
	}
	addSpare(fleet, "spare-1", "pooled", false)
	addSpare(fleet, "spare-2", "pooled", true)
	fleet.Settle(14, time.Minute)
	check("when it is new", "10.3.0", false)

	fleet.SetChannel("stable", crossplanetest.Offer("10.4.0", crossplanetest.InSteps))
	fleet.Settle(6, time.Minute)
	check("while another is rolled out", "10.3.0", false)
	taken := fleet.Tenants["spare-1"]
	taken.XR().Fields["spec"] = crossplanetest.JSON(`{"plan":"pooled","claimRef":{"apiVersion":"m.virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","namespace":"team-z","name":"a"}}`)
	meta := crossplanetest.Field(taken.XR(), "metadata")
	delete(meta.GetFields(), "labels")
	meta.Fields["annotations"] = crossplanetest.JSON(`{"virtualargocd.io/claimed-at":"` + fleet.Now.Format(time.RFC3339) + `"}`)
	meta.Fields["generation"] = structpb.NewNumberValue(2)
	fleet.Settle(6, time.Minute)
	if n := fleet.Channels["stable"].StatusNumber("tenants", "total"); n != 6 || fleet.Version("spare-1") != "10.3.0" {
		t.Errorf("with one that was a spare, the channel counts %d tenants, and that has %s", n, fleet.Version("spare-1"))
	}
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, false, "were created later, and get the revision in the last step: team-z/a")
	if got := taken.Status("channel", "message"); !strings.HasPrefix(got, "is frozen until 2030-01-01; would change: chart argo-cd 10.3.0 to 10.4.0") {
		t.Errorf("one that was a spare waits as others do: %q", got)
	}
}

// TestWindowOfSpares: without a channel, a new tenant gets what the platform gives at once. A spare waits for no window, isn't woken, and says
// that it is to be replaced.
func TestWindowOfSpares(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.NewFleet(t)
	addSpare(fleet, "spare-1", "windowed", false)
	addSpare(fleet, "spare-2", "windowed", true)
	fleet.Tenants["spare-1"].AddPlan("windowed", `{"maintenance":{"timeWindow":{"begin":"220000+0100","end":"030000+0100"}}}`)
	fleet.Settle(14, time.Minute)
	check := func(when string, outdated bool) {
		t.Helper()
		checkSpare(t, fleet, "spare-1", when, "Ready", "10.1.1", outdated)
		checkSpare(t, fleet, "spare-2", when, "Hibernated", "10.1.1", outdated)
	}
	check("at first", false)
	offers := func(version string) {
		fleet.SetInput(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"` + version + `"}}}`)
		fleet.Settle(4, time.Minute)
	}
	offers("10.2.0")
	check("outside of the window", true)
	fleet.Now = time.Date(2026, 1, 3, 22, 0, 0, 0, time.UTC)
	fleet.Settle(4, time.Minute)
	check("in the window", true)
	fleet.AddClaim("c0", `{"plan":"windowed"}`, `{}`)
	offers("10.2.0")
	fleet.Settle(10, time.Minute)
	if got := fleet.Version("c0"); got != "10.2.0" {
		t.Errorf("a new tenant has %s", got)
	}
	offers("10.1.1")
	check("once that is taken back", false)
	// A tenant never goes back, but new ones begin with what is offered now.
	offers("9.5.13")
	check("with an earlier version", true)
	for name, e := range fleet.Tenants {
		if e.Has(tenant.ChannelRecord) {
			t.Errorf("%s has a record for a channel", name)
		}
	}
}
