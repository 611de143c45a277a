//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// defaultClass is the annotation of the default StorageClass.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// TestCheck: examples/install/check.yaml finds that this cluster lacks nothing, then that it has no default StorageClass, and that NetworkPolicies
// aren't enforced where none selects the pod.
func TestCheck(t *testing.T) {
	needsEmbedded(t)
	ctx := context.Background()
	if code, said := hostCheck(ctx, t, nil); code != 0 || strings.Contains(said, "MISSING") || !strings.Contains(said, "OK       NetworkPolicies are enforced") {
		t.Errorf("the cluster lacks nothing, and the check ends with %d and says\n%s", code, said)
	}

	classes, err := host.Typed.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil || len(classes.Items) != 1 {
		t.Fatalf("want one StorageClass, got %v, %v", classes, err)
	}
	annotate := func(value string) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, defaultClass, value)
		if _, err := host.Typed.StorageV1().StorageClasses().Patch(ctx, classes.Items[0].Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	annotate("false")
	t.Cleanup(func() { annotate("true") })
	// Without the NetworkPolicy, the pod reaches what it may not reach.
	code, said := hostCheck(ctx, t, func(manifest string) string {
		return strings.Replace(manifest, `job-completion-index: "1"`, `job-completion-index: "2"`, 1)
	})
	if code == 0 || !strings.Contains(said, "MISSING  a default StorageClass, of 1") || !strings.Contains(said, "MISSING  NetworkPolicies have no effect") {
		t.Errorf("want a default StorageClass and enforced NetworkPolicies missing, the check ends with %d and says\n%s", code, said)
	}
}

// hostCheck applies check.yaml, with the image that the proxies have here, and returns how many of its pods failed and what all have printed.
func hostCheck(ctx context.Context, t *testing.T, change func(manifest string) string) (failed int, said string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "install", "check.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := withImage(string(text), imageOfProxies(ctx, t))
	if change != nil {
		manifest = change(manifest)
	}
	kubectl(ctx, t, manifest, "apply", "-f", "-")
	defer kubectl(ctx, t, manifest, "delete", "--wait=true", "-f", "-")
	// As check.yaml says.
	kubectl(ctx, t, "", "--namespace", crossplane, "wait", "job/virtual-argocd-check", "--for=jsonpath={.status.conditions[0].type}", "--timeout=2m")
	var job *batchv1.Job
	eventually.True(ctx, t, 3*time.Minute, "the check has ended", func(ctx context.Context) (bool, string) {
		var err error
		if job, err = host.Typed.BatchV1().Jobs(crossplane).Get(ctx, "virtual-argocd-check", metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		return job.Status.Succeeded+job.Status.Failed == 2, fmt.Sprint(job.Status)
	})
	pods, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{LabelSelector: "job-name=virtual-argocd-check"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		logs, err := host.Typed.CoreV1().Pods(crossplane).GetLogs(p.Name, &corev1.PodLogOptions{}).Stream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(logs)
		if err != nil {
			t.Fatal(err)
		}
		said += string(data)
	}
	return int(job.Status.Failed), said
}

// imageOfProxies is the image of the sidecars of the providers, which is the function's.
func imageOfProxies(ctx context.Context, t *testing.T) string {
	t.Helper()
	for _, pod := range providerPods(ctx, t) {
		for _, c := range pod.Spec.InitContainers {
			if c.Name == "virtual-api-proxy" {
				return c.Image
			}
		}
	}
	t.Fatal("no provider has the proxy beside it")
	return ""
}

// withImage replaces the image of the function in a manifest.
func withImage(manifest, image string) string {
	before, rest, _ := strings.Cut(manifest, "image: xpkg.crossplane.io/virtual-argocd/function-virtual-argocd")
	_, after, _ := strings.Cut(rest, "\n")
	return before + "image: " + image + "\n" + after
}
