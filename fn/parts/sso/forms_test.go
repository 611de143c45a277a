package sso_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// TestOIDCOfArgoCD: all of Argo CD's oidc.config, with what known providers need.
func TestOIDCOfArgoCD(t *testing.T) {
	const ref = `"clientID":"argocd","clientSecretRef":{"name":"oidc"}`
	basic := []any{"openid", "profile", "email"}
	config := func(issuer string, scopes []any, more map[string]any) map[string]any {
		out := map[string]any{"name": "SSO", "issuer": issuer, "clientID": "argocd", "clientSecret": "$oidc.clientSecret", "requestedScopes": scopes}
		for key, v := range more {
			if out[key] = v; v == nil {
				delete(out, key)
			}
		}
		return out
	}
	essential := map[string]any{"groups": map[string]any{"essential": true}}
	const id, entra = "https://id.example.org", "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0"
	withGroups := append(slices.Clone(basic), "groups")
	cases := map[string]struct {
		reason, spec string
		want         map[string]any
	}{
		"Entra":          {"Entra ID knows no scope groups.", `"issuer":"` + entra + `",` + ref, config(entra, basic, map[string]any{"requestedIDTokenClaims": essential})},
		"EntraOldTokens": {"Nor does it for tokens of version 1.", `"issuer":"https://sts.windows.net/1/",` + ref, config("https://sts.windows.net/1/", basic, map[string]any{"requestedIDTokenClaims": essential})},
		"EntraExternal":  {"Nor for customers.", `"issuer":"https://acme.ciamlogin.com/1/v2.0",` + ref, config("https://acme.ciamlogin.com/1/v2.0", basic, map[string]any{"requestedIDTokenClaims": essential})},
		"EntraOwn":       {"What the claim says counts.", `"issuer":"` + entra + `","scopes":["openid","x"],` + ref, config(entra, []any{"openid", "x"}, nil)},
		"Google":         {"Google knows no scope groups.", `"issuer":"https://accounts.google.com",` + ref, config("https://accounts.google.com", basic, nil)},
		"GitLab":         {"Nor does GitLab.com.", `"issuer":"https://gitlab.com",` + ref, config("https://gitlab.com", basic, nil)},
		"Cognito":        {"Nor does Cognito.", `"issuer":"https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_x",` + ref, config("https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_x", basic, nil)},
		"OwnGitLab":      {"Nor does a GitLab of one's own.", `"issuer":"https://gitlab.example.org",` + ref, config("https://gitlab.example.org", basic, nil)},
		"BehindGitLab":   {"A path is none of GitLab's.", `"issuer":"https://gitlab.example.org/realms/a",` + ref, config("https://gitlab.example.org/realms/a", withGroups, nil)},
		"LinkedIn":       {"Nor does LinkedIn.", `"issuer":"https://www.linkedin.com/oauth",` + ref, config("https://www.linkedin.com/oauth", basic, nil)},
		"NotMicrosoft":   {"Others are called alike.", `"issuer":"https://login.microsoftonline.com.example.org",` + ref, config("https://login.microsoftonline.com.example.org", withGroups, nil)},
		"PKCE":           {"A client without a secret.", `"issuer":"` + id + `","clientID":"argocd","enablePKCEAuthentication":true`, config(id, withGroups, map[string]any{"clientSecret": nil, "enablePKCEAuthentication": true})},
		"Everything": {"Field by field.", `"issuer":"` + id + `",` + ref + `,"cliClientID":"cli","enablePKCEAuthentication":true,"allowedAudiences":["a","b"],"skipAudienceCheckWhenTokenHasNoAudience":false,
			"requestedIDTokenClaims":{"groups":{"essential":true,"values":["a"]},"x":{"value":"y"},"z":{}},"enableUserInfoGroups":true,"userInfoPath":"/userinfo","userInfoBaseURL":"https://u.example.org","userInfoCacheExpiration":"5m",
			"logoutURL":"https://id.example.org/logout?id_token_hint={{token}}&post_logout_redirect_uri={{logoutRedirectURL}}","domainHint":"example.org","refreshTokenThreshold":"2m","azure":{"useWorkloadIdentity":false}`,
			config(id, withGroups, map[string]any{"cliClientID": "cli", "enablePKCEAuthentication": true, "allowedAudiences": []any{"a", "b"}, "skipAudienceCheckWhenTokenHasNoAudience": false,
				"requestedIDTokenClaims": map[string]any{"groups": map[string]any{"essential": true, "values": []any{"a"}}, "x": map[string]any{"value": "y"}, "z": map[string]any{}},
				"enableUserInfoGroups":   true, "userInfoPath": "/userinfo", "userInfoBaseURL": "https://u.example.org", "userInfoCacheExpiration": "5m",
				"logoutURL": "https://id.example.org/logout?id_token_hint={{token}}&post_logout_redirect_uri={{logoutRedirectURL}}", "domainHint": "example.org", "refreshTokenThreshold": "2m"})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"sso":{"oidc":{`+tc.spec+`}}}`, "")
			e.AddSecret("oidc", "Opaque", map[string]string{"clientSecret": "secret-of-the-client"})
			e.Install()
			if diff := cmp.Diff(tc.want, oidcConfig(t, e)); diff != "" {
				t.Errorf("\n%s\noidc.config: -want, +got:\n%s", tc.reason, diff)
			}
			if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				t.Errorf("\n%s\nSSOReady: %v", tc.reason, c)
			}
		})
	}
}

// TestNotes: what may keep people from signing on is said, where it isn't known.
func TestNotes(t *testing.T) {
	const asks, uuid = "it asks for the scope groups: if signing on fails with invalid_scope, add that scope at the provider, or write spec.sso.oidc.scopes without it", "11111111-2222-3333-4444-555555555555"
	for name, tc := range map[string]struct{ issuer, more, note string }{
		"Default":         {"https://id.example.org/realms/a", ``, asks},
		"OwnScopes":       {"https://id.example.org/realms/a", `,"scopes":["openid","groups"]`, ""},
		"NoSuchScope":     {"https://accounts.google.com", ``, ""},
		"GitLab":          {"https://gitlab.example.org", ``, "it doesn't ask for the scope groups, which GitLab refuses"},
		"GitLabGroups":    {"https://gitlab.example.org", `,"scopes":["openid"],"adminGroups":["acme"]`, "GitLab tells groups only at its userinfo endpoint: write enableUserInfoGroups: true and userInfoPath: /oauth/userinfo"},
		"GitLabUserInfo":  {"https://gitlab.example.org", `,"scopes":["openid"],"adminGroups":["acme"],"enableUserInfoGroups":true,"userInfoPath":"/oauth/userinfo"`, ""},
		"EntraName":       {"https://login.microsoftonline.com/t/v2.0", `,"adminGroups":["` + uuid + `"],"readOnlyGroups":["Developers"]`, `Microsoft Entra ID sends the object IDs of groups unless its token configuration says otherwise, and "Developers" is none`},
		"EntraID":         {"https://login.microsoftonline.com/t/v2.0", `,"adminGroups":["` + uuid + `"]`, ""},
		"EntraWithoutAny": {"https://login.microsoftonline.com/t/v2.0", ``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"sso":{"oidc":{"issuer":"`+tc.issuer+`","clientID":"a","enablePKCEAuthentication":true`+tc.more+`}}}`, "").Install()
			_, after, _ := strings.Cut(e.Condition(v1alpha1.ConditionSSOReady).GetMessage(), "it doesn't look there again")
			note, _, _ := strings.Cut(after, "; its redirect URL")
			if is := strings.TrimPrefix(note, "; "); tc.note == "" && is != "" || !strings.HasPrefix(is, tc.note) {
				t.Errorf("want %q, got %q", tc.note, is)
			}
		})
	}
}

