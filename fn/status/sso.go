package status

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
)

func ssoReady(t compose.Tenant, is conditionOf) Condition {
	release, secret := t.Observed.Composed[compose.ArgoCD], t.SSO.ClientSecret
	switch {
	case secret != nil && secret.State != v1alpha1.StateConnected:
		return is.no(string(secret.State), "Client secret", secret.Message)
	case !release.Exists() || !argoCDRuns(t):
		return is.no(v1alpha1.ReasonWaitingForArgoCD, "Signing on waits for Argo CD", "")
	case !release.Current():
		return is.no(v1alpha1.ReasonInstalling, "Rolling out how people sign on", "")
	case t.SSO.Provider == "":
		return is.yes("The local user admin is switched off")
	}
	return is.yes("People sign on with " + t.SSO.Provider + "; its redirect URL is " + URL(t.Plan) + "/auth/callback")
}
