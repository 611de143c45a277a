// Package resource has what composed resources are built with.
package resource

import (
	"slices"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	helmpcv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	kubernetespcv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	kconfig "github.com/crossplane-contrib/provider-kubernetes/pkg/kube/config"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// An Object to compose: a typed object, and free-form content that goes into it
// at a path. The content skips the detour over JSON bytes that a RawExtension in
// a typed object takes, which is most of the cost of encoding.
type Object struct {
	Typed any
	Raw   map[string]any
	RawAt []string
}

// Where the providers' types have free-form content.
var (
	ValuesPath   = []string{"spec", "forProvider", "values"}
	ManifestPath = []string{"spec", "forProvider", "manifest"}
)

// InManifest returns the path of a field of the manifest in an Object of provider-kubernetes.
func InManifest(path ...string) []string { return slices.Concat(ManifestPath, path) }

// Encode turns the object into the intent that Crossplane applies: no status,
// no nulls, no empty objects that Go's types leave behind.
func (o Object) Encode() (*structpb.Struct, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Typed)
	if err != nil {
		return nil, err
	}
	delete(m, "status")
	DropEmpty(m)
	if o.Raw != nil {
		values.Insert(m, o.Raw, o.RawAt...)
	}
	return structpb.NewStruct(m)
}

// DropEmpty removes nulls, empty text and what is empty without them.
func DropEmpty(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case string:
			if v == "" {
				delete(m, k)
			}
		case map[string]any:
			if DropEmpty(v); len(v) == 0 {
				delete(m, k)
			}
		}
	}
}

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

// ManagedMeta returns the metadata of a managed resource, with all that its provider would add:
// each addition counts as an event for Crossplane's circuit breaker. And what a provider observes
// of an Object before it adds its finalizer is lost; it looks again half a minute later.
func ManagedMeta(name, external string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{"crossplane.io/external-name": external},
		Finalizers:  []string{"finalizer.managedresource.crossplane.io"},
	}
}

// NewProviderConfig returns a ProviderConfig with a kubeconfig that the function has
// written. Those of both providers have the same fields.
func NewProviderConfig(t tenant.Tenant, typ metav1.TypeMeta, name, secret, key string) *kubernetespcv1alpha1.ProviderConfig {
	return &kubernetespcv1alpha1.ProviderConfig{
		TypeMeta:   typ,
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"in-use.crossplane.io"}},
		Spec: kconfig.ProviderConfigSpec{Credentials: kconfig.ProviderCredentials{
			Source: xpv1.CredentialsSourceSecret,
			CommonCredentialSelectors: xpv1.CommonCredentialSelectors{SecretRef: &xpv1.SecretKeySelector{
				SecretReference: xpv1.SecretReference{Namespace: t.SecretsIn, Name: secret},
				Key:             key,
			}},
		}},
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
			ResourceSpec: xpv1.ResourceSpec{ProviderConfigReference: &xpv1.Reference{Name: config}},
			Readiness:    ready,
		},
	}
}

// ReadyOnceCreated is readiness as soon as the object exists.
var ReadyOnceCreated = objectv1alpha2.Readiness{Policy: objectv1alpha2.ReadinessPolicySuccessfulCreate}

// Observer composes an Object that observes an existing object, and never changes it. The
// provider observes it every --poll, or every 30 seconds while it isn't ready.
func Observer(t tenant.Tenant, composed, config string, ready objectv1alpha2.Readiness, of corev1.ObjectReference) Object {
	o := NewObject(t, composed, config, ready)
	o.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
	return Object{Typed: o, RawAt: ManifestPath, Raw: map[string]any{
		"apiVersion": of.APIVersion,
		"kind":       of.Kind,
		"metadata":   map[string]any{"namespace": of.Namespace, "name": of.Name},
	}}
}

// Watched has the provider observe an Object in a virtual cluster as soon as it changes. Use it
// only for what the proxy watches in place of the provider: a watch by the provider itself
// would keep all objects of a kind in its memory, and a tenant can create as many as it likes.
func Watched(o Object) Object {
	o.Typed.(*objectv1alpha2.Object).Spec.Watch = true
	return o
}

// ReadyBy is readiness by an expression in CEL.
func ReadyBy(cel string) objectv1alpha2.Readiness {
	return objectv1alpha2.Readiness{Policy: objectv1alpha2.ReadinessPolicyDeriveFromCelQuery, CelQuery: cel}
}

// Secret returns a Secret of the tenant's beside the others of the platform, without
// data.
func Secret(t tenant.Tenant, name string, typ corev1.SecretType) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: name, Labels: OfTenant(t)},
		Type:       typ,
	}
}

// OfTenant returns the labels of what is a tenant's.
func OfTenant(t tenant.Tenant) map[string]string {
	return map[string]string{tenant.LabelTenant: t.Names.Tenant}
}

// Usage composes the Usage that keeps an object from being deleted; a ClusterUsage where the
// object is in no namespace. Whoever is refused reads the reason. replay says whether a
// deletion that was refused is made up for once the Usage is gone. Crossplane's own Go types
// of Usages need a newer crossplane-runtime than the providers' do.
func Usage(name string, of corev1.ObjectReference, reason string, replay bool) *unstructured.Unstructured {
	kind := "ClusterUsage"
	if of.Namespace != "" {
		// A Usage may only name an object of its own namespace.
		kind = "Usage"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "protection.crossplane.io/v1beta1",
		"kind":       kind,
		"metadata":   map[string]any{"namespace": of.Namespace, "name": name},
		"spec": map[string]any{
			"of":             map[string]any{"apiVersion": of.APIVersion, "kind": of.Kind, "resourceRef": map[string]any{"name": of.Name}},
			"reason":         reason,
			"replayDeletion": replay,
		},
	}}
}

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
	// depends on that. Of one that is Ready, the tenant's Ready waits for nothing,
	// also while creating it must wait.
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
	if err := text.Own([]byte(file), &v); err != nil {
		panic(err)
	}
	return v
}
