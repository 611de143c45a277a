package vcluster

import (
	"cmp"
	_ "embed"
	"slices"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/versions"
)

var (
	//go:embed defaults.yaml
	defaultsYAML string
	defaults     = resource.FromYAML[values.Values](defaultsYAML)

	//go:embed isolation.yaml
	isolationYAML string
	isolation     = resource.FromYAML[values.Values](isolationYAML)
)

// Defaults returns the values of the vcluster chart that a platform or, where it is allowed,
// a tenant may change.
func Defaults() values.Values { return values.Merge(defaults) }

// Isolation returns the values that keep a tenant apart from others and from the host.
func Isolation(d *tenant.Decision) values.Values {
	return values.Merge(isolation, values.Values{"policies": values.Values{"podSecurityStandard": d.PodSecurity}})
}

// Protected returns the values the function, and the tenants' isolation,
// depend on: they win over everyone's. Some are lists that also contain the
// platform's entries.
func Protected(d *tenant.Decision, in v1alpha1.Input, platforms *values.Stack) (values.Values, error) {
	var sans []any
	for _, hostname := range d.Names.APIHostnames {
		sans = append(sans, hostname)
	}
	requested, err := podRequests(d.Kubernetes, platforms)
	if err != nil {
		return nil, err
	}
	env, err := environment(platforms)
	if err != nil {
		return nil, err
	}
	elected, err := leaderElection(d.Store, platforms)
	if err != nil {
		return nil, err
	}
	control := values.Values{
		"distro": values.Values{"k8s": values.Values{
			"enabled": true,
			"version": d.Kubernetes,
			"image":   values.Values{"tag": d.Kubernetes},
		}},
		"statefulSet": values.Values{
			"image": values.Values{
				"registry":   in.Images.VCluster.Registry,
				"repository": in.Images.VCluster.Repository,
				"tag":        cmp.Or(in.Images.VCluster.Tag, d.VirtualCluster.Version),
			},
			"env": env,
		},
		// By default vcluster's certificate has no .svc names.
		"proxy": values.Values{"extraSANs": sans},
	}
	if d.Corefile != "" {
		control["coredns"] = values.Values{"overwriteConfig": d.Corefile}
	}
	if d.Restore.Snapshot {
		image := tenant.ImageOf(in, in.Images.VCluster, v1alpha1.Image{Tag: d.VirtualCluster.Version})
		values.Insert(control, restoreContainers(image), "statefulSet", "initContainers")
	}
	if in.Images.Registry != "" {
		control["advanced"] = values.Values{"defaultImageRegistry": in.Images.Registry}
	}
	return values.Merge(Isolation(d), requested, elected, values.Values{"controlPlane": storeValues(d.Store, d.ControlPlanes)}, values.Values{
		"controlPlane":     control,
		"exportKubeConfig": values.Values{"server": d.Names.APIServer()},
	}), nil
}

// PathOfEnvironment is where the platform writes environment variables.
var PathOfEnvironment = []string{"controlPlane", "statefulSet", "env"}

// hostRequests is how many requests a second a virtual cluster sends to the host's API
// server on average, for each kind of object; at once it may send more, such as when
// it starts (VCLUSTER_PHYSICAL_CLIENT_BURST, 80 by default). Each may be a write to the
// host's etcd. vcluster's own default is 40.
const hostRequests = "10"

// environment returns the environment variables of the control plane: those of the
// platform, and hostRequests unless the platform sets another number. Those of the input,
// the channel and the plan are merged by name, so that a plan that sets one doesn't undo
// another of the input.
func environment(platforms *values.Stack) ([]any, error) {
	var env []any
	index := func(name string) int {
		return slices.IndexFunc(env, func(e any) bool { return name != "" && nameOf(e) == name })
	}
	for _, set := range platforms.Each(PathOfEnvironment...) {
		list, err := listOf(set, "[{name: A, value: b}]")
		if err != nil {
			return nil, err
		}
		for _, variable := range list {
			if i := index(nameOf(variable)); i >= 0 {
				env[i] = variable
			} else {
				env = append(env, variable)
			}
		}
	}
	const name = "VCLUSTER_PHYSICAL_CLIENT_QPS"
	if index(name) < 0 {
		env = append(env, values.Values{"name": name, "value": hostRequests})
	}
	return env, nil
}

