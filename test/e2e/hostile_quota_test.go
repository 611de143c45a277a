//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/klient/wait"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// What a tenant makes to wear the host out.
const (
	manyConfigMaps = 5000
	manyPods       = 500

	// lateWithin is how long another claim may take meanwhile: about five times what it takes on a quiet cluster.
	lateWithin = 5 * time.Minute
)

func memoryRefused(ctx context.Context, t *testing.T, i *intrusion) {
	pod := probePod("greedy")
	much := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Ti")}
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: much, Limits: much}
	if _, err := i.mallory.cluster.Typed.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "Pod", pod.Name, "exceeded quota")
	i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "Pod", pod.Name, "limits.memory")
	if _, err := host.Typed.CoreV1().Pods(i.mallory.namespace).Get(ctx, onHost(pod.Name, metav1.NamespaceDefault), metav1.GetOptions{}); !kerrors.IsNotFound(err) {
		t.Errorf("the pod is on the host: %v", err)
	}
	// A container that names no limits has some: the probe's.
	is, err := host.Typed.CoreV1().Pods(i.mallory.namespace).Get(ctx, onHost(i.mallory.probe.name, metav1.NamespaceDefault), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range is.Spec.Containers {
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Limits.Cpu().IsZero() {
			t.Errorf("container %s of a pod that names no limits has none: %v", c.Name, c.Resources)
		}
	}
}

func storageRefused(ctx context.Context, t *testing.T, i *intrusion) {
	volumes := i.mallory.cluster.Typed.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	for name, size := range map[string]string{"modest": "1Gi", "greedy": "1Ti"} {
		_, err := volumes.Create(ctx, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	onTheHost := host.Typed.CoreV1().PersistentVolumeClaims(i.mallory.namespace)
	eventually.True(ctx, t, time.Minute, "the modest volume claim is on the host", func(ctx context.Context) (bool, string) {
		_, err := onTheHost.Get(ctx, onHost("modest", metav1.NamespaceDefault), metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "PersistentVolumeClaim", "greedy", "requests.storage")
	if _, err := onTheHost.Get(ctx, onHost("greedy", metav1.NamespaceDefault), metav1.GetOptions{}); !kerrors.IsNotFound(err) {
		t.Errorf("the volume claim is on the host: %v", err)
	}
}

// unschedulable is a pod that no node takes: it costs the machine nothing, and counts. It asks for so little that the
// quota has no other bound for many of them but their number.
func unschedulable(name string) *corev1.Pod {
	pod := probePod(name)
	pod.Spec.NodeSelector = map[string]string{"example.org/no-such": "node"}
	little := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1Mi"), corev1.ResourceEphemeralStorage: resource.MustParse("1Mi"),
	}
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: little, Limits: little}
	return pod
}

// podsBounded makes more pods than the quota has. They stay, for the next attempt.
func podsBounded(ctx context.Context, t *testing.T, i *intrusion) {
	quota, err := quotaOf(ctx, i.mallory.namespace)
	if err != nil {
		t.Fatal(err)
	}
	bound := quota.Spec.Hard["count/pods"]
	if bound.Value() == 0 || bound.Value() > manyPods {
		t.Fatalf("the quota has %s pods: this shows nothing", bound.String())
	}
	i.mallory.makePods(ctx, t, "crowd", int(bound.Value()))
	i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "Pod", "crowd-*", "requested: count/pods=1")
	// The quota counts a pod before it is there.
	eventually.True(ctx, t, 3*time.Minute, "about as many pods as the quota has are on the host", func(ctx context.Context) (bool, string) {
		n, err := i.mallory.onTheHost(ctx, "pods")
		return err == nil && float64(n) >= 0.9*float64(bound.Value()), fmt.Sprint(n, err)
	})
	i.mallory.withinQuota(ctx, t)
}

// quotaOf is the ResourceQuota of a tenant's namespace.
func quotaOf(ctx context.Context, namespace string) (*corev1.ResourceQuota, error) {
	quotas, err := host.Typed.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list ResourceQuotas: %w", err)
	}
	if len(quotas.Items) != 1 {
		return nil, fmt.Errorf("want one ResourceQuota in namespace %s, got %d", namespace, len(quotas.Items))
	}
	return &quotas.Items[0], nil
}

