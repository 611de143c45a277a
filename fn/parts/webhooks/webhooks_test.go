package webhooks_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// extra returns the keys of argocd-secret that come from Secrets.
func extra(e *crossplanetest.Engine) map[string]any {
	e.T.Helper()
	configs, _ := e.SecretValues()["configs"].(map[string]any)
	secret, _ := configs["secret"].(map[string]any)
	out, _ := secret["extra"].(map[string]any)
	return out
}

func TestWebhooks(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"argocd.example.org","additionalHosts":["argocd.example.net"]},"argocd":{"values":{"configs":{"params":{"server.rootpath":"/cd"}}}},
		"webhooks":[{"provider":"github","secretRef":{"name":"git"},"secretKey":"github"},{"provider":"azureDevOps","secretRef":{"name":"azure"}}]}`, "")
	e.AddSecret("git", "Opaque", map[string]string{"github": "secret-of-github\n"})
	e.AddSecret("azure", "kubernetes.io/basic-auth", map[string]string{"username": "u", "password": "secret-of-azure"})
	e.Install()
	got := extra(e)
	for key, want := range map[string]string{"webhook.github.secret": "secret-of-github", "webhook.azuredevops.username": "u", "webhook.azuredevops.password": "secret-of-azure"} {
		if got[key] != want {
			t.Errorf("%s: %v, want %s", key, got[key], want)
		}
	}
	// Otherwise anybody could say that an event is one of GitLab's.
	seen := map[any]bool{}
	for _, key := range []string{"webhook.gitlab.secret", "webhook.bitbucket.uuid", "webhook.bitbucketserver.secret", "webhook.gogs.secret"} {
		if secret, _ := got[key].(string); len(secret) < 32 || seen[secret] {
			t.Errorf("%s is %q, want a secret of its own that nobody knows", key, got[key])
		}
		seen[got[key]] = true
	}
	c := e.Condition(v1alpha1.ConditionWebhooksReady)
	if c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || c.GetMessage() != "Argo CD takes signed events of github, azureDevOps at https://argocd.example.org/cd/api/webhook, https://argocd.example.net/cd/api/webhook" {
		t.Errorf("WebhooksReady: %v", c)
	}
	if url := e.Status("webhooks", "url"); url != "https://argocd.example.org/cd/api/webhook" {
		t.Errorf("status.webhooks.url is %q", url)
	}
	// Argo CD reads what Azure DevOps sends only when another secret changes.
	e.AddSecret("azure", "kubernetes.io/basic-auth", map[string]string{"username": "u", "password": "another-of-azure"})
	e.Cycle(3)
	if now := extra(e); now["webhook.azuredevops.password"] != "another-of-azure" || now["webhook.gogs.secret"] == got["webhook.gogs.secret"] {
		t.Errorf("a new password of Azure DevOps: %v, before %v", now, got)
	}
	e.AddSecret("git", "Opaque", map[string]string{"github": ""})
	e.Cycle(2)
	if c := e.Condition(v1alpha1.ConditionWebhooksReady); c.GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(c.GetMessage(), "Webhook github: Secret git in namespace team-a: key github is missing") || extra(e)["webhook.github.secret"] != "secret-of-github" {
		t.Errorf("WebhooksReady: %v", c)
	}
	e.SetSpec(`{}`)
	e.Cycle(3)
	if got := extra(e); len(got) > 0 {
		t.Errorf("secrets stay after the claim has no webhooks: %v", got)
	}
}

// TestOtherSecretsStay: those that are set elsewhere stay as they are.
func TestOtherSecretsStay(t *testing.T) {
	e := crossplanetest.New(t, `{"argocd":{"values":{"configs":{"secret":{"gitlabSecret":"v"}}},"secretKeys":[{"key":"webhook.gogs.secret","secretRef":{"name":"s"},"secretKey":"gogs"}]},
		"webhooks":[{"provider":"github","secretRef":{"name":"s"}}]}`, "")
	e.AddSecret("s", "Opaque", map[string]string{"secret": "secret-of-github", "gogs": "secret-of-gogs"})
	e.Install()
	got := extra(e)
	if got["webhook.gogs.secret"] != "secret-of-gogs" || got["webhook.gitlab.secret"] != nil || got["webhook.bitbucket.uuid"] == nil {
		t.Errorf("got %v", got)
	}
	if c := e.Condition(v1alpha1.ConditionWebhooksReady); !strings.Contains(c.GetMessage(), "for Git servers elsewhere, write spec.ingress.host") {
		t.Errorf("WebhooksReady: %v", c)
	}
}

func TestRefusedWebhooks(t *testing.T) {
	const ref = `"secretRef":{"name":"s"}`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Provider":     {Spec: `{"webhooks":[{"provider":"gitea",` + ref + `}]}`, Want: []string{`spec.webhooks[0].provider: "gitea" is unknown: write one of azureDevOps, bitbucket, bitbucketServer, github, gitlab, gogs`}},
		"Twice":        {Spec: `{"webhooks":[{"provider":"github",` + ref + `},{"provider":"github",` + ref + `}]}`, Want: []string{`spec.webhooks[1].provider: "github" is that of another entry`}},
		"KeyOfAzure":   {Spec: `{"webhooks":[{"provider":"azureDevOps","secretKey":"a",` + ref + `}]}`, Want: []string{"spec.webhooks[0].secretKey: is not possible for azureDevOps"}},
		"Key":          {Spec: `{"webhooks":[{"provider":"github","secretKey":"a b",` + ref + `}]}`, Want: []string{`spec.webhooks[0].secretKey: "a b"`}},
		"Elsewhere":    {Spec: `{"webhooks":[{"provider":"github","secretRef":{"name":"b/s"}}]}`, Want: []string{"spec.webhooks[0].secretRef.name", "b/s"}},
		"SecretKeys":   {Spec: `{"argocd":{"secretKeys":[{"key":"webhook.github.secret",` + ref + `}]},"webhooks":[{"provider":"github",` + ref + `}]}`, Want: []string{`spec.argocd.secretKeys[0].key: "webhook.github.secret" is set by spec.webhooks[0]`}},
		"Values":       {Spec: `{"argocd":{"values":{"configs":{"secret":{"githubSecret":"a"}}}},"webhooks":[{"provider":"github",` + ref + `}]}`, Want: []string{"spec.argocd.values.configs.secret.githubSecret is set by spec.webhooks[0]"}},
		"ValuesExtra":  {Spec: `{"argocd":{"values":{"configs":{"secret":{"extra":{"webhook.github.secret":"a"}}}}},"webhooks":[{"provider":"github",` + ref + `}]}`, Want: []string{"spec.argocd.values.configs.secret.extra.webhook.github.secret is set by spec.webhooks[0]"}},
		"WithoutOwner": {Spec: `{"argocd":{"values":{"configs":{"secret":{"createSecret":false}}}},"webhooks":[{"provider":"github",` + ref + `}]}`, Want: []string{"spec.argocd.values.configs.secret.createSecret is set by spec.webhooks[0]"}},
	})
}
