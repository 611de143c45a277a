//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// replicaKilled kills the process of one replica of the function while it works for a claim. The claim stays Ready, the other replica works
// for it, and the log of the process that has ended names it.
func (o *outages) replicaKilled(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	needsEmbedded(t)
	awaitFunctionPods(ctx, t, func(n int) bool { return n == 2 })
	pods := functionPods(ctx, t)
	killed, other := pods[0], pods[1]
	stop := o.busy(ctx, t)
	defer stop()
	began := metav1.Now()
	o.awaitCalled(ctx, t, killed, began, "works for the claim")
	// Whole seconds are all that a log is read by.
	time.Sleep(2 * time.Second)
	ended := metav1.Now()
	if err := machine.InPod(killed.UID, "function").Kill(ctx); err != nil {
		t.Fatal(err)
	}
	o.awaitCalled(ctx, t, other, ended, "works for the claim alone")
	eventually.True(ctx, t, 2*time.Minute, "the replica is back", func(ctx context.Context) (bool, string) {
		s, err := o.steady.State(ctx)
		if err != nil || !s.IsReady() {
			t.Fatalf("claim %s is %v, %v", o.steady.Name, s, err)
		}
		is, err := host.Typed.CoreV1().Pods(crossplane).Get(ctx, killed.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return ready(*is) && restarts(*is) == restarts(killed)+1, fmt.Sprint(is.Status.ContainerStatuses)
	})
	called := calls(podLog(ctx, t, killed.Name, corev1.PodLogOptions{Previous: true}))
	if len(called) == 0 || !strings.Contains(called[len(called)-1], o.steady.Namespace+"/"+o.steady.Name) {
		t.Errorf("the log of the process that was killed doesn't name the claim that it worked for last: %s", lines(called[max(0, len(called)-3):]))
	}
	o.untouched(ctx, t)
	return ctx
}

// busy has Crossplane call the function for the steady claim all the time, until the caller calls stop.
func (o *outages) busy(ctx context.Context, t *testing.T) (stop func()) {
	t.Helper()
	xr, err := o.steady.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	client := all(t, xr.GroupVersionKind())
	ctx, stop = context.WithCancel(ctx)
	go func() {
		for ; ctx.Err() == nil; time.Sleep(300 * time.Millisecond) {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"crossplane.io/reconcile-requested-at":%q}}}`, time.Now().Format(time.RFC3339Nano))
			if _, err := client.Patch(ctx, xr.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
	return stop
}

// awaitCalled waits until a replica's log says that it was called for the steady claim since then.
func (o *outages) awaitCalled(ctx context.Context, t *testing.T, pod corev1.Pod, since metav1.Time, what string) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, pod.Name+" "+what, func(ctx context.Context) (bool, string) {
		called := calls(podLog(ctx, t, pod.Name, corev1.PodLogOptions{SinceTime: &since}))
		return slices.ContainsFunc(called, func(line string) bool { return strings.Contains(line, o.steady.Namespace+"/"+o.steady.Name) }), lines(called)
	})
}

// functionPods are the replicas of the function that are ready.
func functionPods(ctx context.Context, t *testing.T) []corev1.Pod {
	t.Helper()
	name := findPackage(ctx, t, functions, "/function-virtual-argocd").GetName()
	pods, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{LabelSelector: "pkg.crossplane.io/function=" + name})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !ready(p) })
}

// calls are the lines of the function's log that it writes before it decodes a request.
func calls(log string) []string {
	return slices.DeleteFunc(strings.Split(log, "\n"), func(line string) bool { return !strings.Contains(line, "called") })
}

// podLog is the log of a pod of Crossplane's.
func podLog(ctx context.Context, t *testing.T, pod string, o corev1.PodLogOptions) string {
	t.Helper()
	log, err := logOf(ctx, crossplane, pod, o)
	if err != nil {
		t.Fatalf("cannot read the log of %s: %v", pod, err)
	}
	return log
}
