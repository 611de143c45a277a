// Package decode decodes a RunFunctionRequest, and requires missing resources from
// Crossplane.
package decode

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/request"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/ingress"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/redact"
	"github.com/virtual-argocd/virtual-argocd/fn/spare"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// CheckCrossplane refuses requests of a Crossplane that can't look up resources for functions.
func CheckCrossplane(req *fnv1.RunFunctionRequest) error {
	if !request.HasCapability(req, fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES) {
		return errors.New("this version of Crossplane can't look up plans and Secrets for the function: upgrade Crossplane to 2.2 or later")
	}
	return nil
}

// Observe returns what exists. What is malformed is taken as absent.
func Observe(req *fnv1.RunFunctionRequest) tenant.Observed {
	xr := req.GetObserved().GetComposite()
	o := tenant.Observed{
		XR:           wire.Of(xr.GetResource()),
		XRConnection: details(xr),
		Composed:     make(map[string]wire.Composed, len(req.GetObserved().GetResources())),
	}
	for name, r := range req.GetObserved().GetResources() {
		o.Composed[name] = wire.Composed{Struct: wire.Of(r.GetResource()), Connection: details(r)}
	}
	namespace := tenant.NewNames(o.XR.String("metadata", "name"), "").Namespace
	kubeconfig, _ := wire.RequiredObject(req, RequiredKubeconfig, "Secret", namespace, tenant.KubeconfigSource)
	if raw := kubeconfig.SecretValue(tenant.KubeconfigSourceKey); len(raw) > 0 {
		o.Published, o.PublishedProblem = credentials.ReadVirtualKubeconfig(raw)
	}
	o.Running = running(o)
	o.Summary = tenant.ReadSummary(o.Composed[tenant.Workloads].Get("status", "atProvider", "manifest"))
	o.ComponentWorkloads = tenant.ReadSummary(o.Composed[tenant.ComponentWorkloads].Get("status", "atProvider", "manifest")).Workloads
	o.Redact = redact.New(o)
	return o
}

// maxDetail bounds a connection detail, in bytes: the longest is a kubeconfig.
const maxDetail = 64 << 10

// details returns the connection details of a resource, without those that are too large for what they are. A virtual cluster's admin
// writes some of them.
func details(r *fnv1.Resource) map[string][]byte {
	out := maps.Clone(r.GetConnectionDetails())
	maps.DeleteFunc(out, func(_ string, value []byte) bool { return len(value) > maxDetail })
	return out
}

// A Draft is the error of a claim with mistakes in spite of which the rest of it is decoded, or whose plan or channel it can't have, so that
// what else is wrong with it can be found, too.
type Draft struct {
	// Wrong are the mistakes.
	Wrong error
	// Given is the tenant as the rest of the claim has it. Nothing may be composed of it.
	Given tenant.Given
}

func (d *Draft) Error() string { return d.Wrong.Error() }

// Unwrap returns the mistakes.
func (d *Draft) Unwrap() error { return d.Wrong }

// Request returns what is given of a tenant, as far as it can be used, and an error for the
// rest: a Draft if more can be said of it.
func Request(req *fnv1.RunFunctionRequest, o tenant.Observed) (tenant.Given, error) {
	g := tenant.Given{
		XRName: o.XR.String("metadata", "name"), APIVersion: o.XR.String("apiVersion"), Before: o.ValuesInUse(), Was: o.Accepted(), Running: o.Running,
		HostPolicies: host.InForce(req), HostResolver: host.FindResolver(req), Token: o.Composed[tenant.InstallerCredentials].SecretValue(corev1.ServiceAccountTokenKey),
		Kept: o.Kept(), Now: o.Now, Created: spare.Created(o.XR), Details: o.XRConnection, Rotation: o.XR.String("metadata", "annotations", localaccount.RotatePassword),
		Restored: restored(o.Composed[tenant.RestoreRecord].Get("data")), BackupNow: o.XR.String("metadata", "annotations", v1alpha1.AnnotationBackup),
	}
	if since := g.Restored.Since; !since.IsZero() && since.Before(g.Created) {
		// The time that its plan gives it doesn't begin anew.
		g.Created = since
	}
	if key, known := argocd.DeployedAccounts(o); known {
		g.DeployedAccounts = key
	}
	if application := o.Composed[tenant.Bootstrap]; application.String("metadata", "annotations", tenant.AnnotationSyncPolicy) == "" {
		g.EarlierApplication, _ = application.Value("spec", "forProvider", "manifest", "spec").AsInterface().(map[string]any)
	}
	g.Claim = tenant.ClaimOf(o.XR)
	if g.XRName == "" {
		return g, errors.New("metadata.name: the composite resource has no name: it is called by Crossplane alone, which gives one")
	}
	in, err := Input(req.GetInput())
	if err != nil {
		return g, err
	}
	s, wrong, err := spec(o.XR)
	if err != nil {
		return g, err
	}
	s.Suspension = suspension(req, o)
	with := g
	if s.RestoreFrom == nil {
		// A claim in Git needn't keep what only its first installation read.
		s.RestoreFrom = g.WasAsked().RestoreFrom
	}
	with.Spec, with.Input, with.Offered = s, in, tenant.Offered{Defaults: tenant.DefaultsOf(in)}
	with, err = assigned(req, o, with)
	if errors.Is(err, ErrUnread) || err == nil && wrong == nil {
		return with, err
	}
	draft := with
	if err != nil {
		draft.Plan, draft.Channel, draft.Unassigned = plan.Plan{}, tenant.Channel{}, true
	}
	return with, &Draft{Wrong: mistakes.Join(wrong, err), Given: draft}
}

