package secretkeys_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestSecretKeys: keys of Argo CD's own Secret, for whatever refers to them.
func TestSecretKeys(t *testing.T) {
	e := crossplanetest.New(t, `{"argocd":{"secretKeys":[{"key":"webhook.github.secret","secretRef":{"name":"s"},"secretKey":"github"},{"key":"dex.ldap","secretRef":{"name":"s"}}]},
		"sso":{"dex":{"connectors":[{"type":"ldap","id":"ldap","name":"LDAP","config":{"host":"ldap.example.org","userSearch":{"baseDN":"ou=people","username":"uid"},"bindPW":"$dex.ldap"}}]}}}`, "")
	e.AddSecret("s", "Opaque", map[string]string{"github": "secret-of-the-webhook\n"})
	e.Install()
	if c := e.Condition(v1alpha1.ConditionSecretKeysReady); c.GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(c.GetMessage(), "Key dex.ldap: Secret s in namespace team-a: key dex.ldap is missing") {
		t.Errorf("SecretKeysReady: %v", c)
	}
	e.AddSecret("s", "Opaque", map[string]string{"github": "secret-of-the-webhook\n", "dex.ldap": "secret-of-ldap"})
	e.Cycle(3)
	want := map[string]any{"configs": map[string]any{"secret": map[string]any{"extra": map[string]any{"webhook.github.secret": "secret-of-the-webhook", "dex.ldap": "secret-of-ldap"}}}}
	if diff := cmp.Diff(want, e.SecretValues()); diff != "" {
		t.Errorf("values in the Secret: -want, +got:\n%s", diff)
	}
	if c := e.Condition(v1alpha1.ConditionSecretKeysReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("SecretKeysReady: %v", c)
	}
	if config, _ := e.ArgoCDValue("configs", "cm", "dex.config").(string); !strings.Contains(config, "bindPW: $dex.ldap\n") {
		t.Errorf("dex.config: %s", config)
	}
	delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/s")
	e.Cycle(2)
	if diff := cmp.Diff(want, e.SecretValues()); diff != "" {
		t.Errorf("the Secret is gone: -want, +got:\n%s", diff)
	}
}

func TestRefusedSecretKeys(t *testing.T) {
	ref := `"secretRef":{"name":"s"}`
	for name, tc := range map[string]struct {
		keys, values string
		want         []string
	}{
		"SigningKey":   {`{"key":"server.secretkey",` + ref + `}`, `{}`, []string{"spec.argocd.secretKeys[0].key", "server.secretkey", "sessions"}},
		"Password":     {`{"key":"admin.password",` + ref + `}`, `{}`, []string{"spec.argocd.secretKeys[0].key", "argocdServerAdminPassword"}},
		"ClientSecret": {`{"key":"oidc.clientSecret",` + ref + `}`, `{}`, []string{"spec.argocd.secretKeys[0].key", "clientSecretRef"}},
		"NotAKey":      {`{"key":"a b",` + ref + `}`, `{}`, []string{"spec.argocd.secretKeys[0].key", `"a b"`}},
		"Twice":        {`{"key":"a",` + ref + `},{"key":"a",` + ref + `}`, `{}`, []string{"spec.argocd.secretKeys[1].key", `"a"`}},
		"Elsewhere":    {`{"key":"a","secretRef":{"name":"b/s"}}`, `{}`, []string{"spec.argocd.secretKeys[0].secretRef.name", "b/s"}},
		"Unread":       {`{"key":"webhook.github.secrets",` + ref + `}`, `{}`, []string{`spec.argocd.secretKeys[0].key: "webhook.github.secrets": Argo CD reads no such key: did you mean webhook.github.secret?`}},
		"UnreadOther":  {`{"key":"webhook.custom",` + ref + `}`, `{}`, []string{"write one of webhook.azuredevops.password, "}},
		"UnreadOfCM":   {`{"key":"webhook.maxPayloadSizeMB",` + ref + `}`, `{}`, []string{"Argo CD reads it in argocd-cm"}},
		"UnreadOfUser": {`{"key":"accounts.ci.token",` + ref + `}`, `{}`, []string{"write accounts.<name>.password"}},
		"ValuesHaveIt": {`{"key":"a",` + ref + `}`, `{"configs":{"secret":{"extra":{"a":"b"}}}}`, []string{"spec.argocd.values.configs.secret.extra.a", "spec.argocd.secretKeys[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			crossplanetest.New(t, `{"argocd":{"values":`+tc.values+`,"secretKeys":[`+tc.keys+`]}}`, "").CheckRefused(tc.want...)
		})
	}
}

// TestReadSecretKeys: Argo CD's own keys, and others.
func TestReadSecretKeys(t *testing.T) {
	var keys []string
	for _, key := range []string{"webhook.github.secret", "webhook.gitlab.secret", "webhook.bitbucket.uuid", "webhook.bitbucketserver.secret", "webhook.gogs.secret", "webhook.azuredevops.username", "webhook.azuredevops.password", "accounts.ci.tokens", "tls.crt", "my.webhook"} {
		keys = append(keys, `{"key":"`+key+`","secretRef":{"name":"s"}}`)
	}
	if msg := crossplanetest.Refusal(crossplanetest.New(t, `{"argocd":{"secretKeys":[`+strings.Join(keys, ",")+`]}}`, "").Reconcile()); msg != "" {
		t.Errorf("it is refused: %s", msg)
	}
	unread := func(secretKey string) string {
		return `{"argocd":{"secretKeys":[{"key":"webhook.github.secrets","secretKey":"` + secretKey + `","secretRef":{"name":"s"}}]}}`
	}
	e := crossplanetest.New(t, `{}`, "").Install()
	e.AcceptEarlier(unread("a"))
	if e.Cycle(2); crossplanetest.Refusal(e.Response) != "" {
		t.Errorf("what was accepted is refused: %s", crossplanetest.Refusal(e.Response))
	}
}
