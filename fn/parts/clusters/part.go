// Package clusters is the part of a claim with the clusters that its Argo CD deploys to.
package clusters

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Part is spec.clusters.
var Part = part.Part{
	Field: "spec.clusters", Secrets: secrets, Resolve: resolve,
	Condition: v1alpha1.ConditionClustersConnected, Has: has, Observe: observe, Report: report,
}

func secrets(s tenant.Ask) []string {
	var names []string
	for _, c := range s.Clusters {
		names = append(names, c.SecretRef.Name)
	}
	return names
}

func has(t tenant.Tenant) bool { return len(t.Clusters) > 0 }

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	return argocd.Connected(t, is, t.Clusters, "cluster")
}

func report(t tenant.Tenant, s *v1alpha1.Status) {
	for _, c := range t.Clusters {
		s.Clusters = append(s.Clusters, v1alpha1.ClusterStatus{Name: c.Name, State: c.State, Message: c.Message})
	}
}
