package channel_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestChannelMistakesOfOthers: a mistake in a plan or in the input of tenants is no other offer, and neither is its correction.
func TestChannelMistakesOfOthers(t *testing.T) {
	t.Parallel()
	const in = `"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input"`
	fleet := crossplanetest.ReadyFleet(t, 2, crossplanetest.InSteps)
	fleet.SetInput(`{` + in + `,"charts":{"argocd":{"version":"10.2.0"}}}`)
	fleet.Tenants["c0"].AddPlan("standard", `{"quota":{"count/pods":"77"}}`, "default-plan=true")
	fleet.Tenants["c0"].AddPlan("small", `{"quota":{"count/pods":"55"}}`)
	fleet.Settle(30, 10*time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 2")
	offered := func() int64 { return fleet.Channels["stable"].StatusNumber("revision") }
	revision := offered()
	for name, tc := range map[string]struct {
		reason, says string
		input        string
		plan         string
		labels       []string
	}{
		"PlanField":      {reason: "An unknown field in a plan.", plan: `{"vcluster":{"quotas":{}}}`, says: "as they were before: small"},
		"PlanImpossible": {reason: "A plan that no tenant can have.", plan: `{"maintenance":{"timeWindow":{"begin":"22","end":"23"}}}`, says: "as they were before: small"},
		"InputField":     {reason: "An unknown field in the input of tenants.", input: `{` + in + `,"chart":{}}`, says: "in use"},
		"TwoDefaults":    {reason: "Two plans for claims that name none.", plan: `{"quota":{"count/pods":"55"}}`, labels: []string{"default-plan=true"}},
	} {
		t.Run(name, func(t *testing.T) {
			fleet.T = t
			if tc.input != "" {
				fleet.SetInput(tc.input)
			} else {
				fleet.Tenants["c0"].AddPlan("small", tc.plan, tc.labels...)
			}
			fleet.Settle(3, time.Minute)
			fleet.CheckCondition("stable", v1alpha1.ConditionSpecAccepted, true, tc.says)
			for _, when := range []string{"with it", "without it"} {
				if got := offered(); got != revision {
					t.Errorf("%s\nthe revision is %d %s, want %d", tc.reason, got, when, revision)
				}
				fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 2")
				fleet.SetInput(`{` + in + `,"charts":{"argocd":{"version":"10.2.0"}}}`)
				fleet.Tenants["c0"].AddPlan("small", `{"quota":{"count/pods":"55"}}`)
				fleet.Settle(3, time.Minute)
			}
			if _, _, message := fleet.ChannelCondition("stable", v1alpha1.ConditionSpecAccepted); message != "The channel's spec is in use" {
				t.Errorf("%s\nonce it is corrected the channel says %q", tc.reason, message)
			}
		})
	}
}

// TestChannelMistakeOfInput: while the input has a mistake, nothing else is looked at, and there is no revision with a plan's mistake in it.
func TestChannelMistakeOfInput(t *testing.T) {
	t.Parallel()
	const in = `"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.2.0"}}`
	fleet := crossplanetest.ReadyFleet(t, 2, crossplanetest.InSteps)
	set := func(input string) {
		fleet.SetInput(input)
		fleet.Channels["stable"].Request.Input = resource.MustStructJSON(input)
	}
	set(`{` + in + `}`)
	fleet.Tenants["c0"].AddPlan("small", `{"quota":{"count/pods":"55"}}`)
	fleet.Settle(30, 10*time.Minute)
	revision := fleet.Channels["stable"].StatusNumber("revision")
	set(`{` + in + `,"credentials":{"label":"none"}}`)
	fleet.Tenants["c0"].AddPlan("small", `{"vcluster":{"values":{"policies":{"networkPolicy":{"enabled":true}}}}}`)
	fleet.Settle(3, time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionSpecAccepted, false, "input.credentials.label")
	set(`{` + in + `}`)
	fleet.Settle(3, time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionSpecAccepted, true, "as they were before: small")
	if got := fleet.Channels["stable"].StatusNumber("revision"); got != revision {
		t.Errorf("the revision is %d, want %d: the plan has a mistake", got, revision)
	}
}

// TestEmptyPlanIsInTheRevision: a tenant that changes to a plan without content gets that of the revision, and not what is written into it later.
func TestEmptyPlanIsInTheRevision(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 2, `{}`)
	revision := fleet.Channels["stable"].StatusNumber("revision")
	fleet.Tenants["c0"].AddPlan("dev", `{}`)
	fleet.Settle(10, time.Minute)
	if got := fleet.Channels["stable"].StatusNumber("revision"); got != revision+1 {
		t.Errorf("the revision is %d, want %d, which has the plan", got, revision+1)
	}
}

