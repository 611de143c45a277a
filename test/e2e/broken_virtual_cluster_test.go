//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// broken is a customer whose virtual cluster is broken beyond repair.
type broken struct {
	live  *claim.Live
	state *claim.State
	// virtual identifies the virtual cluster: its kube-system namespace.
	virtual types.UID
}

func TestBrokenCustomer(t *testing.T) {
	t.Parallel()
	b := &broken{}
	testenv.Test(t, features.New("broken").
		Setup(b.create).
		Assess("DeleteWithoutVirtualCluster", b.deleteBroken).
		Assess("SameNameBecomesNewCustomer", b.recreate).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, b.live)
			return ctx
		}).Feature())
}

func (b *broken) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	b.live = claim.Create(ctx, t, host, newClaim("broken"))
	b.state = b.live.AwaitReady(ctx, t, readyWithin)
	b.virtual = b.identity(ctx, t)
	return ctx
}

func (b *broken) identity(ctx context.Context, t *testing.T) types.UID {
	t.Helper()
	ns, err := open(ctx, t, b.live).Typed.CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the virtual cluster does not answer: %v", err)
	}
	return ns.UID
}

// deleteBroken takes the virtual cluster's control plane and its data away before the claim is deleted.
func (b *broken) deleteBroken(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	sets, claimsOfVolumes := host.Typed.AppsV1().StatefulSets(b.state.Namespace), host.Typed.CoreV1().PersistentVolumeClaims(b.state.Namespace)
	scale(ctx, t, sets, "vcluster", 0)
	volumes, err := claimsOfVolumes.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(volumes.Items) == 0 {
		t.Error("the virtual cluster has no persistent volume")
	}
	if err := claimsOfVolumes.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, 2*time.Minute, "the virtual cluster's data is gone", func(ctx context.Context) (bool, string) {
		left, err := claimsOfVolumes.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		return len(left.Items) == 0, "PersistentVolumeClaims are left"
	})
	measured.add("broken: deleted to nothing left", deletePromptly(ctx, t, b.live))
	return ctx
}

func (b *broken) recreate(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	b.live = claim.Create(ctx, t, host, newClaim("broken"))
	b.live.AwaitReady(ctx, t, readyWithin)
	measured.add("broken: re-created to Ready", time.Since(b.live.Created))
	if b.identity(ctx, t) == b.virtual {
		t.Error("the claim made anew has the virtual cluster of the deleted one")
	}
	loggedIn(ctx, t, b.live)
	return ctx
}
