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
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// providerDrained deletes provider-helm's pod as kubectl and a node that is drained do, in the middle of an installation and of an upgrade.
// Both come to their end: nothing is left half done, and the pod in its place doesn't take either for one that was interrupted.
func (o *outages) providerDrained(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	o.drained = claim.Create(ctx, t, host, newClaim("drained"))
	s := o.drained.Await(ctx, t, readyWithin, "has a virtual cluster", func(s *claim.State) bool { return s.True(claim.VirtualClusterReady) })
	virtual := fromStatus(ctx, t, s)
	installing := watchRecords(ctx, t, virtual, "pending-install")
	defer installing.Stop()
	drained(ctx, t, virtual, firstOf(t, installing))
	o.drained.AwaitReady(ctx, t, readyWithin)

	upgrading := watchRecords(ctx, t, virtual, "pending-upgrade")
	defer upgrading.Stop()
	// Helm waits until the pod is replaced.
	o.drained.Patch(ctx, t, []any{map[string]any{"name": "DRAINED", "value": "yes"}}, "spec", "argocd", "values", "server", "env")
	drained(ctx, t, virtual, firstOf(t, upgrading))
	env := deployment(ctx, t, virtual, "argocd-server").Spec.Template.Spec.Containers[0].Env
	if !slices.Contains(env, corev1.EnvVar{Name: "DRAINED", Value: "yes"}) {
		t.Errorf("the upgrade isn't done: argocd-server has the variables %v", env)
	}
	o.drained.AwaitReady(ctx, t, readyWithin)
	loggedIn(ctx, t, o.drained)
	o.untouched(ctx, t)
	return ctx
}

// watchRecords watches Helm's records of Argo CD's release that have a status.
func watchRecords(ctx context.Context, t *testing.T, virtual *kube.Cluster, status string) watch.Interface {
	t.Helper()
	out, err := virtual.Typed.CoreV1().Secrets(given.ArgoCDNamespace).Watch(ctx, metav1.ListOptions{LabelSelector: recordsOfArgoCD + ",status=" + status})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// firstOf waits for the first record.
func firstOf(t *testing.T, records watch.Interface) *corev1.Secret {
	t.Helper()
	select {
	case e := <-records.ResultChan():
		if record, ok := e.Object.(*corev1.Secret); ok {
			return record
		}
		t.Fatalf("the watch for Helm's records tells of %v", e.Object)
	case <-time.After(2 * time.Minute):
		t.Fatal("Helm has not begun")
	}
	return nil
}

// drained deletes provider-helm's pod while the record is pending, with the pod's own grace period. Once the pod is gone, the record is that
// of a release that is deployed, and it stays the last one.
func drained(ctx context.Context, t *testing.T, virtual *kube.Cluster, record *corev1.Secret) {
	t.Helper()
	name := findPackage(ctx, t, providers, "/provider-helm").GetName()
	pod := providerPods(ctx, t)[name]
	pods := host.Typed.CoreV1().Pods(crossplane)
	start := time.Now()
	if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	measured.add("outages: provider-helm's pod deleted to gone, "+record.Labels["status"], eventually.True(ctx, t, 2*time.Minute, "the pod is gone", func(ctx context.Context) (bool, string) {
		_, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		return kerrors.IsNotFound(err), fmt.Sprint(err)
	}))
	if grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second; time.Since(start) >= grace {
		t.Errorf("the pod was killed after its grace period of %s", grace)
	}
	secrets := virtual.Typed.CoreV1().Secrets(given.ArgoCDNamespace)
	// The pod that comes in its place begins within a minute, and looks at all releases once.
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end) && !t.Failed(); time.Sleep(time.Second) {
		is, err := secrets.Get(ctx, record.Name, metav1.GetOptions{})
		if err != nil || is.UID != record.UID || is.Labels["status"] != "deployed" {
			t.Errorf("the record %s was written anew, or isn't of a release that is deployed: %v, %v", record.Name, is.Labels, err)
		}
		list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: recordsOfArgoCD})
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range list.Items {
			if status := other.Labels["status"]; strings.HasPrefix(status, "pending-") || other.CreationTimestamp.After(record.CreationTimestamp.Time) {
				t.Errorf("there is record %s of status %s beside %s", other.Name, status, record.Name)
			}
		}
	}
}
