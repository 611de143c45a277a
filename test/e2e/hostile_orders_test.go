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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// podNotCopied tries a pod that is as a plain one but for a change. The virtual cluster takes it, and the host doesn't.
func podNotCopied(words string, change func(*corev1.Pod)) func(context.Context, *testing.T, *intrusion) {
	return func(ctx context.Context, t *testing.T, i *intrusion) {
		pod := probePod("trick-" + strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "/")+1:]))
		change(pod)
		if _, err := i.mallory.cluster.Typed.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "Pod", pod.Name, words)
		i.mallory.notCopied(ctx, t, "pods", pod.Name)

		plain, trick := hostPod("trick"), hostPod("trick")
		if err := dryRun(ctx, i.mallory.asSyncer(t), i.mallory.namespace, plain); err != nil {
			t.Fatalf("the host refuses any pod, so that this shows nothing: %v", err)
		}
		change(trick)
		if err := dryRun(ctx, i.mallory.asSyncer(t), i.mallory.namespace, trick); !says(err, words) {
			t.Errorf("on the host: want %q, got %v", words, err)
		}
	}
}

func onNodeByName(pod *corev1.Pod) {
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node"}
}

func withDevice(pod *corev1.Pod) {
	one := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
}

// refusedAmount is what amounts.yaml says of an amount.
const refusedAmount = "an-amount-of-a-tenant-has-an-exponent-of-at-most-two-digits"

// costly is an amount that is refused. Kubernetes writes it as 10e999, and 1e100 as 10e99, which isn't refused. It computes with it in no
// time, so the test harms nobody if it isn't refused.
var costly = resource.MustParse("1e1000")

func withCostlyLimit(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: costly}
}

func withCostlySizeLimit(pod *corev1.Pod) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "large", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &costly}}})
}

func graceOf(seconds int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
}

func manyPorts(s *corev1.ServiceSpec) {
	s.Ports = nil
	for port := range int32(33) {
		s.Ports = append(s.Ports, corev1.ServicePort{Name: fmt.Sprint("p", port), Port: answerPort + port})
	}
}

// deletedSlowly deletes a pod that may take longer to end than the host lets it.
func deletedSlowly(ctx context.Context, t *testing.T, i *intrusion) {
	const most = 60
	pod := probePod("slow")
	graceOf(most)(pod)
	runProbe(ctx, t, i.mallory.cluster, metav1.NamespaceDefault, pod)
	long := int64(100000)
	if err := i.mallory.cluster.Typed.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &long}); err != nil {
		t.Fatal(err)
	}
	onTheHost := host.Typed.CoreV1().Pods(i.mallory.namespace)
	name := onHost(pod.Name, metav1.NamespaceDefault)
	refused := "a pod of a tenant is deleted with a grace period of 60 seconds or less"
	err := i.mallory.asSyncer(t).Typed.CoreV1().Pods(i.mallory.namespace).Delete(ctx, onHost("probe", metav1.NamespaceDefault), metav1.DeleteOptions{GracePeriodSeconds: &long, DryRun: []string{metav1.DryRunAll}})
	if !says(err, refused) {
		t.Errorf("vcluster could delete a pod as slowly as the tenant likes: %v", err)
	}
	// Whatever becomes of it, it isn't on its way out for longer than that.
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		is, err := onTheHost.Get(ctx, name, metav1.GetOptions{})
		if kerrors.IsNotFound(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if seconds := is.DeletionGracePeriodSeconds; seconds != nil && *seconds > most {
			t.Fatalf("the pod is deleted on the host within %d s", *seconds)
		}
	}
	if err := i.mallory.cluster.Typed.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil && !kerrors.IsNotFound(err) {
		t.Fatal(err)
	}
	eventually.True(ctx, t, 90*time.Second, "the pod is gone on the host when the tenant ends it, or after its grace period", func(ctx context.Context) (bool, string) {
		_, err := onTheHost.Get(ctx, name, metav1.GetOptions{})
		return kerrors.IsNotFound(err), fmt.Sprint(err)
	})
}

// ordersRefused marks objects with what controllers of the host, its runtime or its network would obey.
func ordersRefused(ctx context.Context, t *testing.T, i *intrusion) {
	core := i.mallory.cluster.Typed.CoreV1()
	const label, annotation = "an object of a tenant may not have the label %s on the host", "an object of a tenant may not have the annotation %s on the host"

	dashboard := &corev1.ConfigMap{ObjectMeta: forceSync("dashboard")}
	dashboard.Labels = map[string]string{"grafana_dashboard": "1"}
	plain := &corev1.ConfigMap{ObjectMeta: forceSync("plain-config")}
	for _, c := range []*corev1.ConfigMap{dashboard, plain} {
		if _, err := core.ConfigMaps(metav1.NamespaceDefault).Create(ctx, c, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	i.mallory.awaitCopy(ctx, t, "configmaps", plain.Name)
	i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "ConfigMap", dashboard.Name, fmt.Sprintf(label, "grafana_dashboard"))
	i.mallory.notCopied(ctx, t, "configmaps", dashboard.Name)

	networks := probePod("networks")
	networks.Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": "kube-system/hosts"}
	if _, err := core.Pods(metav1.NamespaceDefault).Create(ctx, networks, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "Pod", networks.Name, fmt.Sprintf(annotation, "k8s.v1.cni.cncf.io/networks"))
	i.mallory.notCopied(ctx, t, "pods", networks.Name)

	i.mallory.awaitSynced(ctx, t, plainService("plain-orders"))
	for name, key := range map[string]string{"exposed": "tailscale.com/expose", "scraped": "prometheus.io/scrape"} {
		service := plainService(name)
		service.Annotations = map[string]string{key: "true"}
		_, err := core.Services(metav1.NamespaceDefault).Create(ctx, service, metav1.CreateOptions{})
		if err == nil {
			i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "Service", name, fmt.Sprintf(annotation, key))
		} else if !says(err, fmt.Sprintf(annotation, key)) {
			t.Errorf("want %s refused, got %v", key, err)
		}
		i.mallory.notCopied(ctx, t, "services", name)
	}
}

// tooLarge fills the host's store, which a quota of objects doesn't bound.
func tooLarge(ctx context.Context, t *testing.T, i *intrusion) {
	large := &corev1.ConfigMap{ObjectMeta: forceSync("large"), Data: map[string]string{"x": strings.Repeat("x", 400<<10)}}
	modest := &corev1.ConfigMap{ObjectMeta: forceSync("modest"), Data: map[string]string{"x": strings.Repeat("x", 200<<10)}}
	for _, c := range []*corev1.ConfigMap{large, modest} {
		if _, err := i.mallory.cluster.Typed.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, c, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	i.mallory.awaitCopy(ctx, t, "configmaps", modest.Name)
	i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "ConfigMap", large.Name, "an object of a tenant takes at most 256 KiB on the host")
	i.mallory.notCopied(ctx, t, "configmaps", large.Name)
}
