package podtrouble

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOf(t *testing.T) {
	unscheduled := []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available:\n1 Insufficient cpu."}}
	waiting := func(reason, message string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: "server", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
	cases := map[string]struct {
		pod  corev1.PodStatus
		want string
	}{
		"NoRoom":         {corev1.PodStatus{Conditions: unscheduled}, "0/1 nodes are available: 1 Insufficient cpu."},
		"NoImage":        {corev1.PodStatus{ContainerStatuses: waiting("ErrImagePull", "not found")}, "container server: ErrImagePull: not found"},
		"NoMessage":      {corev1.PodStatus{ContainerStatuses: waiting("CrashLoopBackOff", "")}, "container server: CrashLoopBackOff"},
		"InitContainer":  {corev1.PodStatus{InitContainerStatuses: waiting("CreateContainerConfigError", `secret "a" not found`), ContainerStatuses: waiting("PodInitializing", "")}, `container server: CreateContainerConfigError: secret "a" not found`},
		"Starting":       {corev1.PodStatus{ContainerStatuses: waiting("ContainerCreating", "")}, ""},
		"Running":        {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "server"}}}, ""},
		"NotLookedAtYet": {corev1.PodStatus{}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Of(corev1.Pod{Status: tc.pod}); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
	if got := Of(corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}, Status: corev1.PodStatus{Conditions: unscheduled}}); got != "" {
		t.Errorf("a pod that is being deleted: want nothing, got %q", got)
	}
	if got := Short(strings.Repeat("é", 400)); len(got) > 410 || !strings.HasPrefix(got, "ééé") || !strings.HasSuffix(got, "é ...") {
		t.Errorf("want the beginning of a long message, got %d bytes: %q", len(got), got)
	}
}
