//go:build e2e

package fleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/story"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/provider"
)

// TestStory takes a simulated tenant through its life. Its claim has to show the states of the same list as that of the real tenant in
// make e2e-full.
func TestStory(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	createNamespace(ctx, t, namespace)
	give := func(fault provider.Fault) func(context.Context, *testing.T, *claim.Live) {
		return func(ctx context.Context, t *testing.T, l *claim.Live) { faults.Give(fault, l.XRName(ctx, t)) }
	}
	heal := func(ctx context.Context, t *testing.T, l *claim.Live) { faults.Heal(l.XRName(ctx, t)) }
	seen := story.Tell(ctx, t, host, claim.New("story").In(namespace), story.Hands{
		Stop: func(ctx context.Context, t *testing.T, l *claim.Live) {
			// There is no pod that could be missing, because it should have none.
			faults.Break(l.XRName(ctx, t), proxy.Workload{Name: "argocd-repo-server", Replicas: 1})
		},
		Start:   heal,
		Refuse:  give(provider.UpgradeRefused),
		Accept:  heal,
		Silence: give(provider.Silent),
		Answer:  heal,
		Delete:  deleteClaim,
	})
	if err := story.Hold(seen); err != nil {
		t.Error(err)
	}
}

// deleteClaim deletes a claim and waits until its tenant is gone.
func deleteClaim(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	namespaces := watch(ctx, t, namespaceKind, "", "virtualargocd.io/tenant="+l.XRName(ctx, t))
	l.Delete(ctx, t)
	namespaces.awaitNone(ctx, t)
	eventually.True(ctx, t, deletedWithin, "claim "+l.Name+" is gone", func(ctx context.Context) (bool, string) {
		s, err := l.State(ctx)
		return kerrors.IsNotFound(err), fmt.Sprint(s, err)
	})
}

// TestFaultyTenant gives a tenant one fault after the other. Its claim has to report each, and become Ready again afterwards.
func TestFaultyTenant(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	createNamespace(ctx, t, namespace)
	l := claim.Create(ctx, t, host, claim.New("faulty").In(namespace))
	id := l.XRName(ctx, t)

	faults.Give(provider.NeverStarts, id)
	l.Await(ctx, t, 5*time.Minute, "says that its control plane finds no node", func(s *claim.State) bool {
		return s.Phase == "Failing" && s.Condition(claim.VirtualClusterReady).Reason == "PodsCannotStart"
	})
	faults.Heal(id)
	l.AwaitReady(ctx, t, 5*time.Minute)

	faults.Give(provider.UpgradeDegrades, id)
	l.Patch(ctx, t, "true", "spec", "argocd", "values", "configs", "cm", "statusbadge.enabled")
	l.Await(ctx, t, 5*time.Minute, "is Degraded by a change", func(s *claim.State) bool { return s.Phase == "Degraded" })
	faults.Heal(id)
	l.AwaitReady(ctx, t, 5*time.Minute)

	deleteClaim(ctx, t, l)
}
