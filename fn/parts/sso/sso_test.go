package sso_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// configs are the values of Argo CD's Release below configs.
func configs(e *crossplanetest.Engine) map[string]any {
	return crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values", "configs").AsMap()
}

func oidcConfig(t *testing.T, e *crossplanetest.Engine) map[string]any {
	t.Helper()
	cm, _ := configs(e)["cm"].(map[string]any)
	text, _ := cm["oidc.config"].(string)
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSSO(t *testing.T) {
	cert, _ := crossplanetest.KeyPair()
	ca, _ := yaml.YAMLToJSON([]byte("|\n  " + strings.ReplaceAll(cert, "\n", "\n  ")))
	cases := map[string]struct {
		reason string
		spec   string
		data   map[string]string
		want   map[string]any
		policy any
	}{
		"Smallest": {
			"Users without a group have no role.",
			`{` + crossplanetest.OIDCSpec + `}`, map[string]string{"clientSecret": "secret-of-the-client\n"},
			map[string]any{"name": "SSO", "issuer": "https://id.example.org/realms/acme", "clientID": "argocd", "clientSecret": "$oidc.clientSecret",
				"requestedScopes": []any{"openid", "profile", "email", "groups"}}, nil,
		},
		"Everything": {
			"Groups with commas and quotes, and an authority of one's own.",
			`{"name":"Acme","issuer":"https://id.example.org","clientID":"argocd","clientSecretRef":{"name":"oidc","key":"k"},"scopes":["openid","roles"],"adminGroups":["ops","a, \"b\""],"readOnlyGroups":["dev"],"rootCA":` + string(ca) + `}`,
			map[string]string{"k": "secret-of-the-client"},
			map[string]any{"name": "Acme", "issuer": "https://id.example.org", "clientID": "argocd", "clientSecret": "$oidc.clientSecret",
				"requestedScopes": []any{"openid", "roles"}, "rootCA": cert},
			"g,ops,role:admin\ng,\"a, \"\"b\"\"\",role:admin\ng,dev,role:readonly\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"sso":{"oidc":`+tc.spec+`}}`, "")
			e.AddSecret("oidc", "Opaque", tc.data)
			e.Install()
			if diff := cmp.Diff(tc.want, oidcConfig(t, e)); diff != "" {
				t.Errorf("\n%s\noidc.config: -want, +got:\n%s", tc.reason, diff)
			}
			rbac, _ := configs(e)["rbac"].(map[string]any)
			if diff := cmp.Diff(tc.policy, rbac["policy.virtualargocd.csv"]); diff != "" {
				t.Errorf("\n%s\npolicy: -want, +got:\n%s", tc.reason, diff)
			}
			want := map[string]any{"configs": map[string]any{"secret": map[string]any{"extra": map[string]any{"oidc.clientSecret": "secret-of-the-client"}}}}
			if diff := cmp.Diff(want, e.SecretValues()); diff != "" {
				t.Errorf("\n%s\nvalues in the Secret: -want, +got:\n%s", tc.reason, diff)
			}
			c := e.Condition(v1alpha1.ConditionSSOReady)
			if c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || !strings.HasSuffix(c.GetMessage(), "its redirect URL is https://argocd-server-x-argocd-x-vcluster.vargo-customer1-7rw8j.svc/auth/callback, which is a Service of the host: for browsers elsewhere, write spec.ingress.host") {
				t.Errorf("\n%s\nSSOReady: %v", tc.reason, c)
			}
		})
	}
}

