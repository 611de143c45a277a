//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// backWithin is how long it may take until what was deleted in a virtual cluster is back.
const backWithin = 5 * time.Minute

// installed are kinds of the argo-cd chart beside workloads, of each of which one object is deleted.
var installed = []struct {
	gvk        schema.GroupVersionKind
	namespaced bool
	name       string
}{
	{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, true, "argocd-rbac-cm"},
	{schema.GroupVersionKind{Version: "v1", Kind: "Service"}, true, "argocd-repo-server"},
	{schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, true, "argocd-server"},
	{schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}, true, "argocd-server"},
	{schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, false, "applicationsets.argoproj.io"},
}

// drift is a tenant in whose virtual cluster somebody deletes what the platform has installed.
type drift struct{ live *claim.Live }

// TestRepair: what somebody deletes of an Argo CD in a virtual cluster comes back, and nothing else restarts.
func TestRepair(t *testing.T) {
	onlyInFull(t)
	t.Parallel()
	d := &drift{}
	testenv.Test(t, features.New("drift").
		Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			d.live = claim.Create(ctx, t, host, newClaim("drift"))
			d.live.AwaitReady(ctx, t, readyWithin)
			return ctx
		}).
		Assess("ObjectsComeBack", d.objects).
		Assess("WorkloadsComeBack", d.workloads).
		Assess("ApplicationsAreCounted", d.applications).
		Assess("AgainAndAgainIsBounded", d.bounded).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, d.live)
			return ctx
		}).Feature())
}

// pods of Argo CD by their UIDs, with their names.
func (d *drift) pods(ctx context.Context, t *testing.T, virtual *kube.Cluster) map[string]string {
	t.Helper()
	list, err := virtual.Typed.CoreV1().Pods("argocd").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil && !strings.Contains(pod.Name, "redis-secret-init") {
			out[string(pod.UID)] = pod.Name
		}
	}
	return out
}

// kept fails for each pod that isn't there any more, but for those of some workloads.
func (d *drift) kept(ctx context.Context, t *testing.T, virtual *kube.Cluster, before map[string]string, but ...string) {
	t.Helper()
	now := d.pods(ctx, t, virtual)
pods:
	for uid, name := range before {
		for _, workload := range but {
			if strings.HasPrefix(name, workload+"-") {
				continue pods
			}
		}
		if now[uid] == "" {
			t.Errorf("pod %s was replaced", name)
		}
	}
}

// objects deletes one object of each kind, and waits for all of them.
func (d *drift) objects(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	virtual := open(ctx, t, d.live)
	before := d.pods(ctx, t, virtual)
	for _, o := range installed {
		of, err := virtual.Resource(o.gvk, namespaceOf(o.namespaced))
		if err != nil {
			t.Fatal(err)
		}
		if err := of.Delete(ctx, o.name, metav1.DeleteOptions{}); err != nil {
			t.Fatalf("cannot delete %s %s: %v", o.gvk.Kind, o.name, err)
		}
	}
	took := eventually.True(ctx, t, backWithin, "the objects are back", func(ctx context.Context) (bool, string) {
		var gone []string
		for _, o := range installed {
			of, err := virtual.Resource(o.gvk, namespaceOf(o.namespaced))
			if err == nil {
				var is metav1.Object
				if is, err = of.Get(ctx, o.name, metav1.GetOptions{}); err == nil && is.GetDeletionTimestamp() != nil {
					err = fmt.Errorf("%s is being deleted", o.name)
				}
			}
			if err != nil {
				gone = append(gone, fmt.Sprintf("%s %s: %v", o.gvk.Kind, o.name, err))
			}
		}
		return len(gone) == 0, strings.Join(gone, "; ")
	})
	measured.add("drift: objects are back", took)
	d.live.AwaitReady(ctx, t, backWithin)
	d.kept(ctx, t, virtual, before)
	return ctx
}

func namespaceOf(namespaced bool) string {
	if namespaced {
		return "argocd"
	}
	return ""
}

// workloads deletes all Deployments but the first, which it scales to no replicas. The StatefulSet stays, and so do its pods.
func (d *drift) workloads(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	virtual := open(ctx, t, d.live)
	before := d.pods(ctx, t, virtual)
	deployments := virtual.Typed.AppsV1().Deployments("argocd")
	list, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) < 3 {
		t.Fatalf("%d Deployments: %v", len(list.Items), err)
	}
	var names []string
	for i, is := range list.Items {
		names = append(names, is.Name)
		if i == 0 {
			scale(ctx, t, deployments, is.Name, 0)
		} else if err := deployments.Delete(ctx, is.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	took := eventually.True(ctx, t, backWithin, "the workloads are back", func(ctx context.Context) (bool, string) {
		available, wrong, err := workloads(ctx, virtual)
		var gone []string
		for _, name := range names {
			if available[name] == 0 {
				gone = append(gone, name)
			}
		}
		return err == nil && len(wrong) == 0 && len(gone) == 0, fmt.Sprint(gone, wrong, err)
	})
	measured.add("drift: workloads are back", took)
	d.live.AwaitReady(ctx, t, backWithin)
	d.kept(ctx, t, virtual, before, names...)
	return ctx
}

// applications creates some that are never synced, and waits for the claim to count them.
func (d *drift) applications(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const apps = 5
	createIdleApps(ctx, t, d.live, apps)
	eventually.True(ctx, t, backWithin, "the claim counts the Applications", func(ctx context.Context) (bool, string) {
		xr, err := d.live.XR(ctx)
		if err != nil {
			return false, err.Error()
		}
		status, _ := xr.Object["status"].(map[string]any)
		is, _ := status["applications"].(map[string]any)
		return is["total"] == int64(apps) && is["notSynced"] == int64(apps), fmt.Sprint(is)
	})
	return ctx
}

// bounded deletes a Deployment again as soon as it is back, until the claim says that it isn't brought back any more.
func (d *drift) bounded(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const name = "argocd-applicationset-controller"
	virtual := open(ctx, t, d.live)
	deployments := virtual.Typed.AppsV1().Deployments("argocd")
	before, deleted := d.pods(ctx, t, virtual), 0
	d.live.Await(ctx, t, 20*time.Minute, "says that "+name+" isn't brought back any more", func(s *claim.State) bool {
		if err := deployments.Delete(ctx, name, metav1.DeleteOptions{}); err == nil {
			deleted++
		} else if !kerrors.IsNotFound(err) {
			t.Log(err)
		}
		return s.Phase == "Degraded" && s.Condition(claim.ArgoCDReady).Reason == v1alpha1.ReasonRepairGaveUp
	})
	if deleted > 4 {
		t.Errorf("it was back %d times", deleted-1)
	}
	d.kept(ctx, t, virtual, before, name)
	// A change of the values is a new beginning.
	d.live.Patch(ctx, t, map[string]any{"configs": map[string]any{"params": map[string]any{"controller.diff.server.side": "false"}}}, "spec", "argocd", "values")
	d.live.AwaitReady(ctx, t, backWithin)
	return ctx
}
