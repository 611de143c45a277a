package channel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

var workflows = tenant.ComponentResource("workflows")

// withWorkflows returns five Ready tenants of a channel with a component, and the function that sets the input of all.
func withWorkflows(t *testing.T) (*crossplanetest.Fleet, func(input string)) {
	t.Helper()
	f := crossplanetest.NewFleet(t)
	f.SetChannel("stable", `{"rollout":`+crossplanetest.InSteps+`}`)
	for i := range 5 {
		f.AddClaim(fmt.Sprint("c", i), `{"channel":"stable","components":[{"name":"workflows","values":{"server":{"podAnnotations":{"c":"claim"}}}}]}`, `{}`)
	}
	input := func(input string) {
		f.SetInput(input)
		f.Channels["stable"].Request.Input = resource.MustStructJSON(input)
	}
	input(crossplanetest.Catalogue)
	f.Settle(12, time.Minute)
	checkWorkflows(t, f, map[string]int{"1.0.18": 5})
	return f, input
}

// checkWorkflows checks how many tenants have which version of the component.
func checkWorkflows(t *testing.T, f *crossplanetest.Fleet, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, e := range f.Tenants {
		got[tenant.WasComponent(tenant.Observed{XR: wire.Of(e.XR())}, "workflows").Version]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions: -want, +got:\n%s", diff)
	}
}

// TestChannelComponents: versions and values of components reach tenants as those of Argo CD do, a few first, whether the offer has them or the catalogue.
func TestChannelComponents(t *testing.T) {
	t.Parallel()
	f, input := withWorkflows(t)
	f.SetChannel("stable", `{"offer":{"components":[{"name":"workflows","chartVersion":"1.0.19","values":{"server":{"podAnnotations":{"a":"offer","b":"offer","c":"offer"}}}}]},"rollout":`+crossplanetest.InSteps+`}`)
	f.Settle(6, time.Minute)
	checkWorkflows(t, f, map[string]int{"1.0.18": 4, "1.0.19": 1})
	if got := crossplanetest.Field(f.Channels["stable"].XR(), "status", "versions", "components").GetFields()["workflows"].GetStringValue(); got != "1.0.19" {
		t.Errorf("the channel says that it offers %q", got)
	}
	told := false
	for _, e := range f.Tenants {
		told = told || strings.Contains(crossplanetest.Field(e.XR(), "status", "channel").GetFields()["message"].GetStringValue(), "would change: component workflows 1.0.18 to 1.0.19, values of component workflows (server.podAnnotations.a, server.podAnnotations.b)")
	}
	if !told {
		t.Error("no tenant is told what would change")
	}
	f.Settle(30, 10*time.Minute)
	checkWorkflows(t, f, map[string]int{"1.0.19": 5})
	// The catalogue's version is one of the revision, too, and the plan's values win over the offer's, as the claim's over both.
	f.Tenants["c0"].AddPlan("standard", `{"values":{"components":[{"name":"workflows","values":{"server":{"podAnnotations":{"b":"plan","c":"plan"}}}}]}}`)
	f.SetChannel("stable", `{"offer":{"components":[{"name":"workflows","values":{"server":{"podAnnotations":{"a":"offer","b":"offer","c":"offer"}}}}]},"rollout":`+crossplanetest.InSteps+`}`)
	input(strings.Replace(crossplanetest.Catalogue, "1.0.18", "1.0.20", 1))
	f.Settle(6, time.Minute)
	checkWorkflows(t, f, map[string]int{"1.0.19": 4, "1.0.20": 1})
	f.Settle(30, 10*time.Minute)
	checkWorkflows(t, f, map[string]int{"1.0.20": 5})
	is := wire.Of(f.Tenants["c3"].Observed(workflows)).Value("spec", "forProvider", "values", "server", "podAnnotations")
	if want := map[string]any{"a": "offer", "b": "plan", "c": "claim"}; !wire.Equal(is, want) {
		t.Errorf("want values %v, got %v", want, is)
	}
	// A mistake in the offer is the channel's.
	f.SetChannel("stable", `{"offer":{"components":[{"name":"workflow"}]}}`)
	f.Channels["stable"].CheckRefused(`spec.offer.components[0].name: "workflow" is unknown: did you mean workflows?`)
}

