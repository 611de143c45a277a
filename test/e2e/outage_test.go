//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// outages is a customer in steady state and one who is being provisioned, while parts of the platform fail.
type outages struct {
	steady, late, restarted, drained *claim.Live
	before                           map[string]types.UID
}

// TestOutages runs with no other test beside it: the parts that fail are everybody's.
func TestOutages(t *testing.T) {
	onlyInFull(t)
	o := &outages{}
	testenv.Test(t, features.New("outages").
		Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			o.steady = claim.Create(ctx, t, host, newClaim("steady"))
			o.steady.AwaitReady(ctx, t, readyWithin)
			o.before = identities(ctx, t, o.steady)
			return ctx
		}).
		Assess("FunctionReplicaKilled", o.replicaKilled).
		Assess("FunctionDownDeletesNothing", o.functionDown).
		Assess("HelmProviderRestartedMidInstallation", o.providerRestarted).
		Assess("HelmProviderDrained", o.providerDrained).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			startFunction(ctx, t)
			cleanUp(ctx, t, o.steady, o.late, o.restarted, o.drained)
			return ctx
		}).Feature())
}

func (o *outages) functionDown(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	stopFunction(ctx, t)
	o.late = claim.Create(ctx, t, host, newClaim("late"))
	// Crossplane gives a function two minutes to answer. When the reconcile of the one tenant and of the other has failed,
	// the outage was a real one. Once is enough, and more would hide it: Crossplane drops the report of a failure when the
	// composite resource has changed meanwhile.
	o.nudge(ctx, t)
	eventually.True(ctx, t, 5*time.Minute, "Crossplane misses the function", func(ctx context.Context) (bool, string) {
		o.untouched(ctx, t)
		if ns := tenantNamespace(ctx, o.late); ns != "" {
			t.Fatalf("without the function the new claim has got namespace %s: the function is not away", ns)
		}
		return failsToReconcile(ctx, o.steady, o.late)
	})
	startFunction(ctx, t)
	start := time.Now()
	eventually.True(ctx, t, 5*time.Minute, "the claim that came while the function was away gets a virtual cluster", func(ctx context.Context) (bool, string) {
		return tenantNamespace(ctx, o.late) != "", "no namespace"
	})
	measured.add("outages: function back to work going on", time.Since(start))
	o.steady.AwaitReady(ctx, t, 5*time.Minute)
	o.untouched(ctx, t)
	o.late.AwaitReady(ctx, t, readyWithin)
	return ctx
}

// providerRestarted kills provider-helm in the middle of each of the two installations.
func (o *outages) providerRestarted(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	// Helm waits for nothing in the first, so it is over within a second.
	begun, err := host.Typed.CoreV1().Secrets("").Watch(ctx, metav1.ListOptions{LabelSelector: pendingInstall})
	if err != nil {
		t.Fatal(err)
	}
	defer begun.Stop()
	o.restarted = claim.Create(ctx, t, host, newClaim("restarted"))
	awaitInstall(t, begun, "vargo-restarted-")
	killProviderHelm(ctx, t)

	s := o.restarted.Await(ctx, t, readyWithin, "has a virtual cluster", func(s *claim.State) bool { return s.True(claim.VirtualClusterReady) })
	virtual := fromStatus(ctx, t, s)
	eventually.True(ctx, t, time.Minute, "Helm is installing the argo-cd chart", func(ctx context.Context) (bool, string) {
		list, err := virtual.Typed.CoreV1().Secrets("argocd").List(ctx, metav1.ListOptions{LabelSelector: pendingInstall})
		if err != nil {
			return false, err.Error()
		}
		return len(list.Items) > 0, "no pending release"
	})
	killProviderHelm(ctx, t)

	start := time.Now()
	o.restarted.AwaitReady(ctx, t, readyWithin)
	measured.add("outages: provider-helm killed amid argo-cd installation to Ready", time.Since(start))
	loggedIn(ctx, t, o.restarted)
	o.untouched(ctx, t)
	return ctx
}

