package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

const accountsSpec = `{"argocd":{"accounts":[{"name":"ci","role":"readonly","tokens":[{"name":"deploy","secretName":"ci-token","expiresIn":"2h"}]}]}}`

// tokenSecret is the name in the composition of that Secret.
var tokenSecret = tenant.TokenResource("ci-token")

// rotation says what the claim's annotation has; "" for none.
func (e *engine) rotation(value string) {
	annotations := map[string]any{}
	if value != "" {
		annotations[tenant.AnnotationRotatePassword] = value
	}
	s, err := structpb.NewStruct(annotations)
	if err != nil {
		e.t.Fatal(err)
	}
	field(e.xr(), "metadata").Fields["annotations"] = structpb.NewStructValue(s)
}

// roll lets a change reach Argo CD.
func (e *engine) roll() { e.cycle(3) }

// secretOf returns what the values in the Secret say at a path below configs.secret.
func secretOf(t *testing.T, e *engine, path ...string) string {
	t.Helper()
	at := any(valuesOf(t, e.observed(tenant.ValuesSecret)))
	for _, key := range append([]string{"configs", "secret"}, path...) {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	text, _ := at.(string)
	return text
}

// validTokens are those that Argo CD has for an account.
func validTokens(t *testing.T, e *engine, account string) []tenant.Issued {
	t.Helper()
	var out []tenant.Issued
	if text := secretOf(t, e, "extra", "accounts."+account+".tokens"); text != "" {
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
	_, err = jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return []byte(secretOf(t, e, "extra", "server.secretkey")), nil },
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

// TestLocalAccounts: an account is Argo CD's, with a role and with a token that it accepts, in a Secret of the claim's namespace.
func TestLocalAccounts(t *testing.T) {
	e := newEngine(t, tenantXR(accountsSpec), "").install()
	values := field(e.observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()["configs"].(map[string]any)
	if cm := values["cm"].(map[string]any); cm["accounts.ci"] != "apiKey" || cm["accounts.ci.enabled"] != "true" {
		t.Errorf("argocd-cm has %v", cm)
	}
	if policy := values["rbac"].(map[string]any)["policy.virtualargocd-accounts.csv"]; policy != "g,ci,role:readonly\n" {
		t.Errorf("the policy is %q", policy)
	}
	o := e.observed(tokenSecret)
	if meta := field(o, "metadata").GetFields(); meta["namespace"].GetStringValue() != testNamespace || meta["name"].GetStringValue() != "ci-token" || o.GetFields()["type"].GetStringValue() != "virtualargocd.io/argocd-token" {
		t.Errorf("the Secret is %v", meta)
	}
	for key, want := range map[string]string{"account": "ci", "server": "argocd-server-x-argocd-x-vcluster.vargo-customer1-7rw8j.svc", "url": "https://argocd-server-x-argocd-x-vcluster.vargo-customer1-7rw8j.svc"} {
		if got := string(e.secretKey(tokenSecret, key)); got != want {
			t.Errorf("%s: want %s, got %s", key, want, got)
		}
	}
	if account, err := accepts(t, e, string(e.secretKey(tokenSecret, "token"))); account != "ci" || err != nil {
		t.Errorf("Argo CD takes the token for one of %q: %v", account, err)
	}
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || is.GetMessage() != "Argo CD has the accounts ci; Secret ci-token has a token of ci until 2026-01-02T05:04:05Z" {
		t.Errorf("the condition is %v", is)
	}
	// A path of the URL is in the URL alone: the CLI has an option for it.
	e.spec(strings.Replace(accountsSpec, `{"argocd":{`, `{"argocd":{"values":{"configs":{"params":{"server.rootpath":"/argocd"}}},`, 1))
	e.roll()
	if server, url := string(e.secretKey(tokenSecret, "server")), string(e.secretKey(tokenSecret, "url")); strings.Contains(server, "/") || !strings.HasSuffix(url, "/argocd") {
		t.Errorf("with a path: %s, %s", server, url)
	}
	// The account leaves the spec: the token is revoked, and its Secret deleted. The signing key stays.
	key := secretOf(t, e, "extra", "server.secretkey")
	e.spec(`{}`)
	e.roll()
	if e.has(tokenSecret) || len(validTokens(t, e, "ci")) > 0 || secretOf(t, e, "extra", "server.secretkey") != key || key == "" {
		t.Errorf("without the account: a Secret: %t, tokens %v, key %t", e.has(tokenSecret), validTokens(t, e, "ci"), key != "")
	}
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonNotInSpec {
		t.Errorf("without the account: %v", is)
	}
}

// TestTokensRotate: at half of its time a token gets a successor, which is delivered once Argo CD has it, and no token that is
// delivered is ever refused.
func TestTokensRotate(t *testing.T) {
	e := newEngine(t, tenantXR(accountsSpec), "").install()
	now := testNow
	e.f.now = func() time.Time { return now }
	token := func() string { return string(e.secretKey(tokenSecret, "token")) }
	first := token()
	if ttl := e.call().GetMeta().GetTtl().AsDuration(); ttl != ttlAtRest {
		t.Errorf("Crossplane calls again after %s", ttl)
	}
	now = testNow.Add(50 * time.Minute)
	if ttl := e.call().GetMeta().GetTtl().AsDuration(); ttl != 10*time.Minute {
		t.Errorf("10 minutes before the rotation, Crossplane calls again after %s", ttl)
	}
	now = testNow.Add(time.Hour)
	e.reconcile()
	if tokens := validTokens(t, e, "ci"); len(tokens) != 2 || token() != first {
		t.Errorf("before Helm has the second token: %v, delivered: %t", tokens, token() != first)
	}
	// Another change that Helm has made meanwhile is without it.
	other := e.fork()
	field(other.observed(tenant.ArgoCDRelease), "status", "atProvider").Fields["revision"] = structpb.NewNumberValue(100)
	if other.reconcile(); string(other.secretKey(tokenSecret, "token")) != first {
		t.Error("the second token is delivered with another change")
	}
	for range 3 {
		if e.reconcile(); token() != first {
			t.Fatal("the second token is delivered before Helm has it")
		}
	}
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonInstalling {
		t.Errorf("meanwhile: %v", is)
	}
	// The token of the tenant's account on the host changes, and nothing that was derived from it.
	e.setToken(tenant.InstallerCredentials, "another-token-0123456789")
	e.roll()
	second := token()
	for name, is := range map[string]string{"first": first, "second": second} {
		if _, err := accepts(t, e, is); err != nil {
			t.Errorf("the %s token: %v", name, err)
		}
	}
	if second == first {
		t.Fatal("the token isn't rotated")
	}
	before := field(e.observed(tenant.ValuesSecret), "data").String()
	now = testNow.Add(2*time.Hour - time.Second)
	e.roll()
	if field(e.observed(tenant.ValuesSecret), "data").String() != before {
		t.Error("the values change between rotations")
	}
	now = testNow.Add(2 * time.Hour)
	e.roll()
	if _, err := accepts(t, e, first); err == nil {
		t.Error("the first token doesn't expire")
	}
	if tokens := validTokens(t, e, "ci"); len(tokens) != 2 {
		t.Errorf("valid are %v", tokens)
	}
	// A renamed entry revokes its token.
	third := token()
	e.spec(strings.Replace(accountsSpec, `"deploy"`, `"other"`, 1))
	e.roll()
	if _, err := accepts(t, e, third); err == nil {
		t.Error("a renamed token is accepted")
	}
	if _, err := accepts(t, e, token()); err != nil {
		t.Error(err)
	}
	// As does nothing that goes wrong with the claim.
	fourth := token()
	e.spec(strings.Replace(accountsSpec, `"readonly"`, `"nobody"`, 1))
	now = testNow.Add(3 * time.Hour)
	e.roll()
	if is := refusal(e.rsp); !strings.Contains(is, "spec.argocd.accounts[0].role: no policy") {
		t.Errorf("refused: %q", is)
	}
	if _, err := accepts(t, e, token()); err != nil || token() == fourth {
		t.Errorf("a refused claim: rotated: %t, %v", token() != fourth, err)
	}
}

// TestTokenOverwritesNothing: a Secret that is somebody's stays as it is, and isn't the tenant's to delete.
func TestTokenOverwritesNothing(t *testing.T) {
	const two = `{"argocd":{"accounts":[{"name":"ci","tokens":[{"name":"a","secretName":"mine"},{"name":"b"}]}]}}`
	for name, tc := range map[string]struct{ meta, want string }{
		"Users":       {`{}`, "spec.argocd.accounts[0].tokens[0].secretName: Secret mine exists in namespace team-a, and is not this claim's, and stays as it is: write another name, or delete the Secret"},
		"OtherClaims": {`{"labels":{"crossplane.io/claim-name":"other","crossplane.io/claim-namespace":"team-a"},"ownerReferences":[{"controller":true,"uid":"2"}]}`, "and is that of claim other: write another name"},
		"Imitated":    {`{"annotations":{"crossplane.io/composition-resource-name":"` + tenant.TokenResource("mine") + `"},"ownerReferences":[{"uid":"1f0d7d2c"}]}`, "not this claim's"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(two), "")
			o := resource.MustStructJSON(`{"apiVersion":"v1","kind":"Secret","metadata":` + tc.meta + `,"data":{"a":"b"}}`)
			field(o, "metadata").Fields["name"], field(o, "metadata").Fields["namespace"] = structpb.NewStringValue("mine"), structpb.NewStringValue(testNamespace)
			e.cluster["Secret/team-a/mine"] = o
			e.install()
			e.roll()
			is := e.condition(v1alpha1.ConditionAccountsReady)
			if e.has(tenant.TokenResource("mine")) || is.GetReason() != v1alpha1.ReasonSecretTaken || !strings.Contains(is.GetMessage(), tc.want) {
				t.Errorf("composed: %t, %v", e.has(tenant.TokenResource("mine")), is)
			}
			if e.status("phase") != "Ready" {
				t.Errorf("the tenant is %s", e.status("phase"))
			}
			// It goes, and both tokens are delivered.
			delete(e.cluster, "Secret/team-a/mine")
			e.roll()
			if !e.has(tenant.TokenResource("mine")) || !e.has(tenant.TokenResource("customer1-argocd-ci-b")) || e.condition(v1alpha1.ConditionAccountsReady).GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				t.Errorf("once it is gone: %v", e.condition(v1alpha1.ConditionAccountsReady))
			}
		})
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
		"SecretName":   {`[{"name":"a","tokens":[{"name":"a","secretName":"A"}]}]`, `spec.argocd.accounts[0].tokens[0].secretName: "A" is not the name of a Secret`},
		"DefaultName":  {`[{"name":"My_CI","tokens":[{"name":"a"}]}]`, `secretName: "customer1-argocd-My_CI-a" is not the name of a Secret`},
		"OneSecret":    {`[{"name":"a","tokens":[{"name":"a","secretName":"s"}]},{"name":"b","tokens":[{"name":"a","secretName":"s"}]}]`, `spec.argocd.accounts[1].tokens[0].secretName: "s" is that of spec.argocd.accounts[0].tokens[0], too`},
		"TooMany":      {`[{"name":"a","tokens":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e"},{"name":"f"}]}]`, "spec.argocd.accounts[0].tokens: has 6 entries: write 5 at most"},
		"All":          {`[{"name":"admin"},{"name":"a","tokens":[{"name":"a","expiresIn":"1s"}]}]`, "spec.argocd.accounts[0].name: admin is Argo CD's own user: write another name, or the role admin; (2) spec.argocd.accounts[1].tokens[0].expiresIn"},
		"ReadByClaim":  {`{"argocd":{"accounts":[{"name":"a","tokens":[{"name":"a","secretName":"s"}]}],"secretKeys":[{"key":"webhook.github.secret","secretRef":{"name":"s"}}]}}`, `secretName: "s" is a Secret that the claim reads`},
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
	e := newEngine(t, tenantXR(accountsSpec), "")
	e.claimedIn("")
	e.reconcile()
	if got := refusal(e.rsp); !strings.Contains(got, "spec.argocd.accounts[0].tokens: a token is delivered in the namespace of the claim, and this composite resource has no claim") {
		t.Errorf("without a claim: %q", got)
	}
}

// TestAdminPasswordRotates: each new value of the annotation gives the admin a new password, which is published once Argo CD has it.
func TestAdminPasswordRotates(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	password := func() string { return string(e.rsp.GetDesired().GetComposite().GetConnectionDetails()["password"]) }
	works := func(password string) bool {
		return bcrypt.CompareHashAndPassword([]byte(secretOf(t, e, "argocdServerAdminPassword")), []byte(password)) == nil
	}
	now := testNow.Add(time.Hour)
	e.f.now = func() time.Time { return now }
	if password() != testPassword {
		t.Fatalf("published is %q", password())
	}
	e.rotation("2026-01-02")
	e.reconcile()
	e.reconcile()
	if password() != testPassword {
		t.Errorf("before Helm has the new one, %q is published", password())
	}
	e.roll()
	first := password()
	if first == testPassword || len(first) != 24 || !works(first) || works(testPassword) {
		t.Errorf("published is %q, which works: %t", first, works(first))
	}
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || is.GetMessage() != "The password of admin was rotated at 2026-01-02T04:04:05Z" {
		t.Errorf("the condition is %v", is)
	}
	if at := secretOf(t, e, "argocdServerAdminPasswordMtime"); at != "2026-01-02T04:04:05Z" {
		t.Errorf("changed at %s", at)
	}
	if secretOf(t, e, "extra", "server.secretkey") != "" {
		t.Error("Argo CD's signing key is set without tokens")
	}
	// The same value changes nothing, whatever the token of the tenant's account, and nor does no value.
	before := field(e.observed(tenant.ValuesSecret), "data").String()
	now = now.Add(time.Hour)
	e.setToken(tenant.InstallerCredentials, "another-token-0123456789")
	e.roll()
	e.rotation("")
	e.roll()
	if field(e.observed(tenant.ValuesSecret), "data").String() != before || password() != first {
		t.Errorf("without a new value, the password is %q", password())
	}
	e.rotation("again")
	e.roll()
	if second := password(); second == first || !works(second) || works(first) {
		t.Errorf("the second password: another: %t, works: %t, the first works: %t", second != first, works(second), works(first))
	}
	// A hash in the values is the claim's own to set, where the annotation doesn't ask for another.
	const own = `{"argocd":{"values":{"configs":{"secret":{"argocdServerAdminPassword":"$2a$10$mine"}}}}}`
	e.spec(own)
	e.roll()
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonPasswordNotRotated || !strings.Contains(is.GetMessage(), "the password of admin is set by spec.argocd.values.configs.secret.argocdServerAdminPassword") {
		t.Errorf("with a hash: %v", is)
	}
	if refusal(e.rsp) != "" || password() != "" || secretOf(t, e, "argocdServerAdminPassword") != "" {
		t.Errorf("with a hash, refused: %q, published %q", refusal(e.rsp), password())
	}
}

// TestAdminPasswordOfNewTenant: a claim may have the annotation from the start. Then Argo CD makes no password of its own.
func TestAdminPasswordOfNewTenant(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "")
	e.rotation("first")
	e.install()
	if spec := field(e.observed(tenant.ArgoCDRelease), "spec").GetFields(); spec["connectionDetails"] != nil || spec["writeConnectionSecretToRef"] != nil {
		t.Error("the Release reads a Secret that Argo CD doesn't make")
	}
	password := e.rsp.GetDesired().GetComposite().GetConnectionDetails()["password"]
	if bcrypt.CompareHashAndPassword([]byte(secretOf(t, e, "argocdServerAdminPassword")), password) != nil {
		t.Errorf("published is %q", password)
	}
	// Nobody can log in as admin: nothing is published, and no other password made.
	e.spec(`{"sso":{"disableAdmin":true}}`)
	e.roll()
	if password := e.rsp.GetDesired().GetComposite().GetConnectionDetails()["password"]; len(password) > 0 {
		t.Errorf("published is %q", password)
	}
	e.rotation("second")
	e.roll()
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonPasswordNotRotated || !strings.Contains(is.GetMessage(), "the local user admin is switched off") {
		t.Errorf("switched off: %v", is)
	}
	e.spec(`{}`)
	e.roll()
	password = e.rsp.GetDesired().GetComposite().GetConnectionDetails()["password"]
	if bcrypt.CompareHashAndPassword([]byte(secretOf(t, e, "argocdServerAdminPassword")), password) != nil {
		t.Errorf("switched on again: published is %q: %s", password, refusal(e.rsp))
	}
}

