// Package podtrouble says why a pod doesn't run, in the words of the scheduler and of the kubelet.
package podtrouble

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/visible"
)

// maxLength bounds what is said of a pod, in bytes.
const maxLength = 400

// starting are the reasons that a container waits for while its pod starts as it should.
var starting = []string{"", "ContainerCreating", "PodInitializing"}

// Of returns why the pod doesn't run, "" when it does, is being deleted, or is starting.
func Of(pod corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return ""
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			return Short(c.Message)
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && !slices.Contains(starting, w.Reason) {
			return Short("container " + c.Name + ": " + w.Reason + ": " + w.Message)
		}
	}
	return ""
}

// Short returns a message on one line, with at most 400 bytes of it.
func Short(message string) string {
	message = strings.Join(strings.Fields(visible.Line(message)), " ")
	if len(message) > maxLength {
		message = strings.ToValidUTF8(message[:maxLength], "") + " ..."
	}
	return strings.TrimSuffix(message, ":")
}
