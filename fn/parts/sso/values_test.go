package sso_test

import (
	"encoding/json"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// asValues is a claim whose values have a setting of Argo CD's ConfigMap. more are further fields of spec.argocd, and further values.
func asValues(key, setting, more, values string) string {
	text, _ := json.Marshal(setting)
	return `{"argocd":{` + more + `"values":{` + values + `"configs":{"cm":{"` + key + `":` + string(text) + `}}}}}`
}

const secretKey = `"secretKeys":[{"key":"oidc.secret","secretRef":{"name":"oidc"}}],`

// TestOIDCOfValues: oidc.config in values is checked as spec.sso.oidc is.
func TestOIDCOfValues(t *testing.T) {
	const at = `spec.argocd.values.configs.cm."oidc.config"`
	const basic = "name: Acme\nissuer: https://id.example.org\nclientID: argocd\nclientSecret: $oidc.secret\n"
	oidc := func(setting string) string { return asValues("oidc.config", setting, secretKey, "") }
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Right":           {Spec: oidc(basic + "requestedScopes: [openid, groups]\nrequestedIDTokenClaims: {groups: {essential: true}}\n"), Want: nil},
		"AllOfThem":       {Spec: oidc(basic + "azure: {useWorkloadIdentity: false}\nenablePKCEAuthentication: true\nskipAudienceCheckWhenTokenHasNoAudience: true\n"), Want: nil},
		"Unknown":         {Spec: oidc(basic + "requestedScope: [openid]\n"), Want: []string{at + ".requestedScope: Argo CD has no such field: did you mean requestedScopes?"}},
		"OfTheClaim":      {Spec: oidc(basic + "adminGroups: [a]\n"), Want: []string{at + ".adminGroups: Argo CD has no such field"}},
		"OtherCase":       {Spec: oidc(strings.Replace(basic, "clientID", "clientId", 1)), Want: nil},
		"Number":          {Spec: oidc(strings.Replace(basic, "clientID: argocd", "clientID: 1234", 1)), Want: nil},
		"WrongKind":       {Spec: oidc(basic + "requestedScopes: openid groups\n"), Want: []string{at + ".requestedScopes: "}},
		"NoYAML":          {Spec: oidc("name: [\n"), Want: []string{at + ": it can't be read as YAML"}},
		"NoObject":        {Spec: oidc("just a text"), Want: []string{at + ": it isn't an object"}},
		"NoIssuer":        {Spec: oidc("clientID: argocd\nclientSecret: $oidc.secret\n"), Want: []string{at + ".issuer: "}},
		"NoSecret":        {Spec: oidc("issuer: https://id.example.org\nclientID: argocd\n"), Want: []string{at + ".clientSecret: is missing"}},
		"Discovery":       {Spec: oidc(strings.Replace(basic, "example.org", "example.org/.well-known/openid-configuration", 1)), Want: []string{at + ".issuer: ", "discovery document"}},
		"NoOpenID":        {Spec: oidc(basic + "requestedScopes: [email]\n"), Want: []string{at + ".requestedScopes: openid is missing"}},
		"GroupsAtGoogle":  {Spec: oidc(strings.Replace(basic, "id.example.org", "accounts.google.com", 1) + "requestedScopes: [openid, groups]\n"), Want: []string{at + ".requestedScopes: the provider knows no scope groups"}},
		"DefaultAtGoogle": {Spec: oidc(strings.Replace(basic, "id.example.org", "accounts.google.com", 1)), Want: []string{at + ".requestedScopes: is missing, and Google refuses groups"}},
		"BasicAtGoogle":   {Spec: oidc(strings.Replace(basic, "id.example.org", "accounts.google.com", 1) + "requestedScopes: [openid, email]\n"), Want: nil},
		"SecretInIt":      {Spec: oidc(strings.Replace(basic, "$oidc.secret", "secret-in-the-claim", 1)), Want: []string{at + ".clientSecret: there is a secret in the claim", "spec.argocd.secretKeys"}},
		"UnknownKey":      {Spec: oidc(strings.Replace(basic, "$oidc.secret", "$oidc.okta.clientSecret", 1)), Want: []string{at + `.clientSecret: "$oidc.okta.clientSecret" is no key that argocd-secret will have: write an entry with key "oidc.okta.clientSecret" into spec.argocd.secretKeys`}},
		"KeyOfValues":     {Spec: strings.Replace(asValues("oidc.config", basic, "", ""), `"configs":{`, `"configs":{"secret":{"extra":{"oidc.secret":"x"}},`, 1), Want: nil},
		"OtherSecret":     {Spec: oidc(strings.Replace(basic, "$oidc.secret", "$keycloak:secret", 1)), Want: nil},
		"ReferenceInID":   {Spec: oidc("issuer: $oidc.secret\nclientID: $oidc.secret\nclientSecret: $oidc.secret\n"), Want: nil},
		"UnknownInID":     {Spec: oidc("issuer: https://id.example.org\nclientID: $oidc.id\nclientSecret: $oidc.secret\n"), Want: []string{at + `.clientID: "$oidc.id" is no key`}},
	})
	wrong := asValues("oidc.config", basic+"requestedScope: [openid]\n", "", "")
	crossplanetest.CheckStaysAccepted(t, wrong, strings.Replace(wrong, "Acme", "Other", 1))
}

