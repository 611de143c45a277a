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

// TestChannelClaims: a claim may pin a version, move, name a channel that isn't there, and
// outlive its channel.
func TestChannelClaims(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 4, `{"maxConcurrency":1}`)
	fleet.SetChannel("fast", crossplanetest.Offer("10.3.0", `{}`))
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable","argocd":{"chartVersion":"10.1.1"}}`)
	fleet.Settle(3, time.Minute)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.Settle(20, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1, "10.2.0": 3})
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 4")

	// It keeps what it has until the other channel updates it.
	fleet.Tenants["c1"].SetSpec(`{"channel":"fast"}`)
	fleet.Tenants["c1"].Reconcile()
	if got := fleet.Version("c1"); got != "10.2.0" {
		t.Errorf("a claim that moves has %s at once", got)
	}
	fleet.Settle(6, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1, "10.2.0": 2, "10.3.0": 1})
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 3")
	fleet.CheckCondition("fast", v1alpha1.ConditionComplete, true, "all 1")

	// Its claim's mistake leaves it as it is.
	fleet.Tenants["c2"].SetSpec(`{"channel":"slow"}`)
	fleet.Settle(2, time.Minute)
	if got := crossplanetest.Refusal(fleet.Tenants["c2"].Response); got != `spec.channel: "slow" is unknown: write one of fast, stable` || fleet.Version("c2") != "10.2.0" {
		t.Errorf("a channel that isn't there: %q, the tenant has %s", got, fleet.Version("c2"))
	}
	fleet.AddClaim("new", `{"channel":"slow"}`, `{}`)
	fleet.Step(time.Minute)
	if got := crossplanetest.Fatal(fleet.Tenants["new"].Response); got != `spec.channel: "slow" is unknown: write one of fast, stable` {
		t.Errorf("a new tenant of a channel that isn't there: %q", got)
	}
	delete(fleet.Tenants, "new")
	fleet.Tenants["c2"].SetSpec(`{"channel":"stable"}`)

	fleet.RemoveChannel("stable")
	fleet.SetInput(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.9.0"}}}`)
	fleet.Settle(4, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1, "10.2.0": 2, "10.3.0": 1})
	if e := fleet.Tenants["c3"]; e.Status("phase") != "Ready" || crossplanetest.Refusal(e.Response) != "" || e.Status("channel", "message") != "channel stable doesn't exist; the tenant keeps the revision and the plan that it has" {
		t.Errorf("without its channel a tenant is %s, %q: %s", e.Status("phase"), crossplanetest.Refusal(e.Response), e.Status("channel", "message"))
	}
	// Leaving is the claim's own change. The record goes with the channel.
	fleet.Tenants["c3"].SetSpec(`{}`)
	fleet.Settle(3, time.Minute)
	if got := fleet.Version("c3"); got != "10.9.0" {
		t.Errorf("a claim that leaves its channel has %s", got)
	}
	if fleet.Tenants["c3"].Request.GetObserved().GetResources()[tenant.ChannelRecord] != nil {
		t.Error("it still has a record")
	}
	// A channel of the same name goes on from what the records say.
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.Settle(12, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1, "10.2.0": 1, "10.3.0": 1, "10.9.0": 1})
}

