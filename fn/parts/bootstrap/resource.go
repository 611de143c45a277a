package bootstrap

import (
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// applicationReady is the readiness of the first Application, in CEL: until then
// provider-kubernetes looks again each half minute.
const applicationReady = `has(object.status) && has(object.status.sync) && object.status.sync.status == 'Synced'
 && has(object.status.health) && has(object.status.health.status) && object.status.health.status == 'Healthy'`

// application composes the first Application in the virtual cluster.
func application(t tenant.Tenant) (resource.Object, error) {
	o := resource.NewObject(t, "bootstrap", t.Names.ProviderConfig, resource.ReadyBy(applicationReady))
	o.Spec.ManagementPolicies = resource.WithoutDelete
	return resource.Object{Typed: o, Raw: t.Application, RawAt: resource.ManifestPath}, nil
}
