package channel_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestChannelGoodOffer: a good offer reaches some first, and all in the end.
func TestChannelGoodOffer(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 5, crossplanetest.InSteps)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(6, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 4, "10.2.0": 1})
	fleet.CheckCondition("stable", v1alpha1.ConditionProgressing, true, "for minSuccessTime")
	for name, e := range fleet.Tenants {
		if has := fleet.Version(name) == "10.2.0"; crossplanetest.Field(e.XR(), "status", "channel").GetFields()["updateAvailable"].GetBoolValue() == has {
			t.Errorf("%s with %s says of its channel: %v", name, fleet.Version(name), crossplanetest.Field(e.XR(), "status", "channel"))
		}
	}
	fleet.Settle(30, 10*time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 5})
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 5 tenants have revision")
	if updated := crossplanetest.Field(fleet.Channels["stable"].XR(), "status", "tenants").GetFields()["succeeded"].GetNumberValue(); updated != 5 {
		t.Errorf("want 5 tenants updated, got %v", updated)
	}
}

// TestChannelEvents: each claim is told once that there is an update for which it waits, and
// once that it gets it.
func TestChannelEvents(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 3, crossplanetest.InSteps)
	fleet.Tenants["c2"].SetSpec(`{"channel":"stable","argocd":{"chartVersion":"10.1.1"}}`)
	fleet.Step(time.Minute)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	got := map[string][]string{}
	for range 40 {
		fleet.Step(5 * time.Minute)
		for name, e := range fleet.Tenants {
			for _, r := range e.Response.GetResults() {
				if reason := r.GetReason(); strings.HasPrefix(reason, "Update") {
					got[name] = append(got[name], reason)
					if r.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
						t.Errorf("the claim doesn't get the event %s", r)
					}
				}
			}
		}
	}
	// Each has looked before it is assigned the revision.
	told := []string{v1alpha1.EventUpdateAvailable, v1alpha1.EventUpdateTaken}
	if want := map[string][]string{"c0": told, "c1": told}; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("want events %v, got %v", want, got)
	}
}

// TestChannelStuck: a channel that halts because changes don't end says why, which it learns while they are rolled out.
func TestChannelStuck(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 4, crossplanetest.InSteps)
	fleet.Stuck["10.2.0"] = "pod argocd-redis-1: container redis: ImagePullBackOff: Back-off pulling image \"redis:none\""
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(10, 20*time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 2, "10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionHalted, true, ` (Updating for more than 30m0s: "Deployment argocd-redis: pod argocd-redis-1: container redis: ImagePullBackOff: Back-off pulling image \"redis:none\""), team-a/c`)
	for name, e := range fleet.Tenants {
		if got := e.Status("message"); fleet.Version(name) == "10.2.0" && !strings.HasSuffix(got, fleet.Stuck["10.2.0"]) {
			t.Errorf("%s says %q", name, got)
		}
	}
}

// TestChannelFirst: those of the mandatory group have the offer before all others.
func TestChannelFirst(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.NewFleet(t)
	const rollout = `{"mandatoryGroup":{"matchLabels":{"tier":"internal"}},"steps":[{"percent":0,"minSuccessTime":"1h"},{"percent":100}]}`
	fleet.SetChannel("stable", crossplanetest.Offer("10.1.1", rollout))
	for i, tier := range []string{"internal", "customer", "customer"} {
		fleet.AddClaim(fmt.Sprintf("c%d", i), `{"channel":"stable"}`, `{"tier":"`+tier+`","crossplane.io/claim-name":"c"}`)
	}
	fleet.Settle(16, time.Minute)
	fleet.Settle(2, time.Hour)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", rollout))
	fleet.Settle(6, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 2, "10.2.0": 1})
	if got := fleet.Version("c0"); got != "10.2.0" {
		t.Errorf("want the internal tenant first, it has %s", got)
	}
	fleet.Settle(10, 20*time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 3})

	// Another group, whose labels are new.
	fleet.Tenants["c2"].XR().Fields["metadata"].GetStructValue().Fields["labels"] = crossplanetest.JSON(`{"ring":"zero"}`)
	fleet.Step(time.Minute)
	fleet.SetChannel("stable", crossplanetest.Offer("10.3.0", `{"mandatoryGroup":{"matchExpressions":[{"key":"ring","operator":"In","values":["zero"]}]},"steps":[{"percent":0,"minSuccessTime":"1h"},{"percent":100}]}`))
	fleet.Settle(12, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 2, "10.3.0": 1})
	if got := fleet.Version("c2"); got != "10.3.0" {
		t.Errorf("want the tenant first that is selected now, it has %s", got)
	}
}

// TestChannelNewerOffer: a claim that waits is told of each offer.
func TestChannelNewerOffer(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 1, crossplanetest.InSteps)
	for _, version := range []string{"10.2.0", "10.3.0"} {
		fleet.SetChannel("stable", strings.Replace(crossplanetest.Offer(version, crossplanetest.InSteps), "{", `{"paused":true,`, 1))
		fleet.Settle(3, time.Minute)
	}
	if got, want := updates(fleet.Tenants["c0"]), []string{v1alpha1.EventUpdateAvailable, v1alpha1.EventUpdateAvailable}; !slices.Equal(got, want) {
		t.Errorf("got the events %q, want %q", got, want)
	}
}

// TestChannelRests: Crossplane leaves a channel alone in which nothing changes, where it watches all that the function reads, until
// something is due.
func TestChannelRests(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 5, crossplanetest.InSteps)
	after := func(when string, want time.Duration) {
		t.Helper()
		e := fleet.Channels["stable"]
		e.Unwatched = fleet.Unwatched
		e.Reconcile()
		if got := e.Response.GetMeta().GetTtl().AsDuration(); got != want {
			t.Errorf("%s: Crossplane asks again after %s, want %s", when, got, want)
		}
	}
	after("complete", crossplanetest.TTLAtRest)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	after("a new offer", crossplanetest.TTL)
	fleet.Settle(6, time.Minute)
	fleet.Now = fleet.Now.Add(50 * time.Minute)
	if got := fleet.Channels["stable"].Call().GetMeta().GetTtl().AsDuration(); got <= 0 || got >= crossplanetest.TTLAtRest {
		t.Errorf("the soak ends soon, and Crossplane asks again after %s", got)
	}
	fleet.Settle(30, 10*time.Minute)
	after("complete again", crossplanetest.TTLAtRest)
	fleet.Unwatched = true
	after("not watched", crossplanetest.TTL)
}

// TestRevisionsStay: a revision that there is stays as it is written, whatever this version of the function would write.
func TestRevisionsStay(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 1, crossplanetest.InSteps)
	e := fleet.Channels["stable"]
	is := e.Observed("revision-1")
	other := strings.Replace(crossplanetest.Field(is, "data").Fields["revision"].GetStringValue(), `"number":1`, `"number": 1, "new":{}`, 1)
	for _, o := range []*structpb.Struct{is, fleet.Cluster[crossplanetest.Key(is)]} {
		crossplanetest.Field(o, "data").Fields["revision"] = structpb.NewStringValue(other)
	}
	fleet.Settle(2, time.Minute)
	if got := crossplanetest.Field(e.Observed("revision-1"), "data").Fields["revision"].GetStringValue(); got != other || e.StatusNumber("revision") != 1 {
		t.Errorf("revision %d: want %s, got %s", e.StatusNumber("revision"), other, got)
	}
	if !crossplanetest.Field(e.Observed("revision-1")).Fields["immutable"].GetBoolValue() {
		t.Error("it can be changed")
	}
}
