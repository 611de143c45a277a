package release_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// fail does what Helm and provider-helm do with a change of a Release that fails: it is
// taken back, where the limit isn't reached. It reports whether the change was tried.
func fail(e *crossplanetest.Engine, name, before string) bool {
	e.T.Helper()
	o := e.Observed(name)
	spec := crossplanetest.Field(o, "spec").GetFields()
	crossplanetest.SetCondition(o, "Ready", "False", "Unavailable", "")
	policies := spec["managementPolicies"].GetListValue().AsSlice()
	if !slices.Contains(policies, any("Update")) {
		e.SetDeployed(name, before)
		// What it may not change provider-helm takes for as wanted.
		crossplanetest.SetCondition(o, "Ready", "True", "Available", "")
		crossplanetest.Field(o, "status").Fields["failed"] = structpb.NewNumberValue(0)
		return false
	}
	failed := crossplanetest.Field(o, "status").GetFields()["failed"].GetNumberValue()
	if failed >= spec["rollbackLimit"].GetNumberValue() {
		e.T.Fatalf("the limit of %v is reached before the last rollback: the change that failed stays", failed)
	}
	// The rollback leaves the status as the failed change has.
	crossplanetest.SetAtProvider(o, `{"state":"failed","releaseDescription":"Upgrade failed: no","version":"`+spec["forProvider"].GetStructValue().GetFields()["chart"].GetStructValue().GetFields()["version"].GetStringValue()+`"}`)
	crossplanetest.Field(o, "status").Fields["failed"] = structpb.NewNumberValue(failed + 1)
	return true
}

// TestChangeThatFails is tried three times, for either chart, and then what was before stays.
func TestChangeThatFails(t *testing.T) {
	for release, spec := range map[string]string{
		tenant.ArgoCDRelease:   `{"argocd":{"values":{"server":{"replicas":%}}}}`,
		tenant.VClusterRelease: `{"vcluster":{"values":{"controlPlane":{"coredns":{"deployment":{"replicas":%}}}}}}`,
	} {
		t.Run(release, func(t *testing.T) {
			const was = "10.1.1"
			version := map[string]string{tenant.ArgoCDRelease: was, tenant.VClusterRelease: "0.36.1"}[release]
			e := crossplanetest.New(t, `{}`, "").Install()
			try := func(replicas string) (tried int) {
				t.Helper()
				e.SetSpec(strings.Replace(spec, "%", replicas, 1))
				for range 6 {
					e.Reconcile()
					if fail(e, release, version) {
						tried++
					}
				}
				e.Reconcile()
				return tried
			}
			for _, replicas := range []string{"2", "3"} {
				if tried := try(replicas); tried != 3 {
					t.Fatalf("%s replicas: a change that fails is tried %d times, want 3", replicas, tried)
				}
				c := e.Condition(v1alpha1.ConditionSpecAccepted)
				if c.GetReason() != v1alpha1.ReasonUpgradeFailed || !strings.Contains(c.GetMessage(), version+" has failed 3 times") {
					t.Errorf("want UpgradeFailed, got %v", c)
				}
				if e.Status("phase") != "Ready" || !strings.Contains(e.Status("message"), "a change is not in use") {
					t.Errorf("Argo CD runs as before, and the claim says %s: %s", e.Status("phase"), e.Status("message"))
				}
			}
			// Somebody tries it once more by hand, and it fails: it is taken back once more.
			crossplanetest.SetAtProvider(e.Observed(release), `{"state":"failed","version":"`+version+`"}`)
			e.Reconcile()
			if !fail(e, release, version) {
				t.Error("a release that failed once more stays as it is")
			}
			e.Reconcile()
			if fail(e, release, version) {
				t.Error("a change that is given up is tried again")
			}
			// What is corrected is tried, and is in use.
			e.SetSpec(`{}`)
			e.Reconcile()
			e.Deploy(release)
			crossplanetest.Field(e.Observed(release), "status").Fields["failed"] = structpb.NewNumberValue(0)
			e.RunProviders()
			e.Reconcile()
			if c := e.Condition(v1alpha1.ConditionSpecAccepted); c.GetReason() != v1alpha1.ReasonAccepted || e.Status("phase") != "Ready" {
				t.Errorf("the correction is not in use: %v, phase %s", c, e.Status("phase"))
			}
			if tried := try("2"); tried != 3 {
				t.Errorf("a change that failed once, before another, is tried %d times, want 3", tried)
			}
		})
	}
}

// TestVersionThatFails: what runs isn't said to be what was tried.
func TestVersionThatFails(t *testing.T) {
	const input = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","kubernetes":{"version":"v1.35.4"}}`
	e := crossplanetest.New(t, `{}`, input).Install()
	e.Request.Input.Fields["kubernetes"].GetStructValue().Fields["version"] = structpb.NewStringValue("v1.36.0")
	var events []string
	for range 6 {
		e.Reconcile()
		events = append(events, crossplanetest.ClaimEvents(e.Response)...)
		fail(e, tenant.VClusterRelease, "0.36.1")
	}
	e.Reconcile()
	if !slices.ContainsFunc(events, func(event string) bool { return strings.HasPrefix(event, "Warning UpgradeFailed: ") }) {
		t.Errorf("want a warning that the upgrade failed, got %q", events)
	}
	if c := e.Condition(v1alpha1.ConditionSpecAccepted); c.GetReason() != v1alpha1.ReasonUpgradeFailed || e.Status("vcluster", "kubernetesVersion") != "v1.35.4" {
		t.Errorf("Kubernetes v1.36.0 failed, and the claim says %q runs: %v", e.Status("vcluster", "kubernetesVersion"), c)
	}
}
