package sso_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// saml is what each connector of that type needs.
const saml = `"ssoURL":"https://id.example.org/saml","usernameAttr":"name","emailAttr":"email","insecureSkipSignatureValidation":true`

// TestMistakesOfParts: sign-on and keys of Argo CD's Secret name all their mistakes at once, in the order of the API's fields.
func TestMistakesOfParts(t *testing.T) {
	const ref = `"secretRef":{"name":"s"}`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"OIDC": {Spec: `{"sso":{"oidc":{"issuer":"id.example.org","clientID":"","clientSecretRef":{"name":"S"},"scopes":["email"],"adminGroups":["$a"],"logoutURL":"x","userInfoPath":"u","refreshTokenThreshold":"5 min","rootCA":"x"}}}`,
			Want: []string{"spec.sso.oidc.issuer: ", "; (2) spec.sso.oidc.clientID: ", "; (3) spec.sso.oidc.clientSecretRef.secretRef.name: ", "; (4) spec.sso.oidc.userInfoPath: ", "; (6) spec.sso.oidc.logoutURL: ",
				"; (7) spec.sso.oidc.refreshTokenThreshold: ", "; (8) spec.sso.oidc.scopes: ", "; (9) spec.sso.oidc.adminGroups: ", "; (10) spec.sso.oidc.rootCA: "}},
		"Dex": {Spec: `{"sso":{"dex":{"connectors":[{"type":"githubb","id":"a","name":"","config":{"clientSecret":"secret-in-the-claim","a":["$b"]}},{"type":"ldap","id":"a","name":"A","config":{"host":"ldap.example.org","userSearch":{"baseDN":"ou=people","username":"uid"},"bindPW":"secret-in-the-claim"}}],"adminGroups":["$x"],"readOnlyGroups":[""]}}}`,
			Want: []string{"spec.sso.dex.connectors[0].type: ", "; (2) spec.sso.dex.connectors[0].name: is missing", "; (3) spec.sso.dex.connectors[0].config.a[0]: ", "; (4) spec.sso.dex.connectors[0].config.clientSecret: ", "; (5) spec.sso.dex.connectors[1].id: ",
				"; (6) spec.sso.dex.connectors[1].config.bindPW: ", "; (7) spec.sso.dex.adminGroups: ", "; (8) spec.sso.dex.readOnlyGroups: "}},
		"SecretKeys": {Spec: `{"argocd":{"secretKeys":[{"key":"server.secretkey",` + ref + `},{"key":"a b","secretKey":"c d",` + ref + `},{"key":"a","secretRef":{"name":"S"}},{"key":"a",` + ref + `}]}}`,
			Want: []string{"spec.argocd.secretKeys[0].key: ", "; (2) spec.argocd.secretKeys[1].key: ", "; (3) spec.argocd.secretKeys[1].secretKey: ", "; (4) spec.argocd.secretKeys[2].secretRef.name: ", "; (5) spec.argocd.secretKeys[3].key: "}},
		"PartsAndValues": {Spec: `{"argocd":{"values":{"configs":{"cm":{"admin.enabled":"true"}}}},"sso":{"disableAdmin":true,"oidc":{"issuer":"x","clientID":"a","clientSecretRef":{"name":"a"}}}}`,
			Want: []string{"spec.argocd.values.configs.cm.admin.enabled is set by spec.sso", "; (2) spec.sso.oidc.issuer: "}},
	})
}

