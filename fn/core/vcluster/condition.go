package vcluster

import (
	"cmp"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Condition returns VirtualClusterReady.
func Condition(t tenant.Tenant) condition.Condition {
	release := t.Observed.Composed[tenant.VClusterRelease]
	is := condition.Of(v1alpha1.ConditionVirtualClusterReady)
	ns, quota := t.Observed.Composed[tenant.Namespace], t.Observed.Composed[tenant.Quota]
	switch {
	case kubeconfigProblem(t) != "":
		return is.No(v1alpha1.ReasonKubeconfigInvalid, "The kubeconfig that the virtual cluster has written is not used", kubeconfigProblem(t))
	case Ready(t):
		return is.Yes("The virtual cluster runs")
	case !release.Exists() && t.HostProblem != "":
		return is.No(v1alpha1.ReasonPoliciesMissing, t.HostProblem, "")
	case AwaitsNamespace(t):
		// One message for all of it: each change of the status costs some of Crossplane's
		// attention.
		return is.No(v1alpha1.ReasonWaitingForNamespace, "Waiting for namespace "+t.Names.Namespace+" on the host, with its account and its bounds", cmp.Or(condition.Problem(ns), condition.Problem(quota)))
	case condition.Problem(release) != "":
		return is.No(v1alpha1.ReasonInstallFailed, fmt.Sprintf("Cannot install chart %s %s", t.VirtualCluster.Name, t.VirtualCluster.Version), condition.Problem(release))
	case !resource.HasKubeconfig(t) && controlPlaneTrouble(t) != "":
		return is.No(v1alpha1.ReasonPodsCannotStart, fmt.Sprintf("Installing chart %s %s with Kubernetes %s", t.VirtualCluster.Name, t.VirtualCluster.Version, t.Kubernetes), controlPlaneTrouble(t))
	case !release.Current() && resource.HasKubeconfig(t):
		return is.No(v1alpha1.ReasonInstalling, fmt.Sprintf("Rolling out a change of chart %s %s", t.VirtualCluster.Name, t.VirtualCluster.Version), "")
	}
	return is.No(v1alpha1.ReasonInstalling, fmt.Sprintf("Installing chart %s %s with Kubernetes %s", t.VirtualCluster.Name, t.VirtualCluster.Version, t.Kubernetes), "")
}

// AwaitsNamespace reports whether nothing can be installed yet.
func AwaitsNamespace(t tenant.Tenant) bool {
	return !t.Observed.Composed[tenant.VClusterRelease].Exists()
}
