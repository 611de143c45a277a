package policy

import (
	"fmt"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Dex refuses a configuration of Dex beside an OpenID Connect provider, unless it was accepted before: Argo CD then ignores Dex (see
// OIDCConfig and IssuerURL in its util/settings).
func Dex(g tenant.Given) error {
	cm := values.At[values.Values](g.Spec.ArgoCDValues, "configs", "cm")
	dex, _ := cm["dex.config"].(string)
	if strings.TrimSpace(dex) == "" || g.KeepsValues("configs", "cm", "dex.config") {
		return nil
	}
	const field = `spec.argocd.values.configs.cm."dex.config"`
	oidc, _ := cm["oidc.config"].(string)
	var found []error
	switch {
	case g.Spec.SSO != nil && g.Spec.SSO.OIDC != nil:
		found = append(found, fmt.Errorf("%s: Argo CD ignores Dex while there is spec.sso.oidc: leave one of them out", field))
	case strings.TrimSpace(oidc) != "":
		found = append(found, fmt.Errorf(`%s: Argo CD ignores Dex while there is "oidc.config": leave one of them out`, field))
	}
	if on := values.Enabled(g.Spec.ArgoCDValues, true, "dex", "enabled"); !on && len(found) == 0 {
		found = append(found, fmt.Errorf("%s: dex.enabled is false, so that nothing reads it: leave one of them out", field))
	}
	return mistakes.Join(found...)
}