// TestChannelComponentsOfOthers: what a revision changes of a component changes nothing for a tenant that doesn't have it.
func TestChannelComponentsOfOthers(t *testing.T) {
	t.Parallel()
	f, _ := withWorkflows(t)
	f.AddClaim("without", `{"channel":"stable"}`, `{}`)
	f.Settle(12, time.Minute)
	f.SetChannel("stable", `{"offer":{"components":[{"name":"workflows","chartVersion":"1.0.19"}]},"rollout":`+crossplanetest.InSteps+`}`)
	f.Settle(6, time.Minute)
	checkWorkflows(t, f, map[string]int{"1.0.18": 4, "1.0.19": 1, "": 1})
	is := crossplanetest.Field(f.Tenants["without"].XR(), "status", "channel")
	if message := is.GetFields()["message"].GetStringValue(); message != "" || is.GetFields()["updateAvailable"].GetBoolValue() {
		t.Errorf("it waits for a revision that doesn't affect it: %s", message)
	}
}

// TestWindowOfComponents: without a channel, a new version in the catalogue waits for the maintenance window, and values of the catalogue don't.
func TestWindowOfComponents(t *testing.T) {
	t.Parallel()
	e := crossplanetest.New(t, `{"components":[{"name":"workflows"}],"maintenance":{"freeze":{"until":"2027-01-10"}}}`, crossplanetest.Catalogue).Install()
	e.Request.Input = resource.MustStructJSON(strings.NewReplacer("1.0.18", "1.0.19", `"replicas":1`, `"replicas":2`).Replace(crossplanetest.Catalogue))
	e.Cycle(2)
	is := wire.Of(e.Observed(workflows))
	if got := is.String("spec", "forProvider", "chart", "version"); got != "1.0.18" {
		t.Errorf("in a freeze it has %s", got)
	}
	if got := is.Int(0, "spec", "forProvider", "values", "controller", "replicas"); got != 2 {
		t.Errorf("the input's values: %d replicas", got)
	}
	e.SetSpec(`{"components":[{"name":"workflows"}]}`)
	if e.Cycle(2); wire.Of(e.Observed(workflows)).String("spec", "forProvider", "chart", "version") != "1.0.19" {
		t.Error("after the freeze it has the version before")
	}
}

// TestChannelHaltsForComponents: a revision that breaks a component is taken back, and goes no further.
func TestChannelHaltsForComponents(t *testing.T) {
	t.Parallel()
	f, _ := withWorkflows(t)
	f.SetChannel("stable", `{"offer":{"components":[{"name":"workflows","chartVersion":"1.0.19"}]},"rollout":{"maxConcurrency":1,"maxFailures":1}}`)
	failed := map[string]float64{}
	for range 20 {
		f.Step(time.Minute)
		for name, e := range f.Tenants {
			is := e.Observed(workflows)
			if wire.Of(is).String("spec", "forProvider", "chart", "version") != "1.0.19" {
				continue
			}
			crossplanetest.SetCondition(is, "Ready", "False", "Unavailable", "")
			failed[name] = min(failed[name]+1, 3)
			crossplanetest.SetAtProvider(is, `{"state":"failed","releaseDescription":"no","version":"1.0.19"}`)
			crossplanetest.Field(is, "status").Fields["failed"] = structpb.NewNumberValue(failed[name])
		}
	}
	if len(failed) != 1 {
		t.Errorf("the revision has broken %d tenants, want 1", len(failed))
	}
	f.CheckCondition("stable", v1alpha1.ConditionHalted, true, "chart argo-workflows 1.0.19 has failed 3 times")
}

// TestChannelAfterOwnMistake: a component whose last change, the claim's own, was taken back says nothing about a revision that comes later and
// doesn't change it.
func TestChannelAfterOwnMistake(t *testing.T) {
	t.Parallel()
	f, _ := withWorkflows(t)
	e := f.Tenants["c0"]
	fails := func(steps int) {
		for range steps {
			f.Step(time.Minute)
			is := e.Observed(workflows)
			if wire.Of(is).String("spec", "forProvider", "values", "server", "baseHref") != "broken" {
				continue
			}
			crossplanetest.SetCondition(is, "Ready", "False", "Unavailable", "")
			crossplanetest.SetAtProvider(is, `{"state":"deployed","releaseDescription":"rolled back","version":"1.0.18"}`)
			crossplanetest.Field(is, "status").Fields["failed"] = structpb.NewNumberValue(3)
		}
	}
	e.SetSpec(`{"channel":"stable","components":[{"name":"workflows","values":{"server":{"baseHref":"broken"}}}]}`)
	fails(20)
	if !release.IsTakenBack(wire.Composed{Struct: wire.Of(e.Observed(workflows))}) || e.Status("phase") != "Ready" {
		t.Fatalf("it isn't taken back: %s, %v", e.Status("phase"), wire.Of(e.Observed(workflows)).Strings("spec", "managementPolicies"))
	}
	f.SetChannel("stable", crossplanetest.Offer("10.2.0", `{"maxFailures":1}`))
	fails(60)
	f.CheckCondition("stable", v1alpha1.ConditionHalted, false, "")
	f.CheckVersions(map[string]int{"10.2.0": 5})
}
