package argocd

import (
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Condition returns ArgoCDReady.
func Condition(t tenant.Tenant) condition.Condition {
	waits := release.Waits(t, tenant.ArgoCDRelease)
	host, is := t.Composed(tenant.VClusterRelease), t.Composed(tenant.ArgoCDRelease)
	state := release.StateOf(is)
	chart := "chart " + t.ArgoCD.Name + " " + t.ArgoCD.Version
	ready := condition.Of(v1alpha1.ConditionArgoCDReady)
	broken, why, unseen := BrokenWorkloads(t)
	drift := drift(t)
	// Once it is installed, the Release gets a limit of retries, for which Helm does nothing: its workloads tell what it waits for.
	comesUp := state == release.Changing && !tenant.WasReady(t.Observed)
	switch {
	case state == release.Absent && !resource.HasKubeconfig(t):
		return ready.No(v1alpha1.ReasonWaitingForVirtualCluster, "Waiting for the virtual cluster", "")
	case release.StateOf(host).RollsOut() && condition.Problem(host) == "" && is.Condition("Synced").False():
		// Its control plane restarts: nothing in it can be observed meanwhile.
		return ready.No(v1alpha1.ReasonWaitingForVirtualCluster, "Waiting for the virtual cluster, in which a change is being rolled out", "")
	case !tenant.WasReady(t.Observed) && why != "":
		return ready.No(v1alpha1.ReasonPodsCannotStart, "Installing "+chart, why)
	case state.HasDeployed() && !hasPassword(t) && (condition.Problem(is) != "" || server(t).available):
		// Argo CD's API server makes the password once it runs.
		return ready.No(v1alpha1.ReasonWaitingForPassword, "Waiting for the initial password of user admin", condition.Problem(is))
	case state.HasDeployed() && strings.HasPrefix(condition.Said(is), "observe failed"):
		return ready.No(v1alpha1.ReasonWorkloadsUnavailable, "Cannot look into the virtual cluster", condition.Problem(is))
	case waits != "":
		return ready.No(v1alpha1.ReasonInstalling, "Installing "+chart, waits)
	case condition.Problem(is) != "":
		return ready.No(v1alpha1.ReasonInstallFailed, "Cannot install "+chart, strings.TrimSuffix(condition.Problem(is)+"; "+why, "; "))
	case Settles(t) && state == release.Deployed && len(broken) > 0:
		return ready.No(v1alpha1.ReasonWaitingForWorkloads, "Waiting for Argo CD's workloads after a change", "")
	case tenant.WasReady(t.Observed) && len(broken) > 0 && !state.RollsOut():
		reason, detail := gaveUp(t, v1alpha1.ReasonWorkloadsUnavailable)
		return ready.No(reason, strings.Join(broken, "; "), detail)
	case release.Repairs(t, tenant.ArgoCDRelease, t.ArgoCD):
		return rollingOut(t, ready, "Bringing back what was deleted or scaled down in the virtual cluster")
	case state.RollsOut() && !comesUp:
		return rollingOut(t, ready, "Rolling out a change of "+chart)
	case state != release.Deployed && !comesUp:
		return ready.No(v1alpha1.ReasonInstalling, "Installing "+chart, "")
	case unseen:
		// The message stays the same until then: each change of the status counts as an event for
		// Crossplane's circuit breaker.
		return ready.No(v1alpha1.ReasonWaitingForWorkloads, "Waiting to see Argo CD's workloads", "")
	case len(broken) > 0:
		return ready.No(v1alpha1.ReasonWaitingForWorkloads, "Waiting: "+strings.Join(broken, "; "), "")
	case comesUp:
		return ready.No(v1alpha1.ReasonInstalling, "Installing "+chart, "")
	case drift != "":
		reason, detail := gaveUp(t, v1alpha1.ReasonDrifted)
		return ready.No(reason, drift, detail)
	}
	return ready.Yes("Every workload of Argo CD is available")
}

// rollingOut returns the condition while Helm waits for a change. Its detail is why a pod
// doesn't start. As long as the same workload lacks a pod, the detail stays as it was first: a
// container that can't be started gives several reasons in turn.
func rollingOut(t tenant.Tenant, is condition.Of, message string) condition.Condition {
	told := is.Told(t.Observed.XR, message)
	all, seen := workloadHealth(t)
	detail := ""
	for _, h := range all {
		switch {
		case h.available && h.why == "":
		case strings.HasPrefix(told, h.what+": "):
			return is.No(v1alpha1.ReasonInstalling, message, told)
		case h.why != "" && detail == "":
			detail = h.what + ": " + h.why
		}
	}
	if !seen {
		detail = told
	}
	return is.No(v1alpha1.ReasonInstalling, message, detail)
}

// SettlesWithin is how long after a change was rolled out workloads may still be observed as
// they were during the change: the status of the Release and that of the workloads arrive in
// either order.
const SettlesWithin = 10 * time.Second

// Settles reports whether a change was rolled out less than SettlesWithin ago.
func Settles(t tenant.Tenant) bool {
	xr := t.Observed.XR
	if tenant.PhaseOf(t.Observed) != v1alpha1.PhaseUpdating || stateOf(t).RollsOut() {
		return false
	}
	was := xr.Condition(v1alpha1.ConditionArgoCDReady)
	// Crossplane renews the time with the reason.
	since, err := time.Parse(time.RFC3339, was.LastTransitionTime)
	return was.Reason == v1alpha1.ReasonInstalling ||
		was.Reason == v1alpha1.ReasonWaitingForWorkloads && err == nil && t.Observed.Now.Sub(since) < SettlesWithin
}

// MayBeStarting reports whether the workloads can be observed, and nothing says why any of them isn't available.
func MayBeStarting(t tenant.Tenant) bool {
	_, why, _ := BrokenWorkloads(t)
	return why == "" && workloadsProblem(t) == ""
}

// BrokenWorkloads returns a message for each workload that isn't available, why pods don't run,
// and whether the workloads haven't been observed yet.
func BrokenWorkloads(t tenant.Tenant) (broken []string, why string, unseen bool) {
	if problem := workloadsProblem(t); problem != "" {
		return []string{"Argo CD's workloads cannot be observed: " + problem}, "", false
	}
	all, seen := workloadHealth(t)
	if !seen {
		return []string{"Argo CD's workloads are not seen yet"}, "", true
	}
	var stuck []string
	for _, h := range all {
		if !h.available {
			broken = append(broken, h.message)
		}
		if h.why != "" {
			stuck = append(stuck, h.message)
		}
	}
	return broken, strings.Join(stuck, "; "), false
}

// Runs reports whether Argo CD has been installed. It keeps its settings while a change is rolled
// out.
func Runs(t tenant.Tenant) bool {
	return Installed(t) || tenant.WasReady(t.Observed)
}
