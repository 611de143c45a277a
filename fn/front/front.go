// Package front answers requests for VirtualArgoCDs of group m.virtualargocd.io, Crossplane 2's namespaced kind. A namespaced composite
// resource may compose only what is in its own namespace. So it composes two things there: an Object by which provider-kubernetes writes the
// cluster-scoped composite resource that a claim would have, and the Secret that a claim would have. All else is the same tenant.
package front

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/apis/common"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/spare"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// RequiredTenants are the composite resources of the front's namespace and name.
const RequiredTenants = "tenants"

// Prefixes of further requirements. Each ends with an object's name.
const (
	// requiredTenant is for the composite resource with the name that the front's has, or would have.
	requiredTenant = "tenant/"
	// requiredClaim is for the claim that the composite resource belongs to.
	requiredClaim = "claim/"
	// requiredConnection is for the connection Secret of the composite resource.
	requiredConnection = "connection/"
	// requiredSecret is for what has the name of the front's own Secret.
	requiredSecret = "secret/"
)

// Answer writes what a front composes and its status into the response. rest is how long Crossplane may leave it alone.
func Answer(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, rest time.Duration) error {
	f, err := read(req)
	if err == nil {
		err = f.mistaken()
	}
	if err != nil {
		response.Fatal(rsp, err)
		return err
	}
	s := wire.Selectors{}
	rsp.Requirements = &fnv1.Requirements{Resources: s}
	s.Labelled(RequiredTenants, f.behind.APIVersion, f.behind.Kind, "", map[string]string{tenant.LabelClaimName: f.self.Name, tenant.LabelClaimNamespace: f.self.Namespace})
	if len(f.objects()) == 0 {
		// At once: Crossplane calls a function five times at most until it asks for nothing else.
		f.requireSpares(s)
	}
	found, read := wire.Required(req, RequiredTenants, f.behind.APIVersion, f.behind.Kind)
	if !read {
		// Crossplane calls the function again.
		return nil
	}
	f.tenants = found
	b, read := bind(req, s, &f)
	if !read {
		return nil
	}
	secret, problem := connection(req, s, f, b)
	if b.problem.Reason == "" {
		b.problem = problem
	}
	desired := map[string]*fnv1.Resource{}
	if err := compose(desired, f, b, secret); err != nil {
		response.Fatal(rsp, err)
		return err
	}
	if b.taking {
		// Somebody else may be taking the same.
		rest = min(rest, looksAgainIn)
	}
	rsp.GetMeta().Ttl = durationpb.New(rest)
	return report(rsp, f, b, desired)
}

// A Front is what is given of one.
type front struct {
	xr wire.Struct
	// self is the reference to it that the composite resource has, as that of a claim to its own.
	self tenant.Claim
	// behind are API version and kind of composite resources, and claimed the API version of claims.
	behind struct{ APIVersion, Kind string }
	// object is the composed Object, as observed, and at its name in the composition.
	object wire.Composed
	at     string
	// tenants are the composite resources with the labels of this front.
	tenants []wire.Struct
	// secretsIn is the namespace of the composite resources' connection Secrets.
	secretsIn string
	// composed are the observed composed resources.
	composed map[string]*fnv1.Resource
}

func read(req *fnv1.RunFunctionRequest) (front, error) {
	xr := wire.Of(req.GetObserved().GetComposite().GetResource())
	f := front{xr: xr, composed: req.GetObserved().GetResources()}
	f.self = tenant.Claim{APIVersion: xr.String("apiVersion"), Kind: xr.String("kind"), Namespace: xr.String("metadata", "namespace"), Name: xr.String("metadata", "name")}
	group, ok := strings.CutPrefix(f.self.APIVersion, v1alpha1.FrontPrefix)
	if !ok || f.self.Namespace == "" {
		return f, fmt.Errorf("%s %s: the function composes this kind only in a namespace, and in a group that begins with %q, such as %s: correct the XRD",
			f.self.Kind, f.self.APIVersion, v1alpha1.FrontPrefix, v1alpha1.FrontGroup)
	}
	f.behind.APIVersion, f.behind.Kind = group, "X"+f.self.Kind
	in, err := decode.Input(req.GetInput())
	if err != nil {
		return f, err
	}
	f.secretsIn = tenant.WithDefaults(in).ConnectionSecretNamespace
	return f, nil
}

