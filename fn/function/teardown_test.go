package function

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// owned returns what has the composite resource as owner on the host, as kind/name.
func owned(e *engine) []string {
	var out []string
	for name, o := range e.req.GetObserved().GetResources() {
		if manifest := wire.Of(o.GetResource()).Get("spec", "forProvider", "manifest"); len(manifest.List("metadata", "ownerReferences")) > 0 {
			out = append(out, manifest.String("kind")+"/"+manifest.String("metadata", "name"))
			if name == tenant.Namespace {
				e.t.Errorf("the namespace has an owner, and goes before what is in it")
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestPodsGoAtOnce: Kubernetes deletes the control plane and all that the syncer has made as soon as the composite resource
// is gone, whatever the providers do, and nothing else of the namespace, which bounds the pods.
func TestPodsGoAtOnce(t *testing.T) {
	for name, tc := range map[string]struct{ plan, input, want string }{
		"Volume":    {plan: `{}`, want: "Service/vcluster StatefulSet/vcluster"},
		"Etcd":      {plan: `{"vcluster":{"backingStore":"etcd","replicas":3}}`, want: "Deployment/vcluster Service/vcluster StatefulSet/vcluster-etcd"},
		"Ephemeral": {plan: `{}`, input: `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","storage":{"ephemeral":true}}`, want: "Deployment/vcluster Service/vcluster"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"plan":"p"}`), tc.input)
			e.plan("p", tc.plan)
			for e.reconcile(); e.status("phase") != "Ready"; e.reconcile() {
				if all := owned(e); len(all) > 0 {
					t.Fatalf("%v has an owner while the tenant is installed", all)
				}
				e.heal()
			}
			e.install()
			if got := strings.Join(owned(e), " "); got != tc.want {
				t.Fatalf("got %s, want %s", got, tc.want)
			}
			e.canBeDeleted()
			for _, composed := range slices.Sorted(maps.Keys(e.req.GetObserved().GetResources())) {
				spec := wire.Of(e.observed(composed)).Get("spec")
				owners := spec.List("forProvider", "manifest", "metadata", "ownerReferences")
				if len(owners) == 0 {
					continue
				}
				// A field more would overwrite the chart's; "controller" and "blockOwnerDeletion" need rights to the owner. Without the
				// Release, the tenant would lose its data where the composite resource is deleted with --cascade=orphan; without the
				// composite resource, where the Release is deleted, which is harmless else.
				manifest := must(spec.Get("forProvider", "manifest").JSON())
				want := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"vargo-customer1-7rw8j","ownerReferences":[`+
					`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","name":"customer1-7rw8j","uid":"1f0d7d2c"},`+
					`{"apiVersion":"helm.crossplane.io/v1beta1","kind":"Release","name":"customer1-7rw8j-vcluster","uid":"uid-of-vcluster"}]}}`,
					spec.String("forProvider", "manifest", "apiVersion"), spec.String("forProvider", "manifest", "kind"), spec.String("forProvider", "manifest", "metadata", "name"))
				if got := strings.ReplaceAll(string(manifest), " ", ""); got != want {
					t.Errorf("%s writes\n%s, want\n%s", composed, got, want)
				}
				// With Create, the provider would make what the chart hasn't made. With Delete, an earlier version of the function,
				// which doesn't compose the Object, would delete the tenant's data.
				if got := spec.Strings("managementPolicies"); !slices.Equal(got, []string{"Observe", "Update"}) {
					t.Errorf("%s has managementPolicies %v", composed, got)
				}
			}
			// A tenant that is broken keeps them, and isn't reported for them.
			for _, composed := range []string{tenant.ControlPlaneService, tenant.ControlPlaneWorkload} {
				setCondition(e.observed(composed), "Synced", "False", "ReconcileError", "not found")
				setCondition(e.observed(composed), "Ready", "False", "Creating", "")
			}
			if e.reconcile(); e.status("phase") != "Ready" || strings.Join(owned(e), " ") != tc.want {
				t.Errorf("phase %s, with owners of %v", e.status("phase"), owned(e))
			}
		})
	}
}
