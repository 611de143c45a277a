//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const (
	// lateClass is a StorageClass that comes after the claims that need it.
	lateClass = "e2e-late"
	// lateLabel is a label that the nodes get late.
	lateLabel = "e2e.example.org/late"

	// stuckGoneWithin is the promise for the namespace of a deleted claim whose virtual cluster can't come up, and healedWithin that
	// for a virtual cluster that gets what it has lacked.
	stuckGoneWithin = time.Minute
	healedWithin    = 2 * time.Minute

	// saidWithin is how long a claim may take to say what it lacks: half a minute, and as much again beside other tests.
	saidWithin = time.Minute
)

// saidSoon holds a claim to the time in which it says what it lacks.
func saidSoon(t *testing.T, what string, since metav1.Time) {
	t.Helper()
	took := time.Since(since.Time)
	measured.add("stuck: "+what+" to what is missing", took)
	if took > saidWithin {
		t.Errorf("%s: says after %s what is missing, want %s", what, took, saidWithin)
	}
}

// labelNodes gives each node of the host lateLabel with a value in JSON, or takes it away.
func labelNodes(ctx context.Context, t *testing.T, value string) {
	t.Helper()
	nodes, err := host.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, lateLabel, value)
	for _, n := range nodes.Items {
		if _, err := host.Typed.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// cannotStart reports whether a claim says that pods of Argo CD can't start, and why.
func cannotStart(s *claim.State, why string) bool {
	c := s.Condition(claim.ArgoCDReady)
	return s.Phase == "Failing" && c.Reason == v1alpha1.ReasonPodsCannotStart && strings.Contains(c.Message, why)
}

// TestStuckInstallation has claims wait for a volume, for a node and for an image.
func TestStuckInstallation(t *testing.T) {
	onlyInFull(t)
	t.Parallel()
	var plan *installedPlan
	var goes, stays, crowded *claim.Live
	t.Cleanup(func() {
		ctx := context.Background()
		cleanUp(ctx, t, goes, stays, crowded)
		plan.remove(ctx, t)
		if err := host.Typed.StorageV1().StorageClasses().Delete(ctx, lateClass, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Error(err)
		}
		labelNodes(ctx, t, "null")
	})
	testenv.Test(t, features.New("stuck").
		Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			plan = installPlan(ctx, t, "small", "late", with(t, lateClass, "vcluster", "storage", "storageClass"))
			goes = claim.Create(ctx, t, host, newClaim("stuck-goes").Set("late", "spec", "plan"))
			stays = claim.Create(ctx, t, host, newClaim("stuck-stays").Set("late", "spec", "plan").ArgoCDValue("no-such-tag", "redis", "image", "tag"))
			// Its API server comes up at once, and makes a password.
			crowded = claim.Create(ctx, t, host, newClaim("stuck-crowded").ArgoCDValue(map[string]any{lateLabel: "yes"}, "repoServer", "nodeSelector"))
			return ctx
		}).
		Assess("ControlPlaneSaysWhy", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			for _, l := range []*claim.Live{goes, stays} {
				s := l.Await(ctx, t, readyWithin, "says what its control plane lacks", func(s *claim.State) bool {
					return s.Phase == "Failing" && s.Condition(claim.VirtualClusterReady).Reason == v1alpha1.ReasonPodsCannotStart
				})
				saidSoon(t, "claim without a volume", s.Object.GetCreationTimestamp())
				for _, words := range []string{"pod vcluster-0", "PersistentVolumeClaims"} {
					if !strings.Contains(s.Message, words) {
						t.Errorf("want %q in the message, got %s", words, s.Message)
					}
				}
			}
			return ctx
		}).
		Assess("ArgoCDSaysWhy", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			s := crowded.Await(ctx, t, readyWithin, "says what Argo CD's pods lack", func(s *claim.State) bool {
				return cannotStart(s, "node affinity/selector")
			})
			t.Logf("the claim says: %s", s.Message)
			saidSoon(t, "Argo CD without a node", releaseOf(ctx, t, crowded).GetCreationTimestamp())
			return ctx
		}).
		Assess("IsDeletedPromptly", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			namespace := tenantNamespace(ctx, goes)
			goes.Delete(ctx, t)
			measured.add("stuck: claim without a volume deleted to no namespace", eventually.True(ctx, t, stuckGoneWithin, "namespace "+namespace+" is gone", func(ctx context.Context) (bool, string) {
				_, err := host.Typed.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
				return kerrors.IsNotFound(err), fmt.Sprint(err)
			}))
			// provider-kubernetes looks at the Object of a namespace that it has made less than half a minute ago at ever longer intervals.
			awaitGone(ctx, t, goes, goneWithin)
			return ctx
		}).
		Assess("HealsByItself", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			class, err := host.Typed.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
			if err != nil || len(class.Items) == 0 {
				t.Fatalf("the host has no StorageClass: %v", err)
			}
			late := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: lateClass}, Provisioner: class.Items[0].Provisioner, VolumeBindingMode: class.Items[0].VolumeBindingMode}
			if _, err := host.Typed.StorageV1().StorageClasses().Create(ctx, late, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			stays.Await(ctx, t, healedWithin, "has its virtual cluster", func(s *claim.State) bool { return s.True(claim.VirtualClusterReady) })
			measured.add("stuck: volume to virtual cluster", time.Since(began))
			stays.Await(ctx, t, readyWithin, "says what redis lacks", func(s *claim.State) bool { return cannotStart(s, "no-such-tag") })
			stays.Patch(ctx, t, nil, "spec", "argocd", "values", "redis")
			stays.AwaitReady(ctx, t, readyWithin)
			return ctx
		}).
		Assess("ArgoCDHealsToo", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			labelNodes(ctx, t, `"yes"`)
			began := time.Now()
			crowded.AwaitReady(ctx, t, healedWithin)
			measured.add("stuck: node to Ready", time.Since(began))
			loggedIn(ctx, t, crowded)
			return ctx
		}).
		Assess("QuotaSaysWhy", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			virtual := open(ctx, t, crowded)
			pods := virtual.Typed.CoreV1()
			quota, err := quotaOf(ctx, tenantNamespace(ctx, crowded))
			if err != nil {
				t.Fatal(err)
			}
			left := quota.Status.Hard[corev1.ResourceRequestsCPU]
			left.Sub(quota.Status.Used[corev1.ResourceRequestsCPU])
			greedy := unschedulable("greedy")
			greedy.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = left
			greedy.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = left
			if _, err := pods.Pods(metav1.NamespaceDefault).Create(ctx, greedy, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually.True(ctx, t, healedWithin, "the quota is used up", func(ctx context.Context) (bool, string) {
				q, err := quotaOf(ctx, tenantNamespace(ctx, crowded))
				if err != nil {
					return false, err.Error()
				}
				used := q.Status.Used[corev1.ResourceRequestsCPU]
				return used.Cmp(q.Status.Hard[corev1.ResourceRequestsCPU]) == 0, used.String()
			})
			scale(ctx, t, virtual.Typed.AppsV1().Deployments("argocd"), "argocd-repo-server", 2)
			crowded.Await(ctx, t, healedWithin, "says that the quota is used up", func(s *claim.State) bool {
				return s.Phase == "Degraded" && strings.Contains(s.Message, "exceeded quota")
			})
			if err := pods.Pods(metav1.NamespaceDefault).Delete(ctx, greedy.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			crowded.AwaitReady(ctx, t, healedWithin)
			return ctx
		}).
		Feature())
}
