package function

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

const (
	accountsSpec = `{"argocd":{"accounts":[{"name":"ci","role":"readonly","tokens":[{"name":"deploy","expiresIn":"2h"}]}]}}`
	// tokenKey is the key of the connection Secret with that token.
	tokenKey = "token.ci.deploy"
)

// accountsEngine has a tenant whose Release has generations.
func accountsEngine(t *testing.T, spec string) *engine {
	e := newEngine(t, tenantXR(spec), "")
	e.generations = true
	field(e.xr(), "spec").Fields["writeConnectionSecretToRef"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"namespace": structpb.NewStringValue("crossplane-system"), "name": structpb.NewStringValue("1f0d7d2c"),
	}})
	return e
}

// rotation says what the claim's annotation has; "" for none.
func (e *engine) rotation(value string) {
	annotations := map[string]any{}
	if value != "" {
		annotations[localaccount.RotatePassword] = value
	}
	s, err := structpb.NewStruct(annotations)
	if err != nil {
		e.t.Fatal(err)
	}
	field(e.xr(), "metadata").Fields["annotations"] = structpb.NewStructValue(s)
}

// roll lets a change reach Argo CD, and the connection Secret.
func (e *engine) roll() { e.cycle(6) }

// detail is what the connection Secret has at a key.
func (e *engine) detail(key string) string {
	return string(e.req.GetObserved().GetComposite().GetConnectionDetails()[key])
}