// onTheHost is how many objects of a core resource the tenant's namespace has.
func (n *tenant) onTheHost(ctx context.Context, resource string) (int, error) {
	list, err := host.Metadata.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(n.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("cannot list %s: %w", resource, err)
	}
	return len(list.Items), nil
}

// withinQuota looks at how many pods and ConfigMaps are on the host, by the quota and in truth. Kubernetes counts from a
// cache from time to time, and lets a few more through where many come at once.
func (n *tenant) withinQuota(ctx context.Context, t *testing.T) {
	t.Helper()
	quota, err := quotaOf(ctx, n.namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"pods", "configmaps"} {
		there, err := n.onTheHost(ctx, resource)
		if err != nil {
			t.Fatal(err)
		}
		name := corev1.ResourceName("count/" + resource)
		used, hard := quota.Status.Used[name], quota.Status.Hard[name]
		t.Logf("%s: %d there, %s counted, of %s", name, there, used.String(), hard.String())
		if float64(max(used.Value(), int64(there))) > 1.25*float64(hard.Value()) {
			t.Errorf("%s: %d there, %s counted: the quota of %s is exceeded", name, there, used.String(), hard.String())
		}
	}
}

// makePods makes pods that no node takes.
func (n *tenant) makePods(ctx context.Context, t *testing.T, prefix string, count int) {
	t.Helper()
	n.makeMany(ctx, t, count, func(ctx context.Context, at int) error {
		_, err := n.cluster.Typed.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, unschedulable(fmt.Sprintf("%s-%d", prefix, at)), metav1.CreateOptions{})
		return err
	})
}

// makeMany makes objects, each until it is there: a virtual cluster that has so much to do leaves some requests unanswered.
func (n *tenant) makeMany(ctx context.Context, t *testing.T, count int, create func(context.Context, int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(20)
	for at := range count {
		group.Go(func() error {
			var last error
			err := wait.For(func(ctx context.Context) (bool, error) {
				last = create(ctx, at)
				return last == nil || kerrors.IsAlreadyExists(last), nil
			}, wait.WithContext(ctx), wait.WithTimeout(2*time.Minute), wait.WithInterval(time.Second), wait.WithImmediate())
			if err != nil {
				return fmt.Errorf("object %d of %d can't be made: %w: %w", at, count, err, last)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// manyObjects has another claim become Ready while this tenant fills its virtual cluster.
func manyObjects(ctx context.Context, t *testing.T, i *intrusion) {
	onlyInFull(t)
	calm.Lock()
	defer calm.Unlock()
	late := claim.Create(ctx, t, host, newClaim("late"))
	t.Cleanup(func() { cleanUp(ctx, t, late) })
	start := time.Now()
	i.mallory.makePods(ctx, t, "many", manyPods)
	configs := i.mallory.cluster.Typed.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	i.mallory.makeMany(ctx, t, manyConfigMaps, func(ctx context.Context, at int) error {
		_, err := configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("many-%d", at)}}, metav1.CreateOptions{})
		return err
	})
	measured.add(fmt.Sprintf("mallory: %d ConfigMaps and %d pods made", manyConfigMaps, manyPods), time.Since(start))
	late.AwaitReady(ctx, t, lateWithin-time.Since(late.Created))
	measured.add("late: claim to Ready while mallory makes them", time.Since(late.Created))
	list, err := configs.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) < manyConfigMaps {
		t.Errorf("want %d ConfigMaps in the virtual cluster, got %d, %v", manyConfigMaps, len(list.Items), err)
	}
	i.mallory.withinQuota(ctx, t)
	if s, err := i.alice.live.State(ctx); err != nil || !s.True(claim.Ready) {
		t.Errorf("alice is not Ready any more: %v, %v", s, err)
	}
	loggedIn(ctx, t, i.alice.live)
	// What mallory does to itself is mallory's.
	s, err := i.mallory.live.State(ctx)
	t.Logf("mallory: %v, %v", s, err)
}
