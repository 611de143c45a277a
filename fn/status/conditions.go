package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
)

// A Condition of the XR and of its claim.
type Condition struct {
	Type    string
	True    bool
	Reason  string
	Message string
}

// ownWords are the conditions whose messages are ours alone: nothing of a Secret or
// a provider's error is in them, and names such as edge-token stay readable.
var ownWords = map[string]bool{v1alpha1.ConditionClustersConnected: true, v1alpha1.ConditionRepositoriesConnected: true}

// conditions are those of the core, which Ready waits for, and those of the parts
// that the spec has beside it.
func conditions(t compose.Tenant, deleting bool) (core, optional []Condition) {
	if deleting {
		return []Condition{
			{Type: v1alpha1.ConditionVirtualClusterReady, Reason: v1alpha1.ReasonDeleting, Message: "The virtual cluster is being deleted"},
			{Type: v1alpha1.ConditionArgoCDReady, Reason: v1alpha1.ReasonDeleting, Message: "Argo CD goes with its virtual cluster"},
		}, nil
	}
	core = []Condition{virtualClusterReady(t), argoCDReady(t)}
	optional = append([]Condition{specAccepted(t), hostProtected(t)}, parts(t)...)
	redact := newRedactor(t.Observed)
	for _, conditions := range [][]Condition{core, optional} {
		for i := range conditions {
			if c := conditions[i]; !c.True && !ownWords[c.Type] {
				conditions[i].Message = redact(conditions[i].Message)
			}
		}
	}
	return core, optional
}

func allTrue(conditions []Condition) bool {
	return !slices.ContainsFunc(conditions, func(c Condition) bool { return !c.True })
}

func virtualClusterReady(t compose.Tenant) Condition {
	release := t.Observed.Composed[compose.VCluster]
	is := conditionOf(v1alpha1.ConditionVirtualClusterReady)
	ns, quota := t.Observed.Composed[compose.Namespace], t.Observed.Composed[compose.Quota]
	switch {
	case compose.KubeconfigProblem(t) != "":
		return is.no(v1alpha1.ReasonKubeconfigInvalid, "The kubeconfig that the virtual cluster has written is not used", compose.KubeconfigProblem(t))
	case compose.VClusterReady(t):
		return is.yes("The virtual cluster runs")
	case !release.Exists() && t.HostProblem != "":
		return is.no(v1alpha1.ReasonPoliciesMissing, t.HostProblem, "")
	case awaitsNamespace(t):
		// One message for all of it: each change of the status costs some of Crossplane's
		// attention.
		return is.no(v1alpha1.ReasonWaitingForNamespace, "Waiting for namespace "+t.Names.Namespace+" on the host, with its account and its bounds", or(problem(ns), problem(quota)))
	case problem(release) != "":
		return is.no(v1alpha1.ReasonInstallFailed, fmt.Sprintf("Cannot install chart %s %s", t.VCluster.Name, t.VCluster.Version), problem(release))
	case !compose.HasKubeconfig(t) && compose.ControlPlaneTrouble(t) != "":
		return is.no(v1alpha1.ReasonPodsCannotStart, fmt.Sprintf("Installing chart %s %s with Kubernetes %s", t.VCluster.Name, t.VCluster.Version, t.Kubernetes), compose.ControlPlaneTrouble(t))
	case !release.Current() && compose.HasKubeconfig(t):
		return is.no(v1alpha1.ReasonInstalling, fmt.Sprintf("Rolling out a change of chart %s %s", t.VCluster.Name, t.VCluster.Version), "")
	}
	return is.no(v1alpha1.ReasonInstalling, fmt.Sprintf("Installing chart %s %s with Kubernetes %s", t.VCluster.Name, t.VCluster.Version, t.Kubernetes), "")
}

// specAccepted is the condition of what people have written.
func specAccepted(t compose.Tenant) Condition {
	is := conditionOf(v1alpha1.ConditionSpecAccepted)
	if t.Refused == nil {
		if failed := compose.TakenBack(t); failed != "" {
			return is.no(v1alpha1.ReasonUpgradeFailed, failed, "")
		}
		return Condition{Type: string(is), True: true, Reason: v1alpha1.ReasonAccepted, Message: "The claim, its plan and the platform's input are in use"}
	}
	return is.no(mistakeOf(t.Refused), t.Refused.Error(), "")
}

// mistakeOf tells from the field that an error begins with who has to correct it.
func mistakeOf(err error) string {
	switch message := err.Error(); {
	case strings.HasPrefix(message, "input"):
		return v1alpha1.ReasonInvalidInput
	case strings.HasPrefix(message, "plan "):
		return v1alpha1.ReasonInvalidPlan
	}
	return v1alpha1.ReasonInvalidSpec
}

