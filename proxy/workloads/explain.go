package workloads

import (
	"cmp"
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

const (
	// startTimeout is how long a new workload has before its pods are read, and explainTimeout how long reading the pods and events of all
	// workloads of a summary may take.
	startTimeout   = 15 * time.Second
	explainTimeout = 5 * time.Second
	// readyTimeout is how long a pod on a node has before its events are read: while it starts, there may be warnings that mean nothing.
	// recent is how old such an event may be.
	readyTimeout = 2 * time.Minute
	recent       = 5 * time.Minute
)

// explain returns why a workload isn't available; "" if that isn't known.
func explain(ctx context.Context, c *virtualapi.Client, namespace string, is *workload) string {
	if is.Spec.Selector == nil || is.age() < startTimeout {
		return ""
	}
	for _, condition := range is.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return podtrouble.Short(condition.Message)
		}
	}
	return podsTrouble(ctx, c, namespace, is.Spec.Selector)
}

// podsTrouble returns what is wrong with one of the pods, the newest first: those of an older revision may run.
func podsTrouble(ctx context.Context, c *virtualapi.Client, namespace string, selector *metav1.LabelSelector) string {
	pods, err := c.Pods(ctx, namespace, metav1.FormatLabelSelector(selector))
	if err != nil {
		return ""
	}
	slices.SortStableFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, pod := range pods {
		why := podtrouble.Of(pod)
		switch {
		case why != "" || pod.DeletionTimestamp != nil:
		case pod.Spec.NodeName == "":
			why = warning(ctx, c, namespace, pod.Name, time.Time{})
		case time.Since(pod.CreationTimestamp.Time) > readyTimeout && !virtualapi.IsReady(pod):
			why = warning(ctx, c, namespace, pod.Name, time.Now().Add(-recent))
		}
		if why != "" {
			return podtrouble.Short("pod " + pod.Name + ": " + why)
		}
	}
	return ""
}

// warning returns the newest event of type Warning of a pod, "" for none since then: what keeps vcluster from bringing it to the host, such as
// the quota there, or the kubelet from running it, such as a volume that can't be mounted or a probe that fails.
func warning(ctx context.Context, c *virtualapi.Client, namespace, pod string, since time.Time) string {
	events, err := c.Events(ctx, namespace, "type=Warning,involvedObject.kind=Pod,involvedObject.name="+pod)
	if err != nil || len(events) == 0 {
		return ""
	}
	at := func(e corev1.Event) time.Time { return cmp.Or(e.LastTimestamp.Time, e.EventTime.Time) }
	newest := slices.MaxFunc(events, func(a, b corev1.Event) int { return at(a).Compare(at(b)) })
	if at(newest).Before(since) {
		return ""
	}
	return podtrouble.Short(newest.Message)
}
