package decode

import "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"

// Bounds of lists, as in the schema.
const (
	maxScopes = 20
	maxGroups = 50
)

// sso reads how people sign on; nil when the spec says nothing of it.
func (r *reader) sso(spec Struct) *v1alpha1.SSOSpec {
	const field = "spec.sso"
	o := r.object(spec, field, "sso")
	if len(o.s.GetFields()) == 0 {
		return nil
	}
	out := &v1alpha1.SSOSpec{DisableAdmin: r.flag(o, field+".disableAdmin", "disableAdmin")}
	oidc := r.object(o, field+".oidc", "oidc")
	if len(oidc.s.GetFields()) == 0 {
		return out
	}
	secret := r.object(oidc, field+".oidc.clientSecretRef", "clientSecretRef")
	out.OIDC = &v1alpha1.OIDCSpec{
		Name:     r.text(oidc, field+".oidc.name", "name"),
		Issuer:   r.text(oidc, field+".oidc.issuer", "issuer"),
		ClientID: r.text(oidc, field+".oidc.clientID", "clientID"),
		ClientSecretRef: v1alpha1.SecretKeyReference{
			Name: r.text(secret, field+".oidc.clientSecretRef.name", "name"),
			Key:  r.text(secret, field+".oidc.clientSecretRef.key", "key"),
		},
		Scopes:         r.texts(oidc, field+".oidc.scopes", "scopes", maxScopes),
		AdminGroups:    r.texts(oidc, field+".oidc.adminGroups", "adminGroups", maxGroups),
		ReadOnlyGroups: r.texts(oidc, field+".oidc.readOnlyGroups", "readOnlyGroups", maxGroups),
		RootCA:         r.text(oidc, field+".oidc.rootCA", "rootCA"),
	}
	return out
}