// TestDexOfValues: dex.config in values is checked as spec.sso.dex is.
func TestDexOfValues(t *testing.T) {
	const at = `spec.argocd.values.configs.cm."dex.config"`
	const basic = "connectors:\n- type: github\n  id: github\n  name: GitHub\n  config:\n    clientID: a\n    clientSecret: $oidc.secret\n    orgs:\n    - name: acme\n"
	dex := func(setting string) string { return asValues("dex.config", setting, secretKey, "") }
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Right":         {Spec: dex(basic + "staticClients: [{id: a, name: b, secret: $oidc.secret}]\nlogger: {level: DEBUG}\n"), Want: nil},
		"Unknown":       {Spec: dex(strings.Replace(basic, "orgs", "organizations", 1)), Want: []string{at + ".connectors[0].config.organizations: Dex's connector github has no such field: did you mean orgs?"}},
		"Type":          {Spec: dex(strings.Replace(basic, "type: github", "type: gitHub", 1)), Want: []string{at + `.connectors[0].type: "gitHub" is unknown to Dex`}},
		"NoID":          {Spec: dex(strings.Replace(basic, "  id: github\n", "", 1)), Want: []string{at + ".connectors[0].id: is missing"}},
		"Entry":         {Spec: dex(strings.Replace(basic, "  config:", "  configs:", 1)), Want: []string{at + ".connectors[0].configs: a connector of Dex has no such field: did you mean config?"}},
		"Whole":         {Spec: dex(basic + "staticClient: []\n"), Want: []string{at + ".staticClient: Dex has no such field: did you mean staticClients?"}},
		"Overwritten":   {Spec: dex(basic + "issuer: https://dex.example.org\n"), Want: []string{at + ".issuer: Argo CD overwrites it"}},
		"NoConnectors":  {Spec: dex("logger: {level: DEBUG}\n"), Want: []string{at + ".connectors: is no list of connectors"}},
		"OneConnector":  {Spec: dex("connectors: {type: github}\n"), Want: []string{at + ".connectors: is no list of connectors"}},
		"NoYAML":        {Spec: dex("connectors: [\n"), Want: []string{at + ": it can't be read as YAML"}},
		"SecretInIt":    {Spec: dex(strings.Replace(basic, "$oidc.secret", "secret-in-the-claim", 1)), Want: []string{at + ".connectors[0].config.clientSecret: there is a secret in the claim"}},
		"UnknownKey":    {Spec: dex(strings.Replace(basic, "$oidc.secret", "$dex.github.clientSecret", 1)), Want: []string{at + `.connectors[0].config.clientSecret: "$dex.github.clientSecret" is no key that argocd-secret will have`}},
		"OfEnvironment": {Spec: asValues("dex.config", strings.Replace(basic, "$oidc.secret", "$GITHUB", 1), "", `"dex":{"env":[{"name":"GITHUB","value":"x"}]},`), Want: nil},
		"NotInIt":       {Spec: asValues("dex.config", strings.Replace(basic, "$oidc.secret", "$GITLAB", 1), "", `"dex":{"env":[{"name":"GITHUB","value":"x"}]},`), Want: []string{`"$GITLAB" is no key`}},
		"OtherSecret":   {Spec: dex(strings.Replace(basic, "$oidc.secret", "$github-oauth:clientSecret", 1)), Want: nil},
	})
	const sso = `"sso":{"dex":{"connectors":[{"type":"saml","id":"a","name":"A","config":{` + saml + `}}]}},`
	beside := strings.Replace(asValues("oidc.config", "name: Acme\nissuer: https://id.example.org\nclientID: a\nenablePKCEAuthentication: true\n", "", ""), `{"argocd"`, `{`+sso+`"argocd"`, 1)
	crossplanetest.New(t, beside, "").CheckRefused("spec.sso.dex: Argo CD ignores Dex while there is spec.argocd.values.configs.cm.oidc.config")
	crossplanetest.CheckStaysAccepted(t, beside, strings.Replace(beside, "Acme", "Other", 1))
	e := crossplanetest.New(t, strings.Replace(dex(basic), `{"argocd"`, `{"plan":"tiny","argocd"`, 1), "")
	e.AddPlan("tiny", `{"values":{"argocd":{"dex":{"enabled":false}}}}`)
	e.CheckRefused(at + ": Dex doesn't run, because of plan tiny")
	wrong := asValues("dex.config", strings.Replace(basic, "orgs", "organizations", 1), "", "")
	crossplanetest.CheckStaysAccepted(t, wrong, strings.Replace(wrong, "acme", "other", 1))
}

