package pool_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/pool"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// A world has a pool and namespaced VirtualArgoCDs, each with an engine of its own, and plays provider-kubernetes, Kubernetes' garbage collector
// and what becomes of a composite resource. Each of its methods is one step of one of them, so that a test can take them in any order.
type world struct {
	t       testing.TB
	cluster map[string]*structpb.Struct
	// pool is nil once it is deleted.
	pool   *crossplanetest.Engine
	fronts map[string]*crossplanetest.Engine
	// cached is what provider-kubernetes has in its cache of Objects, by the engine's name and the Object's: it may be older than what there is.
	cached map[string]*structpb.Struct
	uids   int
	// outdated are the names of composite resources that wait for a change of the platform.
	outdated map[string]bool
	// was is who had each composite resource, by its UID.
	was map[string]string
	log []string
	// past is what Crossplane has in a cache that lags behind.
	past map[string]*structpb.Struct
}

const (
	group = "virtualargocd.io/v1alpha1"
	plans = "XArgoCDPlan//"
)

func newWorld(t testing.TB, spec string) *world {
	w := &world{t: t, fronts: map[string]*crossplanetest.Engine{}, cached: map[string]*structpb.Struct{}, was: map[string]string{}, outdated: map[string]bool{}}
	w.pool = crossplanetest.NewXR(t, `{"apiVersion":"`+group+`","kind":"XArgoCDPool","metadata":{"name":"p","uid":"uid-of-p"},"spec":`+spec+`}`, "")
	w.cluster = w.pool.Cluster
	w.pool.AddPlan("small", `{"namespaces":["team-*"]}`)
	w.pool.AddPlan("large", `{}`)
	w.pool.AddPlan("rolled", `{"channel":"stable"}`)
	return w
}

// add creates a front <namespace>/<name>.
func (w *world) add(id, spec string) *crossplanetest.Engine {
	w.uids++
	namespace, name, _ := strings.Cut(id, "/")
	e := crossplanetest.NewXR(w.t, `{"apiVersion":"m.`+group+`","kind":"VirtualArgoCD","metadata":{"namespace":"`+namespace+`","name":"`+name+`","uid":"front-`+strconv.Itoa(w.uids)+`","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":`+spec+`}`, "")
	e.Cluster = w.cluster
	w.fronts[id] = e
	w.cluster[crossplanetest.Key(e.XR())] = e.XR()
	return e
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n"))
}

// objects are the Objects of an engine, by their names in the composition.
func objects(e *crossplanetest.Engine) map[string]wire.Struct {
	out := map[string]wire.Struct{}
	if e == nil {
		return out
	}
	for at, r := range e.Request.GetObserved().GetResources() {
		if o := wire.Of(r.GetResource()); o.String("kind") == "Object" {
			out[at] = o
		}
	}
	return out
}

func (w *world) engine(id string) *crossplanetest.Engine {
	if id == "pool" {
		return w.pool
	}
	return w.fronts[id]
}

// reconcile has Crossplane reconcile the pool or a front.
func (w *world) reconcile(id string) {
	w.t.Helper()
	e := w.engine(id)
	if e == nil {
		return
	}
	before := objects(e)
	rsp := e.Call()
	if fatal := crossplanetest.Fatal(rsp); fatal != "" {
		w.fail("%s: %s", id, fatal)
	}
	// Crossplane can't apply an Object that another one controls.
	for at, r := range rsp.GetDesired().GetResources() {
		for other, of := range w.fronts {
			for _, o := range objects(of) {
				d := wire.Of(r.GetResource())
				if other != id && id != "pool" && before[at].Exists() == false && o.String("metadata", "name") == d.String("metadata", "name") && o.String("metadata", "namespace") == d.String("metadata", "namespace") {
					w.note("%s: Crossplane can't have Object %s of %s", id, o.String("metadata", "name"), other)
					return
				}
			}
		}
	}
	e.Reconcile()
	after := objects(e)
	for at, o := range before {
		if !after[at].Exists() {
			w.note("%s: Object %s goes: %v", id, at, o.Strings("spec", "managementPolicies"))
			if strings.HasPrefix(at, pool.Prefix) && slices.Contains(o.Strings("spec", "managementPolicies"), "*") {
				w.fail("%s: the Object of its tenant is dropped", id)
			}
			if slices.Contains(o.Strings("spec", "managementPolicies"), "Delete") {
				w.fail("%s: an Object is dropped with which %s goes, whoever has it", id, nameIn(o))
			}
		}
	}
	for at, o := range after {
		if !before[at].Exists() {
			w.note("%s: Object %s for %s", id, at, nameIn(o))
		}
	}
}

