package function

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// A world is a host with several tenants and channels, which see each other's objects.
type world struct {
	t        testing.TB
	now      time.Time
	cluster  map[string]*structpb.Struct
	tenants  map[string]*engine
	channels map[string]*engine
	// unwatched: Crossplane watches nothing that functions read, as before 2.4.
	unwatched bool
	// broken says with which versions of the argo-cd chart and of Kubernetes Argo CD doesn't start.
	broken map[string]bool
	// stuck says why pods of a version of the argo-cd chart don't start while Helm waits for them.
	stuck map[string]string
	// cured are tenants whose Argo CD starts all the same.
	cured map[string]bool
	// seen are the events of all channels.
	seen []string
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, now: testNow, tenants: map[string]*engine{}, channels: map[string]*engine{}, broken: map[string]bool{}, cured: map[string]bool{}, stuck: map[string]string{}}
	w.cluster = newEngine(t, tenantXR(`{}`), "").cluster
	w.input(`{}`)
	return w
}

// input is the function's input in the Composition of tenants.
func (w *world) input(input string) {
	w.cluster["Composition//virtual-argocd"] = resource.MustStructJSON(`{"apiVersion":"apiextensions.crossplane.io/v1","kind":"Composition",
		"metadata":{"name":"virtual-argocd"},"spec":{"compositeTypeRef":{"kind":"XVirtualArgoCD"},"pipeline":[{"step":"a","input":` + input + `}]}}`)
	for _, e := range w.tenants {
		e.req.Input = resource.MustStructJSON(input)
	}
}

func (w *world) engine(xr string) *engine {
	e := newEngine(w.t, xr, "")
	e.cluster, e.unwatched = w.cluster, w.unwatched
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
		w.reconcileTenant(name)
	}
	w.now = w.now.Add(d)
}

