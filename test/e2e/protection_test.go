//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// protectedBy is a label of the kind by which GitOps tools find what to prune.
const protectedBy = "e2e.virtualargocd.io/folder"

// guarded is an object that the protection of a claim is about.
type guarded struct {
	what, name string
	client     dynamic.ResourceInterface
}

// protected deletes a protected claim, its composite resource and its namespace in each way in which that happens by
// mistake. edge is protected too, and in the same namespace.
func (c *connected) protected(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	composite, namespace := compositeOf(ctx, t, c.hub), guard(t, "the namespace", schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, claims)
	hub := itself(ctx, t, "the claim", c.hub)
	c.hub.Patch(ctx, t, map[string]any{protectedBy: "hub"}, "metadata", "labels")
	c.edge.Patch(ctx, t, true, "spec", "deletionProtection")
	c.hub.Patch(ctx, t, true, "spec", "deletionProtection")
	start := time.Now()
	for _, g := range []guarded{hub, composite, namespace, itself(ctx, t, "the other claim", c.edge)} {
		// Nothing is deleted in earnest that wouldn't be refused: other tests have claims in the namespace.
		g.await(ctx, t, true)
	}
	measured.add("protection: field set to all protected", time.Since(start))

	for _, g := range []guarded{hub, composite, namespace} {
		// Argo CD deletes in the foreground what it prunes.
		for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
			g.refused(t, string(policy), g.client.Delete(ctx, g.name, metav1.DeleteOptions{PropagationPolicy: &policy}))
		}
	}
	// Crossplane copies the label to the composite resource. Kubernetes deletes no namespaces by label; kubectl deletes one after the other.
	for _, g := range []guarded{hub, composite} {
		g.refused(t, "by label", g.client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: protectedBy + "=hub"}))
	}
	// Nobody but Crossplane takes the label off by which Kubernetes asks it.
	_, err := hub.client.Patch(ctx, hub.name, types.MergePatchType, []byte(`{"metadata":{"labels":{"crossplane.io/in-use":null}}}`), metav1.PatchOptions{})
	if err == nil || !strings.Contains(err.Error(), "spec.deletionProtection") {
		t.Errorf("taking the label crossplane.io/in-use off a claim: want a refusal that names spec.deletionProtection, got %v", err)
	}
	for _, l := range []*claim.Live{c.hub, c.edge} {
		s, err := l.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.Object.GetDeletionTimestamp() != nil || !s.True(claim.Ready) {
			t.Errorf("refused deletions have left a mark: %s", s)
		}
	}

	c.hub.Patch(ctx, t, false, "spec", "deletionProtection")
	start = time.Now()
	hub.await(ctx, t, false)
	composite.await(ctx, t, false)
	measured.add("protection: field switched off to no longer protected", time.Since(start))
	// The refused ones are not made up for, and the namespace is protected by the other claim.
	time.Sleep(5 * time.Second)
	for _, g := range []guarded{hub, composite, namespace} {
		if o, err := g.client.Get(ctx, g.name, metav1.GetOptions{}); err != nil || o.GetDeletionTimestamp() != nil {
			t.Errorf("%s is deleted with nobody asking for it any more: %v", g.what, err)
		}
	}
	namespace.refused(t, "with one claim of two protected", namespace.tried(ctx))

	c.edge.Patch(ctx, t, false, "spec", "deletionProtection")
	namespace.await(ctx, t, false)
	measured.add("protection: deleted to nothing left", deletePromptly(ctx, t, c.hub))
	return ctx
}

func guard(t *testing.T, what string, gvk schema.GroupVersionKind, name string) guarded {
	t.Helper()
	client, err := host.Resource(gvk, claims)
	if err != nil {
		t.Fatal(err)
	}
	return guarded{what: what, name: name, client: client}
}

// itself is a claim, or a VirtualArgoCD of the namespaced kind.
func itself(ctx context.Context, t *testing.T, what string, l *claim.Live) guarded {
	t.Helper()
	s, err := l.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return guard(t, what, s.Object.GroupVersionKind(), l.Name)
}

func compositeOf(ctx context.Context, t *testing.T, l *claim.Live) guarded {
	t.Helper()
	xr, err := l.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return guard(t, "the composite resource", xr.GroupVersionKind(), xr.GetName())
}

// refused checks the answer to a deletion.
func (g guarded) refused(t *testing.T, how string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "spec.deletionProtection") {
		t.Errorf("%s of a protected claim is deleted, %s: want a refusal that names spec.deletionProtection, got %v", g.what, how, err)
	}
}

// tried is the API server's answer to a deletion, without one.
func (g guarded) tried(ctx context.Context) error {
	return g.client.Delete(ctx, g.name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}

// await waits until the API server would refuse to delete the object, or would not.
func (g guarded) await(ctx context.Context, t *testing.T, wanted bool) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, "the protection of "+g.what+" is as in the spec", func(ctx context.Context) (bool, string) {
		err := g.tried(ctx)
		if err == nil {
			return !wanted, "it could be deleted"
		}
		return wanted && strings.Contains(err.Error(), "spec.deletionProtection"), err.Error()
	})
}

// unprotect lets a test that has failed clean up.
func (c *connected) unprotect(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, l := range []*claim.Live{c.hub, c.edge} {
		if l == nil {
			continue
		}
		if _, err := l.State(ctx); kerrors.IsNotFound(err) || t.Failed() && keep {
			continue
		}
		l.Patch(ctx, t, false, "spec", "deletionProtection")
		itself(ctx, t, "claim "+l.Name, l).await(ctx, t, false)
	}
}
