package pool_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

const small = `{"plan":"small"}`

// filled is a world with a pool of plan small that is full.
func filled(t testing.TB, spec string, size int) *world {
	t.Helper()
	w := newWorld(t, spec)
	w.settle()
	w.check(size)
	return w
}

// TestSpareIsTaken: a new front takes a spare over, with nothing of the pool left in it, and the pool makes another.
func TestSpareIsTaken(t *testing.T) {
	w := filled(t, `{"plan":"small","size":2}`, 2)
	spares := w.names()
	e := w.add("team-a/a", `{"plan":"small","ingress":{"host":"a.example.org"}}`)
	w.settle()
	w.check(2)
	o := objects(e)
	if len(o) != 1 || !w.took("team-a/a") {
		t.Fatalf("it has %v", o)
	}
	for _, o := range o {
		xr := wire.Of(w.cluster["XVirtualArgoCD//"+nameIn(o)])
		if !slices.Contains(spares, nameIn(o)) || xr.Has("metadata", "labels", v1alpha1.LabelSpare) || xr.Has("metadata", "labels", v1alpha1.LabelPoolDigest) || xr.Has("spec", "hibernation") || xr.Has("spec", "backup") {
			t.Errorf("it has %s of %v, which is %v", nameIn(o), spares, xr)
		}
		if xr.String("spec", "ingress", "host") != "a.example.org" || xr.String("metadata", "annotations", v1alpha1.AnnotationClaimedAt) != "2026-01-01T00:00:00Z" {
			t.Errorf("its own settings are missing: %v", xr)
		}
	}
	if at := e.Status("readyAt"); strings.HasPrefix(at, "2025") {
		t.Errorf("it was Ready before it existed: %s", at)
	}
	if got := w.pool.StatusNumber("taken"); got != 1 || !slices.ContainsFunc(w.pool.Events, func(s string) bool {
		return strings.HasPrefix(s, v1alpha1.EventSpareTaken+": VirtualArgoCD a of namespace team-a")
	}) {
		t.Errorf("taken %d, events %v", got, w.pool.Events)
	}
	w.remove("team-a/a")
	w.settle()
	w.check(2)
	if got := w.names(); slices.ContainsFunc(got, func(name string) bool { return name == nameIn(first(o)) }) {
		t.Errorf("a tenant is a spare again: %v", got)
	}
}

func first(of map[string]wire.Struct) wire.Struct {
	for _, o := range of {
		return o
	}
	return wire.Struct{}
}

// names are those of all composite resources.
func (w *world) names() []string {
	var out []string
	for _, xr := range w.tenants() {
		out = append(out, wire.Of(xr).String("metadata", "name"))
	}
	return out
}

