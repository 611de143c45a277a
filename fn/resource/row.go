// Package resource has what composed resources are built with.
package resource

import (
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A Row of a tenant's table: one composed resource.
type Row struct {
	// Name in the composition.
	Name string
	// Has reports whether the tenant has this resource at all.
	Has bool
	// Waits reports whether creating it must wait. A resource that is observed
	// never waits: what is left out of the desired state is deleted.
	Waits bool
	// Ready reports whether it is as it should be, as far as the tenant's Ready
	// depends on that.
	Ready bool
	// Build makes it.
	Build func(tenant.Tenant) (Object, error)
}

// HasKubeconfig reports whether the providers have a kubeconfig of the virtual
// cluster.
func HasKubeconfig(t tenant.Tenant) bool {
	return len(t.Composed(tenant.KubeconfigSecret).SecretValue(tenant.ProxiedKey)) > 0
}

// FromYAML returns what a file that is embedded in the program holds. It panics if the file
// is not YAML of that type.
func FromYAML[T any](file string) T {
	var v T
	if err := yaml.UnmarshalStrict([]byte(file), &v); err != nil {
		panic(err)
	}
	return v
}
