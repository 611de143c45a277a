package accounts_test

import (
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"golang.org/x/crypto/bcrypt"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestAdminPasswordRotates: each new value of the annotation gives the admin a new password, which is published once Argo CD has it.
func TestAdminPasswordRotates(t *testing.T) {
	e := accountsEngine(t, `{}`).Install()
	password := func() string { return detail(e, "password") }
	works := func(password string) bool {
		return bcrypt.CompareHashAndPassword([]byte(argocdSecret(e, "argocdServerAdminPassword")), []byte(password)) == nil
	}
	now := crossplanetest.Start.Add(time.Hour)
	e.Now = func() time.Time { return now }
	if password() != crossplanetest.Password {
		t.Fatalf("published is %q", password())
	}
	e.RotatePassword("2026-01-02")
	e.Reconcile()
	e.Reconcile()
	if password() != crossplanetest.Password {
		t.Errorf("before Helm has the new one, %q is published", password())
	}
	roll(e)
	first := password()
	if first == crossplanetest.Password || len(first) != 24 || !works(first) || works(crossplanetest.Password) {
		t.Errorf("published is %q, which works: %t", first, works(first))
	}
	if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || is.GetMessage() != "the password of admin was rotated at 2026-01-02T04:04:06Z" {
		t.Errorf("the condition is %v", is)
	}
	if at := argocdSecret(e, "argocdServerAdminPasswordMtime"); at != "2026-01-02T04:04:06Z" {
		t.Errorf("changed at %s", at)
	}
	if argocdSecret(e, "extra", "server.secretkey") != "" {
		t.Error("Argo CD's signing key is set without tokens")
	}
	// The same value changes nothing, whatever the token of the tenant's account, and nor does no value.
	before := crossplanetest.Field(e.Observed(tenant.AccountsSecret), "data").String()
	now = now.Add(time.Hour)
	e.SetToken(tenant.InstallerCredentials, "another-token-0123456789")
	roll(e)
	e.RotatePassword("")
	roll(e)
	if crossplanetest.Field(e.Observed(tenant.AccountsSecret), "data").String() != before || password() != first {
		t.Errorf("without a new value, the password is %q", password())
	}
	e.RotatePassword("again")
	roll(e)
	if second := password(); second == first || !works(second) || works(first) {
		t.Errorf("the second password: another: %t, works: %t, the first works: %t", second != first, works(second), works(first))
	}
	// A value that comes back gives another one: the first may be known.
	third := password()
	now = now.Add(time.Minute)
	e.RotatePassword("2026-01-02")
	roll(e)
	if password() == first || password() == third || !works(password()) {
		t.Errorf("the value of before gives the password of before: %t", password() == first)
	}
	// A hash in the values is the claim's own to set, where the annotation doesn't ask for another.
	const own = `{"argocd":{"values":{"configs":{"secret":{"argocdServerAdminPassword":"$2a$10$mine"}}}}}`
	e.SetSpec(own)
	roll(e)
	if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonPasswordNotRotated || !strings.Contains(is.GetMessage(), "the password of admin is set by spec.argocd.values.configs.secret.argocdServerAdminPassword") {
		t.Errorf("with a hash: %v", is)
	}
	if crossplanetest.Refusal(e.Response) != "" || password() != "" || argocdSecret(e, "argocdServerAdminPassword") != "" {
		t.Errorf("with a hash, refused: %q, published %q", crossplanetest.Refusal(e.Response), password())
	}
}

// TestSessionsOfBeforeEnd: whoever logs in with the password of before while the new one is on its way is logged out, too.
func TestSessionsOfBeforeEnd(t *testing.T) {
	e := accountsEngine(t, `{}`).Install()
	now, arrived := crossplanetest.Start.Add(time.Hour), time.Time{}
	e.Now = func() time.Time { return now }
	e.RotatePassword("first")
	for step := 0; detail(e, "password") == crossplanetest.Password; step++ {
		if step == 20 {
			t.Fatal("no other password is published")
		}
		e.Reconcile()
		now = now.Add(10 * time.Second)
		if e.RunProviders(); arrived.IsZero() && argocdSecret(e, "argocdServerAdminPassword") != "" {
			arrived = now
		}
		now = now.Add(100 * time.Millisecond)
	}
	// Argo CD knows the time of a session in whole seconds.
	if at, err := time.Parse(time.RFC3339, argocdSecret(e, "argocdServerAdminPasswordMtime")); err != nil || !arrived.Truncate(time.Second).Before(at) || at.After(now) {
		t.Errorf("Argo CD got the password at %s, and ends sessions from before %s", arrived, argocdSecret(e, "argocdServerAdminPasswordMtime"))
	}
}

// TestAdminPasswordOfNewTenant: a claim may have the annotation from the start. Then Argo CD makes no password of its own.
func TestAdminPasswordOfNewTenant(t *testing.T) {
	e := accountsEngine(t, `{}`)
	e.RotatePassword("first")
	e.Install()
	roll(e)
	if spec := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec").GetFields(); spec["connectionDetails"] != nil || spec["writeConnectionSecretToRef"] != nil {
		t.Error("the Release reads a Secret that Argo CD doesn't make")
	}
	password := e.Request.GetObserved().GetComposite().GetConnectionDetails()["password"]
	if bcrypt.CompareHashAndPassword([]byte(argocdSecret(e, "argocdServerAdminPassword")), password) != nil {
		t.Errorf("published is %q", password)
	}
	// Nobody can log in as admin: nothing is published, and no other password made.
	e.SetSpec(`{"sso":{"disableAdmin":true}}`)
	roll(e)
	if password := e.Request.GetObserved().GetComposite().GetConnectionDetails()["password"]; len(password) > 0 {
		t.Errorf("published is %q", password)
	}
	e.RotatePassword("second")
	roll(e)
	if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonPasswordNotRotated || !strings.Contains(is.GetMessage(), "the local user admin is switched off") {
		t.Errorf("switched off: %v", is)
	}
	e.SetSpec(`{}`)
	roll(e)
	password = e.Request.GetObserved().GetComposite().GetConnectionDetails()["password"]
	if bcrypt.CompareHashAndPassword([]byte(argocdSecret(e, "argocdServerAdminPassword")), password) != nil {
		t.Errorf("switched on again: published is %q: %s", password, crossplanetest.Refusal(e.Response))
	}
}

