package crossplanetest

import (
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// How long a call of the function lets Crossplane wait for the next one: while something changes, while the tenant names Secrets that
// Crossplane doesn't watch, and where nothing changes that Crossplane doesn't see.
const (
	TTL             = time.Minute
	TTLOfReferences = 30 * time.Second
	TTLAtRest       = 20 * time.Minute
)

// Call calls the function as Crossplane does: again and again, with what it has
// asked for, until it asks for nothing else. What it asked for in the call before is
// handed over at once, as Crossplane 2.4 does: most calls are the only one then.
func (e *Engine) Call() *fnv1.RunFunctionResponse {
	e.T.Helper()
	e.Request.Context = nil
	if e.Unwatched {
		e.Asked, e.Request.RequiredResources = nil, nil
	}
	for range 6 {
		if e.Asked != nil {
			e.SupplyRequired()
		}
		rsp, err := e.Function.RunFunction(e.T.Context(), e.Request)
		if err != nil {
			e.T.Fatal(err)
		}
		if Fatal(rsp) != "" || proto.Equal(e.Asked, rsp.GetRequirements()) {
			return rsp
		}
		e.Asked, e.Request.Context = rsp.GetRequirements(), rsp.GetContext()
	}
	e.T.Fatal("the function never stops asking for more")
	return nil
}

// SupplyRequired hands over what the function has asked for.
func (e *Engine) SupplyRequired() {
	e.Request.RequiredResources = map[string]*fnv1.Resources{}
	cluster := e.Cluster
	if e.Stale != nil {
		cluster = e.Stale
	}
	keys := slices.Sorted(maps.Keys(cluster))
	for name, s := range e.Asked.GetResources() {
		found := &fnv1.Resources{}
		for _, key := range keys {
			if o := cluster[key]; matches(s, o) {
				found.Items = append(found.Items, &fnv1.Resource{Resource: o})
			}
		}
		e.Request.RequiredResources[name] = found
	}
}

// matches reports whether Crossplane finds an object by a selector.
func matches(s *fnv1.ResourceSelector, o *structpb.Struct) bool {
	meta := Field(o, "metadata").GetFields()
	if o.GetFields()["kind"].GetStringValue() != s.GetKind() || meta["namespace"].GetStringValue() != s.GetNamespace() {
		return false
	}
	if s.GetMatchLabels() == nil {
		return meta["name"].GetStringValue() == s.GetMatchName()
	}
	for key, value := range s.GetMatchLabels().GetLabels() {
		if Field(o, "metadata", "labels").GetFields()[key].GetStringValue() != value {
			return false
		}
	}
	return true
}

// Reconcile calls the function and applies what it desires.
func (e *Engine) Reconcile() *fnv1.RunFunctionResponse {
	e.T.Helper()
	rsp := e.Call()
	e.Response = rsp
	e.report(rsp)
	if Fatal(rsp) != "" {
		return rsp
	}
	xr := e.XR()
	if kind := xr.GetFields()["kind"].GetStringValue(); kind != v1alpha1.ChannelKind && kind != v1alpha1.PoolKind {
		CheckReady(e.T, rsp)
	}
	SetReady(xr, rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE, e.Now())
	e.checkEmptied("status", xr.Fields["status"].GetStructValue(), rsp.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue())
	conditions := xr.Fields["status"].GetStructValue().GetFields()["conditions"]
	xr.Fields["status"] = structpb.NewStructValue(proto.Clone(rsp.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue()).(*structpb.Struct))
	xr.Fields["status"].GetStructValue().Fields["conditions"] = conditions
	e.Request.Observed.Composite.ConnectionDetails = maps.Clone(rsp.GetDesired().GetComposite().GetConnectionDetails())

	observed := e.Request.GetObserved().GetResources()
	maps.DeleteFunc(observed, func(name string, o *fnv1.Resource) bool {
		gone := rsp.GetDesired().GetResources()[name] == nil
		if gone {
			delete(e.Cluster, Key(o.GetResource()))
		}
		return gone
	})
	for name, d := range rsp.GetDesired().GetResources() {
		if e.store(d.GetResource()) {
			observed[name] = e.apply(name, d.GetResource())
		}
	}
	return rsp
}

// checkEmptied fails where an object without fields is to take the place of one with some: server-side apply makes null of it, and the API server
// refuses that, or takes it for a value.
func (e *Engine) checkEmptied(path string, was, now *structpb.Struct) {
	for key, value := range now.GetFields() {
		is, had := value.GetStructValue(), was.GetFields()[key].GetStructValue()
		if is != nil && len(is.GetFields()) == 0 && len(had.GetFields()) > 0 {
			e.T.Errorf("%s.%s becomes null, because an empty object is applied in place of %v", path, key, had)
		}
		e.checkEmptied(path+"."+key, had, is)
	}
}

// report writes the conditions of a response into the composite resource, and its results into the events.
func (e *Engine) report(rsp *fnv1.RunFunctionResponse) {
	xr := e.XR()
	for _, c := range rsp.GetConditions() {
		was := wire.Of(xr).Condition(c.GetType())
		SetCondition(xr, c.GetType(), map[fnv1.Status]string{fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_UNKNOWN: "Unknown"}[c.GetStatus()], c.GetReason(), c.GetMessage())
		at := e.Now().UTC().Format(time.RFC3339)
		if is := wire.Of(xr).Condition(c.GetType()); is.Status == was.Status && is.Reason == was.Reason && is.Message == was.Message {
			at = was.LastTransitionTime
		}
		setTransition(xr, c.GetType(), at)
	}
	for _, r := range rsp.GetResults() {
		// Of a fatal result Crossplane makes an error of its own.
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			continue
		}
		e.Events = append(e.Events, r.GetReason()+": "+r.GetMessage())
	}
}