// mistaken returns an error if something else than the front composes is under one of its names in the composition. Crossplane would give what is
// composed under that name the name of the other object, so that there were two Objects with one composite resource. Nothing is composed then.
// Crossplane goes by an annotation, which whoever may write Secrets in the namespace may have given to one that was about to be composed.
func (f front) mistaken() error {
	for _, at := range slices.Sorted(maps.Keys(f.composed)) {
		o := f.observed(at)
		group, _, _ := strings.Cut(o.String("apiVersion"), "/")
		kind, name := group+"/"+o.String("kind"), o.String("metadata", "name")
		is := true
		if secret, ok := strings.CutPrefix(at, tenant.FrontSecretPrefix); ok {
			is = kind == "v1/Secret" && name == secret
		} else if spare, ok := strings.CutPrefix(at, tenant.FrontSparePrefix); ok {
			is = kind == objectKind && name == spare && nameIn(o) == name
		} else if at == tenant.FrontTenant {
			is = kind == objectKind && nameIn(o) == name
		} else if at == tenant.FrontClaim {
			is = kind == usageKind
		}
		if !is {
			return fmt.Errorf("%s %s has the annotation crossplane.io/composition-resource-name: %q, by which Crossplane takes it for something else that this %s composes: nothing is composed until it is deleted",
				o.String("kind"), name, at, f.self.Kind)
		}
	}
	return nil
}

// Groups and kinds of what a front composes.
const (
	objectKind = "kubernetes.m.crossplane.io/Object"
	usageKind  = "protection.crossplane.io/Usage"
)

// nameOfTenant returns the name of the front's composite resource. It stays that of the Object; before there is one, it is that of the only
// composite resource that is the front's or its claim's.
func (f front) nameOfTenant() string {
	if name := nameIn(f.object); name != "" {
		return name
	}
	if own := f.own(); len(own) == 1 {
		return own[0].String("metadata", "name")
	}
	return tenant.Behind(f.self.Namespace, f.self.Name)
}

// own returns the composite resources that belong to the front, or to a claim of the same namespace and name, and that aren't being deleted.
func (f front) own() []wire.Struct {
	return slices.DeleteFunc(slices.Clone(f.tenants), func(xr wire.Struct) bool {
		of := tenant.ClaimOf(xr)
		return xr.Deleting() || of != f.self && !f.isClaims(of)
	})
}

// isClaims reports whether a reference is to a claim with the front's namespace and name.
func (f front) isClaims(of tenant.Claim) bool {
	return of == tenant.Claim{APIVersion: f.behind.APIVersion, Kind: f.self.Kind, Namespace: f.self.Namespace, Name: f.self.Name}
}

// A Bound is the composite resource of a front.
type bound struct {
	name string
	// xr is it, as it is now.
	xr wire.Struct
	// composed reports whether the Object is composed, and writes whether that writes to the composite resource.
	composed, writes bool
	// taking reports whether it is a spare, which the front is taking and doesn't have for good yet, and lost whether the front can't have the
	// spare that it was taking.
	taking, lost bool
	// owners are the owners of that spare, as it is observed.
	owners []any
	// problem is why the condition TenantBound doesn't hold; no reason for none.
	problem condition.Condition
}

// bind chooses the composite resource of a front, and decides about it. It reports whether what that needs was read, and requires it.
func bind(req *fnv1.RunFunctionRequest, s wire.Selectors, f *front) (bound, bool) {
	for _, f.at = range f.objects() {
		f.object = f.observed(f.at)
		b, read := named(req, s, *f, f.nameOfTenant())
		if !read || !b.lost {
			return b, read
		}
		// That Object goes, and leaves the spare alone.
	}
	f.at, f.object = tenant.FrontTenant, wire.Composed{}
	name, read := f.spare(req, s)
	if !read {
		return bound{}, false
	}
	if name == "" {
		if own := f.own(); len(own) == 1 && tenant.ClaimOf(own[0]) == f.self && (ownedByPool(own[0]) || own[0].Has("metadata", "annotations", v1alpha1.AnnotationClaimedAt)) {
			f.at = tenant.FrontSparePrefix + f.nameOfTenant()
		}
		return named(req, s, *f, f.nameOfTenant())
	}
	f.at = tenant.FrontSparePrefix + name
	b, read := named(req, s, *f, name)
	if b.lost {
		// Somebody was faster, between two looks at the cluster.
		b.taking = true
		b.problem = condition.Of(v1alpha1.ConditionTenantBound).No(v1alpha1.ReasonTakingSpare, "The spare "+name+" was taken by somebody else just now: another one is chosen", "")
	}
	return b, read
}

// named decides about the composite resource with a name.
func named(req *fnv1.RunFunctionRequest, s wire.Selectors, f front, name string) (bound, bool) {
	s.Named(requiredTenant+name, f.behind.APIVersion, f.behind.Kind, "", name)
	return choose(req, s, f, name)
}

