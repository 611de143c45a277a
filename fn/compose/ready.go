package compose

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
)

func isReady(name string) func(Tenant) bool {
	return func(t Tenant) bool { return t.observed(name).Healthy() }
}

// VClusterReady tells whether the virtual cluster is installed as wanted and can
// be reached.
func VClusterReady(t Tenant) bool { return isReady(VCluster)(t) && HasKubeconfig(t) }

// HasPassword tells whether the admin's password is published, or none will be.
func HasPassword(t Tenant) bool {
	return !t.GeneratesPassword || publishedPassword(t)
}

// ArgoCDInstalled tells whether the argo-cd chart is installed as wanted and the
// admin's password published.
func ArgoCDInstalled(t Tenant) bool { return isReady(ArgoCD)(t) && HasPassword(t) }

// argoCDDeployed tells whether Helm has installed the argo-cd chart once.
func argoCDDeployed(t Tenant) bool { return t.observed(ArgoCD).Deployed() }

// hostProtected reports whether the host has the admission policies that no new
// tenant comes up without.
func hostProtected(t Tenant) bool { return t.HostProblem == "" }

// WasReady tells whether the tenant was ready once: status is the only place
// that remembers.
func WasReady(o decode.Observed) bool {
	switch v1alpha1.Phase(o.XR.String("status", "phase")) {
	case v1alpha1.PhaseReady, v1alpha1.PhaseUpdating, v1alpha1.PhaseDegraded:
		return true
	default:
		return false
	}
}
