package sso_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestMistakesOfParts: sign-on and keys of Argo CD's Secret name all their mistakes at once, in the order of the API's fields.
func TestMistakesOfParts(t *testing.T) {
	const ref = `"secretRef":{"name":"s"}`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"OIDC": {Spec: `{"sso":{"oidc":{"issuer":"id.example.org","clientID":"","clientSecretRef":{"name":"S"},"scopes":["email"],"adminGroups":["$a"],"logoutURL":"x","userInfoPath":"u","refreshTokenThreshold":"5 min","rootCA":"x"}}}`,
			Want: []string{"spec.sso.oidc.issuer: ", "; (2) spec.sso.oidc.clientID: ", "; (3) spec.sso.oidc.clientSecretRef.secretRef.name: ", "; (4) spec.sso.oidc.userInfoPath: ", "; (6) spec.sso.oidc.logoutURL: ",
				"; (7) spec.sso.oidc.refreshTokenThreshold: ", "; (8) spec.sso.oidc.scopes: ", "; (9) spec.sso.oidc.adminGroups: ", "; (10) spec.sso.oidc.rootCA: "}},
		"Dex": {Spec: `{"sso":{"dex":{"connectors":[{"type":"githubb","id":"a","name":"","config":{"clientSecret":"secret-in-the-claim","a":["$b"]}},{"type":"ldap","id":"a","name":"A","config":{"bindPW":"secret-in-the-claim"}}],"adminGroups":["$x"],"readOnlyGroups":[""]}}}`,
			Want: []string{"spec.sso.dex.connectors[0].type: ", "; (2) spec.sso.dex.connectors[0].name: is missing", "; (3) spec.sso.dex.connectors[0].config.a[0]: ", "; (4) spec.sso.dex.connectors[0].config.clientSecret: ", "; (5) spec.sso.dex.connectors[1].id: ",
				"; (6) spec.sso.dex.connectors[1].config.bindPW: ", "; (7) spec.sso.dex.adminGroups: ", "; (8) spec.sso.dex.readOnlyGroups: "}},
		"SecretKeys": {Spec: `{"argocd":{"secretKeys":[{"key":"server.secretkey",` + ref + `},{"key":"a b","secretKey":"c d",` + ref + `},{"key":"a","secretRef":{"name":"S"}},{"key":"a",` + ref + `}]}}`,
			Want: []string{"spec.argocd.secretKeys[0].key: ", "; (2) spec.argocd.secretKeys[1].key: ", "; (3) spec.argocd.secretKeys[1].secretKey: ", "; (4) spec.argocd.secretKeys[2].secretRef.name: ", "; (5) spec.argocd.secretKeys[3].key: "}},
		"PartsAndValues": {Spec: `{"argocd":{"values":{"configs":{"cm":{"admin.enabled":"true"}}}},"sso":{"disableAdmin":true,"oidc":{"issuer":"x","clientID":"a","clientSecretRef":{"name":"a"}}}}`,
			Want: []string{"spec.argocd.values.configs.cm.admin.enabled is set by spec.sso", "; (2) spec.sso.oidc.issuer: "}},
	})
}

// TestSignOnThatCantWork: what is well formed, and signs nobody on or gives nobody a role.
func TestSignOnThatCantWork(t *testing.T) {
	oidc := func(issuer, more string) string {
		return `{"sso":{"oidc":{"issuer":"` + issuer + `","clientID":"a","clientSecretRef":{"name":"a"}` + more + `}}}`
	}
	dex := func(more string) string {
		return `{"sso":{"dex":{"connectors":[{"type":"saml","id":"a","name":"A"}]` + more + `}}}`
	}
	const id = "https://id.example.org"
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Discovery":        {Spec: oidc(id+"/realms/a/.well-known/openid-configuration", ""), Want: []string{"spec.sso.oidc.issuer: ", "write https://id.example.org/realms/a"}},
		"GroupsAtGoogle":   {Spec: oidc("https://accounts.google.com", `,"scopes":["openid","email","groups"]`), Want: []string{"spec.sso.oidc.scopes: the provider knows no scope groups"}},
		"GroupsAtEntra":    {Spec: oidc("https://login.microsoftonline.com/t/v2.0", `,"scopes":["openid","groups"]`), Want: []string{"no scope groups"}},
		"GroupsElsewhere":  {Spec: oidc(id, `,"scopes":["openid","groups"]`), Want: nil},
		"SpaceAfterID":     {Spec: `{"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"argocd ","clientSecretRef":{"name":"a"}}}}`, Want: []string{`spec.sso.oidc.clientID: "argocd " has space around it`}},
		"SpaceBeforeGroup": {Spec: oidc(id, `,"adminGroups":[" admins"]`), Want: []string{`spec.sso.oidc.adminGroups: " admins" has space around it`}},
		"SpaceInGroup":     {Spec: oidc(id, `,"adminGroups":["CN=Argo CD Admins,OU=x"]`), Want: nil},
		"SpaceInAudience":  {Spec: oidc(id, `,"allowedAudiences":["a\t"]`), Want: []string{"spec.sso.oidc.allowedAudiences: "}},
		"Everybody":        {Spec: oidc(id, `,"readOnlyGroups":["*"]`), Want: []string{`spec.sso.oidc.readOnlyGroups: "*" is no group`, "policy.default"}},
		"RoleAsGroup":      {Spec: oidc(id, `,"adminGroups":["role:admin"]`), Want: []string{`spec.sso.oidc.adminGroups: "role:admin" is a role`}},
		"NegativeTime":     {Spec: oidc(id, `,"refreshTokenThreshold":"-5m"`), Want: []string{"spec.sso.oidc.refreshTokenThreshold: "}},
		"UserInfoOff":      {Spec: oidc(id, `,"userInfoPath":"/userinfo","userInfoCacheExpiration":"5m"`), Want: []string{"spec.sso.oidc.userInfoPath: has no effect without enableUserInfoGroups", "; (2) spec.sso.oidc.userInfoCacheExpiration: "}},
		"UserInfoOn":       {Spec: oidc(id, `,"enableUserInfoGroups":true,"userInfoPath":"/userinfo","userInfoCacheExpiration":"5m"`), Want: nil},
		"OtherScopes":      {Spec: strings.Replace(oidc(id, `,"adminGroups":["a"]`), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[email]"}}}},"sso"`, 1), Want: []string{`spec.argocd.values.configs.rbac.scopes: is "[email]"`, "[groups, email]"}},
		"AndGroups":        {Spec: strings.Replace(oidc(id, `,"adminGroups":["a"]`), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[cognito:groups, email]"}}}},"sso"`, 1), Want: nil},
		"OtherScopesNoOne": {Spec: strings.Replace(oidc(id, ``), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[email]"}}}},"sso"`, 1), Want: nil},
		"DexEverybody":     {Spec: dex(`,"adminGroups":["*"]`), Want: []string{"spec.sso.dex.adminGroups: "}},
		"DexType":          {Spec: `{"sso":{"dex":{"connectors":[{"type":"azuread","id":"a","name":"A"}]}}}`, Want: []string{`spec.sso.dex.connectors[0].type: "azuread" is unknown`, "microsoft"}},
		"DexKnown":         {Spec: dex(`,"adminGroups":["acme:admins"]`), Want: nil},
	})
	crossplanetest.CheckStaysAccepted(t, oidc(id, `,"adminGroups":["*"]`), oidc(id, `,"adminGroups":["*","a"]`))
}
