package decode

import (
	"errors"
	"sync"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// The composed Secret with the chart values that come from Secrets: its name in
// the composition, and its one key.
const (
	ValuesSecret = "values-secret"
	ValuesKey    = "values.yaml"
)

// The composed Secret with what was accepted, as plan.Accepted: its name in the
// composition, and its one key.
const (
	AcceptedSecret = "accepted"
	AcceptedKey    = "accepted.json"
)

// Names in the composition of what is read here, too: the namespace, the two
// Releases, what lets the control plane write Ingresses on the host, and what counts
// them there.
const (
	Namespace        = "namespace"
	VCluster         = "vcluster"
	ArgoCD           = "argocd"
	IngressesBinding = "control-plane-ingresses-binding"
	IngressCount     = "ingress-count"
)

// Secrets with credentials of the tenant, by their names in the composition: the
// one with the way into the virtual cluster, and that of its account on the host.
const (
	KubeconfigSecret     = "kubeconfig"
	InstallerCredentials = "installer-credentials"
)

// KubeconfigKey is the key of a kubeconfig in Secrets. The ProviderConfigs read it.
const KubeconfigKey = "kubeconfig"

// Observed is what exists.
type Observed struct {
	// Now is the time at which it was seen: the caller sets it.
	Now time.Time
	// XR is the composite resource.
	XR Struct
	// XRConnection are the connection details it has published.
	XRConnection map[string][]byte
	// Composed are the composed resources, by their name in the composition.
	Composed map[string]Composed
	// Secrets are the Secrets that Crossplane has read for the function: never to
	// leave but in the composed Secret of values.
	Secrets []map[string]string
	// Published is of the kubeconfig that the virtual cluster has written, nil while
	// there is none or it can't be used; PublishedProblem is why it can't be. It comes
	// from the tenant's namespace on the host, so it is taken for the tenant's: only the
	// certificates and the key are read.
	Published        *plan.ClientCertificate
	PublishedProblem error
}

// Observe reads what exists. It can't fail: whatever is malformed reads as
// absent.
func Observe(req *fnv1.RunFunctionRequest) Observed {
	xr := req.GetObserved().GetComposite()
	o := Observed{
		XR:           Struct{xr.GetResource()},
		XRConnection: xr.GetConnectionDetails(),
		Composed:     make(map[string]Composed, len(req.GetObserved().GetResources())),
	}
	for name, r := range req.GetObserved().GetResources() {
		o.Composed[name] = Composed{Struct: Struct{r.GetResource()}, Connection: r.GetConnectionDetails()}
	}
	for _, resources := range req.GetRequiredResources() {
		for _, r := range resources.GetItems() {
			if s := (Struct{r.GetResource()}); s.String("kind") == "Secret" && !tooLarge(s) {
				o.Secrets = append(o.Secrets, secretData(s))
			}
		}
	}
	if raw := published(req, o.XR); len(raw) > 0 {
		o.Published, o.PublishedProblem = plan.ReadVirtualKubeconfig(raw)
	}
	return o
}

// Credentials returns what the composed Secrets hold that the providers use.
func (o Observed) Credentials() []map[string]string {
	var out []map[string]string
	for _, name := range []string{KubeconfigSecret, InstallerCredentials} {
		out = append(out, secretData(o.Composed[name].Struct))
	}
	return out
}

// Accepted returns what was accepted last; nil where nothing was, or can be used.
func (o Observed) Accepted() *plan.Accepted {
	return plan.ReadAccepted(o.Composed[AcceptedSecret].SecretValue(AcceptedKey))
}

// ValuesData is what the composed Secret of values holds.
func (o Observed) ValuesData() map[string]string { return secretData(o.Composed[ValuesSecret].Struct) }

// valuesInUse are the chart values that the composed Secret holds.
func (o Observed) valuesInUse() values.Values {
	v := values.Values{}
	if yaml.Unmarshal([]byte(o.ValuesData()[ValuesKey]), &v) != nil {
		return nil
	}
	return v
}

// Request reads what a plan is made from. What can't be used is left out of it, and is
// an error. With ErrUnread it is enough to Require the rest.
func Request(req *fnv1.RunFunctionRequest, o Observed) (plan.Request, error) {
	r := plan.Request{
		XRName: o.XR.String("metadata", "name"), Claim: claim(o.XR), Before: sync.OnceValue(o.valuesInUse), Running: running(o),
		HostPolicies: hostPolicies(req), Token: o.Composed[InstallerCredentials].SecretValue(corev1.ServiceAccountTokenKey),
	}
	if r.XRName == "" {
		return r, errors.New("metadata.name: the composite resource has no name: it is called by Crossplane alone, which gives one")
	}
	in, err := input(req.GetInput())
	if err != nil {
		return r, err
	}
	s, err := spec(o.XR)
	if err != nil {
		return r, err
	}
	r.Spec, r.Input = s, in
	if r.Plan, err = chosenPlan(req, choiceOf(r)); err != nil {
		return r, err
	}
	return r, nil
}

// AsAccepted returns what to try, one after the other, for a tenant whose claim, plan or
// input can't be used. What was accepted before takes their place: the claim's part alone
// at first, since a claim with a mistake is held to what the platform says now.
func AsAccepted(req *fnv1.RunFunctionRequest, o Observed, r plan.Request, was plan.Accepted) []plan.Accepted {
	if on, ok := protects(o.XR); ok {
		was.Spec.DeletionProtection = on
	}
	tries := []plan.Accepted{was}
	now := was
	r.Spec = was.Spec
	var err error
	if now.Input, err = input(req.GetInput()); err == nil {
		if now.Plan, err = chosenPlan(req, choiceOf(r)); err == nil {
			tries = append([]plan.Accepted{now}, tries...)
		}
	}
	return tries
}

// protects reads spec.deletionProtection by itself. It counts whatever else is wrong with
// a claim: who asks for protection relies on it, and who ends it wants to delete.
func protects(xr Struct) (on, ok bool) {
	if _, isObject := xr.Value("spec").GetKind().(*structpb.Value_StructValue); !isObject {
		return false, false
	}
	switch v := xr.Value("spec", "deletionProtection").GetKind().(type) {
	case nil, *structpb.Value_NullValue:
		return false, true
	case *structpb.Value_BoolValue:
		return v.BoolValue, true
	}
	return false, false
}

// With returns the request of a tenant that is to have what is accepted, with the objects
// that its spec names.
func With(req *fnv1.RunFunctionRequest, o Observed, r plan.Request, a plan.Accepted) plan.Request {
	r.Spec, r.Plan, r.Input = a.Spec, a.Plan, a.Input
	r.Secrets = secrets(req, r.Claim.Namespace, r.Spec.SecretNames())
	r.Hosts = hosts(req, o, r)
	return r
}

// claim is what Crossplane says of the XR's claim. A claim's author has no say in
// it: Crossplane overwrites that field.
func claim(xr Struct) plan.Claim {
	ref := xr.Get("spec", "claimRef")
	return plan.Claim{APIVersion: ref.String("apiVersion"), Kind: ref.String("kind"), Namespace: ref.String("namespace"), Name: ref.String("name")}
}

// running are the versions that were seen running: those of a Release that is as it is
// wanted, and else what the status remembers.
func running(o Observed) plan.Running {
	was, release, argocd := o.XR.Get("status", "vcluster"), o.Composed[VCluster], o.Composed[ArgoCD]
	r := plan.Running{
		VCluster: was.String("version"), Kubernetes: was.String("kubernetesVersion"),
		ArgoCD: argocd.Installed(o.XR.String("status", "argocd", "chartVersion")), Plan: o.XR.String("status", "plan"),
	}
	if r.VCluster != "" || release.Deployed() {
		r.Store = store(release)
	}
	// Helm doesn't wait for the first one to run.
	if len(o.Composed[KubeconfigSecret].SecretValue(KubeconfigKey)) == 0 {
		return r
	}
	r.VCluster = release.Installed(r.VCluster)
	if release.TakenBack() {
		return r
	}
	v := release.String("spec", "forProvider", "values", "controlPlane", "distro", "k8s", "version")
	if v != "" && (release.Healthy() || r.Kubernetes == "" && release.Deployed() && release.Current()) {
		r.Kubernetes = v
	}
	return r
}

// store is what a Release keeps the virtual cluster's state in; nil when the Release
// isn't there to tell.
func store(release Composed) *plan.Store {
	control := release.Get("spec", "forProvider", "values", "controlPlane")
	if control.s == nil {
		return nil
	}
	s := &plan.Store{Kind: plan.StoreSQLite}
	claim := control.Get("statefulSet", "persistence", "volumeClaim")
	if etcd := control.Get("backingStore", "etcd", "deploy"); etcd.Bool("enabled") {
		s.Kind = plan.StoreEtcd
		s.Members = etcd.Int(1, "statefulSet", "highAvailability", "replicas")
		claim = etcd.Get("statefulSet", "persistence", "volumeClaim")
	}
	if claim.Bool("enabled") {
		s.Size, s.StorageClass = claim.String("size"), claim.String("storageClass")
	}
	return s
}
