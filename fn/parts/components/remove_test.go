package components_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestSwitchedOffComponent: a component that the claim has no more is uninstalled, and the claim says so until it is gone. Nothing of it has to be
// deleted before a tenant is.
func TestSwitchedOffComponent(t *testing.T) {
	e := crossplanetest.New(t, two, crossplanetest.Catalogue).Install()
	e.SetSpec(`{"components":[{"name":"sealed"}]}`)
	e.Reconcile()
	if got := states(e); !slices.Equal(got, []string{"sealed 2.18.0 Ready", "workflows 1.0.18 Removing"}) {
		t.Errorf("after the change: %q", got)
	}
	if c := e.Condition(v1alpha1.ConditionComponentsReady); c.GetReason() != v1alpha1.ReasonRemoving || c.GetMessage() != "workflows: is being uninstalled" || e.Status("phase") != "Ready" {
		t.Errorf("got %v, phase %s", c, e.Status("phase"))
	}
	e.CheckDeletable()
	e.Reconcile()
	is := wire.Of(e.Observed(workflows))
	from := is.List("spec", "forProvider", "patchesFrom")
	secret := wire.Of(e.Observed(tenant.ComponentsSecret))
	if len(from) != 1 || from[0].String("secretKeyRef", "name") != secret.String("metadata", "name") || !secret.Has("data", from[0].String("secretKeyRef", "key")) {
		t.Errorf("the Release reads patches from %v of %v", from, secret)
	}
	if wire.Equal(is.Value("spec", "forProvider", "values"), map[string]any{}) || is.String("spec", "forProvider", "chart", "version") != "1.0.18" || is.String("spec", "forProvider", "namespace") != "argo" {
		t.Errorf("the Release is %v", is)
	}
	e.CheckDeletable()
	if e.Reconcile(); !exists(e, workflows) {
		t.Error("it is gone before the provider has uninstalled it")
	}
	// While the virtual API doesn't answer, it stays.
	crossplanetest.SetCondition(e.Observed(workflows), "Synced", "False", "ReconcileError", "observe failed: cannot get release: dial tcp: connect: connection refused")
	if e.Reconcile(); !exists(e, workflows) || !strings.Contains(message(e, "workflows"), "Cannot uninstall it: waiting for the API server of the virtual cluster, which doesn't answer") {
		t.Errorf("it doesn't answer, and the claim says %q", message(e, "workflows"))
	}
	e.CheckDeletable()
	e.RunProviders()
	e.Reconcile()
	if got := states(e); exists(e, workflows) || !slices.Equal(got, []string{"sealed 2.18.0 Ready"}) || e.Condition(v1alpha1.ConditionComponentsReady).GetReason() != v1alpha1.ReasonAvailable {
		t.Errorf("once it is uninstalled: %q, %v", got, e.Condition(v1alpha1.ConditionComponentsReady))
	}
	// The last one.
	e.SetSpec(`{}`)
	e.Cycle(3)
	if c := e.Condition(v1alpha1.ConditionComponentsReady); len(states(e)) > 0 || c.GetReason() != v1alpha1.ReasonNotInSpec || exists(e, tenant.ComponentWorkloads) {
		t.Errorf("without components: %q, %v", states(e), c)
	}
	// One that comes back while it goes.
	e.SetSpec(two)
	e.Install()
	e.SetSpec(`{}`)
	e.Reconcile()
	e.Reconcile()
	e.SetSpec(two)
	e.Reconcile()
	if is := wire.Of(e.Observed(workflows)); is.Has("spec", "forProvider", "patchesFrom") || is.Bool("spec", "forProvider", "wait") {
		t.Errorf("it comes back: %v", is)
	}
	e.Cycle(2)
	if got := states(e); !slices.Equal(got, []string{"sealed 2.18.0 Ready", "workflows 1.0.18 Ready"}) {
		t.Errorf("it is back: %q", got)
	}
}

// notPulled is what provider-helm says of a chart that can't be pulled, in an installation or an upgrade.
func notPulled(what string) string {
	return what + " release: failed to pull chart: chart \"argo-workflows\" version \"9.9.9\" not found in https://argoproj.github.io/argo-helm repository"
}

