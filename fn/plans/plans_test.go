package plans

import (
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// object is a plan or a channel.
func object(kind, name, rest string) *structpb.Struct {
	return resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"` + kind + `","metadata":{"name":"` + name + `","labels":{"virtualargocd.io/default-plan":"true"}}` + rest + `}`)
}

func found(objects ...*structpb.Struct) *fnv1.Resources {
	out := &fnv1.Resources{}
	for _, o := range objects {
		out.Items = append(out.Items, &fnv1.Resource{Resource: o})
	}
	return out
}

// TestAnswer: a plan says whether claims can use it, why not, and what it comes to.
func TestAnswer(t *testing.T) {
	large := object("XArgoCDPlan", "large", "")
	for name, tc := range map[string]struct {
		spec, status       string
		defaults, channels *fnv1.Resources
		accepted, message  string
		event              bool
		cpu                string
	}{
		"Empty":          {spec: `{}`, defaults: found(large), accepted: "True", message: "Claims can use the plan", cpu: "80"},
		"Quota":          {spec: `{"quota":{"limits.cpu":"30"}}`, defaults: found(), accepted: "True", message: "Claims can use the plan", cpu: "30"},
		"OfCrossplane":   {spec: `{"compositionRef":{"name":"a"},"resourceRefs":[]}`, defaults: found(large), accepted: "True", message: "Claims can use the plan", cpu: "80"},
		"Mistake":        {spec: `{"quota":{"limit.cpu":"30"}}`, defaults: found(large), accepted: "False", message: "spec.quota.limit.cpu: is no resource: write one of ", event: true},
		"MistakeAgain":   {spec: `{"versions":{"kubernetes":["a"]}}`, status: `{"type":"SpecAccepted","status":"False","reason":"InvalidSpec","message":"spec.versions.kubernetes[0]: \"a\" is neither a version nor a range: write one such as 1.35.4, ~1.35 or \">=9.3.0 <10\""}`, defaults: found(large), accepted: "False", message: "spec.versions.kubernetes[0]: "},
		"Mended":         {spec: `{}`, status: `{"type":"SpecAccepted","status":"False","reason":"InvalidSpec","message":"a"}`, defaults: found(large), accepted: "True", message: "Claims can use the plan", event: true, cpu: "80"},
		"Window":         {spec: `{"maintenance":{"timeWindow":{"begin":"22","end":"23"}}}`, defaults: found(large), accepted: "False", message: "spec.maintenance.timeWindow.begin: ", event: true},
		"TwoDefaults":    {spec: `{}`, defaults: found(object("XArgoCDPlan", "small", ""), large), accepted: "False", message: "metadata.labels: large and small all have the label virtualargocd.io/default-plan", event: true, cpu: "80"},
		"OthersDefaults": {spec: `{}`, defaults: found(object("XArgoCDPlan", "small", ""), object("XArgoCDPlan", "tiny", "")), accepted: "True", message: "Claims can use the plan", cpu: "80"},
		"NoChannel":      {spec: `{"channel":"stable"}`, defaults: found(large), channels: found(), accepted: "False", message: `spec.channel: there is no XArgoCDChannel "stable": create it`, event: true, cpu: "80"},
		"Channel":        {spec: `{"channel":"stable"}`, defaults: found(large), channels: found(object("XArgoCDChannel", "stable", "")), accepted: "True", message: "Claims can use the plan", cpu: "80"},
	} {
		t.Run(name, func(t *testing.T) {
			req := &fnv1.RunFunctionRequest{
				Observed:          &fnv1.State{Composite: &fnv1.Resource{Resource: object("XArgoCDPlan", "large", `,"spec":`+tc.spec+`,"status":{"conditions":[`+tc.status+`]}`)}},
				RequiredResources: map[string]*fnv1.Resources{RequiredDefaults: tc.defaults},
			}
			if tc.channels != nil {
				req.RequiredResources[requiredChannel] = tc.channels
			}
			rsp := response.To(req, time.Minute)
			err := Answer(req, rsp, time.Hour)
			if (err == nil) != (tc.accepted == "True") {
				t.Errorf("got error %v", err)
			}
			if len(rsp.GetConditions()) != 1 {
				t.Fatalf("want one condition, got %v", rsp.GetConditions())
			}
			is := rsp.GetConditions()[0]
			if status := map[fnv1.Status]string{fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_FALSE: "False"}[is.GetStatus()]; status != tc.accepted || !strings.HasPrefix(is.GetMessage(), tc.message) {
				t.Errorf("want %s, %s, got %s, %s", tc.accepted, tc.message, status, is.GetMessage())
			}
			if event := len(rsp.GetResults()) == 1; event != tc.event {
				t.Errorf("want an event: %t, got %v", tc.event, rsp.GetResults())
			}
			if got := wire.Of(rsp.GetDesired().GetComposite().GetResource()).String("status", "quota", "cpu"); got != tc.cpu {
				t.Errorf("want limits.cpu %q in the status, got %q", tc.cpu, got)
			}
			// Crossplane can't apply an object without fields in place of one with fields.
			if has := wire.Of(rsp.GetDesired().GetComposite().GetResource()).Has("status", "quota"); has != (tc.cpu != "") {
				t.Errorf("it has a quota: %t", has)
			}
			if rsp.GetMeta().GetTtl().AsDuration() != time.Hour || rsp.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_TRUE {
				t.Error("it isn't at rest")
			}
		})
	}
}

// TestUnread: nothing is said of a plan before Crossplane has looked for what the answer depends on.
func TestUnread(t *testing.T) {
	req := &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: object("XArgoCDPlan", "large", `,"spec":{"channel":"stable"}`)}}}
	rsp := response.To(req, time.Minute)
	if err := Answer(req, rsp, time.Hour); err != nil || len(rsp.GetConditions()) > 0 {
		t.Errorf("got %v, %v", err, rsp.GetConditions())
	}
	if r := rsp.GetRequirements().GetResources(); r[requiredChannel].GetMatchName() != "stable" || r[RequiredDefaults].GetMatchLabels() == nil {
		t.Errorf("want the channel and the default plans, got %v", r)
	}
}

// TestProvidersTested: a plan says which provider has a version that isn't tested, and stays accepted.
func TestProvidersTested(t *testing.T) {
	const helm, kubernetes = "xpkg.crossplane.io/crossplane-contrib/provider-helm:v1.3.0", "registry.example.org:5000/ours/provider-kubernetes:v1.3.0"
	for name, tc := range map[string]struct {
		packages        []string
		status          fnv1.Status
		reason, message string
	}{
		"Tested":  {[]string{"a/provider-aws:v2.0.0", helm, kubernetes}, fnv1.Status_STATUS_CONDITION_TRUE, "Tested", "provider-helm v1.3.0 and provider-kubernetes v1.3.0 are what is tested"},
		"Another": {[]string{helm, "a/provider-kubernetes:v1.4.0"}, fnv1.Status_STATUS_CONDITION_FALSE, "Untested", "provider-kubernetes v1.4.0 isn't tested, but v1.3.0"},
		"Both": {[]string{"a/provider-helm:v0.21.0", "a/provider-kubernetes:v1.4.0"}, fnv1.Status_STATUS_CONDITION_FALSE, "Untested",
			"provider-helm v0.21.0 isn't tested, but v1.3.0; provider-kubernetes v1.4.0 isn't tested, but v1.3.0"},
		"OursBesideAnother": {[]string{helm, kubernetes, "b/provider-helm:v1.2.0"}, fnv1.Status_STATUS_CONDITION_FALSE, "Untested", "provider-helm v1.2.0 isn't tested, but v1.3.0"},
		"Digest": {[]string{helm, "a/provider-kubernetes@sha256:abc"}, fnv1.Status_STATUS_CONDITION_UNKNOWN, "VersionUnknown",
			"the version of provider-kubernetes isn't known, because its digest names it: v1.3.0 is tested"},
		"TagAndDigest": {[]string{helm + "@sha256:abc", kubernetes}, fnv1.Status_STATUS_CONDITION_TRUE, "Tested", "provider-helm v1.3.0 and provider-kubernetes v1.3.0 are what is tested"},
		"None":         {[]string{helm}, fnv1.Status_STATUS_CONDITION_UNKNOWN, "VersionUnknown", "there is no Provider with the package provider-kubernetes, of which v1.3.0 is tested"},
	} {
		t.Run(name, func(t *testing.T) {
			installed := &fnv1.Resources{}
			for _, p := range tc.packages {
				installed.Items = append(installed.Items, &fnv1.Resource{Resource: resource.MustStructJSON(`{"apiVersion":"pkg.crossplane.io/v1","kind":"Provider","metadata":{"name":"a"},"spec":{"package":"` + p + `"}}`)})
			}
			req := &fnv1.RunFunctionRequest{
				Observed:          &fnv1.State{Composite: &fnv1.Resource{Resource: object("XArgoCDPlan", "large", `,"spec":{}`)}},
				RequiredResources: map[string]*fnv1.Resources{RequiredDefaults: found(), requiredProviders: installed},
			}
			rsp := response.To(req, time.Minute)
			if err := Answer(req, rsp, time.Hour); err != nil || len(rsp.GetConditions()) != 2 || len(rsp.GetResults()) > 0 {
				t.Fatalf("got %v, %v, %v", err, rsp.GetConditions(), rsp.GetResults())
			}
			if is := rsp.GetConditions()[1]; is.GetType() != "ProvidersTested" || is.GetStatus() != tc.status || is.GetReason() != tc.reason || is.GetMessage() != tc.message {
				t.Errorf("got %v", is)
			}
		})
	}
}