// choose decides about the composite resource with a name, and reports whether what that needs was read. It requires that. Two never write to
// one composite resource: as long as it is a claim's, the front only observes it.
func choose(req *fnv1.RunFunctionRequest, s wire.Selectors, f front, name string) (bound, bool) {
	is := condition.Of(v1alpha1.ConditionTenantBound)
	b := bound{name: name}
	found, read := wire.Required(req, requiredTenant+name, f.behind.APIVersion, f.behind.Kind)
	b.xr = wire.Named(found, name)
	if !read {
		return b, false
	}
	of, existed := tenant.ClaimOf(b.xr), f.object.Exists()
	own := f.own()
	var names []string
	for _, xr := range own {
		names = append(names, xr.String("metadata", "name"))
	}
	slices.Sort(names)
	switch wasSpare := strings.HasPrefix(f.at, tenant.FrontSparePrefix); {
	case wasSpare && spare.Is(b.xr):
		b.composed, b.owners = true, b.xr.Value("metadata", "ownerReferences").GetListValue().AsSlice()
		return f.take(b), true
	case wasSpare && of != f.self && !f.isClaims(of) && !bindsAlready(f.object):
		b.lost = true
		return b, true
	case !existed && len(own) > 1:
		b.problem = is.No(v1alpha1.ReasonSeveralTenants, fmt.Sprintf("%s are all of %s: nothing is composed, because only one of them can be the tenant: have the platform delete the other, or its label %s",
			strings.Join(names, " and "), f.who(), tenant.LabelClaimName), "")
		return b, true
	case b.xr.Exists() && of != f.self && !f.isClaims(of):
		b.composed = existed
		b.problem = is.No(v1alpha1.ReasonNameTaken, fmt.Sprintf("%s %s belongs to somebody else: it isn't written to. Have the platform delete it, or use another name", f.behind.Kind, name), "")
		return b, true
	case b.xr.Exists() && b.xr.Deleting():
		b.composed, b.writes = existed, of == f.self
		b.problem = is.No(v1alpha1.ReasonTenantGoes, fmt.Sprintf("%s %s of an earlier %s of the same name is still being deleted", f.behind.Kind, name, f.self.Kind), "")
		return b, true
	case f.xr.String("metadata", "annotations", v1alpha1.AnnotationLeave) == "true":
		b.composed = existed || b.xr.Exists()
		b.problem = is.No(v1alpha1.ReasonTenantLeft, fmt.Sprintf("The annotation %s is true: %s %s is only observed, and stays when this %s is deleted", v1alpha1.AnnotationLeave, f.behind.Kind, name, f.self.Kind), "")
		return b, true
	case f.isClaims(of):
		s.Named(requiredClaim+f.self.Name, of.APIVersion, of.Kind, of.Namespace, of.Name)
		claims, read := wire.Required(req, requiredClaim+f.self.Name, of.APIVersion, of.Kind)
		if !read {
			return b, false
		}
		if len(claims) > 0 {
			b.composed = true
			b.problem = is.No(v1alpha1.ReasonClaimExists, fmt.Sprintf("%s %s belongs to the claim of the same name, and is only observed. The claim can't be deleted now: its tenant would go with it. For what the platform does to hand the tenant over, see %s",
				f.behind.Kind, name, pages.Of(v1alpha1.ReasonClaimExists)), "")
			return b, true
		}
	}
	b.composed, b.writes = true, true
	if ownedByPool(b.xr) {
		return f.take(b), true
	}
	if names = slices.DeleteFunc(names, func(n string) bool { return n == name }); len(names) > 0 {
		b.problem = is.No(v1alpha1.ReasonSeveralTenants, fmt.Sprintf("This %s has tenant %s, and of the same namespace and name are %s, too: have the platform delete what nobody needs", f.self.Kind, name, strings.Join(names, " and ")), "")
	} else {
		b.problem = written(f, b)
	}
	return b, true
}

// who is how messages call the front.
func (f front) who() string {
	return f.self.Kind + " " + f.self.Name + " of namespace " + f.self.Namespace
}

// written returns why a front doesn't have the tenant that it asks for, as far as provider-kubernetes tells; no reason for none.
func written(f front, b bound) condition.Condition {
	is := condition.Of(v1alpha1.ConditionTenantBound)
	if said := condition.Said(f.object); said != "" && f.object.Condition("Synced").False() {
		return is.No(v1alpha1.ReasonNotWritten, "provider-kubernetes can't write "+f.behind.Kind+" "+b.name, said)
	}
	if !b.xr.Exists() {
		return is.No(v1alpha1.ReasonWaitingForTenant, "Waiting for "+f.behind.Kind+" "+b.name, "")
	}
	var remain []string
	if at := f.object.Get("status", "atProvider", "manifest"); f.object.Condition("Synced").True() && f.object.Current() && at.Exists() {
		remain = f.remaining(at)
	}
	if len(remain) > 0 {
		return is.No(v1alpha1.ReasonFieldsRemain, fmt.Sprintf("%s isn't as the spec says, because its former claim set it and something else still owns it: have the platform remove it from %s %s: see %s",
			strings.Join(remain, ", "), f.behind.Kind, b.name, pages.Of(v1alpha1.ReasonFieldsRemain)), "")
	}
	return condition.Condition{}
}

