//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

var (
	functions      = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "Function"}
	providers      = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "Provider"}
	runtimeConfigs = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1beta1", Kind: "DeploymentRuntimeConfig"}
)

// Crossplane restores a function's Deployment that someone scales. Its runtime configuration is how to have no replicas.
const (
	noReplicas = "e2e-no-replicas"
	// usedBefore is where the test notes the runtime configuration that it replaces.
	usedBefore = "e2e/runtime-config-before"
)

// stopFunction takes the function away until restoreFunction.
func stopFunction(ctx context.Context, t *testing.T) {
	t.Helper()
	configs := cluster(t, runtimeConfigs)
	_, err := configs.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": runtimeConfigs.GroupVersion().String(), "kind": runtimeConfigs.Kind,
		"metadata": map[string]any{"name": noReplicas},
		"spec": map[string]any{"deploymentTemplate": map[string]any{"spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{}, "template": map[string]any{},
		}}},
	}}, metav1.CreateOptions{})
	if err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatalf("cannot create runtime configuration: %v", err)
	}
	f := findFunction(ctx, t)
	before, _, _ := unstructured.NestedString(f.Object, "spec", "runtimeConfigRef", "name")
	if before == noReplicas {
		return
	}
	useRuntimeConfig(ctx, t, f.GetName(), noReplicas, before)
	awaitFunctionPods(ctx, t, func(n int) bool { return n == 0 })
}

// restoreFunction undoes stopFunction, and does nothing when there is nothing to undo.
func restoreFunction(ctx context.Context, t *testing.T) {
	t.Helper()
	f := findFunction(ctx, t)
	if before, stopped := f.GetAnnotations()[usedBefore]; stopped {
		useRuntimeConfig(ctx, t, f.GetName(), before, nil)
		awaitFunctionPods(ctx, t, func(n int) bool { return n > 0 })
	}
	err := cluster(t, runtimeConfigs).Delete(ctx, noReplicas, metav1.DeleteOptions{})
	if err != nil && !kerrors.IsNotFound(err) {
		t.Fatalf("cannot delete runtime configuration: %v", err)
	}
}

// cluster gives access to a cluster-scoped kind.
func cluster(t *testing.T, gvk schema.GroupVersionKind) dynamic.ResourceInterface {
	t.Helper()
	client, err := host.Resource(gvk, "")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// findPackage finds a function or provider by what it was installed from: its name is Crossplane's choice when the
// Configuration brought it.
func findPackage(ctx context.Context, t *testing.T, kind schema.GroupVersionKind, source string) *unstructured.Unstructured {
	t.Helper()
	list, err := cluster(t, kind).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatalf("cannot list packages of kind %s: %v", kind.Kind, err)
	}
	for i, p := range list.Items {
		if pkg, _, _ := unstructured.NestedString(p.Object, "spec", "package"); strings.Contains(pkg, source) {
			return &list.Items[i]
		}
	}
	t.Fatalf("no %s is installed from %s", kind.Kind, source)
	return nil
}

func findFunction(ctx context.Context, t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return findPackage(ctx, t, functions, "/function-virtual-argocd")
}

func useRuntimeConfig(ctx context.Context, t *testing.T, function, config string, note any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{usedBefore: note}},
		"spec":     map[string]any{"runtimeConfigRef": map[string]any{"name": config}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster(t, functions).Patch(ctx, function, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatalf("cannot change the function's runtime configuration: %v", err)
	}
}

func awaitFunctionPods(ctx context.Context, t *testing.T, enough func(ready int) bool) {
	t.Helper()
	name := findFunction(ctx, t).GetName()
	eventually.True(ctx, t, 3*time.Minute, "the function's pods come or go", func(ctx context.Context) (bool, string) {
		pods, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{LabelSelector: "pkg.crossplane.io/function=" + name})
		if err != nil {
			return false, err.Error()
		}
		ready := 0
		for _, p := range pods.Items {
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		return enough(ready), fmt.Sprintf("%d pods of %d are ready", ready, len(pods.Items))
	})
}
