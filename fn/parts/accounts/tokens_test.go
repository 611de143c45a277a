package accounts_test

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
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestTokenIsDeliveredOnceArgoCDHasIt: only the values themselves count, and not that something was deployed.
func TestTokenIsDeliveredOnceArgoCDHasIt(t *testing.T) {
	released := func(e *crossplanetest.Engine) *structpb.Struct { return e.Observed(tenant.ArgoCDRelease) }
	for name, damage := range map[string]func(e *crossplanetest.Engine){
		"OtherRevision": func(e *crossplanetest.Engine) {
			crossplanetest.Field(released(e), "status", "atProvider").Fields["revision"] = structpb.NewNumberValue(100)
		},
		"OtherGeneration": func(e *crossplanetest.Engine) {
			e.RunProviders()
			crossplanetest.Field(released(e), "metadata").Fields["generation"] = structpb.NewNumberValue(100)
		},
		"Fails": func(e *crossplanetest.Engine) {
			e.RunProviders()
			crossplanetest.SetCondition(released(e), "Synced", "False", "ReconcileError", "cannot upgrade")
		},
		"RolledBack": func(e *crossplanetest.Engine) {
			e.RunProviders()
			crossplanetest.Field(released(e), "status", "atProvider").Fields["state"] = structpb.NewStringValue("failed")
			crossplanetest.SetCondition(released(e), "Ready", "False", "Unavailable", "")
		},
		"OtherValues": func(e *crossplanetest.Engine) {
			e.RunProviders()
			crossplanetest.Field(released(e), "spec", "forProvider", "values").Fields["x"] = structpb.NewStringValue("y")
		},
		"TakenBack": func(e *crossplanetest.Engine) {
			e.RunProviders()
			policies, _ := structpb.NewList([]any{"Observe", "Create", "LateInitialize"})
			crossplanetest.Field(released(e), "spec").Fields["managementPolicies"] = structpb.NewListValue(policies)
		},
		"SecretLost": func(e *crossplanetest.Engine) {
			delete(crossplanetest.Field(e.Observed(tenant.AccountsSecret), "data").Fields, localaccount.KeptKey)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := accountsEngine(t, `{}`).Install()
			e.SetSpec(accountsSpec)
			e.Reconcile()
			e.Reconcile()
			damage(e)
			e.Reconcile()
			if token := detail(e, tokenKey); token != "" {
				t.Errorf("a token is delivered")
			}
			if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetReason() != v1alpha1.ReasonInstalling {
				t.Errorf("the condition is %v", is)
			}
		})
	}
	// A provider whose cache doesn't have the values yet reports an error, and tries again. So the Release names them once they are there.
	e := accountsEngine(t, `{}`).Install()
	e.SetSpec(accountsSpec)
	names := func() bool {
		return strings.Contains(crossplanetest.Field(e.Reconcile().GetDesired().GetResources()[tenant.ArgoCDRelease].GetResource(), "spec", "forProvider").String(), "-argocd-accounts")
	}
	if names() {
		t.Error("the Release names values that aren't written yet")
	}
	if !names() {
		t.Error("the Release doesn't name the values")
	}
	secret := e.Observed(tenant.AccountsSecret)
	data := crossplanetest.Field(secret, "data").Fields
	crossplanetest.Field(secret, "data").Fields = map[string]*structpb.Value{}
	e.RunProviders()
	crossplanetest.Field(secret, "data").Fields = data
	e.Reconcile()
	if detail(e, tokenKey) != "" {
		t.Error("a token is delivered before the provider has its values")
	}
	roll(e)
	if _, err := accepts(t, e, detail(e, tokenKey)); err != nil {
		t.Error(err)
	}
}

// TestTokensRotate: at half of its time a token gets a successor, and the one before stays valid until it expires.
func TestTokensRotate(t *testing.T) {
	e := accountsEngine(t, accountsSpec).Install()
	roll(e)
	now := crossplanetest.Start
	e.Now = func() time.Time { return now }
	first := detail(e, tokenKey)
	change := func() string {
		return crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "metadata", "annotations").GetFields()["virtualargocd.io/change"].GetStringValue()
	}
	before := change()
	now = crossplanetest.Start.Add(time.Hour - time.Second)
	if roll(e); detail(e, tokenKey) != first {
		t.Fatal("the token is rotated before half of its time")
	}
	now = crossplanetest.Start.Add(time.Hour)
	// The token of the tenant's account on the host changes, and nothing that was derived from it.
	e.SetToken(tenant.InstallerCredentials, "another-token-0123456789")
	roll(e)
	second := detail(e, tokenKey)
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
	before = crossplanetest.Field(e.Observed(tenant.AccountsSecret), "data").String()
	now = crossplanetest.Start.Add(2*time.Hour - time.Second)
	roll(e)
	if crossplanetest.Field(e.Observed(tenant.AccountsSecret), "data").String() != before {
		t.Error("the values change between rotations")
	}
	now = crossplanetest.Start.Add(2 * time.Hour)
	roll(e)
	if _, err := accepts(t, e, first); err == nil {
		t.Error("the first token doesn't expire")
	}
	if tokens := validTokens(t, e, "ci"); len(tokens) != 2 {
		t.Errorf("valid are %v", tokens)
	}
	if data := crossplanetest.Field(e.Observed(tenant.AccountsSecret), "data").GetFields(); len(data) != 2 {
		t.Errorf("the Secret has %d keys, want what is kept and one version of the values", len(data))
	}
	// A renamed entry revokes its token.
	third := detail(e, tokenKey)
	e.SetSpec(strings.Replace(accountsSpec, `"deploy"`, `"other"`, 1))
	roll(e)
	if _, err := accepts(t, e, third); err == nil || detail(e, tokenKey) != "" {
		t.Error("a renamed token is accepted, or published")
	}
	if _, err := accepts(t, e, detail(e, "token.ci.other")); err != nil {
		t.Error(err)
	}
	// A mistake in the claim stops no rotation.
	fourth := detail(e, "token.ci.other")
	e.SetSpec(strings.Replace(accountsSpec, `"readonly"`, `"nobody"`, 1))
	now = crossplanetest.Start.Add(3 * time.Hour)
	roll(e)
	if is := crossplanetest.Refusal(e.Response); !strings.Contains(is, "spec.argocd.accounts[0].role: no policy") {
		t.Errorf("refused: %q", is)
	}
	if fifth := detail(e, "token.ci.other"); fifth == fourth {
		t.Error("a refused claim stops the rotation")
	} else if _, err := accepts(t, e, fifth); err != nil {
		t.Error(err)
	}
}

