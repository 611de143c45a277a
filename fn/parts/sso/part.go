// Package sso is the part of a claim that says how people sign on.
package sso

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Part is spec.sso.
var Part = part.Part{
	Field: "spec.sso", Secrets: secrets, Resolve: resolve,
	Condition: v1alpha1.ConditionSSOReady, Has: func(t tenant.Tenant) bool { return t.SSO.On }, Observe: observe,
}

func secrets(s tenant.Ask) []string {
	if s.SSO == nil || s.SSO.OIDC == nil {
		return nil
	}
	return []string{s.SSO.OIDC.ClientSecretRef.Name}
}
