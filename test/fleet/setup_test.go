//go:build e2e

package fleet

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

var planKind = schema.GroupVersionResource{Group: v1alpha1.Group, Version: v1alpha1.Version, Resource: "xargocdplans"}

func createNamespace(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	_, err := host.Typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// createPlan makes the fleet's plan, until the test ends.
func createPlan(ctx context.Context, t *testing.T) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"values": map[string]any{"argocd": map[string]any{
		"configs": map[string]any{"params": map[string]any{"controller.status.processors": "20"}},
	}}}}}
	o.SetAPIVersion(planKind.GroupVersion().String())
	o.SetKind(v1alpha1.PlanKind)
	o.SetName(plan)
	if _, err := host.Dynamic.Resource(planKind).Apply(ctx, plan, o, metav1.ApplyOptions{FieldManager: "fleet", Force: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Dynamic.Resource(planKind).Delete(context.WithoutCancel(ctx), plan, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
