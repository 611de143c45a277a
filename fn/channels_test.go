package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A world is a host with several tenants and channels, which see each other's objects.
type world struct {
	t        testing.TB
	now      time.Time
	cluster  map[string]*structpb.Struct
	tenants  map[string]*engine
	channels map[string]*engine
	// broken says that a version of the argo-cd chart doesn't start.
	broken map[string]bool
	// seen are the events of all channels.
	seen []string
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, now: testNow, tenants: map[string]*engine{}, channels: map[string]*engine{}, broken: map[string]bool{}}
	w.cluster = newEngine(t, tenantXR(`{}`), "").cluster
	w.input(`{}`)
	return w
}

// input is the function's input in the Composition of tenants.
func (w *world) input(input string) {
	w.cluster["Composition//virtual-argocd"] = resource.MustStructJSON(`{"apiVersion":"apiextensions.crossplane.io/v1","kind":"Composition",
		"metadata":{"name":"virtual-argocd"},"spec":{"pipeline":[{"step":"a","input":` + input + `}]}}`)
	for _, e := range w.tenants {
		e.req.Input = resource.MustStructJSON(input)
	}
}

func (w *world) engine(xr string) *engine {
	e := newEngine(w.t, xr, "")
	e.cluster = w.cluster
	e.f.now = func() time.Time { return w.now }
	return e
}

// claim claims a tenant; labels are the claim's, as JSON.
func (w *world) claim(name, spec, labels string) *engine {
	w.t.Helper()
	xr := strings.NewReplacer(`"name":"customer1"`, `"name":"`+name+`"`, `"name":"customer1-7rw8j"`, `"labels":`+labels+`,"name":"`+name+`"`, "1f0d7d2c", "uid-"+name).Replace(tenantXR(spec))
	w.tenants[name] = w.engine(xr)
	return w.tenants[name]
}

// spec changes what a claim says.
func (w *world) spec(name, spec string) {
	w.t.Helper()
	e := w.tenants[name]
	e.spec(spec)
	field(e.xr(), "spec", "claimRef").Fields["name"] = structpb.NewStringValue(name)
}

// offer makes a channel, or changes its spec.
func (w *world) offer(name, spec string) {
	w.t.Helper()
	xr := `{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XArgoCDChannel","metadata":{"name":"` + name + `","uid":"uid-` + name + `"},"spec":` + spec + `}`
	if w.channels[name] == nil {
		w.channels[name] = w.engine(xr)
		return
	}
	w.channels[name].xr().Fields["spec"] = resource.MustStructJSON(xr).GetFields()["spec"]
}

// remove deletes a channel with all that is composed for it.
func (w *world) remove(name string) {
	for _, o := range w.channels[name].req.GetObserved().GetResources() {
		delete(w.cluster, key(o.GetResource()))
	}
	delete(w.channels, name)
}

func key(o *structpb.Struct) string {
	meta := field(o, "metadata").GetFields()
	return o.GetFields()["kind"].GetStringValue() + "/" + meta["namespace"].GetStringValue() + "/" + meta["name"].GetStringValue()
}

// reconcileChannel does what Crossplane does with a channel.
func (w *world) reconcileChannel(e *engine) {
	w.t.Helper()
	rsp := e.call()
	e.rsp = rsp
	for _, c := range rsp.GetConditions() {
		setCondition(e.xr(), c.GetType(), map[fnv1.Status]string{fnv1.Status_STATUS_CONDITION_TRUE: "True"}[c.GetStatus()], c.GetReason(), c.GetMessage())
	}
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() != fnv1.Severity_SEVERITY_FATAL {
			w.seen = append(w.seen, r.GetReason()+": "+r.GetMessage())
		}
	}
	if fatal(rsp) != "" {
		return
	}
	conditions := field(e.xr(), "status").GetFields()["conditions"]
	e.xr().Fields["status"] = structpb.NewStructValue(proto.Clone(field(rsp.GetDesired().GetComposite().GetResource(), "status")).(*structpb.Struct))
	field(e.xr(), "status").Fields["conditions"] = conditions
	observed := e.req.GetObserved().GetResources()
	for name, o := range observed {
		if rsp.GetDesired().GetResources()[name] == nil {
			delete(w.cluster, key(o.GetResource()))
			delete(observed, name)
		}
	}
	for name, d := range rsp.GetDesired().GetResources() {
		o := proto.Clone(d.GetResource()).(*structpb.Struct)
		observed[name] = &fnv1.Resource{Resource: o}
		w.cluster[key(o)] = o
	}
}

// step lets everybody work once, and time pass.
func (w *world) step(d time.Duration) {
	w.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(w.channels)) {
		w.reconcileChannel(w.channels[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.tenants)) {
		e := w.tenants[name]
		e.reconcile()
		k := "ConfigMap/crossplane-system/" + name + "-channel"
		delete(w.cluster, k)
		if r := e.req.GetObserved().GetResources()[tenant.ChannelRecord]; r != nil {
			o := proto.Clone(r.GetResource()).(*structpb.Struct)
			field(o, "metadata").Fields["ownerReferences"] = jsonValue(`[{"uid":"uid-` + name + `","controller":true}]`)
			w.cluster[k] = o
		}
		if w.heals(e); w.broken[w.version(name)] {
			e.setReplicas("argocd-server", 0)
		}
	}
	w.now = w.now.Add(d)
}

// heals does the providers' work on a tenant.
func (w *world) heals(e *engine) { e.heal() }

// settle lets everybody work until enough has passed.
func (w *world) settle(steps int, d time.Duration) {
	w.t.Helper()
	for range steps {
		w.step(d)
	}
}

