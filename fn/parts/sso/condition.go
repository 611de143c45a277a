package sso

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	release, secret := t.Observed.Composed[tenant.ArgoCDRelease], t.SSO.ClientSecret
	switch {
	case secret != nil && secret.State != v1alpha1.StateConnected:
		return is.No(string(secret.State), "Client secret", secret.Message)
	case !release.Exists() || !argocd.Runs(t):
		return is.No(v1alpha1.ReasonWaitingForArgoCD, "Signing on waits for Argo CD", "")
	case !release.Current():
		return is.No(v1alpha1.ReasonInstalling, "Rolling out how people sign on", "")
	case t.SSO.Provider == "":
		return is.Yes("The local user admin is switched off")
	}
	return is.Yes("People sign on with " + t.SSO.Provider + "; its redirect URL is " + tenant.URL(t.Decision) + "/auth/callback")
}
