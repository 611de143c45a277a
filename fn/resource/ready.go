package resource

import (
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// IsReady returns a condition: the resource of that name is healthy.
func IsReady(name string) func(tenant.Tenant) bool {
	return func(t tenant.Tenant) bool { return t.Composed(name).Healthy() }
}

// Kubeconfig returns the kubeconfig of the virtual cluster, nil when there is none yet.
func Kubeconfig(t tenant.Tenant) []byte {
	return t.Composed(tenant.KubeconfigSecret).SecretValue(tenant.KubeconfigKey)
}

// HasKubeconfig reports whether the providers have a kubeconfig of the virtual
// cluster.
func HasKubeconfig(t tenant.Tenant) bool {
	return len(t.Composed(tenant.KubeconfigSecret).SecretValue(tenant.ProxiedKey)) > 0
}