// reconcileTenant does what Crossplane and the providers do with a tenant.
func (w *world) reconcileTenant(name string) {
	w.t.Helper()
	e := w.tenants[name]
	e.reconcile()
	k := "ConfigMap/crossplane-system/" + name + "-channel"
	delete(w.cluster, k)
	if r := e.req.GetObserved().GetResources()[tenant.ChannelRecord]; r != nil {
		o := proto.Clone(r.GetResource()).(*structpb.Struct)
		field(o, "metadata").Fields["ownerReferences"] = jsonValue(`[{"uid":"uid-` + name + `","controller":true}]`)
		w.cluster[k] = o
	}
	if w.heals(e); !w.cured[name] && (w.broken[w.version(name)] || w.broken[w.kubernetes(name)]) {
		e.setReplicas("argocd-server", 0)
	}
	if why := w.stuck[w.version(name)]; why != "" {
		e.rolling(tenant.ArgoCDRelease)
		e.setRecord(tenant.ArgoCDRelease, "10.1.1")
		e.setWorkload("argocd-redis", func(w *proxy.Workload) { w.Available, w.Why = false, why })
	}
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

// kubernetes is the version of Kubernetes that a tenant is to run.
func (w *world) kubernetes(name string) string {
	o := w.tenants[name].req.GetObserved().GetResources()[tenant.VClusterRelease].GetResource()
	return field(o, "spec", "forProvider", "values", "controlPlane", "distro", "k8s").GetFields()["version"].GetStringValue()
}

// versions is how many tenants are to run each version.
func (w *world) versions() map[string]int {
	n := map[string]int{}
	for name := range w.tenants {
		n[w.version(name)]++
	}
	return n
}

// replicas of Argo CD's API server that a tenant is to have.
func replicas(e *engine) float64 {
	return values.At[float64](field(e.observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap(), "server", "replicas")
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

const inSteps = `{"steps":[{"percent":20,"minSuccessTime":"1h"},{"percent":100}],"maxConcurrency":2,"maxFailures":2}`

// fleets are the worlds that fleet has made, which take seconds to come up.
var fleets = struct {
	sync.Mutex
	of map[string]*world
}{of: map[string]*world{}}

// fleet is a world with Ready tenants in channel stable, which have what it offers.
func fleet(t testing.TB, n int, rollout string) *world {
	t.Helper()
	fleets.Lock()
	defer fleets.Unlock()
	key := fmt.Sprint(n, rollout)
	if fleets.of[key] == nil {
		fleets.of[key] = newFleet(t, n, rollout)
	}
	return fleets.of[key].fork(t)
}

// fork returns another world that is as this one, and goes on by itself.
func (w *world) fork(t testing.TB) *world {
	other := newWorld(t)
	other.now, other.seen = w.now, slices.Clone(w.seen)
	clear(other.cluster)
	for key, o := range w.cluster {
		other.cluster[key] = proto.Clone(o).(*structpb.Struct)
	}
	for into, engines := range map[*map[string]*engine]map[string]*engine{&other.tenants: w.tenants, &other.channels: w.channels} {
		for name, e := range engines {
			o := e.fork()
			o.t, o.f, o.cluster = t, New(newLog(), nil), other.cluster
			o.f.now = func() time.Time { return other.now }
			(*into)[name] = o
		}
	}
	return other
}

func newFleet(t testing.TB, n int, rollout string) *world {
	t.Helper()
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
	t.Parallel()
	w := fleet(t, 5, inSteps)
	w.offer("stable", offer("10.2.0", inSteps))
	w.settle(6, time.Minute)
	w.want(map[string]int{"10.1.1": 4, "10.2.0": 1})
	w.wantCondition("stable", v1alpha1.ConditionProgressing, true, "for minSuccessTime")
	for name, e := range w.tenants {
		if has := w.version(name) == "10.2.0"; field(e.xr(), "status", "channel").GetFields()["updateAvailable"].GetBoolValue() == has {
			t.Errorf("%s with %s says of its channel: %v", name, w.version(name), field(e.xr(), "status", "channel"))
		}
	}
	w.settle(30, 10*time.Minute)
	w.want(map[string]int{"10.2.0": 5})
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 5 tenants have revision")
	if updated := field(w.channels["stable"].xr(), "status", "tenants").GetFields()["succeeded"].GetNumberValue(); updated != 5 {
		t.Errorf("want 5 tenants updated, got %v", updated)
	}
}

// TestChannelEvents: each claim is told once that there is an update for which it waits, and
// once that it gets it.
func TestChannelEvents(t *testing.T) {
	t.Parallel()
	w := fleet(t, 3, inSteps)
	w.spec("c2", `{"channel":"stable","argocd":{"chartVersion":"10.1.1"}}`)
	w.step(time.Minute)
	w.offer("stable", offer("10.2.0", inSteps))
	got := map[string][]string{}
	for range 40 {
		w.step(5 * time.Minute)
		for name, e := range w.tenants {
			for _, r := range e.rsp.GetResults() {
				if reason := r.GetReason(); strings.HasPrefix(reason, "Update") {
					got[name] = append(got[name], reason)
					if r.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
						t.Errorf("the claim doesn't get the event %s", r)
					}
				}
			}
		}
	}
	// One of them is admitted before it has looked.
	taken := []string{v1alpha1.EventUpdateTaken}
	told := append([]string{v1alpha1.EventUpdateAvailable}, taken...)
	if want := map[string][]string{"c0": taken, "c1": told}; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("want events %v, got %v", want, got)
	}
}

// TestChannelBadOffer: a bad offer breaks as many as haltAfter says, nobody else is touched,
// and the halt outlives lost state. An edit goes on.
func TestChannelBadOffer(t *testing.T) {
	t.Parallel()
	w := fleet(t, 6, inSteps)
	before := map[string]*structpb.Struct{}
	for name, e := range w.tenants {
		before[name] = proto.Clone(field(e.observed(tenant.ArgoCDRelease), "spec")).(*structpb.Struct)
	}
	w.broken["10.2.0"] = true
	w.offer("stable", offer("10.2.0", inSteps))
	w.settle(30, 20*time.Minute)
	w.want(map[string]int{"10.1.1": 4, "10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, " (Degraded: \"Deployment argocd-server ")
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	for name, e := range w.tenants {
		if w.version(name) == "10.1.1" && !proto.Equal(before[name], field(e.observed(tenant.ArgoCDRelease), "spec")) {
			t.Errorf("%s was touched", name)
		}
	}
	if !slices.ContainsFunc(w.seen, func(e string) bool { return strings.HasPrefix(e, v1alpha1.ReasonTenantsFailed+": ") }) {
		t.Errorf("want an event of the halt, got %v", w.seen)
	}
	delete(w.channels["stable"].req.Observed.Resources, "state")
	w.settle(10, 20*time.Minute)
	w.want(map[string]int{"10.1.1": 4, "10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")

	// After a failed call, nobody says that it isn't halted.
	e := w.channels["stable"]
	e.callFails()
	w.offer("stable", `{"offer":"all"}`)
	w.settle(2, time.Minute)
	if reasons := e.condition(v1alpha1.ConditionHalted).GetReason(); reasons != "" || e.condition(v1alpha1.ConditionSpecAccepted).GetReason() != v1alpha1.ReasonInvalidSpec {
		t.Errorf("Halted is %s", reasons)
	}
	w.offer("stable", offer("10.2.0", inSteps))
	e.callFails()
	events := len(w.seen)
	w.settle(2, time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	if got := w.seen[events:]; len(got) > 0 {
		t.Errorf("want no events of what was known before, got %q", got)
	}

	// Nor does it end with the edit of a plan, which has nothing to do with it.
	events = len(w.seen)
	w.tenants["c0"].plan("huge", `{"quota":{"count/pods":"99"}}`)
	w.settle(10, 20*time.Minute)
	w.want(map[string]int{"10.1.1": 4, "10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")

	if len(w.seen) > events {
		t.Errorf("the halt isn't the same: %v", w.seen[events:])
	}
	for key := range w.cluster {
		if strings.Contains(key, "vargo-assignment-") {
			t.Errorf("while it is halted somebody is admitted: %s", key)
		}
	}

	// New tenants don't get what has halted.
	w.claim("late", `{"channel":"stable"}`, `{}`)
	w.settle(14, time.Minute)
	if got := w.version("late"); got != "10.1.1" || w.tenants["late"].number("channel", "revision") == 0 {
		t.Errorf("a new tenant begins with %s while the offer is halted", got)
	}
	w.offer("stable", offer("10.2.1", inSteps))
	w.settle(30, 20*time.Minute)
	w.want(map[string]int{"10.2.1": 7})
	w.wantCondition("stable", v1alpha1.ConditionHalted, false, "")
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "")
}

// TestChannelOfferTakenBack: going back to the offer from before mends those that a version of argo-cd has broken, and nobody else goes
// back.
func TestChannelOfferTakenBack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		// after is for how long the version is well.
		after int
		// recovers has one of the two recover before.
		recovers bool
	}{
		"NeverReady": {reason: "It breaks tenants at once."},
		"Soaking":    {reason: "It breaks them after they were Ready.", after: 3},
		"Recovers":   {reason: "One of them has recovered: it stays.", recovers: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleet(t, 4, inSteps)
			w.offer("stable", offer("10.2.0", inSteps))
			w.settle(tc.after, time.Minute)
			w.broken["10.2.0"] = true
			w.settle(10, 20*time.Minute)
			w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
			want := map[string][]string{}
			for _, name := range slices.Sorted(maps.Keys(w.tenants)) {
				if w.version(name) == "10.1.1" {
					want[name] = []string{"10.1.1"}
				} else if want[name] = []string{"10.2.0", "10.1.1"}; tc.recovers && len(w.cured) == 0 {
					w.cured[name], want[name] = true, []string{"10.2.0"}
				}
			}
			w.want(map[string]int{"10.1.1": 2, "10.2.0": 2})
			if tc.recovers {
				w.settle(2, time.Minute)
			}

			w.offer("stable", offer("10.1.1", inSteps))
			had := map[string][]string{}
			for name := range w.tenants {
				had[name] = []string{want[name][0]}
			}
			for range 20 {
				w.step(5 * time.Minute)
				for name := range w.tenants {
					had[name] = slices.Compact(append(had[name], w.version(name)))
				}
			}
			if !maps.EqualFunc(had, want, slices.Equal) {
				t.Errorf("%s\nwant tenants to have these versions one after the other: %v, got %v", tc.reason, want, had)
			}
			for name, e := range w.tenants {
				if e.status("phase") != "Ready" {
					t.Errorf("%s\n%s is %s: %s", tc.reason, name, e.status("phase"), e.status("message"))
				}
				if held := e.statusList("versionsHeld"); w.cured[name] && (len(held) != 1 || held[0] != "Chart argo-cd stays at 10.2.0, which runs: the platform's version, 10.1.1, is lower") {
					t.Errorf("%s\n%s says %v", tc.reason, name, held)
				}
			}
			w.wantCondition("stable", v1alpha1.ConditionHalted, false, "")
			w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 4")
			if n := len(slices.DeleteFunc(w.seen, func(e string) bool { return !strings.HasPrefix(e, v1alpha1.ReasonTenantsFailed+": ") })); n != 1 {
				t.Errorf("%s\nwant one halt, got %d", tc.reason, n)
			}
		})
	}
}

// TestChannelOfferTakenBackSlowly: a tenant that goes back to a version stays on its way to that, whatever is seen of it meanwhile.
func TestChannelOfferTakenBackSlowly(t *testing.T) {
	t.Parallel()
	w := fleet(t, 1, `{}`)
	w.broken["10.2.0"] = true
	w.offer("stable", offer("10.2.0", `{}`))
	w.settle(10, time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c0")
	w.offer("stable", offer("10.1.1", `{}`))
	e := w.tenants["c0"]
	for range 6 {
		if w.version("c0") != "10.1.1" {
			w.reconcileChannel(w.channels["stable"])
			e.reconcile()
		}
	}
	stays := func(phase string) {
		t.Helper()
		for range 3 {
			w.now = w.now.Add(15 * time.Second)
			e.reconcile()
			w.reconcileChannel(w.channels["stable"])
			if got := w.version("c0"); got != "10.1.1" || e.status("phase") != phase {
				t.Errorf("the tenant is to have %s and is %s, want 10.1.1 and %s", got, e.status("phase"), phase)
			}
		}
	}
	e.rolling(tenant.ArgoCDRelease)
	stays("Updating")
	// Its pods are replaced before Helm's record of that is seen.
	e.heal()
	e.setRecord(tenant.ArgoCDRelease, "10.2.0")
	stays("Ready")
	e.heal()
	stays("Ready")
	w.settle(3, time.Minute)
	stays("Ready")
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 1")
}

// TestChannelKubernetesTakenBack: what can't be lowered stays, and isn't the fault of an offer that it had before.
func TestChannelKubernetesTakenBack(t *testing.T) {
	t.Parallel()
	of := func(version string) string {
		return strings.Replace(offer("10.1.1", inSteps), `{"offer":{`, `{"offer":{"kubernetes":{"version":"`+version+`"},`, 1)
	}
	w := newWorld(t)
	w.offer("stable", of("v1.35.4"))
	for i := range 4 {
		w.claim(fmt.Sprintf("c%d", i), `{"channel":"stable"}`, `{}`)
	}
	w.settle(14, time.Minute)
	w.settle(2, time.Hour)
	w.broken["v1.36.0"] = true
	w.offer("stable", of("v1.36.0"))
	w.settle(10, 20*time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")
	w.offer("stable", of("v1.35.4"))
	w.settle(20, 5*time.Minute)
	n := map[string]int{}
	for name, e := range w.tenants {
		n[w.kubernetes(name)+" "+e.status("phase")]++
	}
	if want := map[string]int{"v1.35.4 Ready": 2, "v1.36.0 Degraded": 2}; !maps.Equal(n, want) {
		t.Errorf("want tenants with these versions of Kubernetes: %v, got %v", want, n)
	}
	w.wantCondition("stable", v1alpha1.ConditionHalted, false, "")
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 4")
}

// TestChannelHaltedForWeeks: a halt has no end of its own, whatever comes meanwhile, and the time that it takes is nobody's.
func TestChannelHaltedForWeeks(t *testing.T) {
	t.Parallel()
	const rollout = `{"mandatoryGroup":{"matchLabels":{"tier":"internal"}},"steps":[{"percent":50},{"percent":100}],"maxFailures":2,"progressDeadline":"5h"}`
	// On Sundays, so that the others wait for the first ones for days.
	const window = `{"channel":"stable","maintenance":{"timeWindow":{"begin":"080000+0000","end":"230000+0000"},"days":["Sun"]}}`
	w := fleet(t, 3, rollout)
	for _, name := range []string{"i0", "i1"} {
		w.claim(name, `{"channel":"stable"}`, `{"tier":"internal"}`)
	}
	w.settle(14, time.Minute)
	w.broken["10.2.0"] = true
	w.offer("stable", offer("10.2.0", rollout))
	w.settle(40, time.Minute)
	halted := func() {
		t.Helper()
		w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/i0 (Degraded: ")
		w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/i1 (Degraded: ")
		for name, e := range w.tenants {
			if bad := name == "i0" || name == "i1"; (w.version(name) == "10.2.0") != bad {
				t.Errorf("%s has %s, and says %s", name, w.version(name), e.status("channel", "message"))
			}
			if strings.Contains(field(e.observed(tenant.Quota), "spec").String(), `"77"`) {
				t.Errorf("%s has the plan's edit", name)
			}
		}
		for key := range w.cluster {
			if strings.Contains(key, "vargo-assignment-") {
				t.Errorf("somebody is admitted: %s", key)
			}
		}
	}
	halted()
	events, begin := len(w.seen), w.now
	for day := range 30 {
		switch day {
		case 10:
			w.claim("late", window, `{"tier":"internal"}`)
			w.settle(14, time.Minute)
			w.want(map[string]int{"10.1.1": 4, "10.2.0": 2})
		case 15:
			w.tenants["c0"].plan("standard", `{"quota":{"count/pods":"77"}}`)
		case 20:
			w.spec("c0", window)
		}
		w.settle(2, 12*time.Hour)
		halted()
	}
	if len(w.seen) > events || w.now.Sub(begin) < 30*24*time.Hour {
		t.Errorf("after %s the halt isn't the same: %v", w.now.Sub(begin), w.seen[events:])
	}

	// It goes on by hand. Those that come first are waited for as at the beginning.
	w.cured["i0"], w.cured["i1"] = true, true
	w.settle(2, time.Minute)
	delete(w.broken, "10.2.0")
	for w.now.Weekday() != time.Monday {
		w.now = w.now.Add(6 * time.Hour)
	}
	w.offer("stable", paused(offer("10.2.0", rollout)))
	w.settle(2, time.Minute)
	w.offer("stable", offer("10.2.0", rollout))
	w.settle(8, 2*time.Hour)
	w.want(map[string]int{"10.1.1": 4, "10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionProgressing, true, "wait for their maintenance windows: team-a/c0, team-a/late")
	w.settle(8*12, 2*time.Hour)
	w.want(map[string]int{"10.2.0": 6})
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 6")
}

// TestChannelStuck: a channel that halts because changes don't end says why, which it learns while they are rolled out.
func TestChannelStuck(t *testing.T) {
	t.Parallel()
	w := fleet(t, 4, inSteps)
	w.stuck["10.2.0"] = "pod argocd-redis-1: container redis: ImagePullBackOff: Back-off pulling image \"redis:none\""
	w.offer("stable", offer("10.2.0", inSteps))
	w.settle(10, 20*time.Minute)
	w.want(map[string]int{"10.1.1": 2, "10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, ` (Updating for more than 30m0s: "Deployment argocd-redis: pod argocd-redis-1: container redis: ImagePullBackOff: Back-off pulling image \"redis:none\""), team-a/c`)
	for name, e := range w.tenants {
		if got := e.status("message"); w.version(name) == "10.2.0" && !strings.HasSuffix(got, w.stuck["10.2.0"]) {
			t.Errorf("%s says %q", name, got)
		}
	}
}

// TestChannelFirst: those that first selects have the offer before all others.
func TestChannelFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const rollout = `{"mandatoryGroup":{"matchLabels":{"tier":"internal"}},"steps":[{"percent":0,"minSuccessTime":"1h"},{"percent":100}]}`
	w.offer("stable", offer("10.1.1", rollout))
	for i, tier := range []string{"internal", "customer", "customer"} {
		w.claim(fmt.Sprintf("c%d", i), `{"channel":"stable"}`, `{"tier":"`+tier+`","crossplane.io/claim-name":"c"}`)
	}
	w.settle(16, time.Minute)
	w.settle(2, time.Hour)
	w.offer("stable", offer("10.2.0", rollout))
	w.settle(6, time.Minute)
	w.want(map[string]int{"10.1.1": 2, "10.2.0": 1})
	if got := w.version("c0"); got != "10.2.0" {
		t.Errorf("want the internal tenant first, it has %s", got)
	}
	w.settle(10, 20*time.Minute)
	w.want(map[string]int{"10.2.0": 3})

	// Another group, whose labels are new.
	w.tenants["c2"].xr().Fields["metadata"].GetStructValue().Fields["labels"] = jsonValue(`{"ring":"zero"}`)
	w.step(time.Minute)
	w.offer("stable", offer("10.3.0", `{"mandatoryGroup":{"matchExpressions":[{"key":"ring","operator":"In","values":["zero"]}]},"steps":[{"percent":0,"minSuccessTime":"1h"},{"percent":100}]}`))
	w.settle(12, time.Minute)
	w.want(map[string]int{"10.2.0": 2, "10.3.0": 1})
	if got := w.version("c2"); got != "10.3.0" {
		t.Errorf("want the tenant first that is selected now, it has %s", got)
	}
}

// TestChannelWindows: a tenant takes the offer in its window, and after its freeze.
func TestChannelWindows(t *testing.T) {
	t.Parallel()
	w := fleet(t, 3, `{}`)
	w.now = testNow.Add(24 * time.Hour)
	w.spec("c0", `{"channel":"stable","maintenance":{"timeWindow":{"begin":"220000+0100","end":"030000+0100"}}}`)
	w.spec("c1", `{"channel":"stable","maintenance":{"freeze":{"until":"2026-01-06","reason":"audit"}}}`)
	w.step(time.Minute)
	w.offer("stable", offer("10.2.0", `{}`))
	w.settle(10, time.Minute)
	w.want(map[string]int{"10.1.1": 2, "10.2.0": 1})
	w.wantCondition("stable", v1alpha1.ConditionProgressing, true, "wait for their maintenance windows: team-a/c0; frozen: team-a/c1")
	for name, want := range map[string]string{"c0": "waits for its maintenance window, Saturday 2026-01-03 22:00 +0100; would change: chart argo-cd 10.1.1 to 10.2.0", "c1": "is frozen until 2026-01-06: audit; would"} {
		if got := w.tenants[name].status("channel", "message"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: want message %q, got %q", name, want, got)
		}
	}
	w.now = time.Date(2026, 1, 3, 21, 0, 0, 0, time.UTC)
	w.settle(5, time.Minute)
	if got := w.version("c0"); got != "10.2.0" {
		t.Errorf("in its window c0 has %s", got)
	}
	w.now = time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)
	w.settle(5, time.Minute)
	w.want(map[string]int{"10.2.0": 3})
}

// TestWindowWithoutChannel: a tenant without a channel takes the platform's changes in its
// window, and its claim's at once.
func TestWindowWithoutChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim("c0", `{"maintenance":{"timeWindow":{"begin":"220000+0100","end":"030000+0100"}}}`, `{}`)
	w.claim("c1", `{}`, `{}`)
	w.settle(14, time.Minute)
	w.input(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.2.0"}}}`)
	w.settle(4, time.Minute)
	w.want(map[string]int{"10.1.1": 1, "10.2.0": 1})
	if e := w.tenants["c0"]; !strings.HasPrefix(e.status("channel", "message"), "waits for its maintenance window") || e.status("phase") != "Ready" {
		t.Errorf("c0 is %s and says %q", e.status("phase"), e.status("channel", "message"))
	}
	if field(w.tenants["c1"].xr(), "status", "channel") != nil {
		t.Error("a tenant without a channel that waits for nothing says something of channels")
	}
	w.spec("c0", `{"maintenance":{"freeze":{"until":"2027-01-01","reason":"ask with token=abc123def"}}}`)
	w.step(time.Minute)
	if got := w.tenants["c0"].status("channel", "message"); !strings.HasPrefix(got, "is frozen until 2027-01-01: ask with token=[redacted]") {
		t.Errorf("c0 says what may be a secret: %q", got)
	}
	w.spec("c0", `{"argocd":{"values":{"server":{"replicas":2}}},"maintenance":{"timeWindow":{"begin":"220000+0100","end":"030000+0100"}}}`)
	w.step(time.Minute)
	if got := replicas(w.tenants["c0"]); got != 2 || w.version("c0") != "10.1.1" {
		t.Errorf("the claim's own change waits, or brings the platform's: it has %v replicas of %s", got, w.version("c0"))
	}
	w.now = time.Date(2026, 1, 3, 20, 59, 50, 0, time.UTC)
	w.step(10 * time.Second)
	if ttl := w.tenants["c0"].rsp.GetMeta().GetTtl().AsDuration(); ttl != 10*time.Second {
		t.Errorf("its window opens in 10 s, and it looks again in %s", ttl)
	}
	w.settle(3, time.Minute)
	w.want(map[string]int{"10.2.0": 2})
	for name, want := range map[string][]string{"c0": {v1alpha1.EventUpdateAvailable, v1alpha1.EventUpdateTaken}, "c1": nil} {
		if got := w.tenants[name].updates(); !slices.Equal(got, want) {
			t.Errorf("%s has the events %q, want %q", name, got, want)
		}
	}
}

// updates are the reasons of a tenant's events about platform changes.
func (e *engine) updates() (out []string) {
	for _, event := range e.events {
		if reason, _, _ := strings.Cut(event, ": "); strings.HasPrefix(reason, "Update") {
			out = append(out, reason)
		}
	}
	return out
}

// TestChannelNewerOffer: a claim that waits is told of each offer.
func TestChannelNewerOffer(t *testing.T) {
	t.Parallel()
	w := fleet(t, 1, inSteps)
	for _, version := range []string{"10.2.0", "10.3.0"} {
		w.offer("stable", strings.Replace(offer(version, inSteps), "{", `{"paused":true,`, 1))
		w.settle(3, time.Minute)
	}
	if got, want := w.tenants["c0"].updates(), []string{v1alpha1.EventUpdateAvailable, v1alpha1.EventUpdateAvailable}; !slices.Equal(got, want) {
		t.Errorf("got the events %q, want %q", got, want)
	}
}

// TestChannelRests: Crossplane leaves a channel alone in which nothing changes, where it watches all that the function reads, until
// something is due.
func TestChannelRests(t *testing.T) {
	t.Parallel()
	w := fleet(t, 5, inSteps)
	after := func(when string, want time.Duration) {
		t.Helper()
		e := w.channels["stable"]
		e.unwatched = w.unwatched
		w.reconcileChannel(e)
		if got := e.rsp.GetMeta().GetTtl().AsDuration(); got != want {
			t.Errorf("%s: Crossplane asks again after %s, want %s", when, got, want)
		}
	}
	after("complete", ttlAtRest)
	w.offer("stable", offer("10.2.0", inSteps))
	after("a new offer", ttl)
	w.settle(6, time.Minute)
	w.now = w.now.Add(50 * time.Minute)
	if got := w.channels["stable"].call().GetMeta().GetTtl().AsDuration(); got <= 0 || got >= ttlAtRest {
		t.Errorf("the soak ends soon, and Crossplane asks again after %s", got)
	}
	w.settle(30, 10*time.Minute)
	after("complete again", ttlAtRest)
	w.unwatched = true
	after("not watched", ttl)
}

// TestChannelPlansAndInput: the edit of a plan makes a revision, and the edit of the input applies at once.
func TestChannelPlansAndInput(t *testing.T) {
	t.Parallel()
	w := fleet(t, 5, inSteps)
	withPlan := func() (n int) {
		for _, e := range w.tenants {
			if strings.Contains(field(e.observed(tenant.Quota), "spec").String(), `"77"`) {
				n++
			}
		}
		return n
	}
	w.tenants["c0"].plan("standard", `{"quota":{"count/pods":"77"}}`)
	// The tenants see it before the channel does.
	for _, e := range w.tenants {
		e.reconcile()
	}
	if n := withPlan(); n != 0 {
		t.Errorf("%d tenants have the plan's edit before the channel offers it", n)
	}
	w.settle(6, time.Minute)
	if n := withPlan(); n != 1 {
		t.Errorf("%d tenants have the plan's edit in the first step, want 1", n)
	}
	w.settle(30, 10*time.Minute)
	if n := withPlan(); n != 5 {
		t.Errorf("%d tenants have the plan's edit in the end", n)
	}
	w.input(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"server":{"replicas":2}}}}}`)
	withInput := func() (n int) {
		for _, e := range w.tenants {
			if replicas(e) == 2 {
				n++
			}
		}
		return n
	}
	// The input is what is true of the host, and applies at once.
	w.step(time.Minute)
	if n := withInput(); n != 5 {
		t.Errorf("%d tenants have the input's edit at once", n)
	}
	w.settle(6, time.Minute)
	if got := w.channels["stable"].number("revision"); got != 2 {
		t.Errorf("the input's edit makes revision %d", got)
	}
	// A plan that nobody has changes nothing.
	w.tenants["c0"].plan("huge", `{"quota":{"count/pods":"99"}}`)
	w.settle(8, time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 5")
}

// TestChannelClaims: a claim may pin a version, move, name a channel that isn't there, and
// outlive its channel.
func TestChannelClaims(t *testing.T) {
	t.Parallel()
	w := fleet(t, 4, `{"maxConcurrency":1}`)
	w.offer("fast", offer("10.3.0", `{}`))
	w.spec("c0", `{"channel":"stable","argocd":{"chartVersion":"10.1.1"}}`)
	w.settle(3, time.Minute)
	w.offer("stable", offer("10.2.0", `{}`))
	w.settle(20, time.Minute)
	w.want(map[string]int{"10.1.1": 1, "10.2.0": 3})
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 4")

	// It keeps what it has until the other channel updates it.
	w.spec("c1", `{"channel":"fast"}`)
	w.tenants["c1"].reconcile()
	if got := w.version("c1"); got != "10.2.0" {
		t.Errorf("a claim that moves has %s at once", got)
	}
	w.settle(6, time.Minute)
	w.want(map[string]int{"10.1.1": 1, "10.2.0": 2, "10.3.0": 1})
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 3")
	w.wantCondition("fast", v1alpha1.ConditionComplete, true, "all 1")

	// Its claim's mistake leaves it as it is.
	w.spec("c2", `{"channel":"slow"}`)
	w.settle(2, time.Minute)
	if got := refusal(w.tenants["c2"].rsp); got != `spec.channel: "slow" is unknown: write one of fast, stable` || w.version("c2") != "10.2.0" {
		t.Errorf("a channel that isn't there: %q, the tenant has %s", got, w.version("c2"))
	}
	w.claim("new", `{"channel":"slow"}`, `{}`)
	w.step(time.Minute)
	if got := fatal(w.tenants["new"].rsp); got != `spec.channel: "slow" is unknown: write one of fast, stable` {
		t.Errorf("a new tenant of a channel that isn't there: %q", got)
	}
	delete(w.tenants, "new")
	w.spec("c2", `{"channel":"stable"}`)

	w.remove("stable")
	w.input(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.9.0"}}}`)
	w.settle(4, time.Minute)
	w.want(map[string]int{"10.1.1": 1, "10.2.0": 2, "10.3.0": 1})
	if e := w.tenants["c3"]; e.status("phase") != "Ready" || refusal(e.rsp) != "" || e.status("channel", "message") != "channel stable doesn't exist; the tenant keeps the revision and the plan that it has" {
		t.Errorf("without its channel a tenant is %s, %q: %s", e.status("phase"), refusal(e.rsp), e.status("channel", "message"))
	}
	// Leaving is the claim's own change. The record goes with the channel.
	w.spec("c3", `{}`)
	w.settle(3, time.Minute)
	if got := w.version("c3"); got != "10.9.0" {
		t.Errorf("a claim that leaves its channel has %s", got)
	}
	if w.tenants["c3"].req.GetObserved().GetResources()[tenant.ChannelRecord] != nil {
		t.Error("it still has a record")
	}
	// A channel of the same name goes on from what the records say.
	w.offer("stable", offer("10.2.0", `{}`))
	w.settle(12, time.Minute)
	w.want(map[string]int{"10.1.1": 1, "10.2.0": 1, "10.3.0": 1, "10.9.0": 1})
}

// TestChannelNamespaces: a channel may list the namespaces whose claims may name it. Plans may name it for any tenant.
func TestChannelNamespaces(t *testing.T) {
	t.Parallel()
	w := fleet(t, 1, `{}`)
	const refused = "spec.channel: channel stable is not for claims of namespace team-a: leave it out, or ask whoever runs the platform for a channel"
	list := func(spec, namespaces string) string {
		return strings.Replace(spec, "{", `{"namespaces":`+namespaces+`,`, 1)
	}
	w.offer("stable", list(offer("10.2.0", `{}`), `["team-b","premium-*"]`))
	w.settle(12, time.Minute)
	w.want(map[string]int{"10.1.1": 1})

	e := w.claim("new", `{"channel":"stable"}`, `{}`)
	w.step(time.Minute)
	if got := fatal(e.rsp); got != refused {
		t.Errorf("a new claim of another namespace: want %q, got %q", refused, got)
	}
	w.spec("new", `{}`)
	w.settle(6, time.Minute)
	w.spec("new", `{"channel":"stable"}`)
	w.step(time.Minute)
	if got := refusal(e.rsp); got != refused || w.version("new") != "10.1.1" {
		t.Errorf("a claim of another namespace that moves: want %q, got %q and %s", refused, got, w.version("new"))
	}
	// Nor does it learn of channels that are for others.
	w.spec("new", `{"channel":"slow"}`)
	w.step(time.Minute)
	if got := refusal(e.rsp); got != `spec.channel: "slow" is unknown: there is no channel to choose from: leave it out` {
		t.Errorf("a channel that isn't there: %q", got)
	}
	w.spec("new", `{"channel":"stable"}`)
	w.offer("stable", list(offer("10.2.0", `{}`), `["team-*"]`))
	w.settle(12, time.Minute)
	w.want(map[string]int{"10.2.0": 2})

	w.offer("stable", list(offer("10.3.0", `{}`), `["team-b"]`))
	given := w.claim("given", `{}`, `{}`)
	given.plan("standard", `{"channel":"stable"}`)
	w.settle(20, time.Minute)
	w.want(map[string]int{"10.3.0": 3})
	if got := refusal(given.rsp); got != "" {
		t.Errorf("a claim whose plan names the channel: %q", got)
	}
}

// TestChannelEvicts: a namespace that is removed from the list of a channel isn't counted any more, whatever its tenants do, and keeps what
// it has.
func TestChannelEvicts(t *testing.T) {
	t.Parallel()
	w := fleet(t, 2, `{}`)
	other := w.claim("other", `{}`, `{}`)
	field(other.xr(), "spec", "claimRef").Fields["namespace"] = structpb.NewStringValue("team-b")
	w.settle(14, time.Minute)
	w.broken["10.2.0"] = true
	w.offer("stable", offer("10.2.0", `{}`))
	w.settle(10, time.Minute)
	w.want(map[string]int{"10.1.1": 2, "10.2.0": 1})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c")

	list := func(version, namespaces, paused string) {
		w.offer("stable", strings.Replace(offer(version, `{}`), "{", `{"namespaces":`+namespaces+`,"paused":`+paused+`,`, 1))
	}
	// Only the channel is reconciled: the tenants may be paused.
	list("10.2.0", `["team-b"]`, "true")
	w.reconcileChannel(w.channels["stable"])
	w.wantCondition("stable", v1alpha1.ConditionHalted, false, "")
	list("10.2.0", `["team-b"]`, "false")
	w.spec("other", `{"channel":"stable"}`)
	field(other.xr(), "spec", "claimRef").Fields["namespace"] = structpb.NewStringValue("team-b")
	w.settle(10, time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-b/other")
	list("10.3.0", `["team-b"]`, "false")
	w.settle(10, time.Minute)
	w.want(map[string]int{"10.1.1": 1, "10.2.0": 1, "10.3.0": 1})
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 1")
	const left = "spec.channel: channel stable is not for claims of namespace team-a: leave it out, or ask whoever runs the platform for a channel; the tenant keeps the revision and the plan that it has"
	for _, name := range []string{"c0", "c1"} {
		if e := w.tenants[name]; e.status("channel", "message") != left || refusal(e.rsp) != "" {
			t.Errorf("%s says %q, and is refused with %q", name, e.status("channel", "message"), refusal(e.rsp))
		}
	}
	list("10.3.0", `["team-b","team-a"]`, "false")
	w.settle(20, time.Minute)
	w.want(map[string]int{"10.3.0": 3})
}

// TestChannelOfAnotherPlan: a claim can't take the channel of its plan along when it chooses another plan.
func TestChannelOfAnotherPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("vip", strings.Replace(offer("10.2.0", `{}`), "{", `{"namespaces":["team-b"],`, 1))
	e := w.claim("c0", `{"plan":"large","channel":"vip"}`, `{}`)
	e.plan("large", `{"channel":"vip"}`)
	w.settle(14, time.Minute)
	w.want(map[string]int{"10.2.0": 1})
	w.spec("c0", `{"channel":"vip"}`)
	w.settle(2, time.Minute)
	if got := refusal(e.rsp); !strings.HasPrefix(got, "spec.channel: channel vip is not for claims of namespace team-a") {
		t.Errorf("the channel of the plan before: %q", got)
	}
	w.offer("vip", strings.Replace(offer("10.3.0", `{}`), "{", `{"namespaces":["team-b"],`, 1))
	w.settle(6, time.Minute)
	w.spec("c0", `{"plan":"large","channel":"vip"}`)
	w.settle(6, time.Minute)
	if got := refusal(e.rsp); got != "" {
		t.Errorf("the channel of its plan: %q", got)
	}
	w.want(map[string]int{"10.3.0": 1})
}

// TestChannelOfPlan: a plan may set channel and maintenance, and a claim can name no other
// channel then.
func TestChannelOfPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("stable", offer("10.2.0", `{}`))
	e := w.claim("c0", `{}`, `{}`)
	e.plan("standard", `{"channel":"stable","maintenance":{"freeze":{"until":"2027-01-01"}}}`)
	w.settle(14, time.Minute)
	w.want(map[string]int{"10.2.0": 1})
	w.spec("c0", `{"channel":"fast"}`)
	w.step(time.Minute)
	if got := refusal(e.rsp); got != `spec.channel: "fast" is not possible, because plan standard sets channel stable: leave it out, or choose another plan` {
		t.Errorf("another channel than the plan's: %q", got)
	}
	w.spec("c0", `{}`)
	w.offer("stable", offer("10.3.0", `{}`))
	w.settle(5, time.Minute)
	w.want(map[string]int{"10.2.0": 1})
	if got := e.status("channel", "message"); !strings.HasPrefix(got, "is frozen until 2027-01-01") {
		t.Errorf("the plan's freeze says %q", got)
	}
	// The platform ends its freeze at once.
	e.plan("standard", `{"channel":"stable"}`)
	w.settle(8, time.Minute)
	w.want(map[string]int{"10.3.0": 1})
}

// TestChannelPaused: while it is paused, a channel says whom the offer would change, and no
// tenant changes.
func TestChannelPaused(t *testing.T) {
	t.Parallel()
	w := fleet(t, 3, `{}`)
	w.spec("c0", `{"channel":"stable","argocd":{"chartVersion":"10.1.1"}}`)
	w.step(time.Minute)
	w.offer("stable", paused(offer("10.2.0", `{}`)))
	w.settle(4, time.Minute)
	w.want(map[string]int{"10.1.1": 3})
	w.wantCondition("stable", v1alpha1.ConditionProgressing, false, "would change 2 of 3 tenants: team-a/c1, team-a/c2")
	if got := w.tenants["c1"].status("channel", "message"); got != "the channel is paused; would change: chart argo-cd 10.1.1 to 10.2.0" {
		t.Errorf("a tenant says what would change: %q", got)
	}
	w.offer("stable", offer("10.2.0", `{}`))
	w.settle(10, time.Minute)
	w.want(map[string]int{"10.1.1": 1, "10.2.0": 2})

	// The same of what goes with an offer, which is edited once the channel is paused.
	w.offer("stable", paused(offer("10.2.0", `{}`)))
	w.step(time.Minute)
	w.tenants["c0"].plan("standard", `{"quota":{"count/pods":"77"},"limits":{"default":{"cpu":"750m"}},"podSecurity":"restricted","loadBalancers":2,"vcluster":{"resources":{"limits":{"memory":"3Gi"}}},"argocd":{"server":{"replicas":2}}}`)
	w.settle(4, time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionProgressing, false, "would change 3 of 3 tenants")
	const would = "the channel is paused; would change: Pod Security baseline to restricted, LoadBalancers 0 to 2, " +
		"values of argo-cd (server.replicas), values of vcluster (controlPlane.statefulSet.resources.limits.memory, policies.podSecurityStandard), " +
		"quota (count/pods, services.loadbalancers, services.nodeports), limits (default.cpu), network policies (virtual-argocd-load-balancers, virtual-argocd-url)"
	for name, e := range w.tenants {
		if got := e.status("channel", "message"); got != would {
			t.Errorf("%s says what would change: %q", name, got)
		}
	}
}

// TestChannelPinned: a claim that names the running versions for a while doesn't get a revision before its turn.
func TestChannelPinned(t *testing.T) {
	t.Parallel()
	w := fleet(t, 2, inSteps)
	w.spec("c0", `{"channel":"stable","argocd":{"chartVersion":"10.1.1"}}`)
	w.step(time.Minute)
	paused := strings.TrimSuffix(offer("10.2.0", inSteps), "}") + `,"paused":true}`
	w.offer("stable", paused)
	w.settle(4, time.Minute)
	w.spec("c0", `{"channel":"stable"}`)
	w.settle(4, time.Minute)
	w.want(map[string]int{"10.1.1": 2})
	w.wantCondition("stable", v1alpha1.ConditionProgressing, false, "would change 2 of 2 tenants")
	if got := w.tenants["c0"].number("channel", "revision"); got != 1 {
		t.Errorf("it has revision %d", got)
	}
	// In its turn it is watched like others.
	w.broken["10.2.0"] = true
	w.offer("stable", offer("10.2.0", inSteps))
	w.settle(30, 10*time.Minute)
	w.want(map[string]int{"10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionHalted, true, "team-a/c0")
}

// TestChannelPausedFromTheStart: a new claim doesn't get the first offer of a channel while that is paused.
func TestChannelPausedFromTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("stable", paused(offer("10.2.0", `{}`)))
	w.step(time.Second)
	e := w.claim("c0", `{"channel":"stable"}`, `{}`)
	w.settle(14, time.Minute)
	w.want(map[string]int{"10.1.1": 1})
	if got := e.status("channel", "message"); e.status("phase") != "Ready" || !strings.HasPrefix(got, "the channel is paused; would change: chart argo-cd 10.1.1 to 10.2.0") {
		t.Errorf("the tenant is %s and says %q", e.status("phase"), got)
	}
	w.wantCondition("stable", v1alpha1.ConditionProgressing, false, "would change 1 of 1 tenants: team-a/c0")
	w.offer("stable", offer("10.2.0", `{}`))
	w.settle(10, time.Minute)
	w.want(map[string]int{"10.2.0": 1})
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 1")
}

// TestChannelMistakesOfOthers: a mistake in a plan or in an input is no other offer, and neither is its correction.
func TestChannelMistakesOfOthers(t *testing.T) {
	t.Parallel()
	const in = `"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input"`
	w := fleet(t, 2, inSteps)
	w.input(`{` + in + `,"charts":{"argocd":{"version":"10.2.0"}}}`)
	w.tenants["c0"].plan("standard", `{"quota":{"count/pods":"77"}}`, "default-plan=true")
	w.tenants["c0"].plan("small", `{"quota":{"count/pods":"55"}}`)
	w.settle(30, 10*time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 2")
	offered := func() int64 { return w.channels["stable"].number("revision") }
	revision := offered()
	for name, tc := range map[string]struct {
		reason, says string
		input        string
		plan         string
		labels       []string
	}{
		"PlanField":      {reason: "An unknown field in a plan.", plan: `{"vcluster":{"quotas":{}}}`, says: "as they were before: small"},
		"PlanImpossible": {reason: "A plan that no tenant can have.", plan: `{"maintenance":{"timeWindow":{"begin":"22","end":"23"}}}`, says: "as they were before: small"},
		"TwoDefaults":    {reason: "Two plans for claims that name none.", plan: `{"quota":{"count/pods":"55"}}`, labels: []string{"default-plan=true"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			if tc.input != "" {
				w.input(tc.input)
			} else {
				w.tenants["c0"].plan("small", tc.plan, tc.labels...)
			}
			w.settle(3, time.Minute)
			w.wantCondition("stable", v1alpha1.ConditionSpecAccepted, true, tc.says)
			for _, when := range []string{"with it", "without it"} {
				if got := offered(); got != revision {
					t.Errorf("%s\nthe revision is %d %s, want %d", tc.reason, got, when, revision)
				}
				w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 2")
				w.input(`{` + in + `,"charts":{"argocd":{"version":"10.2.0"}}}`)
				w.tenants["c0"].plan("small", `{"quota":{"count/pods":"55"}}`)
				w.settle(3, time.Minute)
			}
			if _, _, message := w.is("stable", v1alpha1.ConditionSpecAccepted); message != "The channel's spec is in use" {
				t.Errorf("%s\nonce it is corrected the channel says %q", tc.reason, message)
			}
		})
	}
}

// TestChannelMistakes: a mistake in a channel is said there, and its tenants keep what they
// have.
func TestChannelMistakes(t *testing.T) {
	t.Parallel()
	w := fleet(t, 2, `{}`)
	for name, tc := range map[string]struct{ spec, want string }{
		"UnknownField":      {`{"offer":{"argocd":{"version":"1"}}}`, "spec.offer.argocd.version: there is no such field"},
		"ImpossibleVersion": {`{"offer":{"vcluster":{"chartVersion":"0.1.0"}}}`, "spec.offer.vcluster.chartVersion: vcluster 0.1.0 is not supported"},
		"Range":             {`{"offer":{"argocd":{"chartVersion":"*"}}}`, "spec.offer.argocd.chartVersion"},
		"KubernetesTooNew":  {`{"offer":{"kubernetes":{"version":"v1.99.0"}}}`, "spec.offer.kubernetes.version"},
		"ProtectedValue":    {`{"offer":{"vcluster":{"values":{"policies":{"networkPolicy":{"enabled":true}}}}}}`, "spec.offer.vcluster.values.policies.networkPolicy"},
		"Rollout":           {`{"rollout":{"steps":[{"percent":50},{"percent":20}]}}`, "spec.rollout.steps[1].percent"},
		"NotAnObject":       {`{"offer":"all"}`, "spec.offer"},
		"FirstIsEverybody":  {`{"rollout":{"mandatoryGroup":{}}}`, "spec.rollout.mandatoryGroup: selects every claim"},
		"Namespaces":        {`{"namespaces":["team-b","Team A"]}`, `spec.namespaces[1]: "Team A" is neither a namespace nor a pattern`},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			events := len(w.seen)
			w.offer("stable", tc.spec)
			w.settle(3, time.Minute)
			if got := fatal(w.channels["stable"].rsp); !strings.HasPrefix(got, tc.want) {
				t.Errorf("want a mistake at %q, got %q", tc.want, got)
			}
			w.wantCondition("stable", v1alpha1.ConditionSpecAccepted, false, tc.want)
			w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 2")
			if got := w.seen[events:]; len(got) != 1 || !strings.HasPrefix(got[0], "InvalidSpec: "+tc.want) {
				t.Errorf("want one event, got %v", got)
			}
			w.want(map[string]int{"10.1.1": 2})
			for name, e := range w.tenants {
				if e.status("phase") != "Ready" || refusal(e.rsp) != "" {
					t.Errorf("%s is %s: %s", name, e.status("phase"), refusal(e.rsp))
				}
			}
		})
	}
	w.t = t
	w.offer("stable", offer("10.2.0", `{}`))
	w.settle(10, time.Minute)
	w.want(map[string]int{"10.2.0": 2})
	w.wantCondition("stable", v1alpha1.ConditionSpecAccepted, true, "in use")
	// What one tenant can't have, only that one lacks.
	w.tenants["c0"].plan("tiny", `{"limits":{"default":{"memory":"512Mi"}}}`)
	w.spec("c0", `{"channel":"stable","plan":"tiny"}`)
	w.settle(4, time.Minute)
	w.offer("stable", `{"offer":{"argocd":{"chartVersion":"10.3.0"},"vcluster":{"values":{"policies":{"limitRange":{"defaultRequest":{"memory":"600Mi"}}}}}}}`)
	said := ""
	// It may be the first that is admitted, and has half an hour to begin.
	for range 45 {
		w.step(time.Minute)
		if text := w.tenants["c0"].status("channel", "message"); strings.HasPrefix(text, "can't") {
			said = text
		}
	}
	w.want(map[string]int{"10.2.0": 1, "10.3.0": 1})
	if !strings.HasPrefix(said, "can't use the revision: plan tiny: spec.limits.default.memory: is 512Mi, less than 600Mi of channel stable") || w.tenants["c0"].status("phase") != "Ready" {
		t.Errorf("a tenant that can't have the offer says %q, and is %s", said, w.tenants["c0"].status("phase"))
	}
	w.settle(2, time.Minute)
	w.wantCondition("stable", v1alpha1.ConditionComplete, false, "didn't begin in time, and are passed over: team-a/c0")
}

// TestRevisionsStay: a revision that there is stays as it is written, whatever this version of the function would write.
func TestRevisionsStay(t *testing.T) {
	t.Parallel()
	w := fleet(t, 1, inSteps)
	e := w.channels["stable"]
	data := field(e.observed("revision-1"), "data").Fields
	other := strings.Replace(data["revision"].GetStringValue(), `"number":1`, `"number": 1, "new":{}`, 1)
	data["revision"] = structpb.NewStringValue(other)
	w.settle(2, time.Minute)
	if got := field(e.observed("revision-1"), "data").Fields["revision"].GetStringValue(); got != other || e.number("revision") != 1 {
		t.Errorf("revision %d: want %s, got %s", e.number("revision"), other, got)
	}
	if !field(e.observed("revision-1")).Fields["immutable"].GetBoolValue() {
		t.Error("it can be changed")
	}
}
