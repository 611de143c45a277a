package function

import (
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"golang.org/x/crypto/bcrypt"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestAdminPasswordRotates: each new value of the annotation gives the admin a new password, which is published once Argo CD has it.
func TestAdminPasswordRotates(t *testing.T) {
	e := accountsEngine(t, `{}`).install()
	password := func() string { return e.detail("password") }
	works := func(password string) bool {
		return bcrypt.CompareHashAndPassword([]byte(e.argocdSecret("argocdServerAdminPassword")), []byte(password)) == nil
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
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || is.GetMessage() != "the password of admin was rotated at 2026-01-02T04:04:06Z" {
		t.Errorf("the condition is %v", is)
	}
	if at := e.argocdSecret("argocdServerAdminPasswordMtime"); at != "2026-01-02T04:04:06Z" {
		t.Errorf("changed at %s", at)
	}
	if e.argocdSecret("extra", "server.secretkey") != "" {
		t.Error("Argo CD's signing key is set without tokens")
	}
	// The same value changes nothing, whatever the token of the tenant's account, and nor does no value.
	before := field(e.observed(tenant.AccountsSecret), "data").String()
	now = now.Add(time.Hour)
	e.setToken(tenant.InstallerCredentials, "another-token-0123456789")
	e.roll()
	e.rotation("")
	e.roll()
	if field(e.observed(tenant.AccountsSecret), "data").String() != before || password() != first {
		t.Errorf("without a new value, the password is %q", password())
	}
	e.rotation("again")
	e.roll()
	if second := password(); second == first || !works(second) || works(first) {
		t.Errorf("the second password: another: %t, works: %t, the first works: %t", second != first, works(second), works(first))
	}
	// A value that comes back gives another one: the first may be known.
	third := password()
	now = now.Add(time.Minute)
	e.rotation("2026-01-02")
	e.roll()
	if password() == first || password() == third || !works(password()) {
		t.Errorf("the value of before gives the password of before: %t", password() == first)
	}
	// A hash in the values is the claim's own to set, where the annotation doesn't ask for another.
	const own = `{"argocd":{"values":{"configs":{"secret":{"argocdServerAdminPassword":"$2a$10$mine"}}}}}`
	e.spec(own)
	e.roll()
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonPasswordNotRotated || !strings.Contains(is.GetMessage(), "the password of admin is set by spec.argocd.values.configs.secret.argocdServerAdminPassword") {
		t.Errorf("with a hash: %v", is)
	}
	if refusal(e.rsp) != "" || password() != "" || e.argocdSecret("argocdServerAdminPassword") != "" {
		t.Errorf("with a hash, refused: %q, published %q", refusal(e.rsp), password())
	}
}

// TestSessionsOfBeforeEnd: whoever logs in with the password of before while the new one is on its way is logged out, too.
func TestSessionsOfBeforeEnd(t *testing.T) {
	e := accountsEngine(t, `{}`).install()
	now, arrived := testNow.Add(time.Hour), time.Time{}
	e.f.now = func() time.Time { return now }
	e.rotation("first")
	for step := 0; e.detail("password") == testPassword; step++ {
		if step == 20 {
			t.Fatal("no other password is published")
		}
		e.reconcile()
		now = now.Add(10 * time.Second)
		if e.heal(); arrived.IsZero() && e.argocdSecret("argocdServerAdminPassword") != "" {
			arrived = now
		}
		now = now.Add(100 * time.Millisecond)
	}
	// Argo CD knows the time of a session in whole seconds.
	if at, err := time.Parse(time.RFC3339, e.argocdSecret("argocdServerAdminPasswordMtime")); err != nil || !arrived.Truncate(time.Second).Before(at) || at.After(now) {
		t.Errorf("Argo CD got the password at %s, and ends sessions from before %s", arrived, e.argocdSecret("argocdServerAdminPasswordMtime"))
	}
}

// TestAdminPasswordOfNewTenant: a claim may have the annotation from the start. Then Argo CD makes no password of its own.
func TestAdminPasswordOfNewTenant(t *testing.T) {
	e := accountsEngine(t, `{}`)
	e.rotation("first")
	e.install()
	e.roll()
	if spec := field(e.observed(tenant.ArgoCDRelease), "spec").GetFields(); spec["connectionDetails"] != nil || spec["writeConnectionSecretToRef"] != nil {
		t.Error("the Release reads a Secret that Argo CD doesn't make")
	}
	password := e.req.GetObserved().GetComposite().GetConnectionDetails()["password"]
	if bcrypt.CompareHashAndPassword([]byte(e.argocdSecret("argocdServerAdminPassword")), password) != nil {
		t.Errorf("published is %q", password)
	}
	// Nobody can log in as admin: nothing is published, and no other password made.
	e.spec(`{"sso":{"disableAdmin":true}}`)
	e.roll()
	if password := e.req.GetObserved().GetComposite().GetConnectionDetails()["password"]; len(password) > 0 {
		t.Errorf("published is %q", password)
	}
	e.rotation("second")
	e.roll()
	if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonPasswordNotRotated || !strings.Contains(is.GetMessage(), "the local user admin is switched off") {
		t.Errorf("switched off: %v", is)
	}
	e.spec(`{}`)
	e.roll()
	password = e.req.GetObserved().GetComposite().GetConnectionDetails()["password"]
	if bcrypt.CompareHashAndPassword([]byte(e.argocdSecret("argocdServerAdminPassword")), password) != nil {
		t.Errorf("switched on again: published is %q: %s", password, refusal(e.rsp))
	}
}
