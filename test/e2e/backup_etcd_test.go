//go:build e2e

package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
)

// inEtcd has a tenant whose virtual cluster is kept in etcd sleep, wake, and come back from a backup: with Argo CD's objects, since a snapshot
// can't be restored there.
func (b *backup) inEtcd(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	plan := installPlan(ctx, t, "small", "kept-in-etcd", with(t, "etcd", "vcluster", "backingStore"))
	request := func() *claim.Claim { return newClaim("in-etcd").Set("kept-in-etcd", "spec", "plan") }
	l := claim.Create(ctx, t, host, request().Set(map[string]any{"enabled": true, "schedule": "0 0 29 2 *"}, "spec", "backup"))
	t.Cleanup(func() {
		cleanUp(ctx, t, l)
		plan.remove(ctx, t)
	})
	l.AwaitReady(ctx, t, readyWithin)
	createIdleApps(ctx, t, l, 3)
	before := applicationUIDs(ctx, t, l)

	l.Patch(ctx, t, true, "spec", "hibernation", "enabled")
	sleeps(ctx, t, l, "spec.hibernation.enabled says so")
	l.Patch(ctx, t, false, "spec", "hibernation", "enabled")
	wakes(ctx, t, l)
	if diff := cmp.Diff(before, applicationUIDs(ctx, t, l)); diff != "" {
		t.Errorf("Applications and their UIDs: -before, +awake:\n%s", diff)
	}

	l.Patch(ctx, t, "now", "metadata", "annotations", v1alpha1.AnnotationBackup)
	l.Await(ctx, t, backedUpWithin, "a good backup", func(s *claim.State) bool { return s.True(claim.BackedUp) })
	deleteAndAwait(ctx, t, l, goneWithin)

	l = claim.Create(ctx, t, host, request().Set(map[string]any{"backup": "latest"}, "spec", "restoreFrom"))
	is := l.Await(ctx, t, readyWithin, "Argo CD's objects are restored, and it doesn't act", func(s *claim.State) bool {
		return s.Condition(claim.Restored).Reason == v1alpha1.ReasonInactive && s.IsReady()
	})
	if said := is.Condition(claim.Restored).Message; !strings.Contains(said, "etcd") {
		t.Errorf("it doesn't say what is missing, and why: %s", said)
	}
	names := slices.Sorted(maps.Keys(applicationUIDs(ctx, t, l)))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), names); diff != "" {
		t.Errorf("Applications: -before, +restored:\n%s", diff)
	}
	l.Patch(ctx, t, true, "spec", "restoreFrom", "activate")
	l.Await(ctx, t, readyWithin, "Argo CD acts", func(s *claim.State) bool { return s.True(claim.Restored) && s.IsReady() })
	deleteAndAwait(ctx, t, l, goneWithin)
	return ctx
}