// nameOf returns the name of an environment variable.
func nameOf(variable any) string {
	is, _ := variable.(values.Values)
	return values.At[string](is, "name")
}

// Argo CD's application controller panics at a pod with a container that requests nothing while
// its status has requests (kubernetes/kubernetes#136534, in kubectl's code up to 1.35). In a
// virtual cluster each container without requests is such a one: the host's LimitRange gives it
// some, and vcluster copies the host's status.
const (
	// resizeSince is the first minor version of Kubernetes 1.x whose API server keeps
	// a container's resources in the status, and resizeLocked the first in which that can't
	// be switched off.
	resizeSince, resizeLocked = 33, 35
)

// requestsPolicy gives containers of the virtual cluster that name neither requests
// nor limits a request, that of limitRange.defaultRequest in defaults.yaml. It is of one API
// version in all of Kubernetes 1.35 to 1.39: vcluster deletes what it has applied in another
// one, and its control plane ends where the API server doesn't serve that any more.
//
//go:embed requests-policy.yaml
var requestsPolicy string

// Values of the vcluster chart that the platform may set, too.
var (
	pathOfManifests        = []string{"experimental", "deploy", "vcluster", "manifests"}
	pathOfArguments        = []string{"controlPlane", "distro", "k8s", "apiServer", "extraArgs"}
	pathOfManagerArguments = []string{"controlPlane", "distro", "k8s", "controllerManager", "extraArgs"}
)

// podRequests are the values that keep Argo CD from that panic, after what the
// platform's values have in the same place.
func podRequests(kubernetes string, platforms *values.Stack) (values.Values, error) {
	out := values.Values{}
	arguments := []any{"--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=admissionregistration.k8s.io/v1beta1=true"}
	switch minor := versions.Parse(kubernetes).Minor(); {
	case minor < resizeSince:
		return out, nil
	case minor < resizeLocked:
		arguments = []any{"--feature-gates=InPlacePodVerticalScaling=false"}
	default:
		set := platforms.Last(pathOfManifests...)
		before, ok := set.Value.(string)
		if set.Value != nil && !ok {
			return nil, set.Field.Errorf("is not text: write manifests in YAML, as in a file")
		}
		if before != "" {
			before += "\n---\n"
		}
		values.Insert(out, before+requestsPolicy, pathOfManifests...)
	}
	before, err := listOf(platforms.Last(pathOfArguments...), "[--event-ttl=30m]")
	if err != nil {
		return nil, err
	}
	values.Insert(out, slices.Concat(before, arguments), pathOfArguments...)
	return out, nil
}

// listOf returns a list of the platform's, to which the function adds.
func listOf(set values.Setting, example string) ([]any, error) {
	list, ok := set.Value.([]any)
	if set.Value != nil && !ok {
		return nil, set.Field.Errorf("is not a list: write one such as %s", example)
	}
	return list, nil
}

// leaderElection returns the values that start the controller manager without leader election.
// With it, a controller manager that can't renew its lease for ten seconds ends, and its control
// plane with it. On a node without free CPU, control planes that start again slow down the others,
// so that these lose their leases, too. Only where etcd is the store can a virtual cluster have
// two controller managers at a time, because its control plane is a Deployment. The platform's
// arguments come last, so that it can switch leader election on.
func leaderElection(store tenant.Store, platforms *values.Stack) (values.Values, error) {
	out := values.Values{}
	if store.Kind == plan.StoreEtcd {
		return out, nil
	}
	own, err := listOf(platforms.Last(pathOfManagerArguments...), "[--v=2]")
	if err != nil {
		return nil, err
	}
	values.Insert(out, slices.Concat([]any{"--leader-elect=false"}, own), pathOfManagerArguments...)
	return out, nil
}
