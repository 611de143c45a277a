package accounts_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestLocalAccounts: an account is Argo CD's, with a role and with a token that it accepts, in the connection Secret.
func TestLocalAccounts(t *testing.T) {
	e := accountsEngine(t, accountsSpec).Install()
	values := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()["configs"].(map[string]any)
	if cm := values["cm"].(map[string]any); cm["accounts.ci"] != "apiKey" || cm["accounts.ci.enabled"] != "true" {
		t.Errorf("argocd-cm has %v", cm)
	}
	if policy := values["rbac"].(map[string]any)["policy.virtualargocd-accounts.csv"]; policy != "g,ci,role:readonly\n" {
		t.Errorf("the policy is %q", policy)
	}
	roll(e)
	if account, err := accepts(t, e, detail(e, tokenKey)); account != "ci" || err != nil {
		t.Errorf("Argo CD takes the token for one of %q: %v", account, err)
	}
	if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || is.GetMessage() != "Argo CD has the accounts ci; tokens, in the Secret of spec.writeConnectionSecretToRef if the claim names one: token.ci.deploy until 2026-01-02T05:04:05Z" {
		t.Errorf("the condition is %v", is)
	}
	// Nothing is composed where the customer may write.
	for name, r := range e.Response.GetDesired().GetResources() {
		if crossplanetest.Field(r.GetResource(), "metadata").GetFields()["namespace"].GetStringValue() == crossplanetest.Namespace {
			t.Errorf("%s is composed in the claim's namespace", name)
		}
	}
	// The account leaves the spec: the token is revoked, and its key emptied. The signing key stays.
	token, key := detail(e, tokenKey), argocdSecret(e, "extra", "server.secretkey")
	e.SetSpec(`{}`)
	roll(e)
	if _, err := accepts(t, e, token); err == nil || detail(e, tokenKey) != "" || argocdSecret(e, "extra", "server.secretkey") != key || key == "" {
		t.Errorf("without the account: accepted: %t, published %q, signing key stays: %t", err == nil, detail(e, tokenKey), argocdSecret(e, "extra", "server.secretkey") == key)
	}
	if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonNotInSpec {
		t.Errorf("without the account: %v", is)
	}
	// It comes back, with another token.
	now := crossplanetest.Start.Add(time.Minute)
	e.Now = func() time.Time { return now }
	e.SetSpec(accountsSpec)
	roll(e)
	if _, err := accepts(t, e, detail(e, tokenKey)); err != nil || detail(e, tokenKey) == token {
		t.Errorf("back again: another: %t, %v", detail(e, tokenKey) != token, err)
	}
}

// TestAccountsReadyKnowsTheSecret: what isn't in the connection Secret isn't delivered.
func TestAccountsReadyKnowsTheSecret(t *testing.T) {
	ready := func(e *crossplanetest.Engine) bool {
		return e.Condition(v1alpha1.ConditionAccountsReady).GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE
	}
	e := accountsEngine(t, accountsSpec).Install()
	roll(e)
	now := crossplanetest.Start.Add(time.Hour)
	e.Now = func() time.Time { return now }
	first := detail(e, tokenKey)
	for detail(e, tokenKey) == first {
		if e.Reconcile(); ready(e) {
			t.Fatal("AccountsReady is True with the token of before")
		}
		if ttl := e.Response.GetMeta().GetTtl().AsDuration(); ttl > time.Minute {
			t.Fatalf("meanwhile, Crossplane calls again after %s", ttl)
		}
		e.RunProviders()
	}
	if ttl := e.Response.GetMeta().GetTtl().AsDuration(); ttl != 5*time.Second {
		t.Errorf("once it is published, Crossplane calls again after %s", ttl)
	}
	// Crossplane can't write the Secret.
	second := e.Fork(t)
	second.Request.Observed.Composite.ConnectionDetails[tokenKey] = []byte(first)
	if second.Reconcile(); ready(second) {
		t.Error("AccountsReady is True with a Secret that wasn't written")
	}
	// Crossplane copies it to the claim only while the tenant is Ready.
	third := e.Fork(t)
	crossplanetest.SetReady(third.XR(), false, now)
	if third.Reconcile(); ready(third) {
		t.Error("AccountsReady is True with a Secret that the claim doesn't have")
	}
	if e.Reconcile(); !ready(e) {
		t.Errorf("once it is there: %v", e.Condition(v1alpha1.ConditionAccountsReady))
	}
	crossplanetest.SetReady(e.XR(), false, now)
	if e.Reconcile(); !ready(e) {
		t.Errorf("trouble of a later time: %v", e.Condition(v1alpha1.ConditionAccountsReady))
	}
	e.Reconcile()
	if ttl := e.Response.GetMeta().GetTtl().AsDuration(); ttl != crossplanetest.TTLAtRest {
		t.Errorf("at rest, Crossplane calls again after %s", ttl)
	}
	// An account without tokens is rolled out, too.
	e.SetSpec(`{"argocd":{"accounts":[{"name":"ci"},{"name":"other"}]}}`)
	if e.Reconcile(); ready(e) {
		t.Error("AccountsReady is True before Argo CD has the account")
	}
}

