package resource

import (
	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	helmpcv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	kubernetespcv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// The providers' API family of cluster-scoped XRs: helm.crossplane.io and
// kubernetes.crossplane.io. What is composed for namespaced XRs
// (helm.m.crossplane.io, kubernetes.m.crossplane.io) would differ here alone.
var (
	ReleaseType    = metav1.TypeMeta{APIVersion: helmv1beta1.SchemeGroupVersion.String(), Kind: helmv1beta1.ReleaseKind}
	ObjectType     = metav1.TypeMeta{APIVersion: objectv1alpha2.SchemeGroupVersion.String(), Kind: objectv1alpha2.ObjectKind}
	HelmConfigType = metav1.TypeMeta{APIVersion: helmpcv1beta1.SchemeGroupVersion.String(), Kind: helmpcv1beta1.ProviderConfigKind}
	KubeConfigType = metav1.TypeMeta{APIVersion: kubernetespcv1alpha1.SchemeGroupVersion.String(), Kind: kubernetespcv1alpha1.ProviderConfigKind}
)

// WithoutDelete are the management policies of what is gone with the virtual cluster
// or with the tenant's namespace: its deletion must not wait for an API that may be
// gone.
var WithoutDelete = xpv1.ManagementPolicies{
	xpv1.ManagementActionObserve, xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionLateInitialize,
}

var observeOnly = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}

// ProviderConfig refers to a ProviderConfig.
func ProviderConfig(name string) *xpv1.Reference { return &xpv1.Reference{Name: name} }

// ManagedMeta returns the metadata of a managed resource, with all that its provider would
// add: each such change counts against the number of events that Crossplane's
// circuit breaker lets a tenant have. And what a provider has seen of an Object
// before it adds its finalizer is lost; it looks again half a minute later.
func ManagedMeta(name, external string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{"crossplane.io/external-name": external},
		Finalizers:  []string{"finalizer.managedresource.crossplane.io"},
	}
}

// NewObject returns an Object that uses a ProviderConfig, without the manifest. Where
// the caller sets no management policies, its provider creates, updates and deletes.
func NewObject(t tenant.Tenant, composed, config string, ready objectv1alpha2.Readiness) *objectv1alpha2.Object {
	name := t.Names.Composed(composed)
	return &objectv1alpha2.Object{
		TypeMeta:   ObjectType,
		ObjectMeta: ManagedMeta(name, name),
		Spec: objectv1alpha2.ObjectSpec{
			ResourceSpec: xpv1.ResourceSpec{ProviderConfigReference: ProviderConfig(config)},
			Readiness:    ready,
		},
	}
}

// ReadyOnceCreated is readiness as soon as the object exists.
var ReadyOnceCreated = objectv1alpha2.Readiness{Policy: objectv1alpha2.ReadinessPolicySuccessfulCreate}

// Observer composes an Object that observes one that is there, and touches nothing.
// The provider looks at it every --poll. It doesn't watch: a watch keeps all objects
// of a kind in the provider's memory, and writes each change of one to the host's
// store, and a tenant makes and changes as many as it likes.
func Observer(t tenant.Tenant, composed, config string, ready objectv1alpha2.Readiness, manifest map[string]any) Object {
	o := NewObject(t, composed, config, ready)
	o.Spec.ManagementPolicies = observeOnly
	return Object{Typed: o, Raw: manifest, RawAt: ManifestPath}
}

// ReadyBy is readiness by an expression in CEL.
func ReadyBy(cel string) objectv1alpha2.Readiness {
	return objectv1alpha2.Readiness{Policy: objectv1alpha2.ReadinessPolicyDeriveFromCelQuery, CelQuery: cel}
}
