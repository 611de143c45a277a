package status

import (
	"slices"

	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// Report is all that is said of a tenant.
type Report struct {
	Status     v1alpha1.Status
	Conditions []Condition
	Connection map[string][]byte
	Ready      bool
}

// New reports on a tenant and the outcome of composing it.
func New(t compose.Tenant, r compose.Result) Report {
	deleting := t.Observed.XR.Has("metadata", "deletionTimestamp")
	core, optional := conditions(t, deleting)
	rep := Report{
		Conditions: append(core[:len(core):len(core)], optional...),
		Connection: connection(t),
		Ready:      r.Ready() && !deleting && allTrue(core),
	}
	rep.Status = v1alpha1.Status{
		Phase:        phase(t, core, rep.Ready, deleting),
		Progress:     new(progress(t, rep.Ready)),
		Message:      message(core, optional, r),
		Plan:         t.PlanName,
		VersionsHeld: t.VersionsHeld,
		Namespace:    t.Names.Namespace,
		VCluster:     vcluster(t),
		ArgoCD:       argocd(t),
		Clusters:     clusters(t),
		Repositories: repositories(t),
		Bootstrap:    bootstrap(t),
	}
	return rep
}

// awaitsNamespace tells whether nothing can be installed yet.
func awaitsNamespace(t compose.Tenant) bool { return !t.Observed.Composed[compose.VCluster].Exists() }

// rollsOut tells whether the core isn't ready for a change that is being rolled
// out, and for nothing else.
func rollsOut(t compose.Tenant, core []Condition) bool {
	o := t.Observed.Composed
	if o[compose.VCluster].Current() && o[compose.ArgoCD].Current() {
		return false
	}
	return !slices.ContainsFunc(core, func(c Condition) bool {
		return !c.True && c.Reason != v1alpha1.ReasonInstalling && c.Reason != v1alpha1.ReasonWaitingForVirtualCluster
	})
}

func phase(t compose.Tenant, core []Condition, ready, deleting bool) v1alpha1.Phase {
	switch {
	case deleting:
		return v1alpha1.PhaseDeleting
	case ready:
		return v1alpha1.PhaseReady
	case compose.WasReady(t.Observed) && rollsOut(t, core):
		return v1alpha1.PhaseUpdating
	case compose.WasReady(t.Observed):
		return v1alpha1.PhaseDegraded
	case awaitsNamespace(t):
		return v1alpha1.PhasePending
	case slices.ContainsFunc(core, func(c Condition) bool {
		return c.Reason == v1alpha1.ReasonInstallFailed || c.Reason == v1alpha1.ReasonPodsCannotStart
	}):
		return v1alpha1.PhaseFailing
	default:
		return v1alpha1.PhaseProvisioning
	}
}

// Progress at each step of an installation, in percent: about the share of the
// time that has passed by then.
const (
	progressNamespace    = 10
	progressVCluster     = 50
	progressArgoCD       = 80
	progressAllWorkloads = 99
	progressReady        = 100
)

func progress(t compose.Tenant, ready bool) int64 {
	switch {
	case ready:
		return progressReady
	case awaitsNamespace(t):
		return 0
	case !compose.HasKubeconfig(t):
		return progressNamespace
	case !compose.ArgoCDInstalled(t):
		return progressVCluster
	}
	broken, _, unseen := workloads(t)
	if unseen {
		return progressArgoCD
	}
	all := max(1, len(t.Workloads))
	return progressArgoCD + int64((progressAllWorkloads-progressArgoCD)*(all-len(broken))/all)
}

// message is that of the first condition of the core that doesn't hold; when all
// do, it names those of parts that don't.
func message(core, optional []Condition, r compose.Result) string {
	for _, c := range core {
		if !c.True {
			return c.Message
		}
	}
	for _, waiting := range [][]string{r.Waiting, r.NotReady} {
		if len(waiting) > 0 {
			return "Waiting for composed resource " + waiting[0]
		}
	}
	var not []string
	for _, c := range optional {
		if c.Type == v1alpha1.ConditionSpecAccepted && !c.True {
			return "Argo CD is ready, and a change is not in use: " + c.Message
		}
		if !c.True {
			not = append(not, c.Type)
		}
	}
	if len(not) > 0 {
		return "Argo CD is ready, and not all that goes with it: see " + strings.Join(not, ", ")
	}
	return "Argo CD is ready"
}

func vcluster(t compose.Tenant) *v1alpha1.VClusterStatus {
	r := t.Observed.Composed[compose.VCluster]
	was := t.Observed.XR.Get("status", "vcluster")
	s := &v1alpha1.VClusterStatus{
		KubeconfigSecretName:   t.Names.KubeconfigSecret,
		KubeconfigSecretKey:    compose.KubeconfigKey,
		HelmProviderName:       t.Names.ProviderConfig,
		KubernetesProviderName: t.Names.ProviderConfig,
		Version:                was.String("version"),
		KubernetesVersion:      was.String("kubernetesVersion"),

		DesiredVersion:           t.VCluster.Version,
		DesiredKubernetesVersion: t.Kubernetes,
	}
	if compose.HasKubeconfig(t) {
		s.Version = r.Installed(s.Version)
	}
	// This one runs: after the first installation Helm waits for that.
	if compose.VClusterReady(t) && !r.TakenBack() {
		s.KubernetesVersion = r.String("spec", "forProvider", "values", "controlPlane", "distro", "k8s", "version")
	}
	return s
}

func argocd(t compose.Tenant) *v1alpha1.ArgoCDStatus {
	r := t.Observed.Composed[compose.ArgoCD]
	was := t.Observed.XR.Get("status", "argocd")
	s := &v1alpha1.ArgoCDStatus{
		Version:      was.String("version"),
		ChartVersion: r.Installed(was.String("chartVersion")),
		URL:          was.String("url"),

		DesiredChartVersion: t.ArgoCD.Version,
	}
	if v := runningVersion(t); v != "" {
		s.Version = v
	}
	if compose.ArgoCDInstalled(t) {
		s.URL = URL(t.Plan)
	}
	return s
}

// URL of the tenant's Argo CD: that of its Ingress, or as reached from the host
// cluster.
func URL(p *plan.Plan) string { return "https://" + or(p.Ingress.Host, p.Names.ArgoCDHost) }