// TestKeptIsEdited: times that the function can't have written are taken as absent.
func TestKeptIsEdited(t *testing.T) {
	for name, edit := range map[string]func(*localaccount.Kept){
		"FutureToken": func(k *localaccount.Kept) {
			k.Issued["ci/deploy"] = []localaccount.Issued{{ID: "x", At: crossplanetest.Start.Unix() + 301, ExpiresAt: crossplanetest.Start.Unix() + 301 + 7200}}
		},
		"LongToken": func(k *localaccount.Kept) { k.Issued["ci/deploy"][0].ExpiresAt += 400 * 24 * 3600 },
		"Backwards": func(k *localaccount.Kept) { k.Issued["ci/deploy"][0].ExpiresAt = k.Issued["ci/deploy"][0].At - 1 },
		"Unnamed":   func(k *localaccount.Kept) { k.Issued["other/deploy"] = k.Issued["ci/deploy"] },
		"NoTokens":  func(k *localaccount.Kept) { k.Issued = nil },
		"FutureTime": func(k *localaccount.Kept) {
			k.Admin.ChangedAt = crossplanetest.Start.Add(time.Hour).Format(time.RFC3339)
		},
		"NoTime":  func(k *localaccount.Kept) { k.Admin.ChangedAt = "x" },
		"Nothing": func(k *localaccount.Kept) { *k = localaccount.Kept{} },
	} {
		t.Run(name, func(t *testing.T) {
			e := accountsEngine(t, accountsSpec)
			e.RotatePassword("first")
			e.Install()
			roll(e)
			kept := keptOf(e)
			edit(&kept)
			keep(e, kept)
			roll(e)
			if _, err := accepts(t, e, detail(e, tokenKey)); err != nil {
				t.Error(err)
			}
			if err := bcrypt.CompareHashAndPassword([]byte(argocdSecret(e, "argocdServerAdminPassword")), []byte(detail(e, "password"))); err != nil {
				t.Error(err)
			}
			if at, err := time.Parse(time.RFC3339, argocdSecret(e, "argocdServerAdminPasswordMtime")); err != nil || at.After(crossplanetest.Start.Add(time.Second)) {
				t.Errorf("the password was changed at %s, %v", at, err)
			}
			if _, known := keptOf(e).Issued["other/deploy"]; known {
				t.Error("a token of no account is kept")
			}
			if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				t.Errorf("the condition is %v", is)
			}
		})
	}
	// Clocks of two replicas may be apart.
	e := accountsEngine(t, accountsSpec).Install()
	roll(e)
	token := detail(e, tokenKey)
	e.Now = func() time.Time { return crossplanetest.Start.Add(-5 * time.Minute) }
	if roll(e); detail(e, tokenKey) != token {
		t.Error("another token, five minutes before")
	}
}

// TestAccountsLaw: whatever happens in which order, Argo CD accepts what is published until it expires, and AccountsReady is True only
// if that is as the claim has it.
func TestAccountsLaw(t *testing.T) {
	for seed := range crossplanetest.Seeds(8) {
		r := rand.New(rand.NewPCG(seed, 34))
		e := accountsEngine(t, accountsSpec).Install()
		roll(e)
		now, hours := crossplanetest.Start, 2
		e.Now = func() time.Time { return now }
		for step := range 60 {
			what := ""
			switch n := r.IntN(10); n {
			case 0, 1:
				hours = 1 + r.IntN(4)
				e.SetSpec(strings.Replace(accountsSpec, "2h", fmt.Sprintf("%dh", hours), 1))
				what = fmt.Sprintf("expiresIn %dh", hours)
			case 2:
				now = now.Add(time.Duration(r.IntN(40)) * time.Minute)
				what = "time"
			case 3:
				e.RunProviders()
				crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "cannot upgrade")
				what = "error"
			case 4, 5, 6:
				e.RunProviders()
				what = "Helm"
			default:
				e.Reconcile()
				what = "reconcile"
			}
			token := detail(e, tokenKey)
			_, err := accepts(t, e, token)
			expired := err != nil && strings.Contains(err.Error(), "expired")
			if err != nil && !expired {
				t.Fatalf("seed %d, step %d, %s: %v", seed, step, what, err)
			}
			if n := len(validTokens(t, e, "ci")); n > 4 {
				t.Fatalf("seed %d, step %d: %d tokens are valid", seed, step, n)
			}
			if what != "reconcile" || e.Condition(v1alpha1.ConditionAccountsReady).GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
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
		e.Cycle(12)
		if is := e.Condition(v1alpha1.ConditionAccountsReady); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
			t.Errorf("seed %d: in the end: %v", seed, is)
		}
	}
}