// remaining returns the fields that a composite resource has in its spec, as it was observed after the front's spec was applied, and that
// differ from it. Only fields are compared that the last applied manifest has as the front has them now.
func (f front) remaining(at wire.Struct) []string {
	want, is, applied := withoutNulls(f.spec()), withoutNulls(fieldsOf(at.Get("spec"))), withoutNulls(fieldsOf(f.object.Get(resource.InManifest("spec")...)))
	var out []string
	for _, field := range slices.Sorted(maps.Keys(is)) {
		if slices.Contains(crossplanes, field) || !reflect.DeepEqual(applied[field], want[field]) || reflect.DeepEqual(is[field], want[field]) {
			continue
		}
		out = append(out, "spec."+field)
	}
	return out
}

// withoutNulls returns a map without what is null in it: an API server keeps some, and drops others.
func withoutNulls(m map[string]any) map[string]any {
	for key, value := range m {
		switch value := value.(type) {
		case nil:
			delete(m, key)
		case map[string]any:
			withoutNulls(value)
		}
	}
	return m
}

func fieldsOf(o wire.Struct) map[string]any {
	m := map[string]any{}
	_ = o.Into(&m)
	return m
}

// report writes the status of the tenant, and its conditions, into those of the front.
func report(rsp *fnv1.RunFunctionResponse, f front, b bound, desired map[string]*fnv1.Resource) error {
	status := v1alpha1.Status{}
	if f.stale(b) {
		b.xr = wire.Struct{}
	}
	// What is malformed is taken as absent: Crossplane's own part has other types.
	_ = b.xr.Get("status").Into(&status)
	if strings.HasPrefix(f.at, tenant.FrontSparePrefix) {
		// The spare was ready before the front existed.
		status.ReadyAt = f.readyAt()
	}
	status.Phase = cmp.Or(status.Phase, v1alpha1.PhasePending)
	is := b.problem
	if is.Reason == "" {
		is = condition.Of(v1alpha1.ConditionTenantBound).Yes("This " + f.self.Kind + " has tenant " + b.name)
	} else if status.Message == "" {
		status.Message = is.Message
	}
	composite, err := wire.Report(rsp, f.xr, &status)
	if err != nil {
		response.Fatal(rsp, fmt.Errorf("cannot write the status: %w", err))
		return err
	}
	if rsp.GetDesired().Resources == nil {
		rsp.Desired.Resources = map[string]*fnv1.Resource{}
	}
	maps.Copy(rsp.GetDesired().GetResources(), desired)
	ready := b.xr.Condition("Ready").True()
	composite.Ready = fnv1.Ready_READY_FALSE
	if ready {
		composite.Ready = fnv1.Ready_READY_TRUE
	}
	for _, typ := range conditionTypes(b.xr) {
		c := b.xr.Condition(typ)
		condition.Condition{Type: typ, True: c.True(), Unknown: c.Status != "True" && c.Status != "False", Reason: c.Reason, Message: c.Message}.Write(rsp).TargetComposite()
	}
	is.Write(rsp).TargetComposite()
	if was := f.xr.Condition(is.Type); was.Reason != is.Reason || was.Message != is.Message {
		event(rsp, is)
	}
	return nil
}

// conditionTypes returns the types of the conditions of a composite resource that are the tenant's. Crossplane lists them where the
// definition is of its first version; elsewhere they are all but Crossplane's own.
func conditionTypes(xr wire.Struct) []string {
	types := xr.Strings("status", "claimConditionTypes")
	if len(types) > 0 {
		return types
	}
	for _, c := range xr.List("status", "conditions") {
		if typ := c.String("type"); typ != "Responsive" && !common.IsSystemConditionType(common.ConditionType(typ)) {
			types = append(types, typ)
		}
	}
	return types
}

// event tells that the condition TenantBound has changed. Crossplane puts the events of the tenant on the front by itself, as on a claim.
func event(rsp *fnv1.RunFunctionResponse, is condition.Condition) {
	switch is.Reason {
	case v1alpha1.ReasonAvailable, v1alpha1.ReasonWaitingForTenant, v1alpha1.ReasonTakingSpare, v1alpha1.ReasonTenantGoes, v1alpha1.ReasonTenantLeft:
		response.Normal(rsp, is.Message).WithReason(is.Reason).TargetComposite()
	default:
		response.Warning(rsp, errors.New(is.Message)).WithReason(is.Reason).TargetComposite()
	}
}
