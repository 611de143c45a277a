package main

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/fn/channel"
)

// FuzzChannel: whatever a channel's spec, a record of one of its tenants and its state say,
// and whatever of it is lost, the laws hold for it.
func FuzzChannel(f *testing.F) {
	w := fleet(f, 3, inSteps)
	w.offer("stable", offer("10.2.0", inSteps))
	w.settle(2, time.Minute)
	base := w.channels["stable"]
	base.call()
	base.hand()
	fn := base.f
	for _, seed := range []struct{ spec, record, state string }{
		{offer("10.2.0", inSteps), `{}`, ``},
		{`{}`, `{"tenant":"x","phase":"Ready","since":"2026-01-01T00:00:00Z"}`, `{"state":{"offer":"a","percent":100}}`},
		{`{"paused":true,"offer":{"kubernetes":{"version":"v1.36.0"}}}`, `{"tenant":"x","accepted":"a","before":"Ready","phase":"Degraded","changed":"2026-01-01T00:00:00Z"}`, `[]`},
		{`{"offer":{"argocd":{"values":{"server":null}}}}`, `{"tenant":1}`, `{"state":{"admitted":[{"tenant":"x","offer":"a","until":"2026-01-02T03:30:00Z"}]}}`},
		{`{"rollout":{"first":{"matchLabels":{"a":"b"}},"steps":[{"percent":0},{"percent":100,"soak":"1h"}],"haltAfter":{"stuckFor":"1s"}}}`, `{"tenant":"x","labels":{"a":"b"},"schedule":{"window":{"open":60,"days":1}}}`, `{"state":{"halted":{"at":"2026-01-01T00:00:00Z"}}}`},
		{`{}`, `{"tenant":"x","schedule":{"window":{"open":60}}}`, ``},
		{`{"rollout":{"steps":[{"percent":101}]}}`, `""`, `{}`},
	} {
		f.Add(seed.spec, seed.record, seed.state, uint64(0))
	}
	f.Fuzz(func(t *testing.T, spec, record, state string, seed uint64) {
		req := proto.Clone(base.req).(*fnv1.RunFunctionRequest)
		req.Observed.Composite.Resource.Fields["spec"] = jsonValue(spec)
		if records := req.GetRequiredResources()["records"].GetItems(); len(records) > 0 {
			field(records[0].GetResource(), "data").Fields[channel.RecordKey] = jsonValue(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(record) + `"`)
		}
		if state != "" {
			field(req.GetObserved().GetResources()["state"].GetResource(), "data").Fields[channel.StateKey] = jsonValue(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(state) + `"`)
		}
		wreck(rand.New(rand.NewPCG(seed, 3)), req)
		if _, err := proto.Marshal(req); err != nil {
			t.Skip("not a request that gRPC would carry")
		}
		checkChannelLaws(t, fn, req)
	})
}

// checkChannelLaws runs the function on a request about a channel, and reports every law its
// response breaks.
func checkChannelLaws(t testing.TB, f *Function, req *fnv1.RunFunctionRequest) {
	t.Helper()
	before := proto.Clone(req)
	rsp := answer(t, f, req)
	if !proto.Equal(before, req) {
		t.Error("the request was changed")
	}
	sameBytes(t, f, req, rsp)
	resources := rsp.GetDesired().GetResources()
	if msg := fatal(rsp); msg != "" {
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
		meta := field(r.GetResource(), "metadata").GetFields()
		kind, of := r.GetResource().GetFields()["kind"].GetStringValue(), meta["name"].GetStringValue()
		switch {
		case kind == "EnvironmentConfig" && of == "virtual-argocd-channel-stable":
		case kind == "ConfigMap" && meta["namespace"].GetStringValue() == "crossplane-system" && (strings.HasPrefix(of, "vargo-admission-") || strings.HasPrefix(of, "vargo-channel-")):
		default:
			t.Errorf("%s is %s %s", name, kind, of)
		}
	}
	if halted := field(resources["offer"].GetResource(), "data").GetFields()["halted"].GetBoolValue(); halted && len(resources) > 2 {
		t.Errorf("a channel that has halted admits %d tenants", len(resources)-2)
	}
}
