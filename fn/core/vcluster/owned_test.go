package vcluster_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// owned returns what has the composite resource as owner on the host, as kind/name.
func owned(e *crossplanetest.Engine) []string {
	var out []string
	for name, o := range e.Request.GetObserved().GetResources() {
		if manifest := wire.Of(o.GetResource()).Get("spec", "forProvider", "manifest"); len(manifest.List("metadata", "ownerReferences")) > 0 {
			out = append(out, manifest.String("kind")+"/"+manifest.String("metadata", "name"))
			if name == tenant.Namespace {
				e.T.Errorf("the namespace has an owner, and goes before what is in it")
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
			e := crossplanetest.New(t, `{"plan":"p"}`, tc.input)
			e.AddPlan("p", tc.plan)
			for e.Reconcile(); e.Status("phase") != "Ready"; e.Reconcile() {
				if all := owned(e); len(all) > 0 {
					t.Fatalf("%v has an owner while the tenant is installed", all)
				}
				e.RunProviders()
			}
			e.Install()
			if got := strings.Join(owned(e), " "); got != tc.want {
				t.Fatalf("got %s, want %s", got, tc.want)
			}
			e.CheckDeletable()
			for _, composed := range slices.Sorted(maps.Keys(e.Request.GetObserved().GetResources())) {
				spec := wire.Of(e.Observed(composed)).Get("spec")
				owners := spec.List("forProvider", "manifest", "metadata", "ownerReferences")
				if len(owners) == 0 {
					continue
				}
				// A field more would overwrite the chart's; "controller" and "blockOwnerDeletion" need rights to the owner. Without the
				// Release, the tenant would lose its data where the composite resource is deleted with --cascade=orphan; without the
				// composite resource, where the Release is deleted, which is harmless else.
				manifest := crossplanetest.Must(spec.Get("forProvider", "manifest").JSON())
				// Only a control plane that others can stand in for pauses before its end.
				pause := ""
				if name == "Etcd" && composed == tenant.ControlPlaneWorkload {
					pause = `,"spec":{"template":{"spec":{"containers":[{"lifecycle":{"preStop":{"sleep":{"seconds":5}}},"name":"syncer"}]}}}`
				}
				want := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"vargo-customer1-7rw8j","ownerReferences":[`+
					`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","name":"customer1-7rw8j","uid":"1f0d7d2c"},`+
					`{"apiVersion":"helm.crossplane.io/v1beta1","kind":"Release","name":"customer1-7rw8j-vcluster","uid":"uid-of-vcluster"}]}%s}`,
					spec.String("forProvider", "manifest", "apiVersion"), spec.String("forProvider", "manifest", "kind"), spec.String("forProvider", "manifest", "metadata", "name"), pause)
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
				crossplanetest.SetCondition(e.Observed(composed), "Synced", "False", "ReconcileError", "not found")
				crossplanetest.SetCondition(e.Observed(composed), "Ready", "False", "Creating", "")
			}
			if e.Reconcile(); e.Status("phase") != "Ready" || strings.Join(owned(e), " ") != tc.want {
				t.Errorf("phase %s, with owners of %v", e.Status("phase"), owned(e))
			}
		})
	}
}
