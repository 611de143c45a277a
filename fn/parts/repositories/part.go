// Package repositories is the part of a claim with the repositories of its Argo CD, and
// with templates of credentials for them.
package repositories

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Part is spec.repositories with spec.credentialTemplates.
var Part = part.Part{
	Field: "spec.repositories or spec.credentialTemplates", Secrets: secrets, Resolve: resolve,
	Condition: v1alpha1.ConditionRepositoriesConnected, Has: has, Observe: observe, Report: report,
}

func secrets(s tenant.Ask) []string {
	var names []string
	for _, r := range s.Repositories {
		if r.SecretRef != nil {
			names = append(names, r.SecretRef.Name)
		}
	}
	for _, c := range s.CredentialTemplates {
		names = append(names, c.SecretRef.Name)
	}
	return names
}

func has(t tenant.Tenant) bool { return len(t.Repositories) > 0 }

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	return argocd.Connected(t, is, t.Repositories, "repository")
}

func report(t tenant.Tenant, s *v1alpha1.Status) {
	for _, c := range t.Repositories {
		s.Repositories = append(s.Repositories, v1alpha1.RepositoryStatus{Kind: c.Kind, Name: c.Name, State: c.State, Message: c.Message})
	}
}