// TestFirstPasswordOfSeveralServers: each of several API servers makes a password when it starts, and one of them is published. So the function makes
// it, once, for Argo CDs that are installed from now on.
func TestFirstPasswordOfSeveralServers(t *testing.T) {
	const several = `{"argocd":{"values":{"server":{"replicas":2}}}}`
	e := accountsEngine(t, several).Install()
	password := func() string { return detail(e, "password") }
	works := func() bool {
		return bcrypt.CompareHashAndPassword([]byte(argocdSecret(e, "argocdServerAdminPassword")), []byte(password())) == nil
	}
	roll(e)
	first, upgrades := password(), crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "metadata").GetFields()["generation"].GetNumberValue()
	if first == crossplanetest.Password || !works() {
		t.Errorf("published is %q, which works: %t", first, works())
	}
	if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetType() != "" {
		t.Errorf("without accounts and a rotation, there is the condition %v", is)
	}
	// It stays, whatever becomes of the servers.
	e.Now = func() time.Time { return crossplanetest.Start.Add(time.Hour) }
	roll(e)
	if now := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "metadata").GetFields()["generation"].GetNumberValue(); now != upgrades {
		t.Errorf("an hour later, Argo CD is upgraded: generation %v, then %v", upgrades, now)
	}
	e.SetSpec(`{}`)
	roll(e)
	if password() != first || !works() {
		t.Errorf("with one server, published is %q, which works: %t", password(), works())
	}
	e.RotatePassword("other")
	roll(e)
	if password() == first || !works() {
		t.Errorf("rotated: published is the first: %t, works: %t", password() == first, works())
	}
	// What isn't the function's to set stays with Argo CD, or with the claim.
	for spec, want := range map[string]string{
		`{}`: crossplanetest.Password,
		`{"argocd":{"values":{"server":{"replicas":2},"configs":{"secret":{"argocdServerAdminPassword":"$2a$10$mine"}}}}}`: "",
		`{"argocd":{"values":{"server":{"replicas":2},"configs":{"secret":{"createSecret":false}}}}}`:                      crossplanetest.Password,
	} {
		e := accountsEngine(t, spec).Install()
		roll(e)
		if got := detail(e, "password"); got != want || e.Has(tenant.AccountsSecret) {
			t.Errorf("%s: published is %q, want %q", spec, got, want)
		}
		// An Argo CD that runs keeps its password.
		e.SetSpec(several)
		roll(e)
		if e.Has(tenant.AccountsSecret) {
			t.Errorf("%s: a second server changes the password", spec)
		}
	}
}
