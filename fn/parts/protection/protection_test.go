package protection_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

func TestDeletionProtection(t *testing.T) {
	const (
		itself  = "spec.deletionProtection is true: set it to false, wait a few seconds, and delete again."
		inClaim = "spec.deletionProtection is true in VirtualArgoCD customer1 of namespace team-a: set it to false there, wait a few seconds, and delete again."
	)
	protected := crossplanetest.TenantXR(`{"deletionProtection":true}`)
	resource := func(apiVersion, kind, name string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "resourceRef": map[string]any{"name": name}}
	}
	composite := resource("virtualargocd.io/v1alpha1", "XVirtualArgoCD", "customer1-7rw8j")
	cases := map[string]struct {
		reason string
		xr     string
		// name of the composed resource.
		name            string
		kind, namespace string
		of              map[string]any
		message         string
	}{
		"Claim": {
			"The claim is what a customer deletes; the Usage has to stand in its namespace.",
			protected, tenant.DeletionProtection, "Usage", crossplanetest.Namespace,
			resource("virtualargocd.io/v1alpha1", "VirtualArgoCD", "customer1"), itself,
		},
		"Namespace": {
			"With its namespace go the claim and the Usage, so what protects the namespace stands in none.",
			protected, tenant.NamespaceProtection, "ClusterUsage", "",
			resource("v1", "Namespace", crossplanetest.Namespace), inClaim,
		},
		"Composite": {
			"With its composite resource goes all that the claim has.",
			protected, tenant.CompositeProtection, "ClusterUsage", "",
			composite, inClaim,
		},
		"NoClaim": {
			"A composite resource without a claim.",
			strings.Replace(protected, `"claimRef"`, `"resourceRef"`, 1), tenant.DeletionProtection, "ClusterUsage", "",
			composite, itself,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.NewXR(t, tc.xr, "")
			if rsp := e.Reconcile(); rsp.GetDesired().GetResources()[tc.name] == nil {
				t.Fatalf("\n%s\nprotection waits for something", tc.reason)
			}
			u := e.Observed(tc.name).AsMap()
			meta := u["metadata"].(map[string]any)
			if u["apiVersion"] != "protection.crossplane.io/v1beta1" || u["kind"] != tc.kind || meta["name"] != "customer1-7rw8j-"+tc.name {
				t.Errorf("\n%s\nUsage: %v", tc.reason, u)
			}
			if ns, _ := meta["namespace"].(string); ns != tc.namespace {
				t.Errorf("\n%s\nnamespace of the Usage: want %q, got %q", tc.reason, tc.namespace, ns)
			}
			// An attempt that was refused isn't made up for later.
			want := map[string]any{"of": tc.of, "reason": tc.message, "replayDeletion": false}
			if diff := cmp.Diff(want, u["spec"]); diff != "" {
				t.Errorf("\n%s\nspec of the Usage: -want, +got:\n%s", tc.reason, diff)
			}
			e.Install()
			for _, off := range []string{`{"deletionProtection":false}`, `{}`} {
				e.SetSpec(off)
				if rsp := e.Reconcile(); rsp.GetDesired().GetResources()[tc.name] != nil {
					t.Errorf("\n%s\nprotection stays with spec %s", tc.reason, off)
				}
			}
		})
	}
	// One Usage is enough for a composite resource without a claim.
	e := crossplanetest.NewXR(t, strings.Replace(protected, `"claimRef"`, `"resourceRef"`, 1), "")
	for _, name := range []string{tenant.NamespaceProtection, tenant.CompositeProtection} {
		if e.Reconcile().GetDesired().GetResources()[name] != nil {
			t.Errorf("a composite resource without a claim has %s", name)
		}
	}
	// What is there stays, even if the reference to the claim is lost.
	e = crossplanetest.NewXR(t, protected, "").Install()
	delete(crossplanetest.Field(e.XR(), "spec").GetFields(), "claimRef")
	e.Reconcile()
	for _, name := range []string{tenant.DeletionProtection, tenant.NamespaceProtection, tenant.CompositeProtection} {
		if !e.Has(name) {
			t.Errorf("without a reference to the claim, %s goes", name)
		}
	}
	if got := crossplanetest.Field(e.Observed(tenant.NamespaceProtection), "spec", "of", "resourceRef").GetFields()["name"].GetStringValue(); got != crossplanetest.Namespace {
		t.Errorf("without a reference to the claim, namespace %q is protected, not %q", got, crossplanetest.Namespace)
	}
	crossplanetest.New(t, `{"deletionProtection":"yes"}`, "").CheckRefused("spec.deletionProtection", "true or false")
}

// TestProtectionKeepsReady: switching the protection on is no work on what runs.
func TestProtectionKeepsReady(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	e.SetSpec(`{"deletionProtection":true}`)
	xr := e.Call().GetDesired().GetComposite().GetResource().AsMap()
	status, _ := xr["status"].(map[string]any)
	if status["phase"] != "Ready" {
		t.Errorf("want phase Ready, got %v: %v", status["phase"], status["message"])
	}
}

// TestProtectionBesideAMistake: deletion protection is switched on and off whatever else is wrong with a claim.
func TestProtectionBesideAMistake(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	for _, step := range []struct {
		reason, spec string
		want         bool
	}{
		{"Who asks for protection relies on it.", `{"deletionProtection":true,"kubernetes":{"version":"v1.29.0"}}`, true},
		{"It stays while the claim has another mistake.", `{"deletionProtection":true,"argocd":{"values":[]}}`, true},
		{"The protection itself can't be read.", `{"deletionProtection":"yes"}`, true},
		{"The spec can't be read.", `"all"`, true},
		{"Who ends it wants to delete.", `{"deletionProtection":false,"plan":"none"}`, false},
		{"On again.", `{"deletionProtection":true,"plan":"none"}`, true},
		{"It is left out.", `{"plan":"none"}`, false},
	} {
		e.SetSpec(step.spec)
		e.Cycle(2)
		if got := e.Request.GetObserved().GetResources()[tenant.DeletionProtection] != nil; got != step.want || crossplanetest.Fatal(e.Response) != "" || e.Condition(v1alpha1.ConditionSpecAccepted).GetReason() != v1alpha1.ReasonInvalidSpec {
			t.Errorf("\n%s\n%s: want protected: %v, got %v; %v", step.reason, step.spec, step.want, got, e.Condition(v1alpha1.ConditionSpecAccepted))
		}
	}
}