// nudge makes Crossplane reconcile the steady customer's composite resource now. The late one's is new, which does the same.
func (o *outages) nudge(ctx context.Context, t *testing.T) {
	t.Helper()
	xr, err := o.steady.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	nudge(ctx, t, all(t, xr.GroupVersionKind()), xr.GetName())
}

// failsToReconcile reports whether Crossplane says of each claim's composite resource that it can't be reconciled.
func failsToReconcile(ctx context.Context, claims ...*claim.Live) (bool, string) {
	for _, l := range claims {
		xr, err := l.XR(ctx)
		if err != nil {
			return false, err.Error()
		}
		if synced := condition(xr, "Synced"); synced.Status != metav1.ConditionFalse {
			return false, fmt.Sprintf("claim %s: Synced=%q %s", l.Name, synced.Status, synced.Message)
		}
	}
	return true, ""
}

// untouched fails the test when something of the steady customer is gone or was replaced.
func (o *outages) untouched(ctx context.Context, t *testing.T) {
	t.Helper()
	now := identities(ctx, t, o.steady)
	for name, uid := range o.before {
		if now[name] != uid {
			t.Fatalf("something of a running customer is gone or another: %s was %s and is %q", name, uid, now[name])
		}
	}
}

// condition of an object.
func condition(o *unstructured.Unstructured, kind string) metav1.Condition {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		out := metav1.Condition{}
		if c, ok := c.(map[string]any); ok && c["type"] == kind && runtime.DefaultUnstructuredConverter.FromUnstructured(c, &out) == nil {
			return out
		}
	}
	return metav1.Condition{}
}

// identities are the UIDs of a tenant's composed resources and of the pods that run.
func identities(ctx context.Context, t *testing.T, l *claim.Live) map[string]types.UID {
	t.Helper()
	out := map[string]types.UID{}
	composed, err := l.Composed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range composed {
		out[nameOf(o)] = o.GetUID()
	}
	pods, err := host.Typed.CoreV1().Pods(tenantNamespace(ctx, l)).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		// What is done, such as a hook's Job, may go.
		if p.Status.Phase == corev1.PodRunning {
			out["Pod "+p.Name] = p.UID
		}
	}
	if len(composed) < 5 || len(pods.Items) < 5 {
		t.Fatalf("tenant of claim %s has %d composed resources and %d pods: too few to be whole", l.Name, len(composed), len(pods.Items))
	}
	return out
}

// pendingInstall selects the records of charts that Helm has begun to install.
const pendingInstall = "owner=helm,status=pending-install"

// awaitInstall waits until Helm has begun to install a chart in a namespace whose name begins so.
func awaitInstall(t *testing.T, begun watch.Interface, namespace string) {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		select {
		case e, open := <-begun.ResultChan():
			if record, ok := e.Object.(*corev1.Secret); ok && strings.HasPrefix(record.Namespace, namespace) {
				return
			}
			if !open {
				t.Fatal("the watch for Helm's records has ended")
			}
		case <-late:
			t.Fatalf("Helm has not begun to install a chart in a namespace %s...", namespace)
		}
	}
}

func killProviderHelm(ctx context.Context, t *testing.T) {
	t.Helper()
	now, name := int64(0), findPackage(ctx, t, providers, "/provider-helm").GetName()
	err := host.Typed.CoreV1().Pods(crossplane).DeleteCollection(ctx,
		metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{LabelSelector: "pkg.crossplane.io/provider=" + name})
	if err != nil {
		t.Fatalf("cannot kill provider-helm: %v", err)
	}
}

// fromStatus opens a virtual cluster by what the claim's status says, for claims that are not Ready yet.
func fromStatus(ctx context.Context, t *testing.T, s *claim.State) *kube.Cluster {
	t.Helper()
	secret, err := host.Typed.CoreV1().Secrets(crossplane).Get(ctx, s.VCluster.KubeconfigSecretName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := openKubeconfig(secret.Data[s.VCluster.KubeconfigSecretKey])
	if err != nil {
		t.Fatal(err)
	}
	return c
}