func nameIn(o wire.Struct) string {
	return o.String("spec", "forProvider", "manifest", "metadata", "name")
}

// look has provider-kubernetes see the Objects of the pool or of a front as they are now.
func (w *world) look(id string) {
	maps.DeleteFunc(w.cached, func(key string, _ *structpb.Struct) bool { return strings.HasPrefix(key, id+" ") })
	e := w.engine(id)
	for at := range objects(e) {
		w.cached[id+" "+at] = proto.Clone(e.Request.GetObserved().GetResources()[at].GetResource()).(*structpb.Struct)
	}
}

// sync has provider-kubernetes reconcile an Object as it has it in its cache.
func (w *world) sync(key string) {
	w.t.Helper()
	cached := w.cached[key]
	if cached == nil {
		return
	}
	o := wire.Of(cached)
	id, at, _ := strings.Cut(key, " ")
	live := objects(w.engine(id))[at]
	may := func(action string) bool {
		return slices.ContainsFunc(o.Strings("spec", "managementPolicies"), func(p string) bool { return p == action || p == "*" })
	}
	name := nameIn(o)
	if got := o.String("metadata", "name"); got != name {
		w.fail("Object %s writes %s: its field manager is another one", got, name)
	}
	account := "front"
	if id == "pool" {
		account = "pool"
	}
	old := w.cluster["XVirtualArgoCD//"+name]
	said := ""
	switch {
	// It creates only for an Object that is as it has it: it writes to that first.
	case old == nil && may("Create") && live.Exists() && proto.Equal(live.Value("spec"), o.Value("spec")):
		said = w.write(account, name, nil, o)
	case old != nil && may("Update"):
		said = w.write(account, name, old, o)
	}
	if said != "" {
		w.note("%s: %s: %s", key, name, said)
	}
	if !live.Exists() {
		return
	}
	is := w.engine(id).Request.GetObserved().GetResources()[at].GetResource()
	crossplanetest.SetCondition(is, "Synced", map[bool]string{true: "True", false: "False"}[said == ""], "a", said)
	if xr := w.cluster["XVirtualArgoCD//"+name]; xr != nil {
		status := crossplanetest.Field(is, "status")
		status.Fields["atProvider"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"manifest": structpb.NewStructValue(proto.Clone(xr).(*structpb.Struct))}})
	}
}