const connectors = `[{"type":"github","id":"github","name":"GitHub","config":{"clientID":"a","clientSecret":"$github-oauth:clientSecret","orgs":[{"name":"acme"}],"loadAllGroups":false}},
	{"type":"ldap","id":"ldap","name":"LDAP","config":{"host":"ldap.example.org:636","bindDN":"cn=a","bindPW":"$ldap:bind.password","userSearch":{"baseDN":"ou=people","username":"uid","filter":"(objectClass=person)"},"startTLS":true}}]`

// dexConfig is what Argo CD makes Dex's configuration of.
func dexConfig(t *testing.T, e *crossplanetest.Engine) map[string]any {
	t.Helper()
	cm, _ := configs(e)["cm"].(map[string]any)
	text, _ := cm["dex.config"].(string)
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// ssoSecrets are the Secrets in Argo CD's namespace that connectors refer to.
func ssoSecrets(t *testing.T, e *crossplanetest.Engine) map[string]map[string]string {
	t.Helper()
	out := map[string]map[string]string{}
	objects, _ := crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))["extraObjects"].([]any)
	for _, o := range objects {
		o := o.(map[string]any)
		meta := o["metadata"].(map[string]any)
		name := meta["name"].(string)
		labels, _ := meta["labels"].(map[string]any)
		if !strings.HasPrefix(name, "sso-") {
			continue
		}
		if labels["app.kubernetes.io/part-of"] != "argocd" || meta["namespace"] != "argocd" {
			t.Errorf("Argo CD doesn't find the Secret: %v", meta)
		}
		out[name] = map[string]string{}
		for key, v := range o["data"].(map[string]any) {
			raw, err := base64.StdEncoding.DecodeString(v.(string))
			if err != nil {
				t.Fatal(err)
			}
			out[name][key] = string(raw)
		}
	}
	return out
}