// TestWhoTakesASpare: a front gets a spare of its own plan that is as a new installation would be, and otherwise an installation.
func TestWhoTakesASpare(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, pool, front, spec string
		before                    func(w *world)
		takes                     bool
	}{
		"ItsPlan":        {"It names the plan.", `{"plan":"small","size":1}`, "team-a/a", small, nil, true},
		"AnotherPlan":    {"It names another one.", `{"plan":"small","size":1}`, "team-a/a", `{"plan":"large"}`, nil, false},
		"NoPlan":         {"The plan of those that name none is another one.", `{"plan":"small","size":1}`, "team-a/a", `{}`, nil, false},
		"DefaultPlan":    {"It names none, and this is the plan of those.", `{"plan":"small","size":1}`, "team-a/a", `{}`, func(w *world) { w.label("small") }, true},
		"BuiltInPlan":    {"There is no plan at all.", `{"plan":"standard","size":1}`, "team-a/a", `{}`, nil, true},
		"NotItsPlan":     {"The plan isn't for its namespace.", `{"plan":"small","size":1}`, "others/a", small, nil, false},
		"Asleep":         {"The spare is asleep.", `{"plan":"small","size":1,"asleep":true}`, "team-a/a", small, nil, true},
		"Empty":          {"There is none.", `{"plan":"small"}`, "team-a/a", small, nil, false},
		"UpdateWaits":    {"A new installation would get something else.", `{"plan":"small","size":1}`, "team-a/a", small, func(w *world) { w.outdate(w.names()...) }, false},
		"AsleepOutdated": {"So it would if the spare is asleep.", `{"plan":"small","size":1,"asleep":true}`, "team-a/a", small, func(w *world) { w.outdate(w.names()...) }, false},
		"ChannelsPlan":   {"A plan's edit reaches new tenants of a channel only with a revision.", `{"plan":"rolled","size":1}`, "team-a/a", `{"plan":"rolled"}`, func(w *world) { w.pool.AddPlan("rolled", `{"channel":"stable","argocd":{"ha":true}}`) }, true},
		"OtherChannel":   {"The plan has another channel now.", `{"plan":"rolled","size":1}`, "team-a/a", `{"plan":"rolled"}`, func(w *world) { w.pool.AddPlan("rolled", `{"channel":"fast"}`) }, false},
		"NotReady":       {"It isn't ready.", `{"plan":"small","size":1}`, "team-a/a", small, func(w *world) { w.status(`{"phase":"Degraded"}`) }, false},
		"NotSeenYet":     {"Its status is about an earlier spec.", `{"plan":"small","size":1}`, "team-a/a", small, func(w *world) { w.generation() }, false},
		"PlanChanged":    {"The plan isn't any more what the spare was made with.", `{"plan":"small","size":1}`, "team-a/a", small, func(w *world) { w.pool.AddPlan("small", `{"argocd":{"ha":true}}`) }, false},
		"PlansBackup":    {"What takes effect at once makes no other spare.", `{"plan":"small","size":1}`, "team-a/a", small, func(w *world) { w.pool.AddPlan("small", `{"expireAfter":"48h"}`) }, true},
		"Versions":       {"It runs versions already.", `{"plan":"small","size":1}`, "team-a/a", `{"plan":"small","argocd":{"chartVersion":"9.0.0"}}`, nil, false},
		"Kubernetes":     {"It runs versions already.", `{"plan":"small","size":1}`, "team-a/a", `{"plan":"small","kubernetes":{"version":"v1.35.0"}}`, nil, false},
		"Restored":       {"Only an installation reads a backup.", `{"plan":"small","size":1}`, "team-a/a", `{"plan":"small","restoreFrom":{}}`, nil, false},
		"ControlPlane":   {"It would be replaced.", `{"plan":"small","size":1}`, "team-a/a", `{"plan":"small","vcluster":{"values":{}}}`, nil, false},
		"Channel":        {"It would be another one.", `{"plan":"small","size":1}`, "team-a/a", `{"plan":"small","channel":"stable"}`, nil, false},
		"Composition":    {"It has one already.", `{"plan":"small","size":1}`, "team-a/a", `{"plan":"small","compositionRef":{"name":"a"}}`, nil, false},
		"Unprotected":    {"Nothing would refuse a second one.", `{"plan":"small","size":1}`, "team-a/a", small, func(w *world) { delete(w.cluster, "ValidatingAdmissionPolicyBinding//virtual-argocd-front-tenants") }, false},
		"Deleting":       {"It goes.", `{"plan":"small","size":1}`, "team-a/a", small, func(w *world) { w.deleting() }, false},
		"OtherSettings":  {"They follow.", `{"plan":"small","size":1}`, "team-a/a", `{"plan":"small","argocd":{"values":{"server":{"replicas":2}}},"components":[{"name":"a"}],"sso":{}}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			size := 1
			if name == "Empty" {
				size = 0
			}
			w := filled(t, tc.pool, size)
			if tc.before != nil {
				tc.before(w)
			}
			e := w.add(tc.front, tc.spec)
			w.reconcile(tc.front)
			if got := w.took(tc.front); got != tc.takes {
				t.Fatalf("\n%s\nwant %t, got %t: %v", tc.reason, tc.takes, got, objects(e))
			}
			if !tc.takes && nameIn(first(objects(e))) != tenant.Behind(strings.Split(tc.front, "/")[0], "a") {
				t.Errorf("\n%s\nit has no installation of its own: %v", tc.reason, objects(e))
			}
		})
	}
}

func (w *world) label(plan string) {
	o := w.cluster[plans+plan]
	crossplanetest.Field(o, "metadata").Fields["labels"] = crossplanetest.JSON(`{"` + v1alpha1.LabelDefaultPlan + `":"true"}`)
}

func (w *world) status(status string) {
	for _, xr := range w.tenants() {
		maps.Copy(crossplanetest.Field(xr, "status").GetFields(), resource.MustStructJSON(status).GetFields())
	}
}

// outdate has composite resources say that a new tenant would get something else. Those that are made later have that.
func (w *world) outdate(names ...string) {
	for _, name := range names {
		w.outdated[name] = true
	}
	w.run()
}

// TestOutdatedSpares: spares that aren't what a new tenant would be are offered to nobody, and replaced one after the other, so that a pool
// isn't emptied by a change that doesn't come up, or is taken back. None is woken for that.
func TestOutdatedSpares(t *testing.T) {
	w := filled(t, `{"plan":"small","size":3,"asleep":true}`, 3)
	was := w.names()
	w.outdate(was...)
	w.pool.Reconcile()
	if offered, making := w.pool.StatusNumber("offered"), w.pool.StatusNumber("making"); offered != 0 || making != 2 {
		t.Errorf("of 3 outdated spares, one of which goes, %d are offered, and %d are on their way", offered, making)
	}
	for left := 3; left > 0; left-- {
		is := 0
		for range 2 {
			// However often it looks, it replaces no other before the new one is well.
			w.reconcile("pool")
			w.look("pool")
			w.collect()
			is = 0
			for _, o := range objects(w.pool) {
				is += btoi(slices.Contains(was, nameIn(o)))
				if !o.Bool("spec", "forProvider", "manifest", "spec", "hibernation", "enabled") {
					t.Errorf("%s is woken", nameIn(o))
				}
			}
			if is != left-1 {
				t.Fatalf("%d outdated spares are left, want %d", is, left-1)
			}
		}
		// The new one doesn't come up.
		w.turn(3)
		if n := len(w.names()); n != 3 {
			t.Fatalf("with %d outdated spares, there are %d", is, n)
		}
		w.run()
	}
	w.settle()
	w.check(3)
	if n := w.pool.StatusNumber("offered"); n != 3 {
		t.Errorf("%d of 3 new spares are offered", n)
	}
	was = w.names()
	w.outdate(was...)
	w.reconcile("pool")
	// The change is taken back.
	clear(w.outdated)
	w.settle()
	kept := 0
	for _, name := range w.names() {
		kept += btoi(slices.Contains(was, name))
	}
	if w.check(3); kept != 2 {
		t.Errorf("of 3 spares that were outdated for a while, %d are left, want 2", kept)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestOutdatedPlan: a plan's edit replaces spares one after the other, too. One that is still being made for the plan as it was, and never comes
// up, holds nothing up. A pool that becomes smaller keeps those that are as new tenants are.
func TestOutdatedPlan(t *testing.T) {
	// One of two spares was replaced, and the new one is being made.
	halfway := func() (w *world, was []string) {
		w = filled(t, `{"plan":"small","size":2}`, 2)
		was = w.names()
		w.pool.AddPlan("small", `{"argocd":{"ha":true}}`)
		w.reconcile("pool")
		if n := len(objects(w.pool)); n != 1 || w.pool.StatusNumber("offered") != 0 {
			t.Errorf("an edit of the plan leaves %d of 2 spares, and offers %d", n, w.pool.StatusNumber("offered"))
		}
		w.collect()
		for range 4 {
			w.reconcile("pool")
			w.look("pool")
			for _, key := range slices.Sorted(maps.Keys(w.cached)) {
				w.sync(key)
			}
		}
		return w, was
	}
	left := func(w *world, of []string) (n int) {
		for _, o := range objects(w.pool) {
			n += btoi(slices.Contains(of, nameIn(o)))
		}
		return n
	}
	w, was := halfway()
	if n := len(objects(w.pool)); n != 2 || left(w, was) != 1 {
		t.Fatalf("it has %d spares, %d of them as they were", n, left(w, was))
	}
	w.pool.XR().Fields["spec"] = crossplanetest.JSON(`{"plan":"small","size":1}`)
	w.reconcile("pool")
	if n := len(objects(w.pool)); n != 1 || left(w, was) != 0 {
		t.Errorf("a pool of one keeps %d spares, %d of them as they were", n, left(w, was))
	}

	w, was = halfway()
	are := w.names()
	w.pool.AddPlan("small", `{"argocd":{"ha":true},"loadBalancers":1}`)
	w.reconcile("pool")
	if n := left(w, are); n != 1 {
		t.Errorf("another edit leaves %d spares, one of which doesn't come up, want 1", n)
	}
	w.settle()
	w.check(2)
	if left(w, append(was, are...)) != 0 || w.pool.StatusNumber("offered") != 2 {
		t.Errorf("it has %v, where it had %v and %v, and offers %d", w.names(), was, are, w.pool.StatusNumber("offered"))
	}
}

// TestBrokenSpare: one that has been Degraded for half an hour is replaced, one after the other.
func TestBrokenSpare(t *testing.T) {
	w := filled(t, `{"plan":"small","size":3}`, 3)
	breaks := func(ago time.Duration, names ...string) {
		for _, xr := range w.tenants() {
			if name := wire.Of(xr).String("metadata", "name"); slices.Contains(names, name) {
				crossplanetest.Field(xr, "status").Fields["readyAt"] = structpb.NewStringValue("2026-01-01T00:00:00Z")
				crossplanetest.Field(xr, "status").Fields["phase"] = structpb.NewStringValue("Degraded")
				crossplanetest.SetCondition(xr, "Ready", "False", "Waiting", "")
				for _, c := range crossplanetest.Field(xr, "status").GetFields()["conditions"].GetListValue().GetValues() {
					c.GetStructValue().Fields["lastTransitionTime"] = structpb.NewStringValue(w.pool.Now().Add(-ago).Format(time.RFC3339))
				}
			}
		}
	}
	are := w.names()
	slices.Sort(are)
	breaks(29*time.Minute, are...)
	w.reconcile("pool")
	if n := len(objects(w.pool)); n != 3 {
		t.Errorf("after 29 minutes, %d of 3 broken spares are left", n)
	}
	breaks(31*time.Minute, are[:2]...)
	left := func(want int) {
		t.Helper()
		w.reconcile("pool")
		n := 0
		for _, o := range objects(w.pool) {
			if slices.Contains(are, nameIn(o)) {
				n++
			}
		}
		if n != want {
			t.Errorf("%d of 3 spares are left, the first two of which have been broken for long, want %d", n, want)
		}
	}
	left(2)
	left(2)
	w.settle()
	w.check(3)
	breaks(31*time.Minute, are[:2]...)
	left(1)
}

func (w *world) generation() {
	for _, xr := range w.tenants() {
		crossplanetest.Field(xr, "metadata").Fields["generation"] = structpb.NewNumberValue(2)
		for _, c := range crossplanetest.Field(xr, "status").GetFields()["conditions"].GetListValue().GetValues() {
			c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(1)
		}
	}
}

func (w *world) deleting() {
	for _, xr := range w.tenants() {
		crossplanetest.Field(xr, "metadata").Fields["deletionTimestamp"] = structpb.NewStringValue("2026-01-01T00:00:00Z")
	}
}

// TestStorm: twenty fronts come at once while three spares are there. Three take one each, the others are installed, and none waits.
func TestStorm(t *testing.T) {
	w := filled(t, `{"plan":"small","size":3}`, 3)
	for i := range 20 {
		w.add(fmt.Sprintf("team-%d/a", i), small)
	}
	// All of them choose before the first one has what it chose.
	for id := range w.fronts {
		w.reconcile(id)
		w.look(id)
	}
	chosen := map[string]int{}
	for _, e := range w.fronts {
		chosen[nameIn(first(objects(e)))]++
	}
	if len(chosen) < 3 {
		t.Errorf("they chose %v", chosen)
	}
	w.settle()
	took := 0
	for id := range w.fronts {
		if w.took(id) {
			took++
		}
	}
	if took != 3 {
		t.Errorf("%d fronts took a spare", took)
	}
	w.check(3)
}

// TestPoolChanges: a pool has as many spares as it is to have, of its plan as it is now.
func TestPoolChanges(t *testing.T) {
	w := filled(t, `{"plan":"small","size":3}`, 3)
	was := w.names()
	set := func(spec string) { w.pool.XR().Fields["spec"] = crossplanetest.JSON(spec) }
	same := func() int {
		n := 0
		for _, name := range w.names() {
			if slices.Contains(was, name) {
				n++
			}
		}
		return n
	}
	set(`{"plan":"small","size":1}`)
	w.settle()
	if w.check(1); same() != 1 {
		t.Errorf("it isn't one of those that were there: %v, %v", was, w.names())
	}
	set(`{"plan":"small","size":2,"asleep":true}`)
	w.settle()
	if w.check(2); same() != 1 || w.pool.StatusNumber("asleep") != 2 {
		t.Errorf("those that were there aren't asleep: %v, %v", was, w.names())
	}
	w.pool.AddPlan("small", `{"vcluster":{"storage":{"size":"9Gi"}}}`)
	w.settle()
	if w.check(2); same() != 0 {
		t.Errorf("they have the plan as it was: %v, %v", was, w.names())
	}
	was = w.names()
	w.pool.AddPlan("small", `{"vcluster":{"nonsense":true}}`)
	w.settle()
	if is := w.pool.Condition(v1alpha1.ConditionSpecAccepted); same() != 2 || len(w.names()) != 2 || !strings.Contains(is.GetMessage(), "nonsense") {
		t.Errorf("a mistake of the plan changed something: %v, %v, %s", was, w.names(), is.GetMessage())
	}
	set(`{"plan":"lost","size":2}`)
	w.settle()
	if is := w.pool.Condition(v1alpha1.ConditionSpecAccepted); same() != 2 || !strings.Contains(is.GetMessage(), `there is no XArgoCDPlan "lost"`) {
		t.Errorf("a mistake changed something: %v, %v, %s", was, w.names(), is.GetMessage())
	}
	w.remove("pool")
	w.collect()
	w.check(0)
}

// TestPoolMakesFewAtOnce: a large pool doesn't install all of its spares at once, and what broke later holds nothing up.
func TestPoolMakesFewAtOnce(t *testing.T) {
	w := newWorld(t, `{"plan":"small","size":20}`)
	w.turn(4)
	if n := len(w.names()); n != 2 {
		t.Errorf("it makes %d at once", n)
	}
	for at, o := range objects(w.pool) {
		// One that is gone may have been taken, and its taker may be gone, too.
		if got := o.Strings("spec", "managementPolicies"); !slices.Equal(got, []string{"Observe", "Update"}) {
			t.Errorf("%s exists, and its Object may %v", at, got)
		}
	}
	w.run()
	w.status(`{"phase":"Degraded"}`)
	w.reconcile("pool")
	if n := len(objects(w.pool)); n != 4 {
		t.Errorf("with two that are broken it has %d", n)
	}
	if is := w.pool.Condition(v1alpha1.ConditionPoolFull); is.GetReason() != v1alpha1.ReasonFilling || is.GetMessage() != "0 of 20 spares can be taken" {
		t.Errorf("it says %s: %s", is.GetReason(), is.GetMessage())
	}
}

// TestLawsOfPools tries random orders of what everybody does, with caches that lag behind. No spare has two takers, nobody loses one, and once
// all have settled, each front has one tenant, the pool has its spares, and nothing is left over.
func TestLawsOfPools(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	took, lost := 0, 0
	for range crossplanetest.Seeds(40) {
		w := filled(t, `{"plan":"small","size":2}`, 2)
		size := 2
		ids := []string{"team-a/a", "team-a/b", "team-b/a", "team-c/a"}
		anyone := func() string { return ids[random.IntN(len(ids))] }
		for range 60 {
			switch random.IntN(14) {
			case 0, 1:
				if id := anyone(); w.fronts[id] == nil {
					w.note("new: %s", id)
					w.add(id, small)
				}
			case 2, 3, 4:
				w.lag(random, anyone())
			case 5:
				w.lag(random, "pool")
			case 6, 7:
				w.look(anyone())
			case 8:
				w.look("pool")
			case 9, 10, 11:
				if keys := slices.Sorted(maps.Keys(w.cached)); len(keys) > 0 {
					w.sync(keys[random.IntN(len(keys))])
				}
			case 12:
				w.run()
				w.collect()
			default:
				switch random.IntN(5) {
				case 4:
					if names := w.names(); len(names) > 0 {
						name := names[random.IntN(len(names))]
						w.note("outdated: %s", name)
						w.outdate(name)
					}
				case 0:
					if id := anyone(); w.fronts[id] != nil {
						w.remove(id)
					}
				case 1:
					if w.pool != nil {
						size = random.IntN(4)
						w.note("size %d", size)
						w.pool.XR().Fields["spec"] = crossplanetest.JSON(fmt.Sprintf(`{"plan":"small","size":%d,"asleep":%t}`, size, random.IntN(2) == 0))
					}
				case 2:
					w.note("plan")
					w.pool0().AddPlan("small", fmt.Sprintf(`{"loadBalancers":%d}`, random.IntN(3)))
				case 3:
					if random.IntN(8) == 0 && w.pool != nil {
						w.remove("pool")
					}
				}
			}
		}
		w.settle()
		w.check(size)
		for id := range w.fronts {
			if w.took(id) {
				took++
			}
		}
		if slices.ContainsFunc(w.log, func(s string) bool { return strings.Contains(s, "denied: a tenant stays") }) {
			lost++
		}
	}
	if took < 10 || lost < 1 {
		t.Errorf("only %d spares were taken, and in %d cases by two: this shows too little", took, lost)
	}
}

// pool0 is an engine of the world, also once the pool is deleted.
func (w *world) pool0() *crossplanetest.Engine {
	if w.pool != nil {
		return w.pool
	}
	e := crossplanetest.NewXR(w.t, `{"apiVersion":"`+group+`","kind":"XArgoCDPool","metadata":{"name":"p"}}`, "")
	e.Cluster = w.cluster
	return e
}

// lag reconciles with what Crossplane had in its cache some time ago, or with what there is.
func (w *world) lag(random *rand.Rand, id string) {
	e := w.engine(id)
	if e == nil {
		return
	}
	if w.past == nil || random.IntN(3) == 0 {
		w.past = map[string]*structpb.Struct{}
		for key, o := range w.cluster {
			w.past[key] = proto.Clone(o).(*structpb.Struct)
		}
	}
	if random.IntN(2) == 0 {
		e.Stale = w.past
	}
	w.reconcile(id)
	e.Stale = nil
}

// TestDroppedEvents: a pool of which Crossplane's circuit breaker drops events looks after its spares soon.
func TestDroppedEvents(t *testing.T) {
	w := filled(t, `{"plan":"small","size":1}`, 1)
	if ttl := w.pool.Call().GetMeta().GetTtl().AsDuration(); ttl != crossplanetest.TTLAtRest {
		t.Fatalf("a pool at rest looks again in %s", ttl)
	}
	status := crossplanetest.Field(w.pool.XR(), "status")
	conditions := append(status.GetFields()["conditions"].GetListValue().GetValues(), structpb.NewStructValue(resource.MustStructJSON(`{"type":"Responsive","status":"False","reason":"WatchCircuitOpen"}`)))
	status.Fields["conditions"] = structpb.NewListValue(&structpb.ListValue{Values: conditions})
	if ttl := w.pool.Call().GetMeta().GetTtl().AsDuration(); ttl != crossplanetest.TTL {
		t.Errorf("it looks again in %s, want %s", ttl, crossplanetest.TTL)
	}
}
