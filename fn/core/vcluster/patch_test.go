package vcluster_test

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestPatch: a control plane that others can stand in for goes on answering for a moment when it ends.
func TestPatch(t *testing.T) {
	const several, one = `{"vcluster":{"backingStore":"etcd","replicas":3}}`, `{"vcluster":{"backingStore":"etcd","replicas":1}}`
	e := crossplanetest.New(t, `{"plan":"large"}`, "")
	e.AddPlan("large", several)
	patched := func(want bool) {
		t.Helper()
		is := wire.Of(e.Observed(tenant.VClusterRelease)).Get("spec", "forProvider")
		from := is.List("patchesFrom")
		if !want {
			if len(from) > 0 {
				t.Errorf("the Release has patches: %v", from)
			}
			return
		}
		if len(from) != 1 {
			t.Fatalf("the Release has %d patches, want 1", len(from))
		}
		at := from[0].Get("secretKeyRef")
		if secret := e.Observed(tenant.AcceptedSecret).Fields["metadata"].GetStructValue().Fields["name"].GetStringValue(); at.String("name") != secret || at.String("namespace") != "crossplane-system" ||
			string(e.SecretKey(tenant.AcceptedSecret, at.String("key"))) != vcluster.Patch {
			t.Errorf("the Release reads its patch from %v, where it isn't", at)
		}
	}
	e.AwaitVCluster()
	patched(true)
	e.Install()
	if wire.Of(e.Observed(tenant.VClusterRelease)).Bool("spec", "forProvider", "wait") {
		t.Error("Helm waits for a control plane that was installed with its patch")
	}

	e.AddPlan("large", one)
	e.Reconcile()
	patched(false)
	if !wire.Of(e.Observed(tenant.VClusterRelease)).Bool("spec", "forProvider", "wait") {
		t.Error("Helm doesn't wait for a change")
	}

	e.AddPlan("large", several)
	e.Call()
	if rendered := wire.Of(e.Response.GetDesired().GetResources()[tenant.VClusterRelease].GetResource()); len(rendered.List("spec", "forProvider", "patchesFrom")) > 0 {
		t.Error("the Release reads a patch that isn't in its Secret yet")
	}
	e.Cycle(2)
	patched(true)
}