// TestDex: Dex's own configuration, with its secrets from Secrets.
func TestDex(t *testing.T) {
	e := crossplanetest.New(t, `{"sso":{"dex":{"connectors":`+connectors+`,"adminGroups":["acme:ops"]}}}`, "")
	e.AddSecret("github-oauth", "Opaque", map[string]string{"clientSecret": "secret-of-github", "other": "secret-other"})
	e.Install()
	github := map[string]any{"type": "github", "id": "github", "name": "GitHub",
		"config": map[string]any{"clientID": "a", "clientSecret": "$sso-github-oauth:clientSecret", "orgs": []any{map[string]any{"name": "acme"}}, "loadAllGroups": false}}
	if diff := cmp.Diff(map[string]any{"connectors": []any{github}}, dexConfig(t, e)); diff != "" {
		t.Errorf("a Secret is missing: dex.config: -want, +got:\n%s", diff)
	}
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetReason() != v1alpha1.ReasonSecretMissing || !strings.Contains(c.GetMessage(), "Secret ldap in namespace team-a does not exist") {
		t.Errorf("SSOReady: %v", c)
	}
	e.AddSecret("ldap", "Opaque", map[string]string{"bind.password": "secret-of-ldap {{ x }}"})
	e.Cycle(3)
	ldap := map[string]any{"type": "ldap", "id": "ldap", "name": "LDAP",
		"config": map[string]any{"host": "ldap.example.org:636", "bindDN": "cn=a", "bindPW": "$sso-ldap:bind.password", "userSearch": map[string]any{"baseDN": "ou=people", "username": "uid", "filter": "(objectClass=person)"}, "startTLS": true}}
	config := map[string]any{"connectors": []any{github, ldap}}
	if diff := cmp.Diff(config, dexConfig(t, e)); diff != "" {
		t.Errorf("dex.config: -want, +got:\n%s", diff)
	}
	secrets := map[string]map[string]string{"sso-github-oauth": {"clientSecret": "secret-of-github"}, "sso-ldap": {"bind.password": "secret-of-ldap {{ x }}"}}
	if diff := cmp.Diff(secrets, ssoSecrets(t, e)); diff != "" {
		t.Errorf("Secrets: -want, +got:\n%s", diff)
	}
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_UNKNOWN || c.GetReason() != v1alpha1.ReasonConfigured || !strings.Contains(c.GetMessage(), "Dex runs, and Argo CD sends people there; whether GitHub, LDAP answers isn't looked at; its redirect URL is https://") || !strings.Contains(c.GetMessage(), "/api/dex/callback, which is a Service") {
		t.Errorf("SSOReady: %v", c)
	}
	if rbac, _ := configs(e)["rbac"].(map[string]any); rbac["policy.virtualargocd.csv"] != "g,acme:ops,role:admin\n" {
		t.Errorf("policy: %v", rbac)
	}
	// What was there stays.
	delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/ldap")
	e.Cycle(2)
	if diff := cmp.Diff(config, dexConfig(t, e)) + cmp.Diff(secrets, ssoSecrets(t, e)); diff != "" {
		t.Errorf("a Secret is gone: -want, +got:\n%s", diff)
	}
	e.SetSpec(`{}`)
	e.Cycle(2)
	if len(dexConfig(t, e)) > 0 || len(ssoSecrets(t, e)) > 0 {
		t.Errorf("Dex is gone from the spec: %v, %v", dexConfig(t, e), ssoSecrets(t, e))
	}
}