// TestConnectorFields: Dex leaves out fields that a connector doesn't have, so that anybody of GitHub may sign on, for instance.
func TestConnectorFields(t *testing.T) {
	dex := func(connector, config string) string {
		return `{"sso":{"dex":{"connectors":[{"type":"` + connector + `","id":"a","name":"A","config":` + config + `}]}}}`
	}
	const at = "spec.sso.dex.connectors[0].config."
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Organizations":  {Spec: dex("github", `{"clientID":"a","organizations":[{"name":"acme"}]}`), Want: []string{at + "organizations: Dex's connector github has no such field: did you mean orgs?"}},
		"Misspelt":       {Spec: dex("github", `{"clientID":"a","orgz":[{"name":"acme"}]}`), Want: []string{at + "orgz: ", "did you mean org"}},
		"OfOneOrg":       {Spec: dex("github", `{"clientID":"a","org":"acme"}`), Want: nil},
		"Nested":         {Spec: dex("github", `{"clientID":"a","orgs":[{"name":"acme"},{"name":"b","team":["ops"]}]}`), Want: []string{at + "orgs[1].team: Dex's connector github has no such field: did you mean teams?"}},
		"NothingLikeIt":  {Spec: dex("linkedin", `{"clientID":"a","xyz":1}`), Want: []string{at + "xyz: Dex's connector linkedin has no such field: write one of clientID, clientSecret, redirectURI"}},
		"OfAnother":      {Spec: dex("gitlab", `{"clientID":"a","orgs":[]}`), Want: []string{at + "orgs: Dex's connector gitlab has no such field"}},
		"OtherCase":      {Spec: dex("github", `{"clientId":"a"}`), Want: nil},
		"AsDocumented":   {Spec: dex("google", `{"clientID":"a","hostedDomains":["example.org"],"domainToAdminEmail":{"*":"a@example.org"}}`), Want: nil},
		"Twice":          {Spec: dex("github", `{"clientID":"a","clientId":"b"}`), Want: []string{at + "clientId: is the same field as clientID"}},
		"NoClientID":     {Spec: dex("microsoft", `{"tenant":"a"}`), Want: []string{at + "clientID: is missing"}},
		"SecretOtherway": {Spec: dex("github", `{"clientID":"a","clientsecret":"secret-in-the-claim"}`), Want: []string{at + "clientsecret: there is a secret in the claim"}},
		"NumberAsText":   {Spec: dex("bitbucket-cloud", `{"clientID":1234}`), Want: []string{at + "clientID: is a number, and Dex wouldn't start: write it in quotes"}},
		"TextAsList":     {Spec: dex("gitlab", `{"clientID":"a","groups":"ops"}`), Want: []string{at + "groups: is text, and Dex wouldn't start: write a list of texts"}},
		"TextsAsObjects": {Spec: dex("gitea", `{"clientID":"a","orgs":["acme"]}`), Want: []string{at + "orgs[0]: is text, and Dex wouldn't start: write an object"}},
		"QuotedBool":     {Spec: dex("ldap", `{"host":"a","startTLS":"true"}`), Want: []string{at + "startTLS: is text, and Dex wouldn't start: write true or false, without quotes"}},
		"OwnRedirect":    {Spec: dex("oidc", `{"issuer":"https://id.example.org","clientID":"a","redirectURI":"http://127.0.0.1:5556/dex/callback"}`), Want: []string{at + "redirectURI: Argo CD sets it"}},
		"SameRedirect":   {Spec: dex("oidc", `{"issuer":"https://id.example.org","clientID":"a","redirectURI":"https://argocd.example.org/api/dex/callback"}`), Want: nil},
		"OtherRedirect":  {Spec: dex("oidc", `{"issuer":"https://id.example.org","clientID":"a","redirecturi":"https://argocd.example.org/api/dex/callback"}`), Want: []string{at + "redirecturi: Argo CD sets it"}},
		"LDAP":           {Spec: dex("ldap", `{"host":"a","userSearch":{"baseDn":"x","user":"uid"},"groupSearch":{"userMatchers":[{"userAttr":"a","groupAttribute":"b"}]}}`), Want: []string{at + "groupSearch.userMatchers[0].groupAttribute: ", "did you mean groupAttr?", "; (2) " + at + "userSearch.user: "}},
		"SAML":           {Spec: dex("saml", `{"ssoURL":"https://a","groupAttr":"x"}`), Want: []string{at + "groupAttr: Dex's connector saml has no such field: did you mean groupsAttr?"}},
		"OIDC":           {Spec: dex("oidc", `{"clientID":"a","issuer":"https://id.example.org","insecureEnableGroup":true}`), Want: []string{at + "insecureEnableGroup: ", "did you mean insecureEnableGroups?"}},
	})
	crossplanetest.CheckStaysAccepted(t, dex("github", `{"clientID":"a","organizations":[]}`), strings.Replace(dex("github", `{"clientID":"a","organizations":[]}`), `"id":"a"`, `"id":"b"`, 1))
}

