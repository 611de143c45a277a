package components

import (
	"slices"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// annotationReady says that a component was ready with the chart and the values that its Release has. A workload of it that doesn't exist, or has no
// replicas, was deleted or scaled down then: before that, the values may have it so.
const annotationReady = "virtualargocd.io/was-ready"

// wasReady reports whether a component was ready as its Release has it.
func wasReady(t tenant.Tenant, c tenant.Component) bool {
	is, was := t.Composed(tenant.ComponentResource(c.Name)), tenant.WasComponent(t.Observed, c.Name).State
	return !removes(is) && !release.Differs(is, c.Chart) && (was == v1alpha1.ComponentReady || was == v1alpha1.ComponentUnavailable ||
		is.String("metadata", "annotations", annotationReady) != "")
}

// lost returns a message for each workload of a component that somebody has deleted, or scaled to no replicas.
func lost(t tenant.Tenant, c tenant.Component) []string {
	var out []string
	all, seen := workloads(t, c)
	if !seen || !wasReady(t, c) {
		return nil
	}
	for i, w := range c.Workloads {
		if argocd.Lost(w, all[i]) {
			out = append(out, argocd.Unavailable(w, all[i]))
		}
	}
	return out
}

// Again returns when a component may be brought back of which something was deleted or scaled down right after the last time; the zero time for
// never. Its tenant is Ready, so nothing else has the function look at it.
func Again(t tenant.Tenant) time.Time {
	var first time.Time
	for _, c := range t.Components {
		next := release.NextRepair(t, tenant.ComponentResource(c.Name))
		if !next.IsZero() && len(lost(t, c)) > 0 && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	return first
}

// gaveUp says when a component is brought back next that was deleted or scaled down too often; "" for one that may be brought back now.
func gaveUp(t tenant.Tenant, c tenant.Component) string {
	until := release.GivenUp(t, tenant.ComponentResource(c.Name))
	if until.IsZero() || len(lost(t, c)) == 0 {
		return ""
	}
	return "brought back three times within an hour, and deleted or scaled down again: the next time is at " + until.UTC().Format(time.RFC3339) + ", or with the next change of its values"
}

// workloads returns the workloads of a component, as the proxy has seen them. It reports false where they haven't been seen yet.
func workloads(t tenant.Tenant, c tenant.Component) ([]proxy.Workload, bool) {
	if t.Composed(tenant.ComponentWorkloads).Condition("Synced").False() {
		return nil, false
	}
	var out []proxy.Workload
	for _, w := range c.Workloads {
		// They may be those of other components, from before the claim changed.
		i := slices.IndexFunc(t.Observed.ComponentWorkloads, func(is proxy.Workload) bool {
			return is.Same(proxy.Workload{Kind: w.Kind, Namespace: c.Namespace, Name: w.Name})
		})
		if i < 0 {
			return nil, false
		}
		out = append(out, t.Observed.ComponentWorkloads[i])
	}
	return out, true
}
