package host

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Usage composes the Usage that refuses to delete the tenant's namespace by hand. When
// the tenant is deleted the Usage goes, too, and Kubernetes tries to delete the namespace
// again until that succeeds.
func Usage(t tenant.Tenant) (resource.Object, error) {
	return resource.Object{Typed: &resource.UsageObject{
		TypeMeta:   metav1.TypeMeta{APIVersion: resource.UsageAPIVersion, Kind: "ClusterUsage"},
		ObjectMeta: metav1.ObjectMeta{Name: t.Names.Composed("namespace"), Finalizers: []string{"usage.apiextensions.crossplane.io"}},
		Spec: resource.UsageSpec{
			Of:     resource.Used(resource.ObjectType.APIVersion, resource.ObjectType.Kind, t.Names.Composed("namespace")),
			Reason: "The namespace holds the virtual cluster. Delete the claim: both go.",
			// Nothing that was refused stays behind.
			ReplayDeletion: true,
		},
	}}, nil
}
