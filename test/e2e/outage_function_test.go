//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// kinds of Crossplane's package manager.
var (
	functions      = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "Function"}
	configurations = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "Configuration"}
	providers      = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "Provider"}
	runtimeConfigs = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1beta1", Kind: "DeploymentRuntimeConfig"}
)

// stopFunction takes the function away until startFunction. Crossplane restores a function's Deployment that someone
// scales, so the number of replicas goes where Crossplane takes it from.
func stopFunction(ctx context.Context, t *testing.T) {
	t.Helper()
	setReplicas(ctx, t, 0)
	awaitFunctionPods(ctx, t, func(n int) bool { return n == 0 })
}

// startFunction undoes stopFunction, and changes nothing when there is nothing to undo.
func startFunction(ctx context.Context, t *testing.T) {
	t.Helper()
	// As in examples/install/runtime.yaml.
	setReplicas(ctx, t, 2)
	awaitFunctionPods(ctx, t, func(n int) bool { return n > 0 })
}

func setReplicas(ctx context.Context, t *testing.T, replicas int64) {
	t.Helper()
	name := functionRuntimeConfig(ctx, t)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"deploymentTemplate": map[string]any{"spec": map[string]any{
		"replicas": replicas,
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all(t, runtimeConfigs).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatalf("cannot change runtime configuration %s: %v", name, err)
	}
}

// functionRuntimeConfig is the name of the runtime configuration that the function's pods run with.
func functionRuntimeConfig(ctx context.Context, t *testing.T) string {
	t.Helper()
	f := findPackage(ctx, t, functions, "/function-virtual-argocd")
	name, _, _ := unstructured.NestedString(f.Object, "spec", "runtimeConfigRef", "name")
	if name == "" || name == "default" {
		t.Fatal("the function has no runtime configuration of its own: apply examples/install/runtime.yaml")
	}
	return name
}

// all gives access to a cluster-scoped kind.
func all(t *testing.T, gvk schema.GroupVersionKind) dynamic.ResourceInterface {
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
	list, err := all(t, kind).List(ctx, metav1.ListOptions{})
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

func awaitFunctionPods(ctx context.Context, t *testing.T, enough func(ready int) bool) {
	t.Helper()
	name := findPackage(ctx, t, functions, "/function-virtual-argocd").GetName()
	eventually.True(ctx, t, 3*time.Minute, "the function's pods come or go", func(ctx context.Context) (bool, string) {
		pods, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{LabelSelector: "pkg.crossplane.io/function=" + name})
		if err != nil {
			return false, err.Error()
		}
		n := 0
		for _, p := range pods.Items {
			if ready(p) {
				n++
			}
		}
		return enough(n), fmt.Sprintf("%d pods of %d are ready", n, len(pods.Items))
	})
}

// nudge makes a controller reconcile an object now.
func nudge(ctx context.Context, t *testing.T, client dynamic.ResourceInterface, name string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"e2e/nudged":%q}}}`, time.Now().Format(time.RFC3339Nano))
	if _, err := client.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatalf("cannot annotate %s: %v", name, err)
	}
}