// TestRestrictionsOfConnectors: Dex ignores some of its own fields, and anybody of Google or Microsoft may sign on then.
func TestRestrictionsOfConnectors(t *testing.T) {
	dex := func(connector, config string) string {
		return `{"sso":{"dex":{"connectors":[{"type":"` + connector + `","id":"a","name":"A","config":{"clientID":"a",` + config + `}}]}}}`
	}
	const at = "spec.sso.dex.connectors[0].config."
	const issuer = `"issuer":"https://id.example.org",`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"GoogleGroups":      {Spec: dex("google", `"groups":["ops@example.org"]`), Want: []string{at + "groups: Dex ignores it, and lets everybody sign on, without domainToAdminEmail"}},
		"GoogleGroupsRead":  {Spec: dex("google", `"groups":["ops@example.org"],"domainToAdminEmail":{"*":"a@example.org"}`), Want: nil},
		"GoogleDomains":     {Spec: dex("google", `"hostedDomains":["example.org"]`), Want: nil},
		"MicrosoftGroups":   {Spec: dex("microsoft", `"tenant":"common","groups":["ops"]`), Want: []string{at + `groups: Dex ignores it, and lets everybody sign on, where tenant is "common"`}},
		"MicrosoftNoTenant": {Spec: dex("microsoft", `"groups":["ops"]`), Want: []string{at + "groups: Dex ignores it"}},
		"MicrosoftTenant":   {Spec: dex("microsoft", `"tenant":"1111","groups":["ops"]`), Want: nil},
		"OIDCGroups":        {Spec: dex("oidc", issuer+`"allowedGroups":["ops"]`), Want: []string{at + "allowedGroups: Dex ignores it, and lets everybody sign on, without insecureEnableGroups"}},
		"OIDCGroupsOff":     {Spec: dex("oidc", issuer+`"insecureEnableGroups":false,"allowedGroups":["ops"]`), Want: []string{at + "allowedGroups: "}},
		"OIDCGroupsOn":      {Spec: dex("oidc", issuer+`"insecureEnableGroups":true,"allowedGroups":["ops"]`), Want: nil},
		"OIDCDomains":       {Spec: dex("oidc", issuer+`"hostedDomains":["example.org"]`), Want: []string{at + "hostedDomains: Dex doesn't start with it"}},
		"AuthProxy":         {Spec: `{"sso":{"dex":{"connectors":[{"type":"authproxy","id":"a","name":"A"}]}}}`, Want: []string{"spec.sso.dex.connectors[0].config: Dex believes the header X-Remote-User of anybody"}},
		"NothingInIt":       {Spec: dex("oidc", issuer+`"allowedGroups":[],"hostedDomains":[]`), Want: nil},
	})
}

