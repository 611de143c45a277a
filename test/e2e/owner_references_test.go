//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// podsGoFirst waits until Kubernetes would delete all pods and volumes of a tenant's namespace as soon as the tenant's composite resource
// is gone: each has an owner there, and so on, up to those that the composite resource and the vcluster Release own together.
func podsGoFirst(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	kinds := []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"),
		appsv1.SchemeGroupVersion.WithResource("replicasets"), appsv1.SchemeGroupVersion.WithResource("statefulsets"), appsv1.SchemeGroupVersion.WithResource("deployments"),
	}
	eventually.True(ctx, t, 2*time.Minute, "all pods and volumes go with the composite resource", func(ctx context.Context) (bool, string) {
		service, err := host.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("services")).Namespace(namespace).Get(ctx, "vcluster", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		all := []metav1.PartialObjectMetadata{*service}
		for _, kind := range kinds {
			list, err := host.Metadata.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err.Error()
			}
			all = append(all, list.Items...)
		}
		for _, o := range all {
			if !ownedIn(all, o) {
				return false, fmt.Sprintf("%s %s has the owners %v", o.Kind, o.Name, o.OwnerReferences)
			}
		}
		return true, ""
	})
}

// ownedIn reports whether the owners of an object are among all, or the composite resource and the Release.
func ownedIn(all []metav1.PartialObjectMetadata, o metav1.PartialObjectMetadata) bool {
	var kinds []string
	for _, r := range o.OwnerReferences {
		if slices.ContainsFunc(all, func(a metav1.PartialObjectMetadata) bool { return a.UID == r.UID }) {
			continue
		}
		kinds = append(kinds, r.Kind)
	}
	slices.Sort(kinds)
	return len(o.OwnerReferences) > 0 && (len(kinds) == 0 || slices.Equal(kinds, []string{"Release", "XVirtualArgoCD"}))
}
