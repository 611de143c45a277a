package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/compose"
)

func TestDeletionProtection(t *testing.T) {
	const reason = "spec.deletionProtection is true: set it to false, wait a few seconds, and delete again."
	cases := map[string]struct {
		reason    string
		xr        string
		kind      string
		namespace string
		want      map[string]any
	}{
		"Claim": {
			"The claim is what a customer deletes; the Usage has to stand in its namespace.",
			tenantXR(`{"deletionProtection":true}`), "Usage", testNamespace,
			map[string]any{"apiVersion": "virtualargocd.io/v1alpha1", "kind": "VirtualArgoCD", "resourceRef": map[string]any{"name": "customer1"}},
		},
		"NoClaim": {
			"A composite resource without a claim.",
			strings.Replace(tenantXR(`{"deletionProtection":true}`), `"claimRef"`, `"claimOf"`, 1), "ClusterUsage", "",
			map[string]any{"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XVirtualArgoCD", "resourceRef": map[string]any{"name": "customer1-7rw8j"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tc.xr, "")
			if rsp := e.reconcile(); rsp.GetDesired().GetResources()[compose.DeletionProtection] == nil {
				t.Fatalf("\n%s\nprotection waits for something", tc.reason)
			}
			u := e.observed(compose.DeletionProtection).AsMap()
			meta := u["metadata"].(map[string]any)
			if u["apiVersion"] != "protection.crossplane.io/v1beta1" || u["kind"] != tc.kind || meta["name"] != "customer1-7rw8j-deletion-protection" {
				t.Errorf("\n%s\nUsage: %v", tc.reason, u)
			}
			if ns, _ := meta["namespace"].(string); ns != tc.namespace {
				t.Errorf("\n%s\nnamespace of the Usage: want %q, got %q", tc.reason, tc.namespace, ns)
			}
			// An attempt that was refused isn't made up for later.
			want := map[string]any{"of": tc.want, "reason": reason, "replayDeletion": false}
			if diff := cmp.Diff(want, u["spec"]); diff != "" {
				t.Errorf("\n%s\nspec of the Usage: -want, +got:\n%s", tc.reason, diff)
			}
			e.install()
			for _, off := range []string{`{"deletionProtection":false}`, `{}`} {
				e.spec(off)
				if rsp := e.reconcile(); rsp.GetDesired().GetResources()[compose.DeletionProtection] != nil {
					t.Errorf("\n%s\nprotection stays with spec %s", tc.reason, off)
				}
			}
		})
	}
	for _, api := range []string{"None", "apiextensions.crossplane.io"} {
		refused(t, tenantXR(`{"deletionProtection":true}`), `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","usageAPI":"`+api+`"}`,
			[]string{"spec.deletionProtection", api, "leave it out"})
	}
	refused(t, tenantXR(`{"deletionProtection":"yes"}`), "", []string{"spec.deletionProtection", "true or false"})
}

// TestProtectionKeepsReady: switching the protection on is no work on what runs.
func TestProtectionKeepsReady(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	e.spec(`{"deletionProtection":true}`)
	xr := e.call().GetDesired().GetComposite().GetResource().AsMap()
	status, _ := xr["status"].(map[string]any)
	if status["phase"] != "Ready" {
		t.Errorf("want phase Ready, got %v: %v", status["phase"], status["message"])
	}
}
