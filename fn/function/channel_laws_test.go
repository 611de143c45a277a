package function_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// FuzzChannel: whatever a channel's spec, a record of one of its tenants and its state say,
// and whatever of it is lost, the laws hold for it.
func FuzzChannel(f *testing.F) {
	fleet := crossplanetest.ReadyFleet(f, 3, crossplanetest.InSteps)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Settle(2, time.Minute)
	base := fleet.Channels["stable"]
	base.Call()
	base.SupplyRequired()
	for _, seed := range []struct{ spec, record, state string }{
		{crossplanetest.Offer("10.2.0", crossplanetest.InSteps), `{}`, ``},
		{`{}`, `{"tenant":"x","phase":"Ready","since":"2026-01-01T00:00:00Z"}`, `{"revision":3,"percent":100}`},
		{`{"paused":true,"offer":{"kubernetes":{"version":"v1.36.0"}}}`, `{"tenant":"x","revision":2,"wasReady":true,"phase":"Degraded","took":"2026-01-01T00:00:00Z"}`, `[]`},
		{`{"offer":{"argocd":{"values":{"server":null}}}}`, `{"tenant":1}`, `{"revision":-1,"failures":[{"tenant":"x","name":"a/x"}]}`},
		{`{"rollout":{"mandatoryGroup":{"matchLabels":{"a":"b"}},"steps":[{"percent":0},{"percent":100,"minSuccessTime":"1h"}],"progressDeadline":"1s"}}`, `{"tenant":"x","labels":{"a":"b"},"schedule":{"window":{"open":60,"days":1}}}`, `{"revision":1,"halted":{"at":"2026-01-01T00:00:00Z"}}`},
		{`{}`, `{"tenant":"x","schedule":{"window":{"open":60}}}`, ``},
		{`{"rollout":{"steps":[{"percent":101}]}}`, `""`, `{}`},
	} {
		f.Add(seed.spec, seed.record, seed.state, uint64(0))
	}
	f.Fuzz(func(t *testing.T, spec, record, state string, seed uint64) {
		req := proto.Clone(base.Request).(*fnv1.RunFunctionRequest)
		req.Observed.Composite.Resource.Fields["spec"] = crossplanetest.JSON(spec)
		if records := req.GetRequiredResources()["records"].GetItems(); len(records) > 0 {
			crossplanetest.Field(records[0].GetResource(), "data").Fields[tenant.RecordKey] = crossplanetest.JSON(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(record) + `"`)
		}
		if state != "" {
			crossplanetest.Field(req.GetObserved().GetResources()["state"].GetResource(), "data").Fields["state"] = crossplanetest.JSON(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(state) + `"`)
		}
		wreck(rand.New(rand.NewPCG(seed, 3)), req)
		if _, err := proto.Marshal(req); err != nil {
			t.Skip("not a request that gRPC would carry")
		}
		checkChannelLaws(t, base, req)
	})
}

// checkChannelLaws calls the function of an engine with a request about a channel, and reports every law its
// response breaks.
func checkChannelLaws(t testing.TB, e *crossplanetest.Engine, req *fnv1.RunFunctionRequest) {
	t.Helper()
	before := proto.Clone(req)
	rsp := answer(t, e, req)
	if !proto.Equal(before, req) {
		t.Error("the request was changed")
	}
	sameBytes(t, e, req, rsp)
	resources := rsp.GetDesired().GetResources()
	if msg := crossplanetest.Fatal(rsp); msg != "" {
		if strings.Contains(msg, "the function failed on this resource") {
			t.Error("the function panicked")
		}
		if !strings.Contains(msg, ":") {
			t.Errorf("a refusal names its field and what is wrong: %q", msg)
		}
		if len(resources) > 0 {
			t.Errorf("a refusal comes with %d resources: nothing is half done", len(resources))
		}
		return
	}
	for _, name := range []string{"state", "offer"} {
		if resources[name] == nil {
			t.Errorf("%s isn't desired: Crossplane would delete it", name)
		}
	}
	// Tenants' records are theirs, and so is all else.
	for name, r := range resources {
		meta := crossplanetest.Field(r.GetResource(), "metadata").GetFields()
		kind, of := r.GetResource().GetFields()["kind"].GetStringValue(), meta["name"].GetStringValue()
		switch {
		case kind == "EnvironmentConfig" && of == "virtual-argocd-channel-stable":
		case kind == "ConfigMap" && meta["namespace"].GetStringValue() == "crossplane-system" && (strings.HasPrefix(of, "vargo-assignment-") || strings.HasPrefix(of, "vargo-revision-stable-") || strings.HasPrefix(of, "vargo-channel-")):
		default:
			t.Errorf("%s is %s %s", name, kind, of)
		}
	}
	published := crossplanetest.Field(resources["offer"].GetResource(), "data").GetFields()
	if newest := fmt.Sprintf("revision-%v", published["revision"].GetNumberValue()); resources[newest] == nil {
		t.Errorf("there is no %s", newest)
	}
	for name, r := range resources {
		a := rollout.Assignment{}
		text := crossplanetest.Field(r.GetResource(), "data").GetFields()[tenant.AssignmentKey].GetStringValue()
		if json.Unmarshal([]byte(text), &a) == nil && a.Allows(a.Revision, crossplanetest.Start) && published["halted"].GetBoolValue() {
			t.Errorf("a channel that has halted lets a tenant begin: %s", name)
		}
	}
}