// TestRefusedAccounts: each mistake is named, with its field and what to write.
func TestRefusedAccounts(t *testing.T) {
	const withValues = `{"argocd":{"values":%s,"accounts":[{"name":"ci","role":"readonly","tokens":[{"name":"a"}]}]}}`
	for name, tc := range map[string]struct{ spec, want string }{
		"Admin":        {`[{"name":"admin"}]`, "spec.argocd.accounts[0].name: admin is Argo CD's own user"},
		"Dot":          {`[{"name":"a.b"}]`, `spec.argocd.accounts[0].name: "a.b" is not the name of an account`},
		"Long":         {`[{"name":"` + strings.Repeat("a", 33) + `"}]`, "at most 32 letters"},
		"Twice":        {`[{"name":"a"},{"name":"a"}]`, `spec.argocd.accounts[1].name: "a" is the name of another account, too`},
		"Capability":   {`[{"name":"a","capabilities":["sso"]}]`, `spec.argocd.accounts[0].capabilities[0]: "sso" is unknown: write apiKey or login`},
		"NoAPIKey":     {`[{"name":"a","capabilities":["login"],"tokens":[{"name":"a"}]}]`, "spec.argocd.accounts[0].capabilities: an account with tokens needs apiKey"},
		"Role":         {`[{"name":"a","role":"deployer"}]`, "spec.argocd.accounts[0].role: no policy of spec.argocd.values.configs.rbac has role:deployer"},
		"RolePrefix":   {`[{"name":"a","role":"role:admin"}]`, `spec.argocd.accounts[0].role: "role:admin" is not the name of a role`},
		"RoleInjects":  {`[{"name":"a","role":"admin\ng, x, role:admin"}]`, "spec.argocd.accounts[0].role"},
		"Token":        {`[{"name":"a","tokens":[{"name":"A B"}]}]`, `spec.argocd.accounts[0].tokens[0].name: "A B" is not the name of a token`},
		"TokenTwice":   {`[{"name":"a","tokens":[{"name":"a"},{"name":"a"}]}]`, `spec.argocd.accounts[0].tokens[1].name: "a" is the name of another token of the account`},
		"Short":        {`[{"name":"a","tokens":[{"name":"a","expiresIn":"10m"}]}]`, `spec.argocd.accounts[0].tokens[0].expiresIn: "10m" is not possible: write from 1h to 8784h`},
		"Never":        {`[{"name":"a","tokens":[{"name":"a","expiresIn":"0s"}]}]`, `expiresIn: "0s" is not possible`},
		"Days":         {`[{"name":"a","tokens":[{"name":"a","expiresIn":"90d"}]}]`, `expiresIn: "90d" is not possible: days aren't taken: write 2160h`},
		"TooManyDays":  {`[{"name":"a","tokens":[{"name":"a","expiresIn":"900d"}]}]`, `expiresIn: "900d" is not possible: write from 1h to 8784h`},
		"TooMany":      {`[{"name":"a","tokens":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e"},{"name":"f"}]}]`, "spec.argocd.accounts[0].tokens: has 6 entries: write 5 at most"},
		"All":          {`[{"name":"admin"},{"name":"a","tokens":[{"name":"a","expiresIn":"1s"}]}]`, "spec.argocd.accounts[0].name: admin is Argo CD's own user: write another name, or the role admin; (2) spec.argocd.accounts[1].tokens[0].expiresIn"},
		"Value":        {fmt.Sprintf(withValues, `{"configs":{"cm":{"accounts.ci":"login"}}}`), "spec.argocd.values.configs.cm.accounts.ci is set by spec.argocd.accounts[0]"},
		"Disabled":     {fmt.Sprintf(withValues, `{"configs":{"cm":{"accounts.ci.enabled":"false"}}}`), "spec.argocd.values.configs.cm.accounts.ci.enabled is set by spec.argocd.accounts[0]"},
		"Policy":       {fmt.Sprintf(withValues, `{"configs":{"rbac":{"policy.virtualargocd-accounts.csv":"g, x, role:admin"}}}`), "policy.virtualargocd-accounts.csv is set by spec.argocd.accounts[0]"},
		"SigningKey":   {fmt.Sprintf(withValues, `{"configs":{"secret":{"extra":{"server.secretkey":"x"}}}}`), "spec.argocd.values.configs.secret.extra.server.secretkey is set by spec.argocd.accounts[0].tokens"},
		"Tokens":       {fmt.Sprintf(withValues, `{"configs":{"secret":{"extra":{"accounts.ci.tokens":"[]"}}}}`), "accounts.ci.tokens is set by spec.argocd.accounts[0].tokens"},
		"NoSecret":     {fmt.Sprintf(withValues, `{"configs":{"secret":{"createSecret":false}}}`), "createSecret is set by spec.argocd.accounts[0].tokens"},
		"SecretKey":    {`{"argocd":{"accounts":[{"name":"ci","tokens":[{"name":"a"}]}],"secretKeys":[{"key":"accounts.ci.tokens","secretRef":{"name":"s"}}]}}`, `spec.argocd.secretKeys[0].key: "accounts.ci.tokens" is set by spec.argocd.accounts[0].tokens`},
		"SecretKeys":   {`{"argocd":{"secretKeys":[{"key":"server.secretkey","secretRef":{"name":"s"}}]}}`, `spec.argocd.secretKeys[0].key: "server.secretkey" can't be set here`},
		"AdminKey":     {`{"argocd":{"secretKeys":[{"key":"admin.password","secretRef":{"name":"s"}}]}}`, "or the annotation virtualargocd.io/rotate-admin-password"},
		"UnknownField": {`[{"name":"a","token":[]}]`, "token"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(tc.spec, "[") {
				tc.spec = `{"argocd":{"accounts":` + tc.spec + `}}`
			}
			e := crossplanetest.New(t, tc.spec, "")
			e.Reconcile()
			if got := crossplanetest.Refusal(e.Response); !strings.Contains(got, tc.want) {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

// TestConnectionSecretIsBounded: Crossplane removes no key of it, so a claim can't add any number.
func TestConnectionSecretIsBounded(t *testing.T) {
	e := accountsEngine(t, accountsSpec).Install()
	roll(e)
	for i := range 99 {
		e.Request.Observed.Composite.ConnectionDetails[fmt.Sprintf("token.old.%02d", i)] = []byte{}
	}
	roll(e)
	if got := crossplanetest.Refusal(e.Response); got != "" {
		t.Fatalf("with 100 keys: %q", got)
	}
	e.SetSpec(strings.Replace(accountsSpec, "deploy", "another", 1))
	roll(e)
	if got := crossplanetest.Refusal(e.Response); !strings.Contains(got, "spec.argocd.accounts: with these tokens, the connection Secret would have 101 keys of tokens") || !strings.Contains(got, "token.ci.deploy, token.old.00, token.old.01 and 97 more") {
		t.Errorf("refused: %q", got)
	}
	if _, err := accepts(t, e, detail(e, tokenKey)); err != nil {
		t.Error(err)
	}
	e.SetSpec(`{"argocd":{"accounts":[{"name":"old","tokens":[{"name":"07"}]}]}}`)
	roll(e)
	if _, err := accepts(t, e, detail(e, "token.old.07")); err != nil || crossplanetest.Refusal(e.Response) != "" {
		t.Errorf("an earlier name: %q, %v", crossplanetest.Refusal(e.Response), err)
	}
}

// TestCrossplaneFiltersNoToken: with connectionSecretKeys in an XRD, Crossplane publishes no other keys.
func TestCrossplaneFiltersNoToken(t *testing.T) {
	for _, file := range []string{"../../../apis/xvirtualargocds.yaml", "../../../examples/demo-group/definition.yaml"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "connectionSecretKeys") {
			t.Errorf("%s has connectionSecretKeys", file)
		}
	}
}

// TestAccountsStayInSecrets: no token, password or key is anywhere but in Secrets, whatever providers tell.
func TestAccountsStayInSecrets(t *testing.T) {
	e := accountsEngine(t, accountsSpec)
	e.RotatePassword("first")
	e.Install()
	roll(e)
	secrets := []string{
		detail(e, tokenKey), detail(e, "password"), argocdSecret(e, "extra", "server.secretkey"), argocdSecret(e, "argocdServerAdminPassword"), crossplanetest.Base64(string(keptOf(e).Key)),
	}
	check := func() {
		t.Helper()
		text := crossplanetest.Closed(t, e.Response) + e.Logged()
		for _, secret := range secrets {
			if secret == "" {
				t.Fatal("a secret is empty")
			}
			if form := crossplanetest.FormIn(text, secret); form != "" {
				t.Errorf("%q is outside of Secrets", form)
			}
		}
	}
	check()
	crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "cannot apply "+strings.Join(secrets, " "))
	e.Reconcile()
	check()
	if !strings.Contains(e.Status("message"), "[redacted]") {
		t.Errorf("the message is %q", e.Status("message"))
	}
}

// TestTenantsWithoutAccounts: nothing is kept, or set, for a tenant that has neither tokens nor a rotated password.
func TestTenantsWithoutAccounts(t *testing.T) {
	e := accountsEngine(t, `{"argocd":{"accounts":[{"name":"ci"}]}}`).Install()
	if e.Has(tenant.AccountsSecret) || len(e.DeployedAccounts) > 0 {
		t.Error("an account without tokens needs no key")
	}
	if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || is.GetMessage() != "Argo CD has the accounts ci" {
		t.Errorf("the condition is %v", is)
	}
}
