//go:build e2e

package e2e

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
)

// TestBesideProviders: a tenant comes up on a cluster whose providers somebody else has installed for other things, with their names, flags and
// ServiceAccounts. That nothing of theirs changes when this project is installed is what the installation itself checks (EXISTING_PROVIDERS in
// lab/platform).
func TestBesideProviders(t *testing.T) {
	onlyOn(t, "beside", "THE PROVIDERS ARE SOMEBODY ELSE'S")
	ctx := context.Background()
	list, err := all(t, providers).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		if name, _, _ := unstructured.NestedString(p.Object, "spec", "runtimeConfigRef", "name"); p.GetName() != "provider-helm" && p.GetName() != "provider-kubernetes" || name != p.GetName() {
			t.Errorf("Provider %s with runtime configuration %s isn't one of theirs", p.GetName(), name)
		}
	}
	live := claim.Create(ctx, t, host, newClaim("beside"))
	t.Cleanup(func() { cleanUp(ctx, t, live) })
	live.AwaitReady(ctx, t, readyWithin)
}