// hostProtected is the condition of the host's admission policies.
func hostProtected(t compose.Tenant) Condition {
	is := conditionOf(v1alpha1.ConditionHostProtected)
	if t.HostProblem != "" {
		return is.no(v1alpha1.ReasonPoliciesMissing, t.HostProblem, "")
	}
	return is.yes("The host has the admission policies that this function needs")
}

func argoCDReady(t compose.Tenant) Condition {
	host, release := t.Observed.Composed[compose.VCluster], t.Observed.Composed[compose.ArgoCD]
	is := conditionOf(v1alpha1.ConditionArgoCDReady)
	broken, why, unseen := workloads(t)
	switch {
	case !release.Exists() && !compose.HasKubeconfig(t):
		return is.no(v1alpha1.ReasonWaitingForVirtualCluster, "Waiting for the virtual cluster", "")
	case !host.Current() && problem(host) == "" && release.Condition("Synced").False():
		// Its control plane starts anew, and nobody can look into it meanwhile.
		return is.no(v1alpha1.ReasonWaitingForVirtualCluster, "Waiting for the virtual cluster, in which a change is being rolled out", "")
	case !compose.WasReady(t.Observed) && why != "":
		return is.no(v1alpha1.ReasonPodsCannotStart, fmt.Sprintf("Installing chart %s %s", t.ArgoCD.Name, t.ArgoCD.Version), why)
	case release.Deployed() && !compose.HasPassword(t):
		return is.no(v1alpha1.ReasonWaitingForPassword, "Waiting for the initial password of user admin", problem(release))
	case release.Deployed() && strings.HasPrefix(problem(release), "observe failed"):
		return is.no(v1alpha1.ReasonWorkloadsUnavailable, "Cannot look into the virtual cluster", problem(release))
	case problem(release) != "":
		return is.no(v1alpha1.ReasonInstallFailed, fmt.Sprintf("Cannot install chart %s %s", t.ArgoCD.Name, t.ArgoCD.Version), problem(release)+after("; ", why))
	case compose.WasReady(t.Observed) && len(broken) > 0 && release.Current():
		return is.no(v1alpha1.ReasonWorkloadsUnavailable, strings.Join(broken, "; "), "")
	case !release.Current():
		return is.no(v1alpha1.ReasonInstalling, fmt.Sprintf("Rolling out a change of chart %s %s", t.ArgoCD.Name, t.ArgoCD.Version), "")
	case !release.Healthy():
		return is.no(v1alpha1.ReasonInstalling, fmt.Sprintf("Installing chart %s %s", t.ArgoCD.Name, t.ArgoCD.Version), "")
	case unseen:
		// One message for as long as the first look takes: each change of the
		// status costs as much of Crossplane's attention as a change of a workload.
		return is.no(v1alpha1.ReasonWaitingForWorkloads, "Waiting to see Argo CD's workloads", "")
	case len(broken) > 0:
		return is.no(v1alpha1.ReasonWaitingForWorkloads, "Waiting: "+strings.Join(broken, "; "), "")
	}
	return is.yes("Every workload of Argo CD is available")
}

// workloads says of each workload that isn't available that it isn't, and of those whose
// pods don't run what keeps them from it; and whether nobody has looked at them yet.
func workloads(t compose.Tenant) (broken []string, why string, unseen bool) {
	if problem := compose.WorkloadsProblem(t); problem != "" {
		return []string{"Argo CD's workloads cannot be observed: " + problem}, "", false
	}
	all, seen := compose.WorkloadHealth(t)
	if !seen {
		return []string{"Argo CD's workloads are not seen yet"}, "", true
	}
	var stuck []string
	for _, h := range all {
		if !h.Available {
			broken = append(broken, h.Message)
		}
		if h.Why != "" {
			stuck = append(stuck, h.Message)
		}
	}
	return broken, strings.Join(stuck, "; "), false
}

func after(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// problem is what a provider says is wrong with a resource, "" when it says
// nothing.
func problem(c decode.Composed) string {
	if synced := c.Condition("Synced"); synced.False() {
		return or(synced.Message, synced.Reason)
	}
	at := c.Get("status", "atProvider")
	if at.String("state") == "failed" {
		return or(at.String("releaseDescription"), "the Helm release failed")
	}
	if ready := c.Condition("Ready"); ready.False() {
		return ready.Message
	}
	return ""
}

func or(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

type conditionOf string

func (typ conditionOf) yes(message string) Condition {
	return Condition{Type: string(typ), True: true, Reason: v1alpha1.ReasonAvailable, Message: message}
}

func (typ conditionOf) no(reason, message, detail string) Condition {
	if detail != "" {
		message += ": " + detail
	}
	return Condition{Type: string(typ), Reason: reason, Message: message}
}