// write applies the manifest in an Object, with its field manager: what that owned and isn't in the manifest goes. It returns why the host refuses
// it: what is here for the policies of examples/install is what TestPoolPolicies shows of them.
func (w *world) write(account, name string, old *structpb.Struct, o wire.Struct) string {
	was := wire.Of(old)
	manifest := proto.Clone(o.Value("spec", "forProvider", "manifest").GetStructValue()).(*structpb.Struct)
	is := wire.Of(manifest)
	labelled := func(o wire.Struct) bool {
		return o.String("metadata", "labels", "virtualargocd.io/spare") == "true"
	}
	switch account {
	case "pool":
		if was.Has("spec", "claimRef") || is.Has("spec", "claimRef") || old != nil && !labelled(was) || !labelled(is) {
			return "denied: isn't the pool's any more"
		}
		if len(is.List("metadata", "ownerReferences")) != 1 {
			w.fail("pool: %s has no owner", name)
		}
	default:
		if old != nil && was.Has("spec", "claimRef") && owner(was) != owner(is) {
			return "denied: a tenant stays with its namespace and name"
		}
		if old != nil && !was.Has("spec", "claimRef") && (!labelled(was) || was.Has("metadata", "deletionTimestamp")) {
			return "denied: only a spare that isn't being deleted becomes a tenant"
		}
		if labelled(is) {
			w.fail("%s: stays a spare", name)
		}
	}
	meta := crossplanetest.Field(manifest, "metadata")
	if old == nil {
		w.uids++
		meta.Fields["uid"] = structpb.NewStringValue("tenant-" + strconv.Itoa(w.uids))
		manifest.Fields["status"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
	} else {
		for _, key := range []string{"uid", "deletionTimestamp"} {
			if v := crossplanetest.Field(old, "metadata").GetFields()[key]; v != nil {
				meta.Fields[key] = v
			}
		}
		manifest.Fields["status"] = old.GetFields()["status"]
	}
	uid := meta.Fields["uid"].GetStringValue()
	if before, by := w.was[uid], owner(is); by != "" {
		if before != "" && before != by {
			w.fail("%s had %s, and %s gets it", before, name, by)
		}
		w.was[uid] = by
		if before == "" && old != nil {
			w.note("%s takes %s", by, name)
		}
	}
	w.cluster["XVirtualArgoCD//"+name] = manifest
	return ""
}

// owner returns who has a composite resource, as <namespace>/<name>; "" for nobody.
func owner(xr wire.Struct) string {
	if !xr.Has("spec", "claimRef") {
		return ""
	}
	return xr.String("spec", "claimRef", "namespace") + "/" + xr.String("spec", "claimRef", "name")
}

// tenants are the composite resources, in the order of their names.
func (w *world) tenants() []*structpb.Struct {
	var out []*structpb.Struct
	for _, key := range slices.Sorted(maps.Keys(w.cluster)) {
		if strings.HasPrefix(key, "XVirtualArgoCD//") {
			out = append(out, w.cluster[key])
		}
	}
	return out
}

// run has the composite resources become what their specs say.
func (w *world) run() {
	for i, xr := range w.tenants() {
		phase := "Ready"
		if wire.Of(xr).Bool("spec", "hibernation", "enabled") {
			phase = "Hibernated"
		}
		is := proto.Clone(xr).(*structpb.Struct)
		is.Fields["status"] = resource.MustStructJSON(`{"s":{"phase":"` + phase + `","channel":{"updateAvailable":` + strconv.FormatBool(w.outdated[wire.Of(xr).String("metadata", "name")]) + `},"readyAt":"2025-01-01T00:00:0` + strconv.Itoa(i%10) + `Z","conditions":[{"type":"Ready","status":"` + map[bool]string{true: "True", false: "False"}[phase == "Ready"] + `"},{"type":"SpecAccepted","status":"True"},{"type":"Synced","status":"True"}]}}`).GetFields()["s"]
		w.cluster[crossplanetest.Key(xr)] = is
	}
}

// collect has Kubernetes delete what has only owners that don't exist.
func (w *world) collect() {
	w.t.Helper()
	uids := map[string]bool{}
	for _, o := range objects(w.pool) {
		uids[o.String("metadata", "uid")] = true
	}
	for _, xr := range w.tenants() {
		of := wire.Of(xr)
		owners := of.List("metadata", "ownerReferences")
		if len(owners) == 0 || slices.ContainsFunc(owners, func(o wire.Struct) bool { return uids[o.String("uid")] }) {
			continue
		}
		name := of.String("metadata", "name")
		if e := w.fronts[owner(of)]; e != nil && wire.Of(e.XR()).Condition("TenantBound").True() {
			by := owner(of)
			w.fail("%s has %s, and it is collected", by, name)
		}
		if of.Has("metadata", "annotations", "virtualargocd.io/claimed-at") {
			w.note("denied: a tenant that somebody has doesn't go with a pool: %s", name)
			continue
		}
		w.note("collected: %s", name)
		delete(w.cluster, crossplanetest.Key(xr))
	}
}

// remove deletes a front, or the pool. Kubernetes deletes its Objects, and provider-kubernetes what they may delete.
func (w *world) remove(id string) {
	w.t.Helper()
	for at, o := range objects(w.engine(id)) {
		name := nameIn(o)
		if slices.Contains(o.Strings("spec", "managementPolicies"), "*") {
			if xr := w.cluster["XVirtualArgoCD//"+name]; xr != nil {
				if got := owner(wire.Of(xr)); got != id {
					w.fail("%s deletes %s of %q", id, name, got)
				}
				delete(w.cluster, "XVirtualArgoCD//"+name)
			}
		}
		w.note("%s: Object %s is deleted", id, at)
	}
	if id == "pool" {
		w.pool = nil
		return
	}
	delete(w.cluster, crossplanetest.Key(w.fronts[id].XR()))
	delete(w.fronts, id)
}

// turn lets the pool be called a number of times, and its Objects be written each time. No spare comes up.
func (w *world) turn(times int) {
	for range times {
		w.reconcile("pool")
		w.look("pool")
		for _, key := range slices.Sorted(maps.Keys(w.cached)) {
			w.sync(key)
		}
	}
}

// settle has all of them work until nothing changes any more.
func (w *world) settle() {
	w.t.Helper()
	for range 12 {
		for _, id := range append(slices.Sorted(maps.Keys(w.fronts)), "pool") {
			w.reconcile(id)
			w.look(id)
		}
		for _, key := range slices.Sorted(maps.Keys(w.cached)) {
			w.sync(key)
		}
		w.run()
		w.collect()
	}
}

// check checks what holds once all have settled.
func (w *world) check(size int) {
	w.t.Helper()
	has, spares := map[string][]string{}, 0
	for _, xr := range w.tenants() {
		of := wire.Of(xr)
		name, by := of.String("metadata", "name"), owner(of)
		has[by] = append(has[by], name)
		switch {
		case by == "":
			spares++
		case w.fronts[by] == nil:
			w.fail("%s is of %s, which doesn't exist", name, by)
		case of.Has("metadata", "ownerReferences"):
			w.fail("%s of %s still has an owner", name, by)
		}
	}
	if w.pool == nil {
		size = 0
	}
	if spares != size {
		w.fail("want %d spares, got %v", size, has[""])
	}
	if n := len(objects(w.pool)); n != size {
		w.fail("want %d Objects of the pool, got %d", size, n)
	}
	for id, e := range w.fronts {
		if len(has[id]) != 1 {
			w.fail("%s has %v", id, has[id])
		}
		all := objects(e)
		if len(all) != 1 {
			w.fail("%s has Objects %v", id, slices.Collect(maps.Keys(all)))
		}
		for at, o := range all {
			if nameIn(o) != has[id][0] || !slices.Equal(o.Strings("spec", "managementPolicies"), []string{"*"}) {
				w.fail("%s: Object %s is for %s, %v", id, at, nameIn(o), o.Strings("spec", "managementPolicies"))
			}
		}
		if is := e.Condition("TenantBound"); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
			w.fail("%s: %s", id, is.GetMessage())
		}
		if !wire.Of(e.XR()).Condition("Ready").True() {
			w.fail("%s isn't ready", id)
		}
	}
}

// took reports whether a front has a composite resource that was a spare.
func (w *world) took(id string) bool {
	for at := range objects(w.fronts[id]) {
		return strings.HasPrefix(at, tenant.FrontSparePrefix)
	}
	return false
}
