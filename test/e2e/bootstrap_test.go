//go:build e2e

package e2e

import (
	"context"
	"regexp"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
)

var commitHash = regexp.MustCompile(`^[0-9a-f]{40}$`)

func (c *connected) bootstrapped(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.hub.Patch(ctx, t, map[string]any{"repoURL": c.repo, "path": "root"}, "spec", "bootstrap")
	start := time.Now()
	s := c.hub.Await(ctx, t, 6*time.Minute, "has a bootstrap Application that is Synced and Healthy", func(s *claim.State) bool {
		return s.True(claim.BootstrapSynced)
	})
	measured.add("bootstrap: field set to Synced and Healthy in the claim", time.Since(start))
	if s.Bootstrap.Health != "Healthy" || s.Bootstrap.Sync != "Synced" || s.Bootstrap.Message != "" || !commitHash.MatchString(s.Bootstrap.Revision) {
		t.Errorf("condition BootstrapSynced is True, status.bootstrap is %+v", s.Bootstrap)
	}
	api := loggedIn(ctx, t, c.hub)
	root, err := api.Get(ctx, "bootstrap")
	if err != nil {
		t.Fatal(err)
	}
	if root.Status.Sync.Revision != s.Bootstrap.Revision {
		t.Errorf("status.bootstrap.revision is %s, Argo CD's is %s", s.Bootstrap.Revision, root.Status.Sync.Revision)
	}
	awaitHealthy(ctx, t, api, "shop")
	if _, err := open(ctx, t, c.hub).Typed.AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{}); err != nil {
		t.Errorf("what the Application of the Application deploys is not in the virtual cluster: %v", err)
	}
	return ctx
}

// badBootstrap asks for a folder that the repository doesn't have. What was deployed before stays.
func (c *connected) badBootstrap(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const folder = "no-such-folder"
	c.hub.Patch(ctx, t, folder, "spec", "bootstrap", "path")
	start := time.Now()
	s := c.hub.Await(ctx, t, 6*time.Minute, "names the folder that is not there", func(s *claim.State) bool {
		return namesIt(s, claim.BootstrapSynced, folder) && s.Bootstrap.Message != ""
	})
	measured.add("bootstrap: folder that is not there to named in the claim", time.Since(start))
	if !s.True(claim.Ready) {
		t.Errorf("a bootstrap Application that cannot be synced holds back the tenant: %s", s)
	}
	if _, err := open(ctx, t, c.hub).Typed.AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{}); err != nil {
		t.Errorf("what was deployed is gone: %v", err)
	}
	c.hub.Patch(ctx, t, "root", "spec", "bootstrap", "path")
	c.hub.Await(ctx, t, 6*time.Minute, "is Synced and Healthy again", func(s *claim.State) bool {
		return s.True(claim.BootstrapSynced) && s.Bootstrap.Message == ""
	})
	return ctx
}
