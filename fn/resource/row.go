// Package resource has what composed resources are built with.
package resource

import "github.com/virtual-argocd/virtual-argocd/fn/tenant"

// A Row of the table: one composed resource.
type Row struct {
	// Name in the composition.
	Name string
	// Has reports whether the tenant has this resource at all.
	Has func(tenant.Tenant) bool
	// Waits reports whether creating it must wait. A resource that is observed
	// never waits: what is left out of the desired state is deleted.
	Waits func(tenant.Tenant) bool
	// Ready reports whether it is as it should be, as far as the tenant's Ready
	// depends on that.
	Ready func(tenant.Tenant) bool
	// Build makes it.
	Build func(tenant.Tenant) (Object, error)
}

// Always is true of every tenant.
func Always(tenant.Tenant) bool { return true }

// Never is true of no tenant.
func Never(tenant.Tenant) bool { return false }

// Not negates a condition.
func Not(f func(tenant.Tenant) bool) func(tenant.Tenant) bool {
	return func(t tenant.Tenant) bool { return !f(t) }
}

// Exists returns a condition: the resource of that name is observed.
func Exists(name string) func(tenant.Tenant) bool {
	return func(t tenant.Tenant) bool { return t.Composed(name).Exists() }
}

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
