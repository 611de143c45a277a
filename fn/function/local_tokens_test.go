package function

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestTokenIsDeliveredOnceArgoCDHasIt: only the values themselves count, and not that something was deployed.
func TestTokenIsDeliveredOnceArgoCDHasIt(t *testing.T) {
	released := func(e *engine) *structpb.Struct { return e.observed(tenant.ArgoCDRelease) }
	for name, damage := range map[string]func(e *engine){
		"OtherRevision": func(e *engine) {
			field(released(e), "status", "atProvider").Fields["revision"] = structpb.NewNumberValue(100)
		},
		"OtherGeneration": func(e *engine) {
			e.heal()
			field(released(e), "metadata").Fields["generation"] = structpb.NewNumberValue(100)
		},
		"Fails": func(e *engine) {
			e.heal()
			setCondition(released(e), "Synced", "False", "ReconcileError", "cannot upgrade")
		},
		"RolledBack": func(e *engine) {
			e.heal()
			field(released(e), "status", "atProvider").Fields["state"] = structpb.NewStringValue("failed")
			setCondition(released(e), "Ready", "False", "Unavailable", "")
		},
		"OtherValues": func(e *engine) {
			e.heal()
			field(released(e), "spec", "forProvider", "values").Fields["x"] = structpb.NewStringValue("y")
		},
		"TakenBack": func(e *engine) {
			e.heal()
			policies, _ := structpb.NewList([]any{"Observe", "Create", "LateInitialize"})
			field(released(e), "spec").Fields["managementPolicies"] = structpb.NewListValue(policies)
		},
		"SecretLost": func(e *engine) { delete(field(e.observed(tenant.AccountsSecret), "data").Fields, localaccount.KeptKey) },
	} {
		t.Run(name, func(t *testing.T) {
			e := accountsEngine(t, `{}`).install()
			e.spec(accountsSpec)
			e.reconcile()
			e.reconcile()
			damage(e)
			e.reconcile()
			if token := e.detail(tokenKey); token != "" {
				t.Errorf("a token is delivered")
			}
			if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonInstalling {
				t.Errorf("the condition is %v", is)
			}
		})
	}
	// A provider whose cache doesn't have the values yet reports an error, and tries again. So the Release names them once they are there.
	e := accountsEngine(t, `{}`).install()
	e.spec(accountsSpec)
	names := func() bool {
		return strings.Contains(field(e.reconcile().GetDesired().GetResources()[tenant.ArgoCDRelease].GetResource(), "spec", "forProvider").String(), "-argocd-accounts")
	}
	if names() {
		t.Error("the Release names values that aren't written yet")
	}
	if !names() {
		t.Error("the Release doesn't name the values")
	}
	secret := e.observed(tenant.AccountsSecret)
	data := field(secret, "data").Fields
	field(secret, "data").Fields = map[string]*structpb.Value{}
	e.heal()
	field(secret, "data").Fields = data
	e.reconcile()
	if e.detail(tokenKey) != "" {
		t.Error("a token is delivered before the provider has its values")
	}
	e.roll()
	if _, err := accepts(t, e, e.detail(tokenKey)); err != nil {
		t.Error(err)
	}
}

