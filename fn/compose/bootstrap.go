package compose

import (
	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
)

// applicationReady is the readiness of the first Application, in CEL: until then
// a provider-kubernetes that doesn't watch looks again each half minute.
const applicationReady = `has(object.status) && has(object.status.sync) && object.status.sync.status == 'Synced'
 && has(object.status.health) && has(object.status.health.status) && object.status.health.status == 'Healthy'`

func bootstrapWanted(t Tenant) bool { return t.Application != nil }

// bootstrap composes the first Application in the virtual cluster.
func bootstrap(t Tenant) (Object, error) {
	name := t.Names.Composed("bootstrap")
	o := &objectv1alpha2.Object{
		TypeMeta:   objectType,
		ObjectMeta: managed(name, name),
		Spec: objectv1alpha2.ObjectSpec{
			ResourceSpec: xpv1.ResourceSpec{
				ProviderConfigReference: providerConfig(t.Names.ProviderConfig),
				ManagementPolicies:      withoutDelete,
			},
			Watch:     true,
			Readiness: readyBy(applicationReady),
		},
	}
	return Object{Typed: o, Raw: t.Application, RawAt: manifestPath}, nil
}