// TestNeverInstalledComponent: one whose chart can't be pulled has no Helm release, and goes as soon as its provider has looked for one.
func TestNeverInstalledComponent(t *testing.T) {
	e := crossplanetest.New(t, two, strings.Replace(crossplanetest.Catalogue, "1.0.18", "9.9.9", 1))
	fail := func() {
		if !exists(e, workflows) {
			return
		}
		o := e.Observed(workflows)
		delete(crossplanetest.Field(o, "status").GetFields(), "atProvider")
		crossplanetest.SetCondition(o, "Synced", "False", "ReconcileError", notPulled("create failed: failed to install"))
		crossplanetest.SetCondition(o, "Ready", "False", "Creating", "")
	}
	for range 12 {
		e.Reconcile()
		e.RunProviders()
		fail()
	}
	if got := states(e); !slices.Equal(got, []string{"sealed 2.18.0 Ready", "workflows  Failed"}) || e.Status("phase") != "Ready" {
		t.Fatalf("at first: %q, %s", got, e.Status("phase"))
	}
	e.SetSpec(`{"components":[{"name":"sealed"}]}`)
	e.Reconcile()
	if got := message(e, "workflows"); got != "" {
		t.Errorf("nobody has looked yet, and the claim says %s", got)
	}
	e.CheckDeletable()
	for range 3 {
		// The provider hasn't looked yet, or can't: nobody knows what is there.
		is := wire.Of(e.Observed(workflows))
		if got := is.Strings("spec", "managementPolicies"); !slices.Equal(got, []string{"Observe"}) {
			t.Errorf("the provider may do %q, and would wait for the chart", got)
		}
		crossplanetest.SetCondition(e.Observed(workflows), "Synced", "False", "ReconcileError", "observe failed: failed to get last helm release: dial tcp: connect: connection refused")
		if e.Reconcile(); !exists(e, workflows) || !slices.Contains(states(e), "workflows  Removing") {
			t.Fatalf("it is dropped before anybody knows that nothing is installed: %q", states(e))
		}
	}
	e.RunProviders()
	e.Reconcile()
	if got := states(e); exists(e, workflows) || !slices.Equal(got, []string{"sealed 2.18.0 Ready"}) || e.Condition(v1alpha1.ConditionComponentsReady).GetReason() != v1alpha1.ReasonAvailable {
		t.Errorf("Helm has no release of it: %q, %v", got, e.Condition(v1alpha1.ConditionComponentsReady))
	}
}

// TestHalfInstalledComponent: an installation that fails may have left something behind, and is uninstalled. One that somebody has uninstalled by
// hand isn't installed again for that.
func TestHalfInstalledComponent(t *testing.T) {
	e := crossplanetest.New(t, two, crossplanetest.Catalogue).Install()
	o := e.Observed(workflows)
	delete(crossplanetest.Field(o, "status").GetFields(), "atProvider")
	crossplanetest.SetCondition(o, "Synced", "False", "ReconcileError", "create failed: failed to install release: timed out")
	e.SetSpec(`{"components":[{"name":"sealed"}]}`)
	e.Reconcile()
	crossplanetest.SetCondition(e.Observed(workflows), "Synced", "True", "ReconcileSuccess", "")
	crossplanetest.SetAtProvider(e.Observed(workflows), `{"state":"failed","version":"1.0.18"}`)
	e.Reconcile()
	if is := wire.Of(e.Observed(workflows)); !is.Has("spec", "forProvider", "patchesFrom") || !slices.Contains(is.Strings("spec", "managementPolicies"), "Update") {
		t.Errorf("Helm has a release of it: %v", is)
	}
	// Its chart can't be pulled, and Helm has no release any more.
	crossplanetest.SetCondition(e.Observed(workflows), "Synced", "False", "ReconcileError", notPulled("create failed: failed to install"))
	e.Reconcile()
	is := e.Observed(workflows)
	if got := wire.Of(is).Strings("spec", "managementPolicies"); !slices.Equal(got, []string{"Observe"}) {
		t.Errorf("the provider may do %q", got)
	}
	crossplanetest.Field(is, "metadata").Fields["generation"] = structpb.NewNumberValue(2)
	crossplanetest.SetCondition(is, "Synced", "False", "ReconcileError", "observe failed: external resource does not exist")
	conditions := crossplanetest.Field(is, "status").GetFields()["conditions"].GetListValue().GetValues()
	seen := conditions[len(conditions)-1].GetStructValue()
	seen.Fields["observedGeneration"] = structpb.NewNumberValue(1)
	if e.Reconcile(); !exists(e, workflows) {
		t.Error("what was said of another generation isn't known of this one")
	}
	seen.Fields["observedGeneration"] = structpb.NewNumberValue(2)
	if e.Reconcile(); exists(e, workflows) {
		t.Error("Helm has no release of it, and it stays")
	}
}

