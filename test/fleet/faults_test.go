//go:build e2e

package fleet

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/provider"
)

// TestFaults lets four channels with ten tenants in all offer versions of the argo-cd chart in which something goes wrong. It checks whether
// and why each channel halts, and how it goes on.
func TestFaults(t *testing.T) {
	t.Parallel()
	t.Run("SomeTenantsAreDegraded", someDegraded)
	t.Run("ChangesFail", changesFail)
	t.Run("AChangeIsStuck", changeStuck)
	t.Run("ChangesAreSlow", changesSlow)
}

// newFaulty creates a channel with its tenants, which halts when degraded tenants are broken.
func newFaulty(ctx context.Context, t *testing.T, name string, tenants, degraded int32, progressDeadline time.Duration) *offered {
	t.Helper()
	o := newOffered("fleet-"+name, int(tenants), progressDeadline, v1alpha1.ChannelRollout{
		MaxConcurrency: tenants, MaxFailures: degraded,
	})
	o.create(ctx, t)
	return o
}

// someDegraded offers a version that degrades Argo CD of half of the tenants. The channel halts at the second of them, and goes on with the
// same version when they are well.
func someDegraded(t *testing.T) {
	t.Parallel()
	const version = "10.1.11"
	ctx := t.Context()
	o := newFaulty(ctx, t, "degrades", 4, 2, 5*time.Minute)
	mend, has := o.give(ctx, t, provider.UpgradeDegrades, 2, version)
	o.halts(ctx, t, version, has, v1alpha1.PhaseDegraded, "Degraded: ")
	mend()
	o.goesOn(ctx, t, version)
}

// changesFail offers a version that the virtual clusters refuse. The provider tries it three times, and the version before stays in use. The
// channel goes on with another version.
func changesFail(t *testing.T) {
	t.Parallel()
	const version, mended = "10.1.12", "10.1.13"
	ctx := t.Context()
	o := newFaulty(ctx, t, "fails", 2, 1, 5*time.Minute)
	before := o.releases(ctx, t)
	_, has := o.give(ctx, t, provider.UpgradeRefused, o.n, version)
	broken := o.halts(ctx, t, version, has, v1alpha1.PhaseReady, "Degraded: ")
	for _, name := range broken {
		l, err := claim.Find(host, o.name, name)
		if err != nil {
			t.Fatal(err)
		}
		l.Await(ctx, t, seenWithin, "has the version from before, and says so", func(s *claim.State) bool {
			accepted := s.Condition(claim.SpecAccepted)
			return s.ArgoCD.ChartVersion == before[releaseKey{name, "argo-cd"}].version && accepted.Reason == v1alpha1.ReasonUpgradeFailed && s.True(claim.Ready)
		})
	}
	began := time.Now()
	o.offer(ctx, t, mended)
	o.reachesAll(ctx, t, began, mended)
	o.await(ctx, t, seenWithin, v1alpha1.ConditionHalted, "False", "")
}

// changeStuck offers a version with which Argo CD doesn't become ready, for which Helm waits. The channel halts because this takes longer than
// progressDeadline, and goes on with the same version when Argo CD is ready.
func changeStuck(t *testing.T) {
	t.Parallel()
	const version = "10.1.14"
	ctx := t.Context()
	o := newFaulty(ctx, t, "stuck", 2, 1, time.Minute)
	mend, has := o.give(ctx, t, provider.UpgradeFails, o.n, version)
	o.halts(ctx, t, version, has, v1alpha1.PhaseUpdating, "Updating for more than 1m0s")
	mend()
	o.goesOn(ctx, t, version)
}

// changesSlow offers a version while changes take longer than usual, but less than progressDeadline. The channel doesn't halt.
func changesSlow(t *testing.T) {
	t.Parallel()
	const version = "10.1.15"
	ctx := t.Context()
	o := newFaulty(ctx, t, "slow", 2, 2, 3*time.Minute)
	for _, id := range o.tenants(ctx, t) {
		faults.Give(provider.Slow, id)
		t.Cleanup(func() { faults.Heal(id) })
	}
	began := time.Now()
	o.offer(ctx, t, version)
	usual := provider.Usual().ArgoCD
	for _, r := range o.reachesAll(ctx, t, began, version) {
		if took := r.Ready.Sub(r.Took); took < 2*usual {
			t.Errorf("%s changed within %s, which isn't slow: usually that takes %s", r.Claim, took, usual)
		}
	}
}

// give gives a fault at changes to a version to a share of all tenants that contains n of the channel's. It returns these, and a function
// that takes the fault away and waits until all tenants are well.
func (o *offered) give(ctx context.Context, t *testing.T, fault provider.Fault, n int, version string) (mend func(), has []string) {
	t.Helper()
	ids := o.tenants(ctx, t)
	faults.Set(fault, faults.ShareWith(fault, n, ids), version)
	// Otherwise Helm would wait for the change while the tenants are deleted.
	t.Cleanup(func() { faults.Set(fault, 0, "") })
	for _, id := range ids {
		if faults.HasAt(fault, id, version) {
			has = append(has, id)
		}
	}
	return func() {
		t.Helper()
		faults.Set(fault, 0, "")
		o.claims.await(ctx, t, time.Now(), seenWithin, o.n, "are Ready without the fault", isReady)
	}, has
}

// halts offers a version, and waits until the channel has halted because of the tenants that have a fault. The halt must name each of them that
// has the offer, and say how it is broken. Their claims must be in the given phase, and all others Ready. Tenants without the offer must be
// untouched. halts returns the names of the broken claims.
func (o *offered) halts(ctx context.Context, t *testing.T, version string, faulty []string, phase v1alpha1.Phase, how string) (broken []string) {
	t.Helper()
	before := o.written(ctx, t)
	o.offer(ctx, t, version)
	halt := o.await(ctx, t, o.progressDeadline+rollout.Grace+each(o.n), v1alpha1.ConditionHalted, "True", "failed")
	s, _, err := o.status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var reached []string
	for _, r := range o.records(ctx, t) {
		name, has := strings.TrimPrefix(r.Claim, o.name+"/"), r.Revision == s.Revision
		if has {
			reached = append(reached, name)
		}
		is := has && slices.Contains(faulty, r.Tenant)
		if is {
			broken = append(broken, name)
		}
		if named := strings.Contains(halt, r.Claim+" ("); named != is || is && !strings.Contains(halt, r.Claim+" ("+how) {
			t.Errorf("%s has the offer: %t, is broken: %t, and the channel says %q", r.Claim, has, is, halt)
		}
	}
	o.untouched(ctx, t, before, reached)
	if len(broken) < int(o.rollout.MaxFailures) || s.Tenants.Failed != int64(len(broken)) {
		t.Errorf("%v are broken, and the channel counts %d; it halts at %d", broken, s.Tenants.Failed, o.rollout.MaxFailures)
	}
	o.claims.await(ctx, t, time.Now(), seenWithin, o.n, "are "+string(phase)+" where they are broken, and else Ready", func(c *unstructured.Unstructured) bool {
		if slices.Contains(broken, c.GetName()) {
			return phaseOf(c) == string(phase)
		}
		return isReady(c)
	})
	return broken
}

// goesOn ends a halt, and waits until the same offer reaches all tenants.
func (o *offered) goesOn(ctx context.Context, t *testing.T, version string) {
	t.Helper()
	began := time.Now()
	o.patch(ctx, t, `{"paused":true}`)
	o.await(ctx, t, seenWithin, v1alpha1.ConditionHalted, "False", "")
	o.patch(ctx, t, `{"paused":false}`)
	o.reachesAll(ctx, t, began, version)
}