// TestDexWithoutSecret: SAML needs none.
func TestDexWithoutSecret(t *testing.T) {
	e := crossplanetest.New(t, `{"sso":{"dex":{"connectors":[{"type":"saml","id":"saml","name":"SAML","config":{"ssoURL":"https://id.example.org/saml","usernameAttr":"name","emailAttr":"email","insecureSkipSignatureValidation":true,"groupsAttr":"groups"}}]}}}`, "").Install()
	want := map[string]any{"connectors": []any{map[string]any{"type": "saml", "id": "saml", "name": "SAML", "config": map[string]any{"ssoURL": "https://id.example.org/saml", "usernameAttr": "name", "emailAttr": "email", "insecureSkipSignatureValidation": true, "groupsAttr": "groups"}}}}
	if diff := cmp.Diff(want, dexConfig(t, e)); diff != "" {
		t.Errorf("dex.config: -want, +got:\n%s", diff)
	}
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetReason() != v1alpha1.ReasonConfigured || e.Status("phase") != "Ready" {
		t.Errorf("SSOReady: %v", c)
	}
}

func TestRefusedSignOn(t *testing.T) {
	oidc := func(more string) string {
		return `{"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"a","clientSecretRef":{"name":"s"},` + more + `}}}`
	}
	dex := func(config string) string {
		return `{"sso":{"dex":{"connectors":[{"type":"github","id":"a","name":"A","config":` + config + `}]}}}`
	}
	cases := map[string]struct {
		spec string
		want []string
	}{
		"NoSecret":          {`{"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"a"}}}`, []string{"spec.sso.oidc.clientSecretRef", "enablePKCEAuthentication"}},
		"WorkloadIdentity":  {oidc(`"azure":{"useWorkloadIdentity":true}`), []string{"spec.sso.oidc.azure.useWorkloadIdentity", "no identity in Azure", "clientSecretRef"}},
		"UserInfoNowhere":   {oidc(`"enableUserInfoGroups":true`), []string{"spec.sso.oidc.userInfoPath", "/userinfo"}},
		"UserInfoNotAPath":  {oidc(`"userInfoPath":"userinfo"`), []string{"spec.sso.oidc.userInfoPath", `"userinfo"`}},
		"NotATime":          {oidc(`"userInfoCacheExpiration":"5"`), []string{"spec.sso.oidc.userInfoCacheExpiration", "5m"}},
		"ThresholdNotATime": {oidc(`"refreshTokenThreshold":"soon"`), []string{"spec.sso.oidc.refreshTokenThreshold", `"soon"`}},
		"LogoutNotAURL":     {oidc(`"logoutURL":"/logout"`), []string{"spec.sso.oidc.logoutURL", "/logout"}},
		"ClaimASecret":      {oidc(`"requestedIDTokenClaims":{"a":{"values":["$server.secretkey"]}}`), []string{"spec.sso.oidc.requestedIDTokenClaims.a", "$server.secretkey"}},
		"AudienceASecret":   {oidc(`"allowedAudiences":["$x"]`), []string{"spec.sso.oidc.allowedAudiences", "$x"}},
		"Both":              {`{"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"a","clientSecretRef":{"name":"s"}},"dex":{"connectors":[{"type":"saml","id":"a","name":"A"}]}}}`, []string{"spec.sso.dex", "ignores Dex", "write one of the two"}},
		"NoConnector":       {`{"sso":{"dex":{"adminGroups":["a"]}}}`, []string{"spec.sso.dex.connectors", "is missing"}},
		"ConnectorNoID":     {`{"sso":{"dex":{"connectors":[{"type":"saml","name":"A"}]}}}`, []string{"spec.sso.dex.connectors[0].id", "is missing"}},
		"IDTwice":           {`{"sso":{"dex":{"connectors":[{"type":"saml","id":"a","name":"A"},{"type":"ldap","id":"a","name":"B"}]}}}`, []string{"spec.sso.dex.connectors[1].id", `"a"`}},
		"SecretInTheClaim":  {dex(`{"clientSecret":"secret-in-the-claim"}`), []string{"spec.sso.dex.connectors[0].config.clientSecret", "$<name>:<key>"}},
		"SecretDeeper":      {dex(`{"a":[{"bindPW":"secret-in-the-claim"}]}`), []string{"spec.sso.dex.connectors[0].config.a[0].bindPW"}},
		"NotAReference":     {dex(`{"clientSecret":"$dex.github.clientSecret"}`), []string{"spec.sso.dex.connectors[0].config.clientSecret", "$dex.github.clientSecret", "$<name>:<key>"}},
		"ElsewhereASecret":  {dex(`{"clientSecret":"$other/s:key"}`), []string{"spec.sso.dex.connectors[0].config.clientSecret", "namespace of the claim"}},
		"GroupASecret":      {`{"sso":{"dex":{"connectors":[{"type":"saml","id":"a","name":"A"}],"adminGroups":["$a"]}}}`, []string{"spec.sso.dex.adminGroups", "$a"}},
		"DexOff":            {`{"argocd":{"values":{"dex":{"enabled":false}}},"sso":{"dex":{"connectors":[{"type":"saml","id":"a","name":"A"}]}}}`, []string{"spec.sso.dex", "spec.argocd.values.dex.enabled"}},
		"ValuesHaveIt":      {`{"argocd":{"values":{"configs":{"cm":{"dex.config":"x"}}}},"sso":{"dex":{"connectors":[{"type":"saml","id":"a","name":"A","config":{"ssoURL":"https://id.example.org/saml","usernameAttr":"name","emailAttr":"email","insecureSkipSignatureValidation":true}}]}}}`, []string{"spec.argocd.values.configs.cm.dex.config", "spec.sso"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			crossplanetest.New(t, tc.spec, "").CheckRefused(tc.want...)
			if msg := crossplanetest.Refusal(crossplanetest.New(t, tc.spec, "").Reconcile()); strings.Contains(msg, "secret-in-the-claim") {
				t.Errorf("the message shows a secret: %s", msg)
			}
		})
	}
}