// TestConnectorsWithoutGroups: roles of groups that no connector gives.
func TestConnectorsWithoutGroups(t *testing.T) {
	dex := func(connectors, role string) string {
		return `{"sso":{"dex":{"` + role + `":["ops"],"connectors":[` + connectors + `]}}}`
	}
	connector := func(id, of, config string) string {
		return `{"type":"` + of + `","id":"` + id + `","name":"A","config":{` + config + `}}`
	}
	const id = `"clientID":"a"`
	const issuer = id + `,"issuer":"https://id.example.org"`
	const ldap = `"host":"a","userSearch":{"baseDN":"ou=people","username":"uid"}`
	claims := map[string]crossplanetest.Claim{}
	for name, tc := range map[string]struct{ of, without, with, instead string }{
		"GitHub":    {"github", id, id + `,"orgs":[{"name":"acme"}],"teamNameField":"slug"`, "write orgs, or loadAllGroups: true"},
		"GitHubAll": {"github", id + `,"loadAllGroups":false`, id + `,"loadAllGroups":true`, "write orgs"},
		"Gitea":     {"gitea", id, id + `,"orgs":[{"name":"acme"}]`, "write orgs"},
		"Google":    {"google", id, id + `,"adminEmail":"a@example.org"`, "write domainToAdminEmail"},
		"LDAP":      {"ldap", ldap, ldap + `,"groupSearch":{"baseDN":"ou=groups"}`, "write groupSearch"},
		"Microsoft": {"microsoft", id, id + `,"tenant":"1111"`, "write tenant"},
		"OIDC":      {"oidc", issuer, issuer + `,"insecureEnableGroups":true`, "write insecureEnableGroups: true"},
		"OIDCMade":  {"oidc", issuer, issuer + `,"claimModifications":{"newGroupFromClaims":[{"claims":["a"]}]}`, "write insecureEnableGroups: true"},
		"SAML":      {"saml", saml, saml + `,"groupsAttr":"g"`, "write groupsAttr"},
	} {
		claims[name] = crossplanetest.Claim{Spec: dex(connector("a", tc.of, tc.without), "adminGroups"), Want: []string{"spec.sso.dex.adminGroups: nobody would have these roles", "for a connector of type " + tc.of + ", " + tc.instead}}
		claims[name+"With"] = crossplanetest.Claim{Spec: strings.Replace(dex(connector("a", tc.of, tc.with), "adminGroups"), `["ops"],"connectors"`, `["acme:ops"],"connectors"`, 1), Want: nil}
	}
	const teams = id + `,"orgs":[{"name":"acme","teams":["ops"]},{"name":"initech"}]`
	for group, right := range map[string]bool{"acme:ops": true, "initech:any": true, "ops": false, "acme": false, "acme:dev": false, "Initech:any": false} {
		c := crossplanetest.Claim{Spec: strings.Replace(dex(connector("a", "github", teams), "adminGroups"), `["ops"],"connectors"`, `["`+group+`"],"connectors"`, 1)}
		if !right {
			c.Want = []string{`spec.sso.dex.adminGroups[0]: nobody is in "` + group + `", because Dex tells Argo CD teams with their organization: write acme:ops or initech:<team>`}
		}
		claims["GitHubTeam "+group] = c
	}
	claims["GitHubAndOthers"] = crossplanetest.Claim{Spec: dex(connector("a", "github", teams)+","+connector("b", "gitlab", id), "adminGroups"), Want: nil}
	claims["GitHubOrg"] = crossplanetest.Claim{Spec: dex(connector("a", "github", id+`,"org":"acme"`), "adminGroups"), Want: nil}
	claims["GitHubEmails"] = crossplanetest.Claim{Spec: strings.Replace(dex(connector("a", "github", teams), "adminGroups"), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[groups, email]"}}}},"sso"`, 1), Want: nil}
	claims["LinkedIn"] = crossplanetest.Claim{Spec: dex(connector("a", "linkedin", id), "readOnlyGroups"), Want: []string{"spec.sso.dex.readOnlyGroups: nobody would have", "type linkedin has none"}}
	claims["GitLab"] = crossplanetest.Claim{Spec: dex(connector("a", "gitlab", id), "adminGroups"), Want: nil}
	claims["OneOfThem"] = crossplanetest.Claim{Spec: dex(connector("a", "linkedin", id)+","+connector("b", "gitlab", id), "adminGroups"), Want: nil}
	crossplanetest.CheckClaims(t, claims)
	without := dex(connector("a", "linkedin", id), "adminGroups")
	crossplanetest.CheckStaysAccepted(t, without, strings.Replace(without, "ops", "admins", 1))
}

// TestSignOnThatCantWork: what is well formed, and signs nobody on or gives nobody a role.
func TestSignOnThatCantWork(t *testing.T) {
	oidc := func(issuer, more string) string {
		return `{"sso":{"oidc":{"issuer":"` + issuer + `","clientID":"a","clientSecretRef":{"name":"a"}` + more + `}}}`
	}
	dex := func(more string) string {
		return `{"sso":{"dex":{"connectors":[{"type":"saml","id":"a","name":"A","config":{` + saml + `,"groupsAttr":"groups"}}]` + more + `}}}`
	}
	scopes := func(claim, scopes string) string {
		return strings.Replace(claim, `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"`+scopes+`"}}}},"sso"`, 1)
	}
	const id = "https://id.example.org"
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Discovery":        {Spec: oidc(id+"/realms/a/.well-known/openid-configuration", ""), Want: []string{"spec.sso.oidc.issuer: ", "write https://id.example.org/realms/a"}},
		"GroupsAtGoogle":   {Spec: oidc("https://accounts.google.com", `,"scopes":["openid","email","groups"]`), Want: []string{"spec.sso.oidc.scopes: the provider knows no scope groups"}},
		"GroupsAtEntra":    {Spec: oidc("https://login.microsoftonline.com/t/v2.0", `,"scopes":["openid","groups"]`), Want: []string{"no scope groups"}},
		"GroupsElsewhere":  {Spec: oidc(id, `,"scopes":["openid","groups"]`), Want: nil},
		"RolesAtGoogle":    {Spec: oidc("https://accounts.google.com", `,"adminGroups":["ops@example.org"]`), Want: []string{"spec.sso.oidc.adminGroups: nobody would have these roles, because the ID tokens of Google have no claim groups", "connector of type google"}},
		"EmailsAtGoogle":   {Spec: scopes(oidc("https://accounts.google.com", `,"adminGroups":["a@example.org"]`), "[groups, email]"), Want: nil},
		"RolesAtGitLab":    {Spec: oidc("https://gitlab.com", `,"readOnlyGroups":["acme"]`), Want: []string{"spec.sso.oidc.readOnlyGroups: nobody would have", "userInfoPath: /oauth/userinfo"}},
		"UserInfoOfGitLab": {Spec: oidc("https://gitlab.com", `,"adminGroups":["acme"],"enableUserInfoGroups":true,"userInfoPath":"/oauth/userinfo"`), Want: nil},
		"DirectAtGitLab":   {Spec: scopes(oidc("https://gitlab.com", `,"adminGroups":["acme"]`), "[groups_direct]"), Want: nil},
		"RolesAtCognito":   {Spec: oidc("https://cognito-idp.eu-central-1.amazonaws.com/x", `,"adminGroups":["acme"]`), Want: []string{"spec.sso.oidc.adminGroups: nobody would have", `"[cognito:groups]"`}},
		"GroupsOfCognito":  {Spec: scopes(oidc("https://cognito-idp.eu-central-1.amazonaws.com/x", `,"adminGroups":["acme"]`), "[cognito:groups]"), Want: nil},
		"RolesAtSlack":     {Spec: oidc("https://slack.com", `,"adminGroups":["acme"]`), Want: []string{"ID tokens of Slack have no claim groups"}},
		"NobodyAtGoogle":   {Spec: oidc("https://accounts.google.com", ``), Want: nil},
		"RolesAtEntra":     {Spec: oidc("https://login.microsoftonline.com/t/v2.0", `,"adminGroups":["acme"]`), Want: nil},
		"SpaceAfterID":     {Spec: `{"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"argocd ","clientSecretRef":{"name":"a"}}}}`, Want: []string{`spec.sso.oidc.clientID: "argocd " has space around it`}},
		"SpaceBeforeGroup": {Spec: oidc(id, `,"adminGroups":[" admins"]`), Want: []string{`spec.sso.oidc.adminGroups: " admins" has space around it`}},
		"SpaceInGroup":     {Spec: oidc(id, `,"adminGroups":["CN=Argo CD Admins,OU=x"]`), Want: nil},
		"SpaceInAudience":  {Spec: oidc(id, `,"allowedAudiences":["a\t"]`), Want: []string{"spec.sso.oidc.allowedAudiences: "}},
		"Everybody":        {Spec: oidc(id, `,"readOnlyGroups":["*"]`), Want: []string{`spec.sso.oidc.readOnlyGroups: "*" is no group`, "policy.default"}},
		"RoleAsGroup":      {Spec: oidc(id, `,"adminGroups":["role:admin"]`), Want: []string{`spec.sso.oidc.adminGroups: "role:admin" is a role`}},
		"LogoutBrace":      {Spec: oidc(id, `,"logoutURL":"https://id.example.org/logout?id_token_hint={token}&to={{logoutRedirectUrl}}"`), Want: []string{"spec.sso.oidc.logoutURL: ", "write {{token}}", "write {{logoutRedirectURL}}"}},
		"LogoutBraces":     {Spec: oidc(id, `,"logoutURL":"https://id.example.org/logout?id_token_hint={{token}}&to={{logoutRedirectURL}}"`), Want: nil},
		"NegativeTime":     {Spec: oidc(id, `,"refreshTokenThreshold":"-5m"`), Want: []string{"spec.sso.oidc.refreshTokenThreshold: "}},
		"UserInfoOff":      {Spec: oidc(id, `,"userInfoPath":"/userinfo","userInfoCacheExpiration":"5m"`), Want: []string{"spec.sso.oidc.userInfoPath: has no effect without enableUserInfoGroups", "; (2) spec.sso.oidc.userInfoCacheExpiration: "}},
		"UserInfoOn":       {Spec: oidc(id, `,"enableUserInfoGroups":true,"userInfoPath":"/userinfo","userInfoCacheExpiration":"5m"`), Want: nil},
		"OtherScopes":      {Spec: strings.Replace(oidc(id, `,"adminGroups":["a"]`), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[email]"}}}},"sso"`, 1), Want: []string{`spec.argocd.values.configs.rbac.scopes: is "[email]"`, "[groups, email]"}},
		"AndGroups":        {Spec: strings.Replace(oidc(id, `,"adminGroups":["a"]`), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[cognito:groups, email]"}}}},"sso"`, 1), Want: nil},
		"OtherScopesNoOne": {Spec: strings.Replace(oidc(id, ``), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[email]"}}}},"sso"`, 1), Want: nil},
		"DexEverybody":     {Spec: dex(`,"adminGroups":["*"]`), Want: []string{"spec.sso.dex.adminGroups: "}},
		"DexType":          {Spec: `{"sso":{"dex":{"connectors":[{"type":"azuread","id":"a","name":"A"}]}}}`, Want: []string{`spec.sso.dex.connectors[0].type: "azuread" is unknown`, "microsoft"}},
		"DexTypeNear":      {Spec: `{"sso":{"dex":{"connectors":[{"type":"gitHub","id":"a","name":"A"}]}}}`, Want: []string{`spec.sso.dex.connectors[0].type: "gitHub" is unknown to Dex: did you mean github?`}},
		"DexKnown":         {Spec: dex(`,"adminGroups":["acme:admins"]`), Want: nil},
	})
	crossplanetest.CheckStaysAccepted(t, oidc(id, `,"adminGroups":["*"]`), oidc(id, `,"adminGroups":["*","a"]`))
	google := oidc("https://accounts.google.com", `,"adminGroups":["a"]`)
	crossplanetest.CheckStaysAccepted(t, google, strings.Replace(google, `["a"]`, `["b"]`, 1))
}

// TestConnectorsThatCantStart: what Dex reads, and can't use a connector with, and the right form beside it.
func TestConnectorsThatCantStart(t *testing.T) {
	const at = "spec.sso.dex.connectors[0].config."
	claim := func(values, of, config string) string {
		return `{"argocd":{"values":{` + values + `}},"sso":{"dex":{"connectors":[{"type":"` + of + `","id":"a","name":"A","config":{` + config + `}}]}}}`
	}
	dex := func(of, config string) string { return claim("", of, config) }
	const mounted = `"dex":{"volumes":[{"name":"a","secret":{"secretName":"argocd-secret"}}],"volumeMounts":[{"name":"a","mountPath":"/files"}]}`
	const people = `"userSearch":{"baseDN":"ou=people","username":"uid"}`
	const ofSAML = `"ssoURL":"https://id.example.org/saml","usernameAttr":"name","emailAttr":"email"`
	cert, key := crossplanetest.KeyPair()
	quoted, _ := json.Marshal(cert)
	in64 := func(text string) string { return `"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"` }
	const id = `"clientID":"a"`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"SAMLAttributes":      {Spec: dex("saml", `"ssoURL":"https://id.example.org/saml","insecureSkipSignatureValidation":true`), Want: []string{at + "usernameAttr: is missing", at + "emailAttr: is missing"}},
		"SAMLCertificate":     {Spec: dex("saml", ofSAML), Want: []string{at + "caData: is missing"}},
		"SAMLRight":           {Spec: dex("saml", ofSAML+`,"caData":`+in64(cert)), Want: nil},
		"SAMLSpelling":        {Spec: dex("saml", `"SSOURL":"https://id.example.org/saml","usernameattr":"name","emailAttr":"email","CAData":`+in64(cert)), Want: nil},
		"SAMLReference":       {Spec: dex("saml", ofSAML+`,"caData":"$saml:ca"`), Want: nil},
		"SAMLPEM":             {Spec: dex("saml", ofSAML+`,"caData":`+string(quoted)), Want: []string{at + "caData: is PEM as it is, and Dex takes it in base64"}},
		"SAMLNoBase64":        {Spec: dex("saml", ofSAML+`,"caData":"no base64!"`), Want: []string{at + "caData: is no base64, and Dex wouldn't start"}},
		"SAMLNoCertificate":   {Spec: dex("saml", ofSAML+`,"caData":"QQ=="`), Want: []string{at + "caData: has no certificate in PEM in it"}},
		"SAMLKey":             {Spec: dex("saml", ofSAML+`,"caData":`+in64(key)), Want: []string{at + "caData: has something other than certificates"}},
		"SAMLBoth":            {Spec: claim(mounted, "saml", ofSAML+`,"ca":"/files/ca.pem","caData":`+in64(cert)), Want: []string{at + "caData: Dex takes only one of ca and caData"}},
		"SAMLFile":            {Spec: dex("saml", ofSAML+`,"ca":"/etc/dex/ca.pem"`), Want: []string{at + "ca: Dex's pod has no such file, and Dex can't use the connector: write caData in its place"}},
		"SAMLMounted":         {Spec: claim(mounted, "saml", ofSAML+`,"ca":"/files/ca.pem"`), Want: nil},
		"SAMLName":            {Spec: dex("saml", saml+`,"nameIDPolicyFormat":"email"`), Want: []string{at + `nameIDPolicyFormat: "email" is unknown`}},
		"SAMLNameRight":       {Spec: dex("saml", saml+`,"nameIDPolicyFormat":"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"`), Want: nil},
		"LDAPUsers":           {Spec: dex("ldap", `"host":"ldap.example.org"`), Want: []string{at + "userSearch.baseDN: is missing", at + "userSearch.username: is missing"}},
		"LDAPScope":           {Spec: dex("ldap", `"host":"ldap.example.org","userSearch":{"baseDN":"ou=people","username":"uid","scope":"subtree"}`), Want: []string{at + `userSearch.scope: "subtree" is unknown to Dex: did you mean sub?`}},
		"LDAPScopeOfGroups":   {Spec: dex("ldap", `"host":"ldap.example.org",`+people+`,"groupSearch":{"baseDN":"ou=groups","scope":"base"}`), Want: []string{at + `groupSearch.scope: "base" is unknown to Dex`}},
		"LDAPURL":             {Spec: dex("ldap", `"host":"ldaps://ldap.example.org",`+people), Want: []string{at + `host: "ldaps://ldap.example.org" is a URL`}},
		"LDAPPEM":             {Spec: dex("ldap", `"host":"ldap.example.org",`+people+`,"rootCAData":`+string(quoted)), Want: []string{at + "rootCAData: is PEM as it is"}},
		"LDAPFile":            {Spec: dex("ldap", `"host":"ldap.example.org",`+people+`,"rootCA":"/etc/dex/ldap.ca"`), Want: []string{at + "rootCA: Dex's pod has no such file", "write rootCAData"}},
		"LDAPClient":          {Spec: claim(mounted, "ldap", `"host":"ldap.example.org",`+people+`,"clientCert":"/files/tls.crt"`), Want: []string{at + "clientCert: Dex ignores one of clientCert and clientKey"}},
		"LDAPClientRight":     {Spec: claim(mounted, "ldap", `"host":"ldap.example.org",`+people+`,"clientCert":"/files/tls.crt","clientKey":"/files/tls.key"`), Want: nil},
		"LDAPRight":           {Spec: dex("ldap", `"host":"ldap.example.org:636","userSearch":{"baseDN":"ou=people","username":"uid","scope":"one"},"rootCAData":`+in64(cert)), Want: nil},
		"LDAPOfTheImage":      {Spec: dex("ldap", `"host":"ldap.example.org:636",`+people+`,"rootCA":"/etc/ssl/certs/ca-certificates.crt"`), Want: nil},
		"LDAPOwnImage":        {Spec: claim(`"dex":{"image":{"repository":"registry.example.org/dex"}}`, "ldap", `"host":"ldap.example.org:636",`+people+`,"rootCA":"/ca.pem"`), Want: nil},
		"GitHubTeams":         {Spec: dex("github", id+`,"teamNameField":"sluG"`), Want: []string{at + `teamNameField: "sluG" is unknown to Dex: did you mean slug?`}},
		"GitHubTeamsRight":    {Spec: dex("github", id+`,"teamNameField":"slug"`), Want: nil},
		"GitHubURL":           {Spec: dex("github", id+`,"hostName":"https://github.example.org"`), Want: []string{at + `hostName: "https://github.example.org" is no hostname`}},
		"GitHubOrgs":          {Spec: dex("github", id+`,"org":"acme","orgs":[{"name":"acme"}]`), Want: []string{at + "org: Dex takes only one of org and orgs"}},
		"GitHubFile":          {Spec: dex("github", id+`,"hostName":"github.example.org","rootCA":"/etc/dex/ca.crt"`), Want: []string{at + `rootCA: Dex's pod has no file "/etc/dex/ca.crt"`}},
		"GitHubCertificate":   {Spec: dex("github", id+`,"hostName":"github.example.org","rootCA":`+string(quoted)), Want: nil},
		"GitHubAlone":         {Spec: dex("github", id+`,"rootCA":`+string(quoted)), Want: []string{at + "rootCA: Dex takes it only with hostName"}},
		"GitLabURL":           {Spec: dex("gitlab", id+`,"baseURL":"gitlab.example.org"`), Want: []string{at + `baseURL: "gitlab.example.org" is no URL`}},
		"GitLabCertificate":   {Spec: dex("gitlab", id+`,"baseURL":"https://gitlab.example.org","rootCAData":`+in64(cert)), Want: nil},
		"GoogleFile":          {Spec: dex("google", id+`,"serviceAccountFilePath":"/tmp/oidc/a.json","domainToAdminEmail":{"*":"a@example.org"}`), Want: []string{at + "serviceAccountFilePath: Dex's pod has no such file", "mount it by spec.argocd.values.dex.volumes and dex.volumeMounts"}},
		"GoogleMounted":       {Spec: claim(mounted, "google", id+`,"serviceAccountFilePath":"/files/a.json","domainToAdminEmail":{"*":"a@example.org"}`), Want: nil},
		"GoogleFileAlone":     {Spec: claim(mounted, "google", id+`,"serviceAccountFilePath":"/files/a.json"`), Want: []string{at + "serviceAccountFilePath: Dex doesn't start with it alone: write domainToAdminEmail"}},
		"MicrosoftGroups":     {Spec: dex("microsoft", id+`,"groupNameFormat":"names"`), Want: []string{at + `groupNameFormat: "names" is unknown to Dex: did you mean name?`}},
		"OIDCIssuer":          {Spec: dex("oidc", id), Want: []string{at + "issuer: is missing"}},
		"OIDCIssuerURL":       {Spec: dex("oidc", id+`,"issuer":"id.example.org"`), Want: []string{at + `issuer: "id.example.org" is no URL`}},
		"OIDCFilter":          {Spec: dex("oidc", id+`,"issuer":"https://id.example.org","claimModifications":{"filterGroupClaims":{"groupsFilter":"(a"}}`), Want: []string{at + `claimModifications.filterGroupClaims.groupsFilter: "(a" is no regular expression`}},
		"OIDCFile":            {Spec: dex("oidc", id+`,"issuer":"https://id.example.org","rootCAs":["/etc/dex/ca.pem"]`), Want: []string{at + `rootCAs: Dex's pod has no file "/etc/dex/ca.pem"`}},
		"OAuth":               {Spec: dex("oauth", id+`,"tokenURL":"https://id.example.org/token"`), Want: []string{at + "authorizationURL: is missing", at + "userInfoURL: is missing"}},
		"OpenShift":           {Spec: dex("openshift", id), Want: []string{at + "issuer: is missing"}},
		"Crowd":               {Spec: dex("atlassian-crowd", id), Want: []string{at + "baseURL: is missing"}},
		"Keystone":            {Spec: dex("keystone", `"domain":"default"`), Want: []string{at + "keystoneHost: is missing"}},
		"Mock":                {Spec: dex("mockPassword", `"username":"a","password":"$a:b"`), Want: nil},
		"MockWithoutPassword": {Spec: dex("mockPassword", `"username":"a"`), Want: []string{at + "password is missing"}},
		"OfValues":            {Spec: asValues("dex.config", "connectors: [{type: ldap, id: a, name: A, config: {host: ldap.example.org, rootCA: /a}}]", "", ""), Want: []string{`configs.cm."dex.config".connectors[0].config.userSearch.baseDN: is missing`, `config.rootCA: Dex's pod has no such file`}},
		"OfValuesRight":       {Spec: asValues("dex.config", "connectors: [{type: ldap, id: a, name: A, config: {host: ldap.example.org, userSearch: {baseDN: ou=a, username: uid}, rootCA: /files/a}}]", "", mounted+","), Want: nil},
	})
	crossplanetest.CheckStaysAccepted(t, dex("saml", `"ssoURL":"https://id.example.org/saml"`), dex("saml", `"ssoURL":"https://id.example.org/other"`))
}
