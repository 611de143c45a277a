package compose

import (
	"strings"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// LabelTenant stands on a tenant's namespace in the host cluster.
const LabelTenant = "virtualargocd.io/tenant"

// annotationTolerations stands on it, too, for the admission policies of
// examples/install/tenants.yaml: the keys of taints that the tenant's pods tolerate,
// separated by commas.
const annotationTolerations = "virtualargocd.io/tolerations"

// namespace composes the tenant's namespace in the host cluster.
func namespace(t Tenant) (Object, error) {
	name := t.Names.Composed("namespace")
	o := &objectv1alpha2.Object{
		TypeMeta:   objectType,
		ObjectMeta: managed(name, name),
		Spec: objectv1alpha2.ObjectSpec{
			ResourceSpec: xpv1.ResourceSpec{ProviderConfigReference: providerConfig(t.Host.KubernetesProviderConfig)},
			// The provider looks at what it deletes after 1, 2, 4 seconds and so on, up to a minute; so it learns at once that the
			// namespace is gone, where it runs with --enable-watches.
			Watch:     true,
			Readiness: objectv1alpha2.Readiness{Policy: objectv1alpha2.ReadinessPolicySuccessfulCreate},
		},
	}
	// Helm keeps its record there, and without it can't remove what it installed.
	o.OwnerReferences = outlives(t, VCluster)
	metadata := map[string]any{
		"name": t.Names.Namespace,
		"labels": map[string]any{
			LabelTenant: t.Names.Tenant,
			// vcluster's own pods don't run under restricted.
			"pod-security.kubernetes.io/enforce": plan.PodSecurityBaseline,
		},
	}
	annotations := map[string]any{}
	// Not before the virtual cluster comes, which waits for the namespace to be as it
	// is wanted.
	if len(t.Ingress.Own) > 0 && t.observed(VCluster).Exists() {
		annotations[decode.AnnotationIngressHost] = strings.Join(t.Ingress.Own, ",")
	}
	if keys := t.Tolerated(); len(keys) > 0 {
		annotations[annotationTolerations] = strings.Join(keys, ",")
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	manifest := map[string]any{
		"apiVersion": corev1.SchemeGroupVersion.String(),
		"kind":       "Namespace",
		"metadata":   metadata,
	}
	return Object{Typed: o, Raw: manifest, RawAt: manifestPath}, nil
}

// outlives makes an object outlive another composed resource of the tenant.
// Kubernetes' garbage collector leaves an object alone while one of its owners is
// there, and collects it as soon as the last is gone; so nothing has to wait or
// to be tried again. The reference must not block: all would be deleted at once
// when the XR is deleted in the foreground.
func outlives(t Tenant, name string) []metav1.OwnerReference {
	r := t.observed(name)
	uid := r.String("metadata", "uid")
	if uid == "" {
		return nil
	}
	return []metav1.OwnerReference{{
		APIVersion: r.String("apiVersion"),
		Kind:       r.String("kind"),
		Name:       r.String("metadata", "name"),
		UID:        types.UID(uid),
	}}
}
