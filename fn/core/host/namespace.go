// Package host is what a tenant has on the host cluster: its namespace, its account, its
// bounds, and the admission policies that it needs there.
package host

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// createdLongAgo tells the provider that it created the namespace long ago. In the first half
// minute after a creation it doesn't believe that the namespace is gone, and keeps the Object for
// up to a minute when the tenant is deleted. And a provider that was ended while it created the
// namespace would wait for a person. Nothing can be created twice: the name is fixed.
const createdLongAgo = "2000-01-01T00:00:00Z"

// Namespace composes the tenant's namespace in the host cluster.
func Namespace(t tenant.Tenant) (resource.Object, error) {
	o := resource.NewObject(t, "namespace", t.Host.KubernetesProviderConfig, resource.ReadyOnceCreated)
	// The provider looks at what it deletes after 1, 2, 4 seconds and so on, up to a minute; so it learns at once that the
	// namespace is gone, where it runs with --enable-watches.
	o.Spec.Watch = true
	for _, key := range []string{meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded} {
		o.Annotations[key] = createdLongAgo
	}
	annotations := map[string]any{}
	for key, list := range NamespaceAnnotations(t.Decision) {
		// No Ingress comes before the virtual cluster. Its host is reserved only after the namespace is composed, and a change
		// of the namespace at the start would count against Crossplane's circuit breaker.
		if key != tenant.AnnotationIngressHost || resource.HasKubeconfig(t) || t.InstalledBefore(tenant.VClusterRelease) {
			annotations[key] = list
		}
	}
	return resource.Object{Typed: o, RawAt: resource.ManifestPath, Raw: map[string]any{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata": map[string]any{
			"name": t.Names.Namespace,
			"labels": map[string]any{
				tenant.LabelTenant: t.Names.Tenant,
				// vcluster's own pods don't run under restricted.
				"pod-security.kubernetes.io/enforce": tenant.PodSecurityBaseline,
			},
			"annotations": annotations,
		},
	}}, nil
}

// UntilNamespaceGoes returns the owner reference that keeps an object until the tenant's
// namespace on the host is gone. The namespace has no owner, so no cascading deletion, not even
// one in the foreground, deletes the object before.
func UntilNamespaceGoes(t tenant.Tenant) []metav1.OwnerReference {
	uid := namespaceUID(t)
	if uid == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: t.Names.Namespace, UID: types.UID(uid)}}
}

// namespaceUID returns the UID of the tenant's namespace on the host, "" while it is unknown.
// While the provider can't observe the namespace, the account's owner reference has the UID.
func namespaceUID(t tenant.Tenant) string {
	if uid := t.Composed(tenant.Namespace).String("status", "atProvider", "manifest", "metadata", "uid"); uid != "" {
		return uid
	}
	for _, owner := range t.Composed(tenant.InstallerAccount).List("metadata", "ownerReferences") {
		if owner.String("kind") == "Namespace" {
			return owner.String("uid")
		}
	}
	return ""
}

// NamespaceReady reports whether the namespace exists, and its UID is known.
func NamespaceReady(t tenant.Tenant) bool {
	return t.Composed(tenant.Namespace).Healthy() && namespaceUID(t) != ""
}

// Usage composes the Usage that refuses to delete the tenant's namespace by hand. When
// the tenant is deleted the Usage goes, too, and Kubernetes tries to delete the namespace
// again until that succeeds.
func Usage(t tenant.Tenant) (resource.Object, error) {
	name := t.Names.Composed("namespace")
	object := corev1.ObjectReference{APIVersion: resource.ObjectType.APIVersion, Kind: resource.ObjectType.Kind, Name: name}
	u := resource.Usage(name, object, "The namespace holds the virtual cluster. Delete the claim: both go.", true)
	u.SetFinalizers([]string{"usage.apiextensions.crossplane.io"})
	return resource.Object{Typed: u}, nil
}
