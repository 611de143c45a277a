package compose

import (
	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	helmpcv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	kubernetespcv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The providers' API family of cluster-scoped XRs: helm.crossplane.io and
// kubernetes.crossplane.io. What is composed for namespaced XRs
// (helm.m.crossplane.io, kubernetes.m.crossplane.io) would differ here alone.
var (
	releaseType    = metav1.TypeMeta{APIVersion: helmv1beta1.SchemeGroupVersion.String(), Kind: helmv1beta1.ReleaseKind}
	objectType     = metav1.TypeMeta{APIVersion: objectv1alpha2.SchemeGroupVersion.String(), Kind: objectv1alpha2.ObjectKind}
	helmConfigType = metav1.TypeMeta{APIVersion: helmpcv1beta1.SchemeGroupVersion.String(), Kind: helmpcv1beta1.ProviderConfigKind}
	kubeConfigType = metav1.TypeMeta{APIVersion: kubernetespcv1alpha1.SchemeGroupVersion.String(), Kind: kubernetespcv1alpha1.ProviderConfigKind}
)

// withoutDelete are the management policies of what lives inside the virtual
// cluster: it dies with it, and must not wait for an API that may be gone.
var withoutDelete = xpv1.ManagementPolicies{
	xpv1.ManagementActionObserve, xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionLateInitialize,
}

var observeOnly = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}

func providerConfig(name string) *xpv1.Reference { return &xpv1.Reference{Name: name} }

// managed is the metadata of a managed resource, with all that its provider would
// add: each such change counts against the number of events that Crossplane's
// circuit breaker lets a tenant have. And what a provider has seen of an Object
// before it adds its finalizer is lost; it looks again half a minute later.
func managed(name, external string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{"crossplane.io/external-name": external},
		Finalizers:  []string{"finalizer.managedresource.crossplane.io"},
	}
}

// providerConfigMeta is the same for a ProviderConfig.
func providerConfigMeta(t Tenant) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: t.Names.ProviderConfig, Finalizers: []string{"in-use.crossplane.io"}}
}

// observer composes an Object that observes one that is there, and touches nothing.
func observer(t Tenant, composed, config string, ready objectv1alpha2.Readiness, manifest map[string]any) Object {
	name := t.Names.Composed(composed)
	return Object{Raw: manifest, RawAt: manifestPath, Typed: &objectv1alpha2.Object{
		TypeMeta:   objectType,
		ObjectMeta: managed(name, name),
		Spec: objectv1alpha2.ObjectSpec{
			ResourceSpec: xpv1.ResourceSpec{ProviderConfigReference: providerConfig(config), ManagementPolicies: observeOnly},
			// At once, where the provider runs with --enable-watches.
			Watch:     true,
			Readiness: ready,
		},
	}}
}

// readyBy is readiness by an expression in CEL.
func readyBy(cel string) objectv1alpha2.Readiness {
	return objectv1alpha2.Readiness{Policy: objectv1alpha2.ReadinessPolicyDeriveFromCelQuery, CelQuery: cel}
}