func TestClientSecret(t *testing.T) {
	e := crossplanetest.New(t, `{"sso":{"oidc":{`+crossplanetest.OIDCSpec+`}}}`, "").Install()
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetReason() != v1alpha1.ReasonSecretMissing || !strings.Contains(c.GetMessage(), "Secret oidc in namespace team-a does not exist") {
		t.Errorf("SSOReady: %v", c)
	}
	if len(oidcConfig(t, e)) > 0 {
		t.Errorf("a provider without a client secret only leads to errors: %v", oidcConfig(t, e))
	}
	e.AddSecret("oidc", "Opaque", map[string]string{"secret": "another-key"})
	if e.Reconcile(); e.Condition(v1alpha1.ConditionSSOReady).GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(e.Condition(v1alpha1.ConditionSSOReady).GetMessage(), "key clientSecret is missing") {
		t.Errorf("SSOReady: %v", e.Condition(v1alpha1.ConditionSSOReady))
	}
	e.AddSecret("oidc", "Opaque", map[string]string{"clientSecret": "secret-of-the-client"})
	e.Cycle(2)
	used, config := e.SecretValues(), oidcConfig(t, e)
	delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/oidc")
	e.Reconcile()
	if diff := cmp.Diff(used, e.SecretValues()); diff != "" || len(config) == 0 || !cmp.Equal(config, oidcConfig(t, e)) {
		t.Errorf("the Secret is gone: -want, +got:\n%s", diff)
	}
	// Helm takes the data of Argo CD's own Secret away with the last value in it.
	e.SetSpec(`{}`)
	e.Reconcile()
	if extra := configs(e)["secret"].(map[string]any)["extra"].(map[string]any); len(extra) == 0 {
		t.Error("the chart would wipe the Secret with Argo CD's signing key")
	}
	if len(oidcConfig(t, e)) > 0 || len(e.SecretValues()) > 0 || e.Condition(v1alpha1.ConditionSSOReady).GetReason() != v1alpha1.ReasonNotInSpec {
		t.Errorf("the provider is gone from the spec: %v", e.Condition(v1alpha1.ConditionSSOReady))
	}
}

func TestDisabledAdmin(t *testing.T) {
	e := crossplanetest.New(t, `{"sso":{"disableAdmin":true}}`, "").Install()
	if got := configs(e)["cm"]; !cmp.Equal(got, map[string]any{"admin.enabled": "false"}) {
		t.Errorf("configs.cm: %v", got)
	}
	details := e.Response.GetDesired().GetComposite().GetConnectionDetails()
	if len(details["username"]) > 0 || len(details["password"]) > 0 || len(details["url"]) == 0 {
		t.Errorf("connection details of a user that can't log in: %v", details)
	}
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetMessage() != "The local user admin is switched off" {
		t.Errorf("SSOReady: %v", c)
	}
	if details["username"] != nil || details["password"] != nil {
		t.Errorf("keys of a user that can't log in: %v", details)
	}
	// Switched off later, what was published is emptied: Crossplane takes no key out
	// of a Secret.
	e = crossplanetest.New(t, `{}`, "").Install()
	e.SetSpec(`{"sso":{"disableAdmin":true}}`)
	e.Cycle(2)
	details = e.Response.GetDesired().GetComposite().GetConnectionDetails()
	for _, key := range []string{"username", "password"} {
		if v, ok := details[key]; !ok || len(v) > 0 {
			t.Errorf("%s of a user that can't log in any more: %t, %q", key, ok, v)
		}
	}
	// Switched on again, it is as before, even when the customer has deleted the
	// Secret that the password came from: Argo CD makes it once.
	crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "cannot get argocd-initial-admin-secret")
	e.Reconcile()
	e.SetSpec(`{}`)
	e.Reconcile()
	if reads := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec").GetFields()["connectionDetails"]; reads != nil {
		t.Errorf("the Release reads a Secret that isn't there: %v", reads)
	}
	e.Cycle(2)
	details = e.Response.GetDesired().GetComposite().GetConnectionDetails()
	if string(details["username"]) != "admin" || string(details["password"]) != crossplanetest.Password {
		t.Errorf("connection details of a user that can log in again: %v", details)
	}
	e = crossplanetest.New(t, `{"sso":{"disableAdmin":false}}`, "").Install()
	if c := e.Condition(v1alpha1.ConditionSSOReady); c.GetType() != "" {
		t.Errorf("nothing is asked for: %v", c)
	}
}

