//go:build e2e

package e2e

import (
	"context"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/story"
)

// TestStory tells of a real tenant what TestStory of test/fleet tells of a simulated one: its claim says the same. If this
// fails after a change, the simulation isn't true any more.
func TestStory(t *testing.T) {
	onlyInFull(t)
	t.Parallel()
	patchRepoServer := func(patch string) func(context.Context, *testing.T, *claim.Live) {
		return func(ctx context.Context, t *testing.T, l *claim.Live) {
			t.Helper()
			patchDeployment(ctx, t, open(ctx, t, l).Typed.AppsV1().Deployments("argocd"), "argocd-repo-server", patch)
		}
	}
	scaleControlPlane := func(replicas int32) func(context.Context, *testing.T, *claim.Live) {
		return func(ctx context.Context, t *testing.T, l *claim.Live) {
			t.Helper()
			scale(ctx, t, host.Typed.AppsV1().StatefulSets(tenantNamespace(ctx, l)), "vcluster", replicas)
		}
	}
	testenv.Test(t, features.New("story").
		Assess("TheSameAsSimulated", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			seen := story.Tell(ctx, t, host, newClaim("story"), story.Hands{
				Stop: patchRepoServer(stopped), Start: patchRepoServer(runs),
				Silence: scaleControlPlane(0), Answer: scaleControlPlane(1),
				Delete: func(ctx context.Context, t *testing.T, l *claim.Live) { deleteAndAwait(ctx, t, l, readyWithin) },
			})
			if err := story.Hold(seen); err != nil {
				t.Error(err)
			}
			return ctx
		}).Feature())
}
