package components

import (
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/hibernation"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

func has(t tenant.Tenant) bool { return len(states(t)) > 0 }

// states returns the state of each component, sorted by name: those that the tenant is to have, and those that are being removed.
func states(t tenant.Tenant) []v1alpha1.ComponentStatus {
	var out []v1alpha1.ComponentStatus
	for _, c := range t.Components {
		out = append(out, stateOfComponent(t, c))
	}
	for _, name := range leaving(t) {
		if !isRemoved(t, name) {
			out = append(out, stateOfLeaving(t, name))
		}
	}
	slices.SortStableFunc(out, func(a, b v1alpha1.ComponentStatus) int { return strings.Compare(a.Name, b.Name) })
	asleep := hibernation.StateOf(t).Paused
	for i := range out {
		if asleep && out[i].State != v1alpha1.ComponentWaiting {
			out[i].State, out[i].Message = v1alpha1.ComponentAsleep, ""
		}
		// The words of Helm may have values.
		out[i].Message = t.Observed.Redact(out[i].Message)
	}
	return out
}

func stateOfComponent(t tenant.Tenant, c tenant.Component) v1alpha1.ComponentStatus {
	name := tenant.ComponentResource(c.Name)
	is, was := t.Composed(name), tenant.WasComponent(t.Observed, c.Name)
	out := v1alpha1.ComponentStatus{Name: c.Name, Version: release.Installed(is, was.Version)}
	if removes(is) {
		// It was removed, and comes back: what Helm has now is empty.
		out.Version = ""
	}
	say := func(state v1alpha1.ComponentState, message string) v1alpha1.ComponentStatus {
		out.State, out.Message = state, message
		return out
	}
	chart := "chart " + c.Chart.Name + " " + c.Version
	state, problem := release.StateOf(is), condition.Problem(is)
	broken, seen := brokenWorkloads(t, c)
	switch {
	case state == release.Absent && !resource.HasKubeconfig(t):
		return say(v1alpha1.ComponentWaiting, "Waiting for the virtual cluster")
	case state == release.Absent && t.Restore.Snapshot && !t.Restore.Active:
		return say(v1alpha1.ComponentWaiting, "Waiting until spec.restoreFrom.activate is true; what the backup has of it runs meanwhile")
	case state == release.Absent && t.Restore.Folder != "" && !t.Restore.Active:
		return say(v1alpha1.ComponentWaiting, "Waiting until spec.restoreFrom.activate is true")
	case state == release.Absent:
		return say(v1alpha1.ComponentWaiting, "Waiting for Argo CD")
	case release.IsTakenBack(is):
		return say(v1alpha1.ComponentFailed, chart+" has failed with what is wanted now, and the release from before is in use")
	case release.Waits(t, name) != "":
		return say(v1alpha1.ComponentInstalling, "Installing "+chart+": "+release.Waits(t, name))
	case problem != "":
		return say(v1alpha1.ComponentFailed, "Cannot install "+chart+": "+problem)
	case release.Repairs(t, name, c.Chart):
		return say(v1alpha1.ComponentInstalling, "Bringing back what was deleted or scaled down in the virtual cluster")
	case state != release.Deployed || release.Differs(is, c.Chart):
		return say(v1alpha1.ComponentInstalling, "Installing "+chart)
	case !seen:
		return say(v1alpha1.ComponentInstalling, "Waiting to see its workloads")
	case len(broken) > 0 && wasReady(t, c):
		message := strings.Join(broken, "; ")
		if until := gaveUp(t, c); until != "" {
			message += ": " + until
		}
		return say(v1alpha1.ComponentUnavailable, message)
	case len(broken) > 0:
		return say(v1alpha1.ComponentInstalling, "Waiting: "+strings.Join(broken, "; "))
	}
	return say(v1alpha1.ComponentReady, "")
}

func stateOfLeaving(t tenant.Tenant, name string) v1alpha1.ComponentStatus {
	out := v1alpha1.ComponentStatus{Name: name, Version: tenant.WasComponent(t.Observed, name).Version, State: v1alpha1.ComponentRemoving}
	switch is := t.Composed(tenant.ComponentResource(name)); {
	case removes(is) && release.IsTakenBack(is):
		out.Message = "Helm has failed to uninstall it: write it into the claim again, and take it out again"
	case release.IsAbsent(is), failsToCreate(is):
	case condition.OfRepository(is):
		chart := chartToRemove(t, name)
		out.Message = "Helm uninstalls it with chart " + chart.Name + " " + chart.Version + " of " + chart.Repository + ", and waits until that can be pulled, or the catalogue has another chart for " + name + ": " + condition.Problem(is)
	case condition.Problem(is) != "":
		out.Message = "Cannot uninstall it: " + condition.Problem(is)
	}
	return out
}

// brokenWorkloads returns a message for each workload of a component that isn't available. It reports false where they haven't been seen yet.
func brokenWorkloads(t tenant.Tenant, c tenant.Component) (broken []string, seen bool) {
	if len(c.Workloads) == 0 {
		return nil, true
	}
	o := t.Composed(tenant.ComponentWorkloads)
	if problem := condition.Problem(o); o.Condition("Synced").False() && problem != "" {
		return []string{"its workloads cannot be observed: " + problem}, true
	}
	all, seen := workloads(t, c)
	if !seen {
		return nil, false
	}
	for i, w := range c.Workloads {
		if message := argocd.Unavailable(w, all[i]); message != "" {
			broken = append(broken, message)
		}
	}
	return broken, true
}

func report(t tenant.Tenant, s *v1alpha1.Status) { s.Components = states(t) }

// reasons of the condition by the states of components, those that matter most first.
var reasons = []struct {
	state  v1alpha1.ComponentState
	reason string
}{
	{v1alpha1.ComponentFailed, v1alpha1.ReasonInstallFailed},
	{v1alpha1.ComponentUnavailable, v1alpha1.ReasonWorkloadsUnavailable},
	{v1alpha1.ComponentInstalling, v1alpha1.ReasonInstalling},
	{v1alpha1.ComponentWaiting, v1alpha1.ReasonWaitingForVirtualCluster},
	{v1alpha1.ComponentRemoving, v1alpha1.ReasonRemoving},
}

// givenUp reports whether a component isn't brought back now, because it was too often already.
func givenUp(t tenant.Tenant, name string) bool {
	return slices.ContainsFunc(t.Components, func(c tenant.Component) bool { return c.Name == name && gaveUp(t, c) != "" })
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	reason, messages := "", []string{}
	all := states(t)
	for _, r := range reasons {
		for _, c := range all {
			if c.State != r.state {
				continue
			}
			if reason == "" {
				reason = r.reason
			}
			if reason == v1alpha1.ReasonWorkloadsUnavailable && givenUp(t, c.Name) {
				reason = v1alpha1.ReasonRepairGaveUp
			}
			message := c.Message
			if message == "" {
				message = "is being uninstalled"
			}
			messages = append(messages, c.Name+": "+message)
		}
	}
	if reason != "" {
		return is.No(reason, few.Texts(messages), "")
	}
	return is.Yes("Every component is ready")
}