// TestChartMoves: one that is installed is uninstalled with the chart that it has, and where that can't be pulled any more, with the one that the
// catalogue has now. The claim says what it waits for.
func TestChartMoves(t *testing.T) {
	e := crossplanetest.New(t, two, crossplanetest.Catalogue).Install()
	e.SetSpec(`{"components":[{"name":"sealed"}]}`)
	e.Reconcile()
	e.Reconcile()
	gone := func() {
		crossplanetest.SetCondition(e.Observed(workflows), "Synced", "False", "ReconcileError", notPulled("update failed: failed to upgrade"))
		e.Reconcile()
	}
	gone()
	const want = "Helm uninstalls it with chart argo-workflows 1.0.18 of https://argoproj.github.io/argo-helm, and waits until that can be pulled, or the catalogue has another chart for workflows: "
	if got := message(e, "workflows"); !strings.HasPrefix(got, want) || !strings.Contains(got, "not found in https://argoproj.github.io/argo-helm repository") {
		t.Errorf("its repository is gone: %s", got)
	}
	chart := func() string {
		c := wire.Of(e.Observed(workflows)).Get("spec", "forProvider", "chart")
		return strings.Join([]string{c.String("repository"), c.String("name"), c.String("version")}, " ")
	}
	moved := strings.Replace(strings.Replace(crossplanetest.Catalogue, "https://argoproj.github.io/argo-helm", "https://mirror.example.org", 1), "1.0.18", "1.0.19", 1)
	crossplanetest.SetCondition(e.Observed(workflows), "Synced", "True", "ReconcileSuccess", "")
	e.Request.Input = crossplanetest.JSON(moved).GetStructValue()
	if e.Reconcile(); chart() != "https://argoproj.github.io/argo-helm argo-workflows 1.0.18" {
		t.Errorf("its own chart can be pulled, and it is uninstalled with %s", chart())
	}
	gone()
	if chart() != "https://mirror.example.org argo-workflows 1.0.19" || !wire.Of(e.Observed(workflows)).Has("spec", "forProvider", "patchesFrom") {
		t.Errorf("its own chart can't be pulled, and it is uninstalled with %s", chart())
	}
	if e.Reconcile(); chart() != "https://mirror.example.org argo-workflows 1.0.19" {
		t.Errorf("in the next call, %s", chart())
	}
	e.RunProviders()
	if e.Reconcile(); exists(e, workflows) {
		t.Errorf("it stays: %s", message(e, "workflows"))
	}
}

// TestNamespaceOfComponent: a tenant keeps a component where it is when the catalogue has another namespace for it, and has it there once it was
// uninstalled.
func TestNamespaceOfComponent(t *testing.T) {
	e := crossplanetest.New(t, two, crossplanetest.Catalogue).Install()
	namespace := func() string { return wire.Of(e.Observed(workflows)).String("spec", "forProvider", "namespace") }
	const summary = "virtual-argocd-components:deployment.argo.argo-workflows-server,deployment.argo.argo-workflows-workflow-controller"
	e.Request.Input = crossplanetest.JSON(strings.Replace(crossplanetest.Catalogue, `"namespace":"argo"`, `"namespace":"workflows"`, 1)).GetStructValue()
	e.Cycle(2)
	if got := wire.Of(e.Observed(tenant.ComponentWorkloads)).String("spec", "forProvider", "manifest", "metadata", "name"); namespace() != "argo" || got != summary || !slices.Equal(states(e), []string{"sealed 2.18.0 Ready", "workflows 1.0.18 Ready"}) {
		t.Errorf("it moves: namespace %s, %s, %q", namespace(), got, states(e))
	}
	e.SetSpec(`{"components":[{"name":"sealed"}]}`)
	if e.Reconcile(); namespace() != "argo" {
		t.Errorf("it is uninstalled in namespace %s", namespace())
	}
	e.Cycle(3)
	e.SetSpec(two)
	e.Cycle(3)
	if namespace() != "workflows" || !slices.Equal(states(e), []string{"sealed 2.18.0 Ready", "workflows 1.0.18 Ready"}) {
		t.Errorf("it comes back in namespace %s: %q", namespace(), states(e))
	}
}
