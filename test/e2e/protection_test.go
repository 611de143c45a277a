//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// protectedBy is a label of the kind by which GitOps tools find what to prune.
const protectedBy = "e2e.virtualargocd.io/folder"

// protected deletes a protected claim in each way in which that happens by mistake.
func (c *connected) protected(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.hub.Patch(ctx, t, map[string]any{protectedBy: "hub"}, "metadata", "labels")
	c.hub.Patch(ctx, t, true, "spec", "deletionProtection")
	start := time.Now()
	c.awaitProtection(ctx, t, true)
	measured.add("protection: field set to protected", time.Since(start))

	client, err := host.Resource(claim.GVK, claims)
	if err != nil {
		t.Fatal(err)
	}
	background, foreground := metav1.DeletePropagationBackground, metav1.DeletePropagationForeground
	for how, try := range map[string]func() error{
		"kubectl delete": func() error {
			return client.Delete(ctx, c.hub.Name, metav1.DeleteOptions{PropagationPolicy: &background})
		},
		// Argo CD deletes what it prunes so.
		"a prune": func() error {
			return client.Delete(ctx, c.hub.Name, metav1.DeleteOptions{PropagationPolicy: &foreground})
		},
		"a delete by label": func() error {
			return client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: protectedBy + "=hub"})
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "spec.deletionProtection") {
			t.Errorf("%s of a protected claim: want a refusal that names spec.deletionProtection, got %v", how, err)
		}
	}
	s, err := c.hub.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if s.Object.GetDeletionTimestamp() != nil || !s.True(claim.Ready) {
		t.Errorf("refused deletions have left a mark: %s", s)
	}

	c.hub.Patch(ctx, t, false, "spec", "deletionProtection")
	start = time.Now()
	c.awaitProtection(ctx, t, false)
	measured.add("protection: field switched off to no longer protected", time.Since(start))
	// The refused ones are not made up for.
	time.Sleep(5 * time.Second)
	if s, err := c.hub.State(ctx); err != nil || s.Object.GetDeletionTimestamp() != nil {
		t.Errorf("the claim is deleted with nobody asking for it any more: %v, %v", s, err)
	}
	measured.add("protection: deleted to nothing left", deletePromptly(ctx, t, c.hub))
	return ctx
}

// awaitProtection waits until the API server would refuse to delete the claim, or would not.
func (c *connected) awaitProtection(ctx context.Context, t *testing.T, wanted bool) {
	t.Helper()
	client, err := host.Resource(claim.GVK, claims)
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Minute, "the protection is as in the spec", func(ctx context.Context) (bool, string) {
		err := client.Delete(ctx, c.hub.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return !wanted, "it could be deleted"
		}
		return wanted, err.Error()
	})
}

// unprotect lets a test that has failed clean up.
func (c *connected) unprotect(ctx context.Context, t *testing.T) {
	t.Helper()
	if c.hub == nil {
		return
	}
	if _, err := c.hub.State(ctx); kerrors.IsNotFound(err) || t.Failed() && keep {
		return
	}
	c.hub.Patch(ctx, t, false, "spec", "deletionProtection")
	c.awaitProtection(ctx, t, false)
}
