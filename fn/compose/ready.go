package compose

import "github.com/virtual-argocd/virtual-argocd/fn/decode"

// Healthy tells whether a provider reports a resource synced and ready, as it
// is wanted now.
func Healthy(c decode.Composed) bool {
	return (c.Condition("Ready").True() || upgraded(c)) && !c.Condition("Synced").False() && c.Current()
}

// upgraded tells whether a Release's last change has succeeded. After an upgrade
// provider-helm leaves Ready as it was found before, False, until it looks again:
// ten minutes later.
func upgraded(c decode.Composed) bool {
	return c.Condition("Synced").True() && c.Deployed()
}

func isReady(name string) func(Tenant) bool {
	return func(t Tenant) bool { return Healthy(t.observed(name)) }
}

// HasKubeconfig tells whether the virtual cluster's kubeconfig is published.
func HasKubeconfig(t Tenant) bool { return len(t.observed(VCluster).Connection[KubeconfigKey]) > 0 }

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