// TestChannelNamespaces: a channel may list the namespaces whose claims may name it. Plans may name it for any tenant.
func TestChannelNamespaces(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 1, `{}`)
	const refused = "spec.channel: channel stable is not for claims of namespace team-a: leave it out, or ask whoever runs the platform for a channel"
	list := func(spec, namespaces string) string {
		return strings.Replace(spec, "{", `{"namespaces":`+namespaces+`,`, 1)
	}
	fleet.SetChannel("stable", list(crossplanetest.Offer("10.2.0", `{}`), `["team-b","premium-*"]`))
	fleet.Settle(12, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1})

	e := fleet.AddClaim("new", `{"channel":"stable"}`, `{}`)
	fleet.Step(time.Minute)
	if got := crossplanetest.Fatal(e.Response); got != refused {
		t.Errorf("a new claim of another namespace: want %q, got %q", refused, got)
	}
	fleet.Tenants["new"].SetSpec(`{}`)
	fleet.Settle(6, time.Minute)
	fleet.Tenants["new"].SetSpec(`{"channel":"stable"}`)
	fleet.Step(time.Minute)
	if got := crossplanetest.Refusal(e.Response); got != refused || fleet.Version("new") != "10.1.1" {
		t.Errorf("a claim of another namespace that moves: want %q, got %q and %s", refused, got, fleet.Version("new"))
	}
	// Nor does it learn of channels that are for others.
	fleet.Tenants["new"].SetSpec(`{"channel":"slow"}`)
	fleet.Step(time.Minute)
	if got := crossplanetest.Refusal(e.Response); got != `spec.channel: "slow" is unknown: there is no channel to choose from: leave it out` {
		t.Errorf("a channel that isn't there: %q", got)
	}
	fleet.Tenants["new"].SetSpec(`{"channel":"stable"}`)
	fleet.SetChannel("stable", list(crossplanetest.Offer("10.2.0", `{}`), `["team-*"]`))
	fleet.Settle(12, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 2})

	fleet.SetChannel("stable", list(crossplanetest.Offer("10.3.0", `{}`), `["team-b"]`))
	given := fleet.AddClaim("given", `{}`, `{}`)
	given.AddPlan("standard", `{"channel":"stable"}`)
	fleet.Settle(20, time.Minute)
	fleet.CheckVersions(map[string]int{"10.3.0": 3})
	if got := crossplanetest.Refusal(given.Response); got != "" {
		t.Errorf("a claim whose plan names the channel: %q", got)
	}
}

// TestChannelEvicts: a namespace that is removed from the list of a channel isn't counted any more, whatever its tenants do, and keeps what
// it has.
func TestChannelEvicts(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 2, `{}`)
	other := fleet.AddClaim("other", `{}`, `{}`)
	crossplanetest.Field(other.XR(), "spec", "claimRef").Fields["namespace"] = structpb.NewStringValue("team-b")
	fleet.Settle(14, time.Minute)
	fleet.Broken["10.2.0"] = true
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.Settle(10, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 2, "10.2.0": 1})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")

	list := func(version, namespaces, paused string) {
		fleet.SetChannel("stable", strings.Replace(crossplanetest.Offer(version, `{}`), "{", `{"namespaces":`+namespaces+`,"paused":`+paused+`,`, 1))
	}
	// Only the channel is reconciled: the tenants may be paused.
	list("10.2.0", `["team-b"]`, "true")
	fleet.Channels["stable"].Reconcile()
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, false, "")
	list("10.2.0", `["team-b"]`, "false")
	fleet.Tenants["other"].SetSpec(`{"channel":"stable"}`)
	crossplanetest.Field(other.XR(), "spec", "claimRef").Fields["namespace"] = structpb.NewStringValue("team-b")
	fleet.Settle(10, time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, "team-b/other")
	list("10.3.0", `["team-b"]`, "false")
	fleet.Settle(10, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1, "10.2.0": 1, "10.3.0": 1})
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 1")
	const left = "spec.channel: channel stable is not for claims of namespace team-a: leave it out, or ask whoever runs the platform for a channel; the tenant keeps the revision and the plan that it has"
	for _, name := range []string{"c0", "c1"} {
		if e := fleet.Tenants[name]; e.Status("channel", "message") != left || crossplanetest.Refusal(e.Response) != "" {
			t.Errorf("%s says %q, and is refused with %q", name, e.Status("channel", "message"), crossplanetest.Refusal(e.Response))
		}
	}
	list("10.3.0", `["team-b","team-a"]`, "false")
	fleet.Settle(20, time.Minute)
	fleet.CheckVersions(map[string]int{"10.3.0": 3})
}