// argocdSecret is what the values that Helm has deployed say at a path below configs.secret.
func (e *engine) argocdSecret(path ...string) string {
	at := any(e.accounts)
	for _, key := range append([]string{"configs", "secret"}, path...) {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	text, _ := at.(string)
	return text
}

// kept is what the function keeps.
func (e *engine) kept() localaccount.Kept {
	e.t.Helper()
	kept := localaccount.Kept{}
	if err := json.Unmarshal(e.secretKey(tenant.AccountsSecret, localaccount.KeptKey), &kept); err != nil {
		e.t.Fatal(err)
	}
	return kept
}

// keep replaces what the function keeps.
func (e *engine) keep(kept localaccount.Kept) {
	raw, err := json.Marshal(kept)
	if err != nil {
		e.t.Fatal(err)
	}
	field(e.observed(tenant.AccountsSecret), "data").Fields[localaccount.KeptKey] = structpb.NewStringValue(b64(string(raw)))
}

// validTokens are those that Argo CD has for an account.
func validTokens(t *testing.T, e *engine, account string) []localaccount.Issued {
	t.Helper()
	var out []localaccount.Issued
	if text := e.argocdSecret("extra", "accounts."+account+".tokens"); text != "" {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// accepts does what Argo CD does with a token (3.6, util/session/sessionmanager.go).
func accepts(t *testing.T, e *engine, token string) (account string, err error) {
	t.Helper()
	claims := jwt.RegisteredClaims{}
	_, err = jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return []byte(e.argocdSecret("extra", "server.secretkey")), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithTimeFunc(e.f.now), jwt.WithIssuer("argocd"), jwt.WithIssuedAt())
	if err != nil {
		return "", err
	}
	account, isToken := strings.CutSuffix(claims.Subject, ":apiKey")
	if !isToken {
		return "", fmt.Errorf("subject %s", claims.Subject)
	}
	for _, valid := range validTokens(t, e, account) {
		if valid.ID == claims.ID && valid.At == claims.IssuedAt.Unix() && valid.ExpiresAt == claims.ExpiresAt.Unix() {
			return account, nil
		}
	}
	return "", fmt.Errorf("token %s is unknown", claims.ID)
}

// TestLocalAccounts: an account is Argo CD's, with a role and with a token that it accepts, in the connection Secret.
func TestLocalAccounts(t *testing.T) {
	e := accountsEngine(t, accountsSpec).install()
	values := field(e.observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()["configs"].(map[string]any)
	if cm := values["cm"].(map[string]any); cm["accounts.ci"] != "apiKey" || cm["accounts.ci.enabled"] != "true" {
		t.Errorf("argocd-cm has %v", cm)
	}
	if policy := values["rbac"].(map[string]any)["policy.virtualargocd-accounts.csv"]; policy != "g,ci,role:readonly\n" {
		t.Errorf("the policy is %q", policy)
	}
	e.roll()
	if account, err := accepts(t, e, e.detail(tokenKey)); account != "ci" || err != nil {
		t.Errorf("Argo CD takes the token for one of %q: %v", account, err)
	}
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || is.GetMessage() != "Argo CD has the accounts ci; tokens in the Secret of spec.writeConnectionSecretToRef: token.ci.deploy until 2026-01-02T05:04:05Z" {
		t.Errorf("the condition is %v", is)
	}
	// Nothing is composed where the customer may write.
	for name, r := range e.rsp.GetDesired().GetResources() {
		if field(r.GetResource(), "metadata").GetFields()["namespace"].GetStringValue() == testNamespace {
			t.Errorf("%s is composed in the claim's namespace", name)
		}
	}
	// The account leaves the spec: the token is revoked, and its key emptied. The signing key stays.
	token, key := e.detail(tokenKey), e.argocdSecret("extra", "server.secretkey")
	e.spec(`{}`)
	e.roll()
	if _, err := accepts(t, e, token); err == nil || e.detail(tokenKey) != "" || e.argocdSecret("extra", "server.secretkey") != key || key == "" {
		t.Errorf("without the account: accepted: %t, published %q, signing key stays: %t", err == nil, e.detail(tokenKey), e.argocdSecret("extra", "server.secretkey") == key)
	}
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonNotInSpec {
		t.Errorf("without the account: %v", is)
	}
	// It comes back, with another token.
	now := testNow.Add(time.Minute)
	e.f.now = func() time.Time { return now }
	e.spec(accountsSpec)
	e.roll()
	if _, err := accepts(t, e, e.detail(tokenKey)); err != nil || e.detail(tokenKey) == token {
		t.Errorf("back again: another: %t, %v", e.detail(tokenKey) != token, err)
	}
}

// TestAccountsReadyKnowsTheSecret: what isn't in the connection Secret isn't delivered.
func TestAccountsReadyKnowsTheSecret(t *testing.T) {
	ready := func(e *engine) bool {
		return e.condition(v1alpha1.ConditionAccountsReady).GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE
	}
	e := accountsEngine(t, accountsSpec).install()
	e.roll()
	now := testNow.Add(time.Hour)
	e.f.now = func() time.Time { return now }
	first := e.detail(tokenKey)
	for e.detail(tokenKey) == first {
		if e.reconcile(); ready(e) {
			t.Fatal("AccountsReady is True with the token of before")
		}
		if ttl := e.rsp.GetMeta().GetTtl().AsDuration(); ttl > time.Minute {
			t.Fatalf("meanwhile, Crossplane calls again after %s", ttl)
		}
		e.heal()
	}
	if ttl := e.rsp.GetMeta().GetTtl().AsDuration(); ttl != 5*time.Second {
		t.Errorf("once it is published, Crossplane calls again after %s", ttl)
	}
	// Crossplane can't write the Secret.
	second := e.fork()
	second.req.Observed.Composite.ConnectionDetails[tokenKey] = []byte(first)
	if second.reconcile(); ready(second) {
		t.Error("AccountsReady is True with a Secret that wasn't written")
	}
	// Crossplane copies it to the claim only while the tenant is Ready.
	third := e.fork()
	setReady(third.xr(), false, now)
	if third.reconcile(); ready(third) {
		t.Error("AccountsReady is True with a Secret that the claim doesn't have")
	}
	if e.reconcile(); !ready(e) {
		t.Errorf("once it is there: %v", e.condition(v1alpha1.ConditionAccountsReady))
	}
	setReady(e.xr(), false, now)
	if e.reconcile(); !ready(e) {
		t.Errorf("trouble of a later time: %v", e.condition(v1alpha1.ConditionAccountsReady))
	}
	e.reconcile()
	if ttl := e.rsp.GetMeta().GetTtl().AsDuration(); ttl != ttlAtRest {
		t.Errorf("at rest, Crossplane calls again after %s", ttl)
	}
	// An account without tokens is rolled out, too.
	e.spec(`{"argocd":{"accounts":[{"name":"ci"},{"name":"other"}]}}`)
	if e.reconcile(); ready(e) {
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
		"Days":         {`[{"name":"a","tokens":[{"name":"a","expiresIn":"90d"}]}]`, `expiresIn: "90d" is not possible`},
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
			e := newEngine(t, tenantXR(tc.spec), "")
			e.reconcile()
			if got := refusal(e.rsp); !strings.Contains(got, tc.want) {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

// TestConnectionSecretIsBounded: Crossplane removes no key of it, so a claim can't add any number.
func TestConnectionSecretIsBounded(t *testing.T) {
	e := accountsEngine(t, accountsSpec).install()
	e.roll()
	for i := range 99 {
		e.req.Observed.Composite.ConnectionDetails[fmt.Sprintf("token.old.%02d", i)] = []byte{}
	}
	e.roll()
	if got := refusal(e.rsp); got != "" {
		t.Fatalf("with 100 keys: %q", got)
	}
	e.spec(strings.Replace(accountsSpec, "deploy", "another", 1))
	e.roll()
	if got := refusal(e.rsp); !strings.Contains(got, "spec.argocd.accounts: with these tokens, the connection Secret would have 101 keys of tokens") || !strings.Contains(got, "token.ci.deploy, token.old.00, token.old.01 and 97 more") {
		t.Errorf("refused: %q", got)
	}
	if _, err := accepts(t, e, e.detail(tokenKey)); err != nil {
		t.Error(err)
	}
	e.spec(`{"argocd":{"accounts":[{"name":"old","tokens":[{"name":"07"}]}]}}`)
	e.roll()
	if _, err := accepts(t, e, e.detail("token.old.07")); err != nil || refusal(e.rsp) != "" {
		t.Errorf("an earlier name: %q, %v", refusal(e.rsp), err)
	}
}

// TestCrossplaneFiltersNoToken: with connectionSecretKeys in an XRD, Crossplane publishes no other keys.
func TestCrossplaneFiltersNoToken(t *testing.T) {
	for _, file := range []string{"../../apis/xvirtualargocds.yaml", "../../examples/demo-group/definition.yaml"} {
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
	e.rotation("first")
	e.install()
	e.roll()
	secrets := []string{
		e.detail(tokenKey), e.detail("password"), e.argocdSecret("extra", "server.secretkey"), e.argocdSecret("argocdServerAdminPassword"), b64(string(e.kept().Key)),
	}
	check := func() {
		t.Helper()
		text := closed(t, e.rsp) + unescaped(logged(e.f))
		for _, secret := range secrets {
			if secret == "" {
				t.Fatal("a secret is empty")
			}
			if form := formIn(text, secret); form != "" {
				t.Errorf("%q is outside of Secrets", form)
			}
		}
	}
	check()
	setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "cannot apply "+strings.Join(secrets, " "))
	e.reconcile()
	check()
	if !strings.Contains(e.status("message"), "[redacted]") {
		t.Errorf("the message is %q", e.status("message"))
	}
}

// TestTenantsWithoutAccounts: nothing is kept, or set, for a tenant that has neither tokens nor a rotated password.
func TestTenantsWithoutAccounts(t *testing.T) {
	e := accountsEngine(t, `{"argocd":{"accounts":[{"name":"ci"}]}}`).install()
	if e.has(tenant.AccountsSecret) || len(e.accounts) > 0 {
		t.Error("an account without tokens needs no key")
	}
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || is.GetMessage() != "Argo CD has the accounts ci" {
		t.Errorf("the condition is %v", is)
	}
}
