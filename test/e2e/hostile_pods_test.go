//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// violation begins what Pod Security says.
const violation = `violates PodSecurity "baseline`

// podRefused tries a pod in a namespace that the tenant has labelled as one where all is allowed, and on the host as
// vcluster would make it. The pod without the change is allowed in both places.
func podRefused(words string, change func(*corev1.PodSpec)) func(context.Context, *testing.T, *intrusion) {
	return func(ctx context.Context, t *testing.T, i *intrusion) {
		inVirtualCluster(ctx, t, i.mallory, words, change)

		syncer := i.mallory.asSyncer(t)
		pod := hostPod("trick")
		if err := dryRun(ctx, syncer, i.mallory.namespace, pod); err != nil {
			t.Fatalf("the host refuses any pod, so that this shows nothing: %v", err)
		}
		change(&pod.Spec)
		if err := dryRun(ctx, syncer, i.mallory.namespace, pod); !says(err, violation, words) {
			t.Errorf("on the host: want %q and %q, got %v", violation, words, err)
		}
	}
}

func inVirtualCluster(ctx context.Context, t *testing.T, n *tenant, words string, change func(*corev1.PodSpec)) {
	t.Helper()
	core := n.cluster.Typed.CoreV1()
	namespace := "trick-" + strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "/")+1:])
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := probePod("trick")
	change(&pod.Spec)
	tries := 0
	eventually.True(ctx, t, time.Minute, "the namespace takes pods", func(ctx context.Context) (bool, string) {
		// vcluster sets the label back: the pod may come first, some time.
		_, err = core.Namespaces().Patch(ctx, namespace, types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`), metav1.PatchOptions{})
		if err == nil {
			_, err = core.Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		}
		if says(err, "PodSecurity") {
			tries++
		}
		return err == nil || tries == 3, fmt.Sprint(err)
	})
	switch {
	case err == nil:
		// The label was the tenant's for a moment. vcluster looks at the pod again before it makes one of it on the host.
		n.awaitEvent(ctx, t, namespace, "Pod", pod.Name, violation)
		n.awaitEvent(ctx, t, namespace, "Pod", pod.Name, words)
	case !says(err, violation, words):
		t.Errorf("in the virtual cluster: want %q and %q, got %v", violation, words, err)
	}
	if _, err := host.Typed.CoreV1().Pods(n.namespace).Get(ctx, onHost(pod.Name, namespace), metav1.GetOptions{}); !kerrors.IsNotFound(err) {
		t.Errorf("the pod is on the host: %v", err)
	}
}

// hostPod is a pod as vcluster makes it on the host.
func hostPod(name string) *corev1.Pod {
	pod := probePod(name)
	pod.Labels["vcluster.loft.sh/managed-by"] = "vcluster"
	pod.Spec.ServiceAccountName = "vc-workload-vcluster"
	pod.Spec.AutomountServiceAccountToken = new(bool)
	return pod
}

// dryRun asks the host whether it would take a pod.
func dryRun(ctx context.Context, c *kube.Cluster, namespace string, pod *corev1.Pod) error {
	_, err := c.Typed.CoreV1().Pods(namespace).Create(ctx, pod.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func says(err error, words ...string) bool {
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			return false
		}
	}
	return true
}

// hostToken looks at the token that a pod has: it opens the tenant's own virtual cluster, and the host knows it not.
func hostToken(ctx context.Context, t *testing.T, i *intrusion) {
	const folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
	token, err := i.mallory.probe.run(ctx, "cat", folder+"token")
	if err != nil || token == "" {
		t.Fatalf("the pod has no token to look at: %v", err)
	}
	for where, c := range map[string]*kube.Cluster{"the virtual cluster": i.mallory.cluster, "the host": host} {
		config := rest.AnonymousClientConfig(c.Config)
		config.BearerToken = token
		with, err := kube.New(config)
		if err != nil {
			t.Fatal(err)
		}
		// An account without rights is forbidden to, and somebody unknown unauthorized.
		_, err = with.Typed.CoreV1().Secrets(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if c == host && !kerrors.IsUnauthorized(err) || c != host && !kerrors.IsForbidden(err) {
			t.Errorf("with a pod's token at %s: %v", where, err)
		}
	}
	pods, err := host.Typed.CoreV1().Pods(i.mallory.namespace).List(ctx, metav1.ListOptions{LabelSelector: "vcluster.loft.sh/managed-by"})
	if err != nil || len(pods.Items) < 5 {
		t.Fatalf("want the pods of a whole tenant, got %d, %v", len(pods.Items), err)
	}
	for _, pod := range pods.Items {
		if auto := pod.Spec.AutomountServiceAccountToken; auto == nil || *auto {
			t.Errorf("pod %s gets a token of the host", pod.Name)
		}
		for _, v := range pod.Spec.Volumes {
			for _, source := range projected(v) {
				if source.ServiceAccountToken != nil {
					t.Errorf("pod %s has a token of the host in volume %s", pod.Name, v.Name)
				}
			}
		}
	}
	// As vcluster, if it could be talked into it.
	trick := hostPod("trick")
	trick.Spec.AutomountServiceAccountToken = yes()
	if err := dryRun(ctx, i.mallory.asSyncer(t), i.mallory.namespace, trick); !says(err, "has no token of the host's") {
		t.Errorf("a pod with a token of the host is not refused for it: %v", err)
	}
	trick = hostPod("trick")
	trick.Spec.ServiceAccountName = "vc-vcluster"
	if err := dryRun(ctx, i.mallory.asSyncer(t), i.mallory.namespace, trick); !says(err, "runs as the account that has no rights") {
		t.Errorf("a pod with the control plane's account is not refused for it: %v", err)
	}
}

// nodeVolume has the node mount a folder of a server, which no NetworkPolicy is asked about.
func nodeVolume(ctx context.Context, t *testing.T, i *intrusion) {
	pod := probePod("mounts")
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "far", VolumeSource: corev1.VolumeSource{
		NFS: &corev1.NFSVolumeSource{Server: i.bystander.address, Path: "/"},
	}})
	if _, err := i.mallory.cluster.Typed.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "Pod", pod.Name, "a volume of a tenant's pod is")
	if _, err := host.Typed.CoreV1().Pods(i.mallory.namespace).Get(ctx, onHost(pod.Name, metav1.NamespaceDefault), metav1.GetOptions{}); !kerrors.IsNotFound(err) {
		t.Errorf("the pod is on the host: %v", err)
	}
}

func projected(v corev1.Volume) []corev1.VolumeProjection {
	if v.Projected == nil {
		return nil
	}
	return v.Projected.Sources
}
