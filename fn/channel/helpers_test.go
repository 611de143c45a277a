package channel_test

import (
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// edited says whether a tenant has the edit of the plan standard that editPlan makes.
func edited(fleet *crossplanetest.Fleet, name string) bool {
	return strings.Contains(crossplanetest.Field(fleet.Tenants[name].Observed(tenant.Quota), "spec").String(), `"77"`)
}

func editPlan(fleet *crossplanetest.Fleet) {
	fleet.Tenants["c0"].AddPlan("standard", `{"quota":{"count/pods":"77"}}`)
}

// addPlan adds a plan that nobody has, which is an edit of each channel's offer.
func addPlan(fleet *crossplanetest.Fleet) {
	fleet.Tenants["c0"].AddPlan("huge", `{"quota":{"count/pods":"99"}}`)
}

func paused(spec string) string { return strings.TrimSuffix(spec, "}") + `,"paused":true}` }

// replicas of Argo CD's API server that a tenant is to have.
func replicas(e *crossplanetest.Engine) float64 {
	return values.At[float64](crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap(), "server", "replicas")
}

// updates are the reasons of a tenant's events about platform changes.
func updates(e *crossplanetest.Engine) (out []string) {
	for _, event := range e.Events {
		if reason, _, _ := strings.Cut(event, ": "); strings.HasPrefix(reason, "Update") {
			out = append(out, reason)
		}
	}
	return out
}