func TestRefusedSSO(t *testing.T) {
	with := func(field string) string { return `{"sso":{"oidc":{` + crossplanetest.OIDCSpec + `,` + field + `}}}` }
	values := func(values string) string {
		return `{"sso":{"oidc":{` + crossplanetest.OIDCSpec + `,"adminGroups":["a"]},"disableAdmin":true},"argocd":{"values":` + values + `}}`
	}
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"IssuerNotHTTPS":  {`{"sso":{"oidc":{"issuer":"http://id.example.org","clientID":"a","clientSecretRef":{"name":"s"}}}}`, []string{"spec.sso.oidc.issuer", "http://id.example.org"}},
		"NoClientID":      {`{"sso":{"oidc":{"issuer":"https://id.example.org","clientSecretRef":{"name":"s"}}}}`, []string{"spec.sso.oidc.clientID"}},
		"NoSecret":        {`{"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"a"}}}`, []string{"spec.sso.oidc.clientSecretRef"}},
		"NoOpenID":        {with(`"scopes":["groups"]`), []string{"spec.sso.oidc.scopes", "openid"}},
		"GroupOfTwoLines": {with(`"adminGroups":["a\np, role:x, *, *, *, allow"]`), []string{"spec.sso.oidc.adminGroups", "one line"}},
		"GroupEmpty":      {with(`"readOnlyGroups":[""]`), []string{"spec.sso.oidc.readOnlyGroups"}},
		"RootCANotPEM":    {with(`"rootCA":"abc"`), []string{"spec.sso.oidc.rootCA", "BEGIN CERTIFICATE"}},
		"NameASecret":     {with(`"name":"$server.secretkey"`), []string{"spec.sso.oidc.name"}},
		"ValuesOIDC":      {values(`{"configs":{"cm":{"oidc.config":"x"}}}`), []string{"spec.argocd.values.configs.cm.oidc.config", "spec.sso"}},
		"ValuesAdmin":     {values(`{"configs":{"cm":{"admin.enabled":"maybe"}}}`), []string{"spec.argocd.values.configs.cm.admin.enabled", "spec.sso"}},
		"ValuesNoCM":      {values(`{"configs":{"cm":{"create":false}}}`), []string{"spec.argocd.values.configs.cm.create"}},
		"ValuesNoRBAC":    {values(`{"configs":{"rbac":{"create":false}}}`), []string{"spec.argocd.values.configs.rbac.create"}},
		"ValuesNoSecret":  {values(`{"configs":{"secret":{"createSecret":false}}}`), []string{"spec.argocd.values.configs.secret.createSecret"}},
		"ValuesSecret":    {values(`{"configs":{"secret":{"extra":{"oidc.clientSecret":"x"}}}}`), []string{"spec.argocd.values.configs.secret.extra.oidc.clientSecret"}},
		"ValuesNoExtra":   {values(`{"configs":{"secret":{"extra":"none"}}}`), []string{"spec.argocd.values.configs.secret.extra"}},
		"DisableNotABool": {`{"sso":{"disableAdmin":"yes"}}`, []string{"spec.sso.disableAdmin", "true or false"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, "")
			e.AddSecret("oidc", "Opaque", map[string]string{"clientSecret": "secret-of-the-client"})
			msg := crossplanetest.Refusal(e.Reconcile())
			for _, want := range tc.want {
				if !strings.Contains(msg, want) {
					t.Errorf("error should say %q: %q", want, msg)
				}
			}
		})
	}
	// The same meaning, and rights of the claim's own, are no conflict.
	e := crossplanetest.New(t, values(`{"configs":{"cm":{"admin.enabled":false},"rbac":{"policy.csv":"p, a, *, *, *, allow"}}}`), "")
	e.AddSecret("oidc", "Opaque", map[string]string{"clientSecret": "secret-of-the-client"})
	e.Install()
	if got := configs(e)["rbac"]; !cmp.Equal(got, map[string]any{"policy.csv": "p, a, *, *, *, allow", "policy.virtualargocd.csv": "g,a,role:admin\n"}) {
		t.Errorf("configs.rbac: %v", got)
	}
}
