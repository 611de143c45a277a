package compose

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// LabelTenant stands on a tenant's namespace in the host cluster.
const LabelTenant = "virtualargocd.io/tenant"

// createdLongAgo has a provider believe at once that what it has made is gone. Without, it
// asks for half a minute and then for up to another, in which the Object of a namespace that
// was deleted soon after it was created stays. And where the provider was ended while it
// created the namespace, it goes on: it would wait for a person otherwise. The name is ours,
// so nothing can be created twice or lost.
const createdLongAgo = "2000-01-01T00:00:00Z"

// namespace composes the tenant's namespace in the host cluster.
func namespace(t Tenant) (Object, error) {
	o := object(t, "namespace", t.Host.KubernetesProviderConfig, readyOnceCreated)
	// The provider looks at what it deletes after 1, 2, 4 seconds and so on, up to a minute; so it learns at once that the
	// namespace is gone, where it runs with --enable-watches.
	o.Spec.Watch = true
	for _, key := range []string{meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded} {
		o.Annotations[key] = createdLongAgo
	}
	metadata := map[string]any{
		"name": t.Names.Namespace,
		"labels": map[string]any{
			LabelTenant: t.Names.Tenant,
			// vcluster's own pods don't run under restricted.
			"pod-security.kubernetes.io/enforce": plan.PodSecurityBaseline,
		},
	}
	annotations := map[string]any{}
	for key, list := range t.NamespaceAnnotations() {
		// No Ingress comes before the virtual cluster. Its host is reserved only after the namespace is composed, and a change
		// of the namespace at the start would count against Crossplane's circuit breaker.
		if key != plan.AnnotationIngressHost || HasKubeconfig(t) || t.installedBefore(VCluster) {
			annotations[key] = list
		}
	}
	metadata["annotations"] = annotations
	manifest := map[string]any{
		"apiVersion": corev1.SchemeGroupVersion.String(),
		"kind":       "Namespace",
		"metadata":   metadata,
	}
	return Object{Typed: o, Raw: manifest, RawAt: manifestPath}, nil
}

// untilNamespaceGoes makes an object stay until the tenant's namespace on the host is
// gone: that namespace is nobody's dependent, so nothing that Kubernetes deletes by
// owners, in the foreground either, goes before it.
func untilNamespaceGoes(t Tenant) []metav1.OwnerReference {
	uid := namespaceUID(t)
	if uid == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: t.Names.Namespace, UID: types.UID(uid)}}
}

// namespaceUID is the UID of the tenant's namespace on the host, "" while nobody has
// seen it. While the provider can't look, the account's owner tells.
func namespaceUID(t Tenant) string {
	if uid := t.observed(Namespace).String("status", "atProvider", "manifest", "metadata", "uid"); uid != "" {
		return uid
	}
	for _, owner := range t.observed(InstallerAccount).List("metadata", "ownerReferences") {
		if owner.String("kind") == "Namespace" {
			return owner.String("uid")
		}
	}
	return ""
}

// namespaceReady reports whether there is a namespace to compose into, and to stay as
// long as.
func namespaceReady(t Tenant) bool { return isReady(Namespace)(t) && namespaceUID(t) != "" }