// TestDexByPlan: whether Dex runs is the plan's to say.
func TestDexByPlan(t *testing.T) {
	e := crossplanetest.New(t, `{"plan":"tiny","sso":{"dex":{"connectors":[{"type":"saml","id":"a","name":"A"}]}}}`, "")
	e.AddPlan("tiny", `{"values":{"argocd":{"dex":{"enabled":false}}}}`)
	if msg := crossplanetest.Refusal(e.Reconcile()); !strings.Contains(msg, "spec.sso.dex: Dex doesn't run, because of plan tiny") {
		t.Errorf("a plan without Dex: %q", msg)
	}
}

// TestDexAway: whether Dex itself answers is looked at.
func TestDexAway(t *testing.T) {
	e := crossplanetest.New(t, `{"sso":{"dex":{"connectors":[{"type":"saml","id":"saml","name":"SAML","config":{"ssoURL":"https://id.example.org/saml","usernameAttr":"name","emailAttr":"email","insecureSkipSignatureValidation":true}}]}}}`, "").Install()
	e.SetConnections(proxy.Connection{Key: proxy.SignOnKey("", true), Message: "Dex: dex is away"})
	e.Reconcile()
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetReason() != v1alpha1.ReasonConnectionFailed || !strings.Contains(c.GetMessage(), "dex is away") {
		t.Errorf("SSOReady: %v", c)
	}
}