// TestChannelMistakes: a mistake in a channel is said there, and its tenants keep what they
// have.
func TestChannelMistakes(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 2, `{}`)
	for name, tc := range map[string]struct{ spec, want string }{
		"UnknownAtTheTop":   {`{"ofer":{"argocd":{"chartVersion":"9.3.7"}}}`, "spec.ofer: there is no such field: did you mean offer?"},
		"UnknownField":      {`{"offer":{"argocd":{"version":"1"}}}`, "spec.offer.argocd.version: there is no such field"},
		"ImpossibleVersion": {`{"offer":{"vcluster":{"chartVersion":"0.1.0"}}}`, "spec.offer.vcluster.chartVersion: vcluster 0.1.0 is not supported"},
		"OldVCluster":       {`{"offer":{"vcluster":{"chartVersion":"0.34.1"}}}`, `spec.offer.vcluster.chartVersion: vcluster 0.34.1 doesn't support Kubernetes "v1.36`},
		"Range":             {`{"offer":{"argocd":{"chartVersion":"*"}}}`, "spec.offer.argocd.chartVersion"},
		"KubernetesTooNew":  {`{"offer":{"kubernetes":{"version":"v1.99.0"}}}`, "spec.offer.kubernetes.version"},
		"ProtectedValue":    {`{"offer":{"vcluster":{"values":{"policies":{"networkPolicy":{"enabled":true}}}}}}`, "spec.offer.vcluster.values.policies.networkPolicy"},
		"Rollout":           {`{"rollout":{"steps":[{"percent":50},{"percent":20}]}}`, "spec.rollout.steps[1].percent"},
		"NotAnObject":       {`{"offer":"all"}`, "spec.offer"},
		"FirstIsEverybody":  {`{"rollout":{"mandatoryGroup":{}}}`, "spec.rollout.mandatoryGroup: selects every claim"},
		"Namespaces":        {`{"namespaces":["team-b","Team A"]}`, `spec.namespaces[1]: "Team A" is neither a namespace nor a pattern`},
	} {
		t.Run(name, func(t *testing.T) {
			fleet.T = t
			events := len(fleet.Channels["stable"].Events)
			fleet.SetChannel("stable", tc.spec)
			fleet.Settle(3, time.Minute)
			if got := crossplanetest.Fatal(fleet.Channels["stable"].Response); !strings.HasPrefix(got, tc.want) {
				t.Errorf("want a mistake at %q, got %q", tc.want, got)
			}
			fleet.CheckCondition("stable", v1alpha1.ConditionSpecAccepted, false, tc.want)
			fleet.CheckCondition("stable", v1alpha1.ConditionProgressing, false, tc.want)
			fleet.CheckCondition("stable", v1alpha1.ConditionComplete, true, "all 2")
			if got := fleet.Channels["stable"].Events[events:]; len(got) != 1 || !strings.HasPrefix(got[0], "InvalidSpec: "+tc.want) {
				t.Errorf("want one event, got %v", got)
			}
			fleet.CheckVersions(map[string]int{"10.1.1": 2})
			for name, e := range fleet.Tenants {
				if e.Status("phase") != "Ready" || crossplanetest.Refusal(e.Response) != "" {
					t.Errorf("%s is %s: %s", name, e.Status("phase"), crossplanetest.Refusal(e.Response))
				}
			}
		})
	}
	fleet.T = t
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.Settle(10, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 2})
	fleet.CheckCondition("stable", v1alpha1.ConditionSpecAccepted, true, "in use")
	// What one tenant can't have, only that one lacks.
	fleet.Tenants["c0"].AddPlan("tiny", `{"limits":{"default":{"memory":"512Mi"}}}`)
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable","plan":"tiny"}`)
	fleet.Settle(4, time.Minute)
	fleet.SetChannel("stable", `{"offer":{"argocd":{"chartVersion":"10.3.0"},"vcluster":{"values":{"policies":{"limitRange":{"defaultRequest":{"memory":"600Mi"}}}}}}}`)
	said := ""
	// It is waited for half an hour.
	for range 45 {
		fleet.Step(time.Minute)
		if _, text, ok := strings.Cut(fleet.Tenants["c0"].Status("channel", "message"), "; "); ok {
			said = text
		}
	}
	fleet.CheckVersions(map[string]int{"10.2.0": 1, "10.3.0": 1})
	if !strings.HasPrefix(said, "can't use the revision: plan tiny: spec.limits.default.memory: is 512Mi, less than 600Mi of channel stable") || fleet.Tenants["c0"].Status("phase") != "Ready" {
		t.Errorf("a tenant that can't have the offer says %q, and is %s", said, fleet.Tenants["c0"].Status("phase"))
	}
	fleet.Settle(2, time.Minute)
	fleet.CheckCondition("stable", v1alpha1.ConditionComplete, false, "didn't begin in time, and are passed over: team-a/c0")
}

// TestChannelMistakesAtOnce: one message has all mistakes of a channel, each with the path of its field on the channel.
func TestChannelMistakesAtOnce(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 1, `{}`)
	fleet.SetChannel("stable", `{
		"namespaces":["Team A"],
		"rollout":{"progressDeadline":"0s","mandatoryGroup":{},"steps":[{"percent":50,"minSuccessTime":"1d"},{"percent":20}]},
		"offer":{"argocd":{"chartVersion":"*"},"kubernetes":{"version":"v1.99.0"}}}`)
	fleet.Settle(3, time.Minute)
	_, _, message := fleet.ChannelCondition("stable", v1alpha1.ConditionSpecAccepted)
	var got []string
	for _, mistake := range strings.Split(message, "; (") {
		field, _, _ := strings.Cut(mistake, ": ")
		_, numbered, isNumbered := strings.Cut(field, ") ")
		if isNumbered {
			field = numbered
		}
		got = append(got, field)
	}
	want := []string{
		"spec.namespaces[0]", "spec.rollout.progressDeadline", "spec.rollout.mandatoryGroup", "spec.rollout.steps[0].minSuccessTime", "spec.rollout.steps[1].percent",
		"spec.offer.argocd.chartVersion", "spec.offer.kubernetes.version",
	}
	if !slices.Equal(got, want) {
		t.Errorf("want mistakes of\n%v, got\n%v:\n%s", want, got, message)
	}
}
