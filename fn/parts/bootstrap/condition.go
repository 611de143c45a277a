package bootstrap

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/redact"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// What Argo CD says of an Application.
const (
	synced  = "Synced"
	healthy = "Healthy"
)

// errorConditions are the types of an Application's conditions that are errors.
var errorConditions = map[string]bool{
	"ComparisonError": true, "InvalidSpecError": true, "SyncError": true, "UnknownError": true, "DeletionError": true,
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	o := t.Observed.Composed[tenant.Bootstrap]
	s := applicationStatus(t)
	what := "Application " + applicationName
	switch {
	case !o.Exists():
		return is.No(v1alpha1.ReasonWaitingForArgoCD, what+" waits for Argo CD", "")
	case o.Condition("Synced").False():
		return is.No(v1alpha1.ReasonApplicationFailed, what+" cannot be applied or observed", condition.Problem(o))
	case s.Sync == synced && s.Health == healthy:
		return is.Yes(what + " is synced and healthy")
	case s.Message != "":
		return is.No(v1alpha1.ReasonApplicationFailed, what+" has failed", s.Message)
	case s.Sync == "":
		return is.No(v1alpha1.ReasonWaitingForArgoCD, what+" waits for Argo CD to compare it with Git", "")
	case s.Sync != synced:
		return is.No(v1alpha1.ReasonOutOfSync, what+" is not synced ("+s.Sync+"): "+syncedBy(t), "")
	case s.Health == "Progressing" || s.Health == "":
		return is.No(v1alpha1.ReasonProgressing, what+" is synced, and not healthy yet", "")
	case s.Health == "Suspended":
		return is.No(v1alpha1.ReasonSuspended, what+" is synced, and something in it is suspended until somebody resumes it", "")
	}
	return is.No(v1alpha1.ReasonUnhealthy, what+" is synced, and its health is "+s.Health+": Argo CD shows what in it", "")
}

// syncedBy says who is to sync an Application that isn't.
func syncedBy(t tenant.Tenant) string {
	policy, _ := t.Application["spec"].(map[string]any)["syncPolicy"].(map[string]any)
	if policy["automated"] == nil {
		return "spec.bootstrap.syncPolicy leaves that to people, in Argo CD"
	}
	return "Argo CD is to do that automatically"
}

// report writes what Argo CD says of the first Application, once it has said anything.
func report(t tenant.Tenant, to *v1alpha1.Status) {
	if s := applicationStatus(t); has(t) && s != (v1alpha1.BootstrapStatus{}) {
		to.Bootstrap = &s
	}
}

func applicationStatus(t tenant.Tenant) v1alpha1.BootstrapStatus {
	app := t.Observed.Composed[tenant.Bootstrap].Get("status", "atProvider", "manifest", "status")
	s := v1alpha1.BootstrapStatus{
		Health:   app.String("health", "status"),
		Sync:     app.String("sync", "status"),
		Revision: app.String("sync", "revision"),
	}
	if s.Sync != synced || s.Health != healthy {
		s.Message = redact.New(t.Observed)(applicationError(app))
	}
	return s
}

// applicationError is what Argo CD says is wrong, "" when it says nothing.
func applicationError(app wire.Struct) string {
	for _, c := range app.List("conditions") {
		if errorConditions[c.String("type")] {
			return c.String("message")
		}
	}
	switch app.String("operationState", "phase") {
	case "Failed", "Error":
		return app.String("operationState", "message")
	}
	return ""
}
