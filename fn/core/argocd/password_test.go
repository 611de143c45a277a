package argocd_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

func TestDeletedInitialPassword(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	reads := func() bool {
		e.Reconcile()
		_, ok := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec").GetFields()["connectionDetails"]
		return ok
	}
	if !reads() {
		t.Error("the Release doesn't read the password")
	}
	crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "observe failed: connection refused")
	if !reads() {
		t.Error("the Release stops reading a Secret for another reason")
	}
	crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", `observe failed: cannot get connection details: cannot get object: secrets "argocd-initial-admin-secret" not found`)
	if reads() {
		t.Error("the Release still reads a Secret that may be gone")
	}
	e.RunProviders()
	e.Request.GetObserved().GetResources()[tenant.ArgoCDRelease].ConnectionDetails = nil
	if reads() {
		t.Error("the Release reads the Secret again")
	}
	if got := e.Status("phase"); got != "Ready" {
		t.Errorf("want Ready, got %s: %s", got, e.Status("message"))
	}
	if got := string(e.Response.GetDesired().GetComposite().GetConnectionDetails()["password"]); got != crossplanetest.Password {
		t.Errorf("the published password is lost: got %q", got)
	}
}

func TestAdminWithoutInitialPassword(t *testing.T) {
	for name, values := range map[string]string{
		"AdminDisabled": `{"configs":{"cm":{"admin.enabled":"false"}}}`,
		"OwnPassword":   `{"configs":{"secret":{"argocdServerAdminPassword":"$2a$10$abc"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"argocd":{"values":`+values+`}}`, "").Install()
			if details := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec").GetFields()["connectionDetails"]; details != nil {
				t.Errorf("the Release waits for a Secret that Argo CD doesn't write: %v", details)
			}
			if _, ok := e.Response.GetDesired().GetComposite().GetConnectionDetails()["password"]; ok {
				t.Error("a password is published that isn't the admin's")
			}
		})
	}
}

// readSince is by what provider-helm sees that the admin's password is to be read again.
func readSince(e *crossplanetest.Engine) string {
	details := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec").GetFields()["connectionDetails"].GetListValue().GetValues()
	if len(details) == 0 {
		return ""
	}
	return details[0].GetStructValue().GetFields()["uid"].GetStringValue()
}

// TestUpdatedBeforeThePassword: provider-helm reads no password when it upgrades a Release, and observes it again ten minutes later,
// unless it changes.
func TestUpdatedBeforeThePassword(t *testing.T) {
	for name, takenBack := range map[string]bool{"FirstInstallation": false, "TakenBack": true} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.Starting(t)
			for range 4 {
				if !e.Has(tenant.ArgoCDRelease) {
					e.RunProviders()
					e.Reconcile()
				}
			}
			e.SetAge(tenant.ArgoCDRelease, 25*time.Second)
			e.Reconcile()
			r := e.Request.GetObserved().GetResources()[tenant.ArgoCDRelease]
			crossplanetest.SetCondition(r.GetResource(), "Synced", "True", "ReconcileSuccess", "")
			if takenBack {
				crossplanetest.SetAtProvider(r.GetResource(), `{"state":"failed"}`)
				r.GetResource().Fields["status"].GetStructValue().Fields["failed"] = structpb.NewNumberValue(1)
				e.Reconcile()
				r = e.Request.GetObserved().GetResources()[tenant.ArgoCDRelease]
				delete(r.GetResource().Fields["status"].GetStructValue().Fields, "failed")
			}
			crossplanetest.SetCondition(e.Observed(tenant.Workloads), "Synced", "True", "ReconcileSuccess", "")
			e.SetReplicas("argocd-server", 1)
			revision := func(n int) string {
				crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "True", "ReconcileSuccess", "")
				crossplanetest.SetAtProvider(e.Observed(tenant.ArgoCDRelease), fmt.Sprintf(`{"state":"deployed","version":"10.1.1","revision":%d}`, n))
				e.Reconcile()
				if c := e.Condition("ArgoCDReady"); c.GetReason() != v1alpha1.ReasonWaitingForPassword {
					t.Errorf("revision %d: nobody has read the password, and the condition says %v", n, c)
				}
				return readSince(e)
			}
			first := revision(1)
			e.SetRollingOut(tenant.ArgoCDRelease)
			e.SetSpec(`{"argocd":{"values":{"server":{"replicas":2}}}}`)
			e.Reconcile()
			if second := revision(2); first == "" || second == first {
				t.Errorf("nothing has provider-helm read the password after an upgrade: %q, then %q", first, second)
			}
			e.RunProviders()
			for range 2 {
				e.Reconcile()
				e.RunProviders()
			}
			if e.Reconcile(); e.Status("phase") != "Ready" {
				t.Errorf("everything runs, and the claim says %s: %s", e.Status("phase"), e.Status("message"))
			}
		})
	}
}