// TestTokensRotate: at half of its time a token gets a successor, and the one before stays valid until it expires.
func TestTokensRotate(t *testing.T) {
	e := accountsEngine(t, accountsSpec).install()
	e.roll()
	now := testNow
	e.f.now = func() time.Time { return now }
	first := e.detail(tokenKey)
	change := func() string {
		return field(e.observed(tenant.ArgoCDRelease), "metadata", "annotations").GetFields()["virtualargocd.io/change"].GetStringValue()
	}
	before := change()
	now = testNow.Add(time.Hour - time.Second)
	if e.roll(); e.detail(tokenKey) != first {
		t.Fatal("the token is rotated before half of its time")
	}
	now = testNow.Add(time.Hour)
	// The token of the tenant's account on the host changes, and nothing that was derived from it.
	e.setToken(tenant.InstallerCredentials, "another-token-0123456789")
	e.roll()
	second := e.detail(tokenKey)
	for name, is := range map[string]string{"first": first, "second": second} {
		if _, err := accepts(t, e, is); err != nil {
			t.Errorf("the %s token: %v", name, err)
		}
	}
	if second == first {
		t.Fatal("the token isn't rotated")
	}
	// Helm tries it anew, whatever became of other changes.
	if change() == before {
		t.Errorf("a rotation is no change of the Release: %s", before)
	}
	before = field(e.observed(tenant.AccountsSecret), "data").String()
	now = testNow.Add(2*time.Hour - time.Second)
	e.roll()
	if field(e.observed(tenant.AccountsSecret), "data").String() != before {
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
	if data := field(e.observed(tenant.AccountsSecret), "data").GetFields(); len(data) != 2 {
		t.Errorf("the Secret has %d keys, want what is kept and one version of the values", len(data))
	}
	// A renamed entry revokes its token.
	third := e.detail(tokenKey)
	e.spec(strings.Replace(accountsSpec, `"deploy"`, `"other"`, 1))
	e.roll()
	if _, err := accepts(t, e, third); err == nil || e.detail(tokenKey) != "" {
		t.Error("a renamed token is accepted, or published")
	}
	if _, err := accepts(t, e, e.detail("token.ci.other")); err != nil {
		t.Error(err)
	}
	// A mistake in the claim stops no rotation.
	fourth := e.detail("token.ci.other")
	e.spec(strings.Replace(accountsSpec, `"readonly"`, `"nobody"`, 1))
	now = testNow.Add(3 * time.Hour)
	e.roll()
	if is := refusal(e.rsp); !strings.Contains(is, "spec.argocd.accounts[0].role: no policy") {
		t.Errorf("refused: %q", is)
	}
	if fifth := e.detail("token.ci.other"); fifth == fourth {
		t.Error("a refused claim stops the rotation")
	} else if _, err := accepts(t, e, fifth); err != nil {
		t.Error(err)
	}
}

// TestKeptIsEdited: times that the function can't have written are taken as absent.
func TestKeptIsEdited(t *testing.T) {
	for name, edit := range map[string]func(*localaccount.Kept){
		"FutureToken": func(k *localaccount.Kept) {
			k.Issued["ci/deploy"] = []localaccount.Issued{{ID: "x", At: testNow.Unix() + 301, ExpiresAt: testNow.Unix() + 301 + 7200}}
		},
		"LongToken":  func(k *localaccount.Kept) { k.Issued["ci/deploy"][0].ExpiresAt += 400 * 24 * 3600 },
		"Backwards":  func(k *localaccount.Kept) { k.Issued["ci/deploy"][0].ExpiresAt = k.Issued["ci/deploy"][0].At - 1 },
		"Unnamed":    func(k *localaccount.Kept) { k.Issued["other/deploy"] = k.Issued["ci/deploy"] },
		"NoTokens":   func(k *localaccount.Kept) { k.Issued = nil },
		"FutureTime": func(k *localaccount.Kept) { k.Admin.ChangedAt = testNow.Add(time.Hour).Format(time.RFC3339) },
		"NoTime":     func(k *localaccount.Kept) { k.Admin.ChangedAt = "x" },
		"Nothing":    func(k *localaccount.Kept) { *k = localaccount.Kept{} },
	} {
		t.Run(name, func(t *testing.T) {
			e := accountsEngine(t, accountsSpec)
			e.rotation("first")
			e.install()
			e.roll()
			kept := e.kept()
			edit(&kept)
			e.keep(kept)
			e.roll()
			if _, err := accepts(t, e, e.detail(tokenKey)); err != nil {
				t.Error(err)
			}
			if err := bcrypt.CompareHashAndPassword([]byte(e.argocdSecret("argocdServerAdminPassword")), []byte(e.detail("password"))); err != nil {
				t.Error(err)
			}
			if at, err := time.Parse(time.RFC3339, e.argocdSecret("argocdServerAdminPasswordMtime")); err != nil || at.After(testNow.Add(time.Second)) {
				t.Errorf("the password was changed at %s, %v", at, err)
			}
			if _, known := e.kept().Issued["other/deploy"]; known {
				t.Error("a token of no account is kept")
			}
			if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				t.Errorf("the condition is %v", is)
			}
		})
	}
	// Clocks of two replicas may be apart.
	e := accountsEngine(t, accountsSpec).install()
	e.roll()
	token := e.detail(tokenKey)
	e.f.now = func() time.Time { return testNow.Add(-5 * time.Minute) }
	if e.roll(); e.detail(tokenKey) != token {
		t.Error("another token, five minutes before")
	}
}

// TestAccountsLaw: whatever happens in which order, Argo CD accepts what is published until it expires, and AccountsReady is True only
// if that is as the claim has it.
func TestAccountsLaw(t *testing.T) {
	for seed := range seeds(8) {
		r := rand.New(rand.NewPCG(seed, 34))
		e := accountsEngine(t, accountsSpec).install()
		e.roll()
		now, hours := testNow, 2
		e.f.now = func() time.Time { return now }
		for step := range 60 {
			what := ""
			switch n := r.IntN(10); n {
			case 0, 1:
				hours = 1 + r.IntN(4)
				e.spec(strings.Replace(accountsSpec, "2h", fmt.Sprintf("%dh", hours), 1))
				what = fmt.Sprintf("expiresIn %dh", hours)
			case 2:
				now = now.Add(time.Duration(r.IntN(40)) * time.Minute)
				what = "time"
			case 3:
				e.heal()
				setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "cannot upgrade")
				what = "error"
			case 4, 5, 6:
				e.heal()
				what = "Helm"
			default:
				e.reconcile()
				what = "reconcile"
			}
			token := e.detail(tokenKey)
			_, err := accepts(t, e, token)
			expired := err != nil && strings.Contains(err.Error(), "expired")
			if err != nil && !expired {
				t.Fatalf("seed %d, step %d, %s: %v", seed, step, what, err)
			}
			if n := len(validTokens(t, e, "ci")); n > 4 {
				t.Fatalf("seed %d, step %d: %d tokens are valid", seed, step, n)
			}
			if what != "reconcile" || e.condition(v1alpha1.ConditionAccountsReady).GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				continue
			}
			claims := jwt.RegisteredClaims{}
			if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
				t.Fatal(err)
			}
			if lasts := claims.ExpiresAt.Sub(claims.IssuedAt.Time); expired || lasts != time.Duration(hours)*time.Hour || !now.Before(claims.IssuedAt.Add(lasts/2)) {
				t.Fatalf("seed %d, step %d: AccountsReady with a token of %s, want %dh, half over: %t", seed, step, lasts, hours, !now.Before(claims.IssuedAt.Add(lasts/2)))
			}
		}
		e.cycle(12)
		if is := e.condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
			t.Errorf("seed %d: in the end: %v", seed, is)
		}
	}
}
