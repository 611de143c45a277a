package decode

import (
	"errors"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// The composed Secret with the chart values that come from Secrets: its name in
// the composition, and its one key.
const (
	ValuesSecret = "values-secret"
	ValuesKey    = "values.yaml"
)

// Names in the composition of what is read here, too: the namespace, the two
// Releases, and what counts the tenant's Ingresses on the host.
const (
	Namespace    = "namespace"
	VCluster     = "vcluster"
	ArgoCD       = "argocd"
	IngressCount = "ingress-count"
)

// Observed is what exists.
type Observed struct {
	// XR is the composite resource.
	XR Struct
	// XRConnection are the connection details it has published.
	XRConnection map[string][]byte
	// Composed are the composed resources, by their name in the composition.
	Composed map[string]Composed
	// Secrets are the Secrets that Crossplane has read for the function: never to
	// leave but in the composed Secret of values.
	Secrets []map[string]string
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
	return o
}

// ValuesData is what the composed Secret of values holds.
func (o Observed) ValuesData() map[string]string { return secretData(o.Composed[ValuesSecret].Struct) }

// valuesInUse are the chart values that the composed Secret holds.
func (o Observed) valuesInUse() plan.Values {
	v := plan.Values{}
	if yaml.Unmarshal([]byte(o.ValuesData()[ValuesKey]), &v) != nil {
		return nil
	}
	return v
}

// Request reads what a plan is made from. With ErrUnread it is enough to Require
// the rest.
func Request(req *fnv1.RunFunctionRequest, o Observed) (plan.Request, error) {
	name := o.XR.String("metadata", "name")
	if name == "" {
		return plan.Request{}, errors.New("metadata.name: the composite resource has no name: it is called by Crossplane alone, which gives one")
	}
	in, err := input(req.GetInput())
	if err != nil {
		return plan.Request{}, err
	}
	s, err := spec(o.XR)
	if err != nil {
		return plan.Request{}, err
	}
	r := plan.Request{XRName: name, Spec: s, Input: in, Claim: claim(o.XR), Before: sync.OnceValue(o.valuesInUse)}
	if r.Plan, err = chosenPlan(req, s.Plan); err != nil {
		return r, err
	}
	r.Secrets = secrets(req, r.Claim.Namespace, s.SecretNames())
	r.Hosts = hosts(req, o, r)
	r.Running = running(o)
	return r, nil
}

// claim is what Crossplane says of the XR's claim. A claim's author has no say in
// it: Crossplane overwrites that field.
func claim(xr Struct) plan.Claim {
	ref := xr.Get("spec", "claimRef")
	return plan.Claim{APIVersion: ref.String("apiVersion"), Kind: ref.String("kind"), Namespace: ref.String("namespace"), Name: ref.String("name")}
}

// running are the versions that were seen running: the status remembers them, and
// where it has none a Release that Helm has deployed.
func running(o Observed) plan.Running {
	was, release := o.XR.Get("status", "vcluster"), o.Composed[VCluster]
	r := plan.Running{VCluster: was.String("version"), Kubernetes: was.String("kubernetesVersion"), Plan: o.XR.String("status", "plan")}
	if r.VCluster != "" || release.Deployed() {
		r.Store = store(release)
	}
	if !release.Deployed() {
		return r
	}
	if v := release.String("status", "atProvider", "version"); v != "" {
		r.VCluster = v
	}
	if r.Kubernetes == "" && release.Current() {
		r.Kubernetes = release.String("spec", "forProvider", "values", "controlPlane", "distro", "k8s", "version")
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
	if etcd := control.Get("backingStore", "etcd", "deploy"); etcd.Value("enabled").GetBoolValue() {
		s.Kind = plan.StoreEtcd
		s.Members = etcd.Int(1, "statefulSet", "highAvailability", "replicas")
		claim = etcd.Get("statefulSet", "persistence", "volumeClaim")
	}
	if claim.Value("enabled").GetBoolValue() {
		s.Size, s.StorageClass = claim.String("size"), claim.String("storageClass")
	}
	return s
}