// TestConditionOfValues: sign-on by values has the condition, too.
func TestConditionOfValues(t *testing.T) {
	const oidc = "name: Acme\nissuer: https://id.example.org\nclientID: argocd\nenablePKCEAuthentication: true\nrequestedScopes: [openid]\n"
	const dex = "connectors:\n- {type: saml, id: saml, name: SAML, config: {ssoURL: \"https://id.example.org\", usernameAttr: name, emailAttr: email, insecureSkipSignatureValidation: true}}\n- {type: ldap, id: ldap, name: $x, config: {host: a, userSearch: {baseDN: ou=people, username: uid}}}\n"
	e := crossplanetest.New(t, asValues("oidc.config", oidc, "", ""), "").Install()
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || !strings.HasPrefix(c.GetMessage(), "Argo CD sends people to Acme, ") || !strings.Contains(c.GetMessage(), "/auth/callback, which is a Service") {
		t.Errorf("SSOReady: %v", c)
	}
	e.SetConnections(proxy.Connection{Key: proxy.SignOnKey("", false), Message: "failed to query provider"})
	if e.Reconcile(); e.Condition(v1alpha1.ConditionSSOReady).GetReason() != v1alpha1.ReasonConnectionFailed {
		t.Errorf("SSOReady: %v", e.Condition(v1alpha1.ConditionSSOReady))
	}
	e = crossplanetest.New(t, strings.Replace(asValues("dex.config", strings.Replace(dex, "$x", "LDAP", 1), "", ""), `{"argocd"`, `{"sso":{"disableAdmin":true},"argocd"`, 1), "").Install()
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetReason() != v1alpha1.ReasonConfigured || !strings.Contains(c.GetMessage(), "whether SAML, LDAP answers isn't looked at") || !strings.Contains(c.GetMessage(), "/api/dex/callback, which is a Service") {
		t.Errorf("SSOReady: %v", c)
	}
	// Those of a plan have it, too, and what is wrong with them is nobody's to mend in the claim.
	e = crossplanetest.New(t, `{"plan":"small"}`, "")
	text, _ := json.Marshal(oidc + "unknown: true\n")
	e.AddPlan("small", `{"values":{"argocd":{"configs":{"cm":{"oidc.config":`+string(text)+`}}}}}`)
	e.Install()
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("SSOReady: %v", c)
	}
	e.AddPlan("small", `{}`)
	// Whatever cannot be read has no condition.
	e = crossplanetest.New(t, `{"argocd":{"values":{"configs":{"cm":{"oidc.config":""}}}}}`, "").Install()
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetType() != "" {
		t.Errorf("SSOReady: %v", c)
	}
}