// TestAccountsStayInSecrets: no token, password or key is anywhere but in Secrets, whatever providers tell.
func TestAccountsStayInSecrets(t *testing.T) {
	e := newEngine(t, tenantXR(accountsSpec), "")
	e.rotation("first")
	e.install()
	kept := tenant.Kept{}
	if err := json.Unmarshal(e.secretKey(tenant.ValuesSecret, tenant.KeptKey), &kept); err != nil {
		t.Fatal(err)
	}
	secrets := []string{
		string(e.secretKey(tokenSecret, "token")), string(e.rsp.GetDesired().GetComposite().GetConnectionDetails()["password"]),
		secretOf(t, e, "extra", "server.secretkey"), secretOf(t, e, "argocdServerAdminPassword"), b64(string(kept.Key)),
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

// TestTenantsWithoutAccounts: nothing is kept, or set, for a tenant that has neither accounts nor a rotated password.
func TestTenantsWithoutAccounts(t *testing.T) {
	e := newEngine(t, tenantXR(`{"argocd":{"accounts":[{"name":"ci"}]}}`), "").install()
	if data := field(e.observed(tenant.ValuesSecret), "data").GetFields(); data[tenant.KeptKey] != nil || secretOf(t, e, "extra", "server.secretkey") != "" {
		t.Error("an account without tokens needs no key")
	}
}
