package compose

// applicationReady is the readiness of the first Application, in CEL: until then
// provider-kubernetes looks again each half minute.
const applicationReady = `has(object.status) && has(object.status.sync) && object.status.sync.status == 'Synced'
 && has(object.status.health) && has(object.status.health.status) && object.status.health.status == 'Healthy'`

func bootstrapWanted(t Tenant) bool { return t.Application != nil }

// bootstrap composes the first Application in the virtual cluster.
func bootstrap(t Tenant) (Object, error) {
	o := object(t, "bootstrap", t.Names.ProviderConfig, readyBy(applicationReady))
	o.Spec.ManagementPolicies = withoutDelete
	return Object{Typed: o, Raw: t.Application, RawAt: manifestPath}, nil
}