// assigned returns what is given of a tenant with its plan and its channel as they are now. The error is
// that of one of them.
func assigned(req *fnv1.RunFunctionRequest, o tenant.Observed, g tenant.Given) (_ tenant.Given, err error) {
	if g.Plan, err = chosenPlan(req, g); err != nil {
		return g, err
	}
	return found(req, o, g)
}

// found returns what is given of a tenant with the Secrets and hostnames that Crossplane has looked for, and with the channel of its plan or
// claim. The error is that of the channel.
func found(req *fnv1.RunFunctionRequest, o tenant.Observed, g tenant.Given) (_ tenant.Given, err error) {
	g.Secrets = secrets(req, g.Claim.Namespace, g.Input.Credentials.Label)
	g.Hostnames = ingress.Observe(req, o, g.Claim.Namespace, secretsIn(g.Input))
	g.Channel, err = findChannel(req, g, secretsIn(g.Input))
	var read bool
	if g.Suspended, read = suspended(req, g); !read {
		return g, ErrUnread
	}
	if err == nil || errors.Is(err, ErrUnread) {
		return g, err
	}
	g.Channel.Problem = cmp.Or(g.Channel.Problem, err.Error())
	if was := g.Was; was != nil && channelName(was.Plan, was.Spec) == g.Channel.Name && (g.Plan.Spec.Channel != "" || was.Plan.Spec.Channel == "") {
		// That the channel is for other namespaces now, or is gone, is no mistake of the claim.
		return g, nil
	}
	return g, err
}

// suspended reports whether the platform has suspended the tenant whose backup another one is to get, which it may have as long as that isn't read.
func suspended(req *fnv1.RunFunctionRequest, g tenant.Given) (is, read bool) {
	name := originalOf(g)
	if name == "" {
		return false, true
	}
	found, read := wire.Required(req, requiredOriginal+name, g.APIVersion, v1alpha1.Kind)
	return !read || slices.ContainsFunc(found, func(xr wire.Struct) bool {
		// Its status also has one that hasn't arrived in its spec: see suspension.
		suspended := xr.Has("spec", "suspension") || strings.HasPrefix(xr.String("status", "hibernation", "reason"), tenant.SuspendedReason)
		return suspended && xr.String("metadata", "name") != g.XRName
	}), read
}

// AsAccepted returns what to try in turn for a tenant whose claim, plan or input has a mistake:
// the accepted spec with the plan and the input of now, if they can be used, and everything
// as it was accepted; nil where nothing was.
func AsAccepted(req *fnv1.RunFunctionRequest, o tenant.Observed, g tenant.Given) []tenant.Given {
	was := g.Was
	if was == nil {
		return nil
	}
	spec := was.Spec
	// spec.deletionProtection applies whatever else is wrong with a claim: its author relies on
	// the protection, or ends it to delete the claim.
	if ask, ok := o.XR.Value("spec").AsInterface().(map[string]any); ok {
		on, isBool := ask["deletionProtection"].(bool)
		if isBool || ask["deletionProtection"] == nil {
			spec.DeletionProtection = on
		}
	}
	// So does spec.suspension, which the platform alone writes.
	spec.Suspension = suspension(req, o)
	var out []tenant.Given
	now, err := g, error(nil)
	now.Spec = spec
	if now.Input, err = Input(req.GetInput()); err == nil {
		now.Offered = tenant.Offered{Defaults: tenant.DefaultsOf(now.Input)}
		if now, err = assigned(req, o, now); err == nil {
			out = append(out, now)
		}
	}
	before := g
	before.Spec, before.Plan, before.Input, before.Offered = spec, was.Plan, was.Input, was.Offered
	// The error is shown as the channel's problem.
	before, _ = found(req, o, before)
	return append(out, before)
}

// suspension returns why the platform has suspended a tenant; nil where it hasn't. That of a namespaced VirtualArgoCD counts before it has arrived
// in the composite resource: on the way there is the VirtualArgoCD's own composition, which whoever may edit its namespace can bring to a halt, for
// instance with a Secret of the name that its connection Secret is about to get.
func suspension(req *fnv1.RunFunctionRequest, o tenant.Observed) *v1alpha1.SuspensionSpec {
	by := []wire.Struct{o.XR}
	if of := tenant.ClaimOf(o.XR); isFront(of) {
		found, _ := wire.Required(req, requiredFront, of.APIVersion, of.Kind)
		by = append(by, slices.DeleteFunc(found, func(front wire.Struct) bool {
			return front.String("metadata", "namespace") != of.Namespace || front.String("metadata", "name") != of.Name
		})...)
	}
	for _, o := range by {
		if suspended := o.Get("spec", "suspension"); suspended.Exists() {
			return &v1alpha1.SuspensionSpec{Reason: suspended.String("reason")}
		}
	}
	return nil
}

