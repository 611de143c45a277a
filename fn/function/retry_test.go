package function

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// fail does what Helm and provider-helm do with a change of a Release that fails: it is
// taken back, where the limit isn't reached. It reports whether the change was tried.
func (e *engine) fail(name, before string) bool {
	e.t.Helper()
	o := e.observed(name)
	spec := field(o, "spec").GetFields()
	setCondition(o, "Ready", "False", "Unavailable", "")
	policies := spec["managementPolicies"].GetListValue().AsSlice()
	if !slices.Contains(policies, any("Update")) {
		e.setRecord(name, before)
		// What it may not change provider-helm takes for as wanted.
		setCondition(o, "Ready", "True", "Available", "")
		field(o, "status").Fields["failed"] = structpb.NewNumberValue(0)
		return false
	}
	failed := field(o, "status").GetFields()["failed"].GetNumberValue()
	if failed >= spec["rollbackLimit"].GetNumberValue() {
		e.t.Fatalf("the limit of %v is reached before the last rollback: the change that failed stays", failed)
	}
	// The rollback leaves the status as the failed change has.
	setStatus(o, `{"state":"failed","releaseDescription":"Upgrade failed: no","version":"`+spec["forProvider"].GetStructValue().GetFields()["chart"].GetStructValue().GetFields()["version"].GetStringValue()+`"}`)
	field(o, "status").Fields["failed"] = structpb.NewNumberValue(failed + 1)
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
			e := newEngine(t, tenantXR(`{}`), "").install()
			try := func(replicas string) (tried int) {
				t.Helper()
				e.spec(strings.Replace(spec, "%", replicas, 1))
				for range 6 {
					e.reconcile()
					if e.fail(release, version) {
						tried++
					}
				}
				e.reconcile()
				return tried
			}
			for _, replicas := range []string{"2", "3"} {
				if tried := try(replicas); tried != 3 {
					t.Fatalf("%s replicas: a change that fails is tried %d times, want 3", replicas, tried)
				}
				c := e.condition(v1alpha1.ConditionSpecAccepted)
				if c.GetReason() != v1alpha1.ReasonUpgradeFailed || !strings.Contains(c.GetMessage(), version+" has failed 3 times") {
					t.Errorf("want UpgradeFailed, got %v", c)
				}
				if e.status("phase") != "Ready" || !strings.Contains(e.status("message"), "a change is not in use") {
					t.Errorf("Argo CD runs as before, and the claim says %s: %s", e.status("phase"), e.status("message"))
				}
			}
			// Somebody tries it once more by hand, and it fails: it is taken back once more.
			setStatus(e.observed(release), `{"state":"failed","version":"`+version+`"}`)
			e.reconcile()
			if !e.fail(release, version) {
				t.Error("a release that failed once more stays as it is")
			}
			e.reconcile()
			if e.fail(release, version) {
				t.Error("a change that is given up is tried again")
			}
			// What is corrected is tried, and is in use.
			e.spec(`{}`)
			e.reconcile()
			e.deploy(release)
			field(e.observed(release), "status").Fields["failed"] = structpb.NewNumberValue(0)
			e.heal()
			e.reconcile()
			if c := e.condition(v1alpha1.ConditionSpecAccepted); c.GetReason() != v1alpha1.ReasonAccepted || e.status("phase") != "Ready" {
				t.Errorf("the correction is not in use: %v, phase %s", c, e.status("phase"))
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
	e := newEngine(t, tenantXR(`{}`), input).install()
	e.req.Input.Fields["kubernetes"].GetStructValue().Fields["version"] = structpb.NewStringValue("v1.36.0")
	var events []string
	for range 6 {
		e.reconcile()
		events = append(events, news(e.rsp)...)
		e.fail(tenant.VClusterRelease, "0.36.1")
	}
	e.reconcile()
	if !slices.ContainsFunc(events, func(event string) bool { return strings.HasPrefix(event, "Warning UpgradeFailed: ") }) {
		t.Errorf("want a warning that the upgrade failed, got %q", events)
	}
	if c := e.condition(v1alpha1.ConditionSpecAccepted); c.GetReason() != v1alpha1.ReasonUpgradeFailed || e.status("vcluster", "kubernetesVersion") != "v1.35.4" {
		t.Errorf("Kubernetes v1.36.0 failed, and the claim says %q runs: %v", e.status("vcluster", "kubernetesVersion"), c)
	}
}
