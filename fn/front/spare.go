package front

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/apis/common"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/spare"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// RequiredSpares are the composite resources that belong to nobody.
const RequiredSpares = "spares"

// looksAgainIn is how long Crossplane may leave alone a front that is taking a spare.
const looksAgainIn = 10 * time.Second

// takes are the management policies of an Object that takes a spare. The Object may be one of several that do, of which the first one gets it:
// an admission policy refuses that a composite resource which belongs to somebody is given to somebody else. Whoever has come too late must
// not delete it, and whoever finds none must not create one under its name.
//
// Until the front has seen that the spare is its own, and its Object would delete it, the spare stays the pool's to delete: it keeps its owner.
// Otherwise nobody would delete the spare of a front that is deleted in between.
var takes = common.ManagementPolicies{common.ManagementActionObserve, common.ManagementActionUpdate}

// bindsAlready reports whether an Object has, or had, its composite resource for itself. One with the management policies of takes hasn't.
func bindsAlready(object wire.Composed) bool {
	return slices.Contains(object.Strings("spec", "managementPolicies"), string(common.ManagementActionAll))
}

// ownedByPool reports whether a composite resource would still go with the Object of its pool.
func ownedByPool(xr wire.Struct) bool {
	return slices.ContainsFunc(xr.List("metadata", "ownerReferences"), func(owner wire.Struct) bool { return owner.String("kind") == "Object" })
}

// settled are the fields of a spec that a spare has settled already: the versions that it runs, which would otherwise be upgraded or couldn't be
// downgraded; what would replace its control plane; what only an installation reads; and the Composition. A front with one of these gets an
// installation of its own.
var settled = []string{
	"channel", "kubernetes", "vcluster", "restoreFrom", "suspension",
	"compositionRef", "compositionSelector", "compositionRevisionRef", "compositionRevisionSelector", "compositionUpdatePolicy",
}

// takesAny reports whether the front's spec lets it take a spare.
func (f front) takesAny() bool {
	spec := f.xr.Get("spec")
	return f.xr.String("metadata", "annotations", v1alpha1.AnnotationLeave) != "true" && !spec.Has("argocd", "chartVersion") &&
		!slices.ContainsFunc(settled, func(field string) bool { return spec.Has(field) })
}

// observed returns a composed Object, as it is observed.
func (f front) observed(at string) wire.Composed {
	return wire.Composed{Struct: wire.Of(f.composed[at].GetResource())}
}

// take returns a composite resource as a spare that the front doesn't have for good yet: what it says is still about the spare.
func (f front) take(b bound) bound {
	b.taking, b.xr = true, wire.Struct{}
	b.problem = condition.Of(v1alpha1.ConditionTenantBound).No(v1alpha1.ReasonTakingSpare, fmt.Sprintf("%s %s of a pool becomes the tenant of %s", f.behind.Kind, b.name, f.who()), condition.Said(f.object))
	return b
}

// objects returns the names in the composition of the front's Objects that exist: first one that has its composite resource, then one whose
// composite resource is the front's already. All others take a spare. Those that are being deleted are of spares that the front hasn't got.
func (f front) objects() []string {
	rank := func(at string) int {
		o := f.observed(at)
		switch {
		case at == tenant.FrontTenant || bindsAlready(o):
			return 0
		case wire.Named(f.own(), nameIn(o)).Exists():
			return 1
		case o.Deleting():
			return 3
		}
		return 2
	}
	var names []string
	for at := range f.composed {
		if (at == tenant.FrontTenant || strings.HasPrefix(at, tenant.FrontSparePrefix)) && rank(at) < 3 {
			names = append(names, at)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
	return names
}

// nameIn returns the name of the composite resource in an Object.
func nameIn(o wire.Composed) string {
	return o.String(resource.InManifest("metadata", "name")...)
}

// spare returns the name of the spare that a front takes which has no tenant yet; "" for none. It reports whether what that needs was read, and
// requires it. Which plan the front may have is decided before it gets a spare of it: a tenant keeps the plan that it has.
func (f front) spare(req *fnv1.RunFunctionRequest, s wire.Selectors) (string, bool) {
	if !f.takesAny() || len(f.own()) > 0 {
		return "", true
	}
	f.requireSpares(s)
	asked := f.xr.String("spec", "plan")
	all, read := wire.Required(req, RequiredSpares, f.behind.APIVersion, f.behind.Kind)
	if !read {
		return "", false
	}
	p, err := decode.PlanOf(req, f.self.Namespace, asked)
	if err != nil {
		// The tenant says what is wrong.
		return "", true
	}
	name := spare.Choose(f.xr.String("metadata", "uid"), all, p)
	if name == "" {
		return "", true
	}
	host.RequirePolicies(s)
	s.Named(requiredTenant+name, f.behind.APIVersion, f.behind.Kind, "", name)
	policies := host.InForce(req)
	if policies.Read && host.Problem(policies) != "" {
		return "", true
	}
	return name, policies.Read
}

// requireSpares requires the spares, and the plan that the front asks for, where it takes one at all.
func (f front) requireSpares(s wire.Selectors) {
	if f.takesAny() {
		s.Labelled(RequiredSpares, f.behind.APIVersion, f.behind.Kind, "", map[string]string{v1alpha1.LabelSpare: "true"})
		decode.RequirePlan(s, f.xr.String("spec", "plan"))
	}
}

// stale reports whether the status of the composite resource is still that of the spare that it was, or has its URL. A front that was Ready
// shows it as it is.
func (f front) stale(b bound) bool {
	itsURL := strings.HasPrefix(f.at, tenant.FrontSparePrefix) && b.xr.Condition(v1alpha1.ConditionIngressReady).Reason == v1alpha1.ReasonWaitingForHost
	return (itsURL || !spare.Current(b.xr)) && !f.xr.Condition("Ready").True()
}

// readyAt returns when the front became Ready for the first time, in RFC 3339; "" before that.
func (f front) readyAt() string {
	if at := f.xr.String("status", "readyAt"); at != "" {
		return at
	}
	if ready := f.xr.Condition("Ready"); ready.True() {
		return ready.LastTransitionTime
	}
	return ""
}