// running returns the versions that were seen running: those of the Releases, once they are
// current, and those in the status before.
func running(o tenant.Observed) tenant.Running {
	was, vclusters, argocds := o.XR.Get("status", "vcluster"), o.Composed[tenant.VClusterRelease], o.Composed[tenant.ArgoCDRelease]
	state := release.StateOf(vclusters)
	r := tenant.Running{
		VCluster: was.String("version"), Kubernetes: was.String("kubernetesVersion"),
		ArgoCD: release.Installed(argocds, o.XR.String("status", "argocd", "chartVersion")), Plan: o.XR.String("status", "plan"),
		ArgoCDWanted: argocds.String("spec", "forProvider", "chart", "version"),
		Installed:    vclusters.Exists(),
		Corefile:     vclusters.String(append([]string{"spec", "forProvider", "values"}, vcluster.PathOfCorefile...)...),
	}
	for name, c := range o.Composed {
		if component, ok := strings.CutPrefix(name, tenant.ComponentPrefix); ok {
			if r.Components == nil {
				r.Components = map[string]string{}
			}
			r.Components[component] = c.String("spec", "forProvider", "namespace")
		}
	}
	if r.VCluster != "" || state.HasDeployed() {
		r.Store = vcluster.StoreOf(vclusters)
	}
	// Helm doesn't wait until the first installation runs.
	if len(o.Composed[tenant.KubeconfigSecret].SecretValue(tenant.KubeconfigKey)) == 0 {
		return r
	}
	r.VCluster = release.Installed(vclusters, r.VCluster)
	if release.IsTakenBack(vclusters) {
		return r
	}
	v := vclusters.String("spec", "forProvider", "values", "controlPlane", "distro", "k8s", "version")
	if v != "" && (state == release.Deployed || r.Kubernetes == "" && state == release.Unready) {
		r.Kubernetes = v
	}
	return r
}

// contextWatched is the key in the pipeline's context that remembers, from one call to the
// next within a reconcile, whether Crossplane watches what the function requires.
const contextWatched = "virtualargocd.io/watched"

// Watched reports whether Crossplane watches the objects that the function requires, and
// remembers it for the next call of the same reconcile. No capability tells. But a Crossplane
// that watches them (2.4 with realtime compositions) knows them from the last reconcile, and
// passes them in the first call of a reconcile. Others read them once the function has asked
// for them, and call again. For the first reconcile after a restart of Crossplane, Watched
// reports false. required is the name of objects that the function always requires.
func Watched(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, required string) bool {
	before := req.GetContext().GetFields()
	if was, called := before[contextWatched]; called {
		return was.GetBoolValue()
	}
	_, known := req.GetRequiredResources()[required]
	// A copy: the response shares the request's context.
	fields := maps.Clone(before)
	if fields == nil {
		fields = map[string]*structpb.Value{}
	}
	fields[contextWatched] = structpb.NewBoolValue(known)
	rsp.Context = &structpb.Struct{Fields: fields}
	return known
}

// secretsIn returns the namespace of what the function composes beside the tenants.
func secretsIn(in inputv1alpha1.Input) string {
	return tenant.WithDefaults(in).ConnectionSecretNamespace
}

// secrets returns the Secrets of the claim's namespace that Crossplane has looked for, by name. label is the input's field credentials.label.
func secrets(req *fnv1.RunFunctionRequest, namespace, label string) map[string]tenant.Secret {
	out := map[string]tenant.Secret{}
	for requirement := range req.GetRequiredResources() {
		if name, ok := strings.CutPrefix(requirement, requiredSecret); ok {
			out[name] = secret(req, namespace, name, label)
		}
	}
	return out
}

// secret returns a Secret of the claim's namespace. One that the claim may not use, or that is too large, has no data.
func secret(req *fnv1.RunFunctionRequest, namespace, name, label string) tenant.Secret {
	o, read := wire.RequiredObject(req, requiredSecret+name, "Secret", namespace, name)
	s := tenant.Secret{Read: read, Found: o.Exists(), Type: o.String("type"), TooLarge: wire.TooLarge(o)}
	s.Labelled = o.String("metadata", "labels", tenant.LabelCredentials) == "true"
	if (s.Labelled || label == tenant.CredentialsLabelIgnored) && !s.TooLarge {
		s.Data = wire.SecretData(o)
		s.Labels, s.Annotations = o.Texts("metadata", "labels"), o.Texts("metadata", "annotations")
	}
	return s
}

// restored returns what a Job has reported of a restore.
func restored(data wire.Struct) tenant.Restored {
	number := func(key string) int64 {
		n, _ := strconv.ParseInt(data.String(key), 10, 64)
		return n
	}
	since, _ := time.Parse(time.RFC3339, data.String("since"))
	return tenant.Restored{Since: since, Name: data.String("name"), At: data.String("restoredAt"), Objects: number("objects"), Applications: number("applications"), Digest: data.String("digest"), Active: data.String("active") == "true", Message: data.String("message")}
}