// apply returns a composed resource as it is after Crossplane has applied it: what others have written into it stays.
func (e *Engine) apply(name string, desired *structpb.Struct) *fnv1.Resource {
	was := e.Request.GetObserved().GetResources()[name]
	e.checkEmptied(name+": spec", Field(was.GetResource(), "spec"), Field(desired, "spec"))
	o := applied(desired)
	meta := o.Fields["metadata"].GetStructValue()
	meta.Fields["uid"] = structpb.NewStringValue("uid-of-" + name)
	for _, key := range []string{"generation", "creationTimestamp"} {
		if is := Field(was.GetResource(), "metadata").GetFields()[key]; is != nil {
			meta.Fields[key] = is
		}
	}
	if s := was.GetResource().GetFields()["status"]; s != nil {
		o.Fields["status"] = s
	}
	if e.Generations && name == tenant.ArgoCDRelease {
		generation := Field(was.GetResource(), "metadata").GetFields()["generation"].GetNumberValue()
		if !proto.Equal(was.GetResource().GetFields()["spec"], o.GetFields()["spec"]) {
			generation++
		}
		meta.Fields["generation"] = structpb.NewNumberValue(generation)
	}
	// Server-side apply leaves others' keys alone.
	if v := was.GetResource().GetFields()["data"]; v != nil && o.Fields["data"] == nil && (name == tenant.BackupRecord || name == tenant.RestoreRecord || name == tenant.RestoredSecret) {
		o.Fields["data"] = v
	}
	for _, key := range []string{"token", "ca.crt", "namespace"} {
		if v := Field(was.GetResource(), "data").GetFields()[key]; v != nil && strings.HasSuffix(name, "-credentials") {
			if o.Fields["data"] == nil {
				o.Fields["data"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
			}
			Field(o, "data").Fields[key] = v
		}
	}
	return &fnv1.Resource{Resource: o, ConnectionDetails: was.GetConnectionDetails()}
}

// applied returns an object with maps of its own for what Kubernetes and the providers write into it. The rest is shared: to copy all of each
// object takes a tenth of the time of these tests.
func applied(desired *structpb.Struct) *structpb.Struct {
	o := &structpb.Struct{Fields: maps.Clone(desired.GetFields())}
	for _, key := range []string{"metadata", "data"} {
		if of := o.Fields[key].GetStructValue(); of != nil {
			o.Fields[key] = structpb.NewStructValue(&structpb.Struct{Fields: maps.Clone(of.GetFields())})
		}
	}
	return o
}

// store puts a composed object where others read it, with the labels and the owner that Crossplane writes. It reports whether the API server lets
// Crossplane do so: it refuses an object that has another controller.
func (e *Engine) store(o *structpb.Struct) bool {
	if kind := o.GetFields()["kind"].GetStringValue(); kind != "ConfigMap" && kind != "EnvironmentConfig" {
		return true
	}
	key, uid := Key(o), Field(e.XR(), "metadata").GetFields()["uid"].GetStringValue()
	if was := e.Cluster[key]; was != nil {
		owners := Field(was, "metadata").GetFields()["ownerReferences"].GetListValue().GetValues()
		if len(owners) == 0 || owners[0].GetStructValue().GetFields()["uid"].GetStringValue() != uid {
			return false
		}
		if was.GetFields()["immutable"].GetBoolValue() && !proto.Equal(was.GetFields()["data"], o.GetFields()["data"]) {
			e.T.Errorf("%s is immutable, and changes", key)
			return false
		}
	}
	o = proto.Clone(o).(*structpb.Struct)
	meta := Field(o, "metadata")
	meta.Fields["ownerReferences"] = JSON(`[{"uid":"` + uid + `","controller":true}]`)
	if claim := Field(e.XR(), "spec", "claimRef").GetFields(); claim != nil {
		if meta.Fields["labels"] == nil {
			meta.Fields["labels"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
		}
		labels := Field(meta, "labels").Fields
		labels["crossplane.io/claim-name"], labels["crossplane.io/claim-namespace"] = claim["name"], claim["namespace"]
	}
	e.Cluster[key] = o
	return true
}

// FailCall does what Crossplane does when its call of the function fails: it makes the conditions Unknown that the function sets.
func (e *Engine) FailCall() {
	e.T.Helper()
	for _, c := range wire.Of(e.XR()).List("status", "conditions") {
		if typ := c.String("type"); !slices.Contains([]string{"Ready", "Synced", "Responsive"}, typ) {
			SetCondition(e.XR(), typ, "Unknown", "FatalError", "A fatal error occurred before the status of this condition could be determined.")
		}
	}
}
