package status

import (
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// fields of the spec that the conditions are about.
var fields = map[string]string{
	v1alpha1.ConditionClustersConnected:     "spec.clusters",
	v1alpha1.ConditionRepositoriesConnected: "spec.repositories or spec.credentialTemplates",
	v1alpha1.ConditionBootstrapSynced:       "spec.bootstrap",
	v1alpha1.ConditionIngressReady:          "spec.ingress",
	v1alpha1.ConditionSSOReady:              "spec.sso",
}

// parts are the conditions of what a spec may have or not. Crossplane can't take
// a condition away again, so one whose part is gone says that.
func parts(t compose.Tenant) []Condition {
	var out []Condition
	wanted := map[string]bool{}
	add := func(in bool, typ string, condition func(compose.Tenant, conditionOf) Condition) {
		if in {
			wanted[typ] = true
			out = append(out, condition(t, conditionOf(typ)))
		}
	}
	add(len(t.Clusters) > 0, v1alpha1.ConditionClustersConnected, clustersConnected)
	add(len(t.Repositories) > 0, v1alpha1.ConditionRepositoriesConnected, repositoriesConnected)
	add(t.Application != nil, v1alpha1.ConditionBootstrapSynced, bootstrapSynced)
	add(t.Ingress.Wanted != "", v1alpha1.ConditionIngressReady, ingressReady)
	add(t.SSO.Wanted, v1alpha1.ConditionSSOReady, ssoReady)

	for _, typ := range v1alpha1.OptionalConditions() {
		if !wanted[typ] && t.Observed.XR.Condition(typ).Status != "" {
			out = append(out, Condition{Type: typ, True: true, Reason: v1alpha1.ReasonNotInSpec, Message: "The claim has no " + fields[typ] + " any more"})
		}
	}
	return out
}

func clustersConnected(t compose.Tenant, is conditionOf) Condition {
	return connected(t, is, t.Clusters, "cluster")
}

func repositoriesConnected(t compose.Tenant, is conditionOf) Condition {
	return connected(t, is, t.Repositories, "repository")
}

// kinds of entries, as people say them.
var kinds = map[string]string{v1alpha1.KindRepository: "Repository", v1alpha1.KindCredentialTemplate: "Credential template"}

// connected is the condition of a list of connections.
func connected(t compose.Tenant, is conditionOf, all []plan.Connection, what string) Condition {
	var reason string
	var messages []string
	for _, c := range all {
		if c.State == v1alpha1.StateConnected {
			continue
		}
		if reason == "" {
			reason = string(c.State)
		}
		messages = append(messages, or(kinds[c.Kind], "Cluster")+" "+c.Name+": "+c.Message)
	}
	switch {
	case reason != "":
		return is.no(reason, strings.Join(messages, "; "), "")
	case !argoCDRuns(t):
		return is.no(v1alpha1.ReasonWaitingForArgoCD, "The credentials of every "+what+" wait for Argo CD", "")
	}
	return is.yes("Argo CD has the credentials of every " + what)
}

// argoCDRuns tells whether Argo CD has been installed. While a change of it is
// rolled out, what it has been told stays told.
func argoCDRuns(t compose.Tenant) bool {
	return compose.ArgoCDInstalled(t) || compose.WasReady(t.Observed)
}

func clusters(t compose.Tenant) []v1alpha1.ClusterStatus {
	var out []v1alpha1.ClusterStatus
	for _, c := range t.Clusters {
		out = append(out, v1alpha1.ClusterStatus{Name: c.Name, State: c.State, Message: c.Message})
	}
	return out
}

func repositories(t compose.Tenant) []v1alpha1.RepositoryStatus {
	var out []v1alpha1.RepositoryStatus
	for _, c := range t.Repositories {
		out = append(out, v1alpha1.RepositoryStatus{Kind: c.Kind, Name: c.Name, State: c.State, Message: c.Message})
	}
	return out
}
