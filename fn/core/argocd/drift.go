package argocd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// drift says what was deleted, or scaled to fewer replicas, in the virtual cluster of what the chart has installed; "" for nothing. Workloads that
// don't exist or have no replicas aren't in it: they are broken.
func drift(t tenant.Tenant) string {
	all, seen := workloadHealth(t)
	is := t.Composed(tenant.ArgoCDRelease)
	if !seen || !tenant.WasReady(t.Observed) || Settles(t) || stateOf(t) != release.Deployed || release.IsTakenBack(is) || release.Differs(is, t.ArgoCD) {
		return ""
	}
	messages, gone := []string{}, few.Names{}
	// What was seen of another revision of the Helm release isn't known of this one.
	if missing := t.Observed.Summary.Missing; missing != nil && missing.Revision == is.Int(0, "status", "atProvider", "revision") {
		for _, o := range missing.Objects {
			gone.Add(o)
		}
		messages = append(messages, "Deleted in the virtual cluster: "+gone.String())
	}
	for _, h := range all {
		if h.fewer > 0 && !h.lost {
			messages = append(messages, fmt.Sprintf("%s is scaled down in the virtual cluster, replicas wanted: %d", h.what, h.fewer))
		}
	}
	return strings.Join(messages, "; ")
}

// drifted reports whether anything of the chart was deleted or scaled down in the virtual cluster.
func drifted(t tenant.Tenant) bool {
	if !tenant.WasReady(t.Observed) || Settles(t) {
		return false
	}
	all, _ := workloadHealth(t)
	return slices.ContainsFunc(all, func(h health) bool { return h.lost }) || drift(t) != ""
}

// gaveUp returns the reason of a condition about what was deleted or scaled down, and what follows its message.
func gaveUp(t tenant.Tenant, reason string) (is, detail string) {
	until := release.GivenUp(t, tenant.ArgoCDRelease)
	if until.IsZero() || !drifted(t) {
		return reason, ""
	}
	return v1alpha1.ReasonRepairGaveUp, "brought back three times within an hour, and deleted or scaled down again: the next time is at " + until.UTC().Format(time.RFC3339) + ", or with the next change of Argo CD's values"
}

// Applications returns how many Applications Argo CD has; what was seen last while that isn't known.
func Applications(t tenant.Tenant) *v1alpha1.ApplicationsStatus {
	if of, seen := summary(t); seen && of.Applications != nil {
		is := of.Applications
		return &v1alpha1.ApplicationsStatus{Total: is.Total, NotHealthy: is.NotHealthy, NotSynced: is.NotSynced}
	}
	was := t.Observed.XR.Get("status", "applications")
	if !was.Has("total") {
		return nil
	}
	return &v1alpha1.ApplicationsStatus{Total: was.Int(0, "total"), NotHealthy: was.Int(0, "notHealthy"), NotSynced: was.Int(0, "notSynced")}
}