// version of the argo-cd chart that a tenant is to run.
func (w *world) version(name string) string {
	o := w.tenants[name].req.GetObserved().GetResources()[tenant.ArgoCDRelease].GetResource()
	return field(o, "spec", "forProvider", "chart").GetFields()["version"].GetStringValue()
}

// versions is how many tenants are to run each version.
func (w *world) versions() map[string]int {
	n := map[string]int{}
	for name := range w.tenants {
		n[w.version(name)]++
	}
	return n
}

// is returns a condition of a channel.
func (w *world) is(channel, typ string) (status bool, reason, message string) {
	for _, c := range field(w.channels[channel].xr(), "status").GetFields()["conditions"].GetListValue().GetValues() {
		if of := c.GetStructValue().GetFields(); of["type"].GetStringValue() == typ {
			return of["status"].GetStringValue() == "True", of["reason"].GetStringValue(), of["message"].GetStringValue()
		}
	}
	return false, "", ""
}

func (w *world) want(versions map[string]int) {
	w.t.Helper()
	if got := w.versions(); !maps.Equal(got, versions) {
		w.t.Errorf("want tenants with these versions of the chart: %v, got %v", versions, got)
	}
}

func (w *world) wantCondition(channel, typ string, status bool, message string) {
	w.t.Helper()
	if is, reason, text := w.is(channel, typ); is != status || !strings.Contains(text, message) {
		w.t.Errorf("channel %s: want %s=%t with %q, got %t, %s: %s", channel, typ, status, message, is, reason, text)
	}
}

func offer(version, rollout string) string {
	return `{"offer":{"argocd":{"chartVersion":"` + version + `"}},"rollout":` + rollout + `}`
}

const inSteps = `{"steps":[{"percent":20,"soak":"1h"},{"percent":100}],"maxUpdating":2,"haltAfter":{"degraded":2}}`

// fleet is a world with Ready tenants in channel stable, which have what it offers.
func fleet(t testing.TB, n int, rollout string) *world {
	w := newWorld(t)
	w.offer("stable", offer("10.1.1", rollout))
	w.step(time.Second)
	for i := range n {
		w.claim(fmt.Sprintf("c%d", i), `{"channel":"stable"}`, `{"tier":"customer"}`)
	}
	w.settle(14, time.Minute)
	w.settle(2, time.Hour)
	for name, e := range w.tenants {
		if e.status("phase") != "Ready" {
			t.Fatalf("tenant %s is %s: %s", name, e.status("phase"), e.status("message"))
		}
	}
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all")
	return w
}

// TestChannelGoodOffer: a good offer reaches some first, and all in the end.
func TestChannelGoodOffer(t *testing.T) {
	w := fleet(t, 5, inSteps)
	w.offer("stable", offer("10.2.0", inSteps))
	w.settle(6, time.Minute)
	w.want(map[string]int{"10.1.1": 4, "10.2.0": 1})
	w.wantCondition("stable", v1alpha1.ConditionProgressing, true, "soaks")
	for name, e := range w.tenants {
		if has := w.version(name) == "10.2.0"; field(e.xr(), "status", "channel").GetFields()["updateAvailable"].GetBoolValue() == has {
			t.Errorf("%s with %s says of its channel: %v", name, w.version(name), field(e.xr(), "status", "channel"))
		}
	}
	w.settle(30, 10*time.Minute)
	w.want(map[string]int{"10.2.0": 5})
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 5 tenants have the offer")
	if updated := field(w.channels["stable"].xr(), "status", "tenants").GetFields()["updated"].GetNumberValue(); updated != 5 {
		t.Errorf("want 5 tenants updated, got %v", updated)
	}
}

// TestChannelBadOffer: a bad offer breaks as many as haltAfter says, nobody else is touched,
// and the halt outlives lost state. An edit goes on.
func TestChannelBadOffer(t *testing.T) {
	w := fleet(t, 6, inSteps)
	before := map[string]*structpb.Struct{}
	for name, e := range w.tenants {
		before[name] = proto.Clone(field(e.observed(tenant.ArgoCDRelease), "spec")).(*structpb.Struct)
	}
	w.broken["10.2.0"] = true
	w.offer("stable", offer("10.2.0", inSteps))
	w.settle(60, 10*time.Minute)
	w.want(map[string]int{"10.1.1": 4, "10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	for name, e := range w.tenants {
		if w.version(name) == "10.1.1" && !proto.Equal(before[name], field(e.observed(tenant.ArgoCDRelease), "spec")) {
			t.Errorf("%s was touched", name)
		}
	}
	if !slices.ContainsFunc(w.seen, func(e string) bool { return strings.HasPrefix(e, v1alpha1.ReasonTenantsBroken+": ") }) {
		t.Errorf("want an event of the halt, got %v", w.seen)
	}
	delete(w.channels["stable"].req.Observed.Resources, "state")
	w.settle(20, 10*time.Minute)
	w.want(map[string]int{"10.1.1": 4, "10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")

	// New tenants don't get what has halted.
	w.claim("late", `{"channel":"stable"}`, `{}`)
	w.settle(14, time.Minute)
	if got := w.version("late"); got != "10.1.1" {
		t.Errorf("a new tenant begins with %s while the offer is halted", got)
	}
	w.offer("stable", offer("10.2.1", inSteps))
	w.settle(60, 10*time.Minute)
	w.want(map[string]int{"10.2.1": 7})
	w.wantCondition("stable", v1alpha1.ConditionHalted, false, "")
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "")
}
