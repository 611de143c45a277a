package status

import (
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/parts"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Report is all that is said of a tenant.
type Report struct {
	Status     v1alpha1.Status
	Conditions []condition.Condition
	Connection map[string][]byte
	Ready      bool
}

// New reports on a tenant and the outcome of composing it.
func New(t tenant.Tenant, r compose.Result) Report {
	core, optional := conditions(t)
	rep := Report{
		Conditions: append(core[:len(core):len(core)], optional...),
		Connection: connection(t),
		Ready:      r.Ready() && allTrue(core),
	}
	rep.Status = v1alpha1.Status{
		Phase:        phase(t, core, rep.Ready),
		Progress:     new(progress(t, rep.Ready)),
		Message:      message(core, optional, r),
		Plan:         t.PlanName,
		VersionsHeld: t.VersionsHeld,
		Namespace:    t.Names.Namespace,
		VCluster:     ofVCluster(t),
		ArgoCD:       ofArgoCD(t),
	}
	parts.Report(t, &rep.Status)
	return rep
}

// rollsOut reports whether the core isn't ready for a change that is being rolled
// out, and for nothing else.
func rollsOut(t tenant.Tenant, core []condition.Condition) bool {
	o := t.Observed.Composed
	if o[tenant.VClusterRelease].Current() && o[tenant.ArgoCDRelease].Current() {
		return false
	}
	return !slices.ContainsFunc(core, func(c condition.Condition) bool {
		return !c.True && c.Reason != v1alpha1.ReasonInstalling && c.Reason != v1alpha1.ReasonWaitingForVirtualCluster
	})
}

func phase(t tenant.Tenant, core []condition.Condition, ready bool) v1alpha1.Phase {
	switch {
	case ready:
		return v1alpha1.PhaseReady
	case tenant.WasReady(t.Observed) && rollsOut(t, core):
		return v1alpha1.PhaseUpdating
	case tenant.WasReady(t.Observed):
		return v1alpha1.PhaseDegraded
	case vcluster.AwaitsNamespace(t):
		return v1alpha1.PhasePending
	case slices.ContainsFunc(core, func(c condition.Condition) bool {
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

func progress(t tenant.Tenant, ready bool) int64 {
	switch {
	case ready:
		return progressReady
	case vcluster.AwaitsNamespace(t):
		return 0
	case !resource.HasKubeconfig(t):
		return progressNamespace
	case !argocd.Installed(t):
		return progressVCluster
	}
	broken, _, unseen := argocd.BrokenWorkloads(t)
	if unseen {
		return progressArgoCD
	}
	all := max(1, len(t.Workloads))
	return progressArgoCD + int64((progressAllWorkloads-progressArgoCD)*(all-len(broken))/all)
}

// message is that of the first condition of the core that doesn't hold; when all
// do, it names those of parts that don't.
func message(core, optional []condition.Condition, r compose.Result) string {
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

func ofVCluster(t tenant.Tenant) *v1alpha1.VClusterStatus {
	r := t.Observed.Composed[tenant.VClusterRelease]
	was := t.Observed.XR.Get("status", "vcluster")
	s := &v1alpha1.VClusterStatus{
		KubeconfigSecretName:   t.Names.KubeconfigSecret,
		KubeconfigSecretKey:    tenant.KubeconfigKey,
		HelmProviderName:       t.Names.ProviderConfig,
		KubernetesProviderName: t.Names.ProviderConfig,
		Version:                was.String("version"),
		KubernetesVersion:      was.String("kubernetesVersion"),

		DesiredVersion:           t.VirtualCluster.Version,
		DesiredKubernetesVersion: t.Kubernetes,
	}
	if resource.HasKubeconfig(t) {
		s.Version = r.Installed(s.Version)
	}
	// This one runs: after the first installation Helm waits for that.
	if vcluster.Ready(t) && !r.TakenBack() {
		s.KubernetesVersion = r.String("spec", "forProvider", "values", "controlPlane", "distro", "k8s", "version")
	}
	return s
}

func ofArgoCD(t tenant.Tenant) *v1alpha1.ArgoCDStatus {
	r := t.Observed.Composed[tenant.ArgoCDRelease]
	was := t.Observed.XR.Get("status", "argocd")
	s := &v1alpha1.ArgoCDStatus{
		Version:      was.String("version"),
		ChartVersion: r.Installed(was.String("chartVersion")),
		URL:          was.String("url"),

		DesiredChartVersion: t.ArgoCD.Version,
	}
	if v := argocd.RunningVersion(t); v != "" {
		s.Version = v
	}
	if argocd.Installed(t) {
		s.URL = tenant.URL(t.Decision)
	}
	return s
}
