package accounts

import (
	"fmt"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Deliver returns the connection details with tokens, and with the admin's password if it is rotated: the newest ones once Argo CD has them, and
// until then those that are published, which work. Of a token that isn't in the spec any more, the key is left, empty: Crossplane removes none.
func Deliver(t tenant.Tenant) map[string][]byte {
	out := map[string][]byte{}
	for key := range t.Observed.XRConnection {
		if strings.HasPrefix(key, localaccount.TokenPrefix) {
			out[key] = []byte{}
		}
	}
	has := argocd.HasAccounts(t) && (tenant.WasReady(t.Observed) || argocd.WorkloadsAvailable(t))
	for key, newest := range newest(t) {
		switch was := t.Observed.XRConnection[key]; {
		case has && newest != "":
			out[key] = []byte(newest)
		case len(was) > 0:
			out[key] = was
		}
	}
	return out
}

// SetsPassword reports whether the admin's password is one that the function has made.
func SetsPassword(t tenant.Tenant) bool { return t.Accounts.Kept.Admin != nil && !t.AdminDisabled }

// newest returns what is to be delivered, by its key; "" for what isn't settled yet.
func newest(t tenant.Tenant) map[string]string {
	out := map[string]string{}
	for _, token := range t.Accounts.Tokens {
		out[token.Key] = token.Signed
	}
	if admin := t.Accounts.Kept.Admin; SetsPassword(t) {
		if out[tenant.PasswordKey] = ""; admin.Settled {
			out[tenant.PasswordKey] = passwordOf(t.Accounts.Kept.Key, *admin)
		}
	}
	return out
}

// IsDelivered reports whether what Argo CD has is published.
func IsDelivered(t tenant.Tenant) bool {
	for key, newest := range newest(t) {
		if newest == "" || string(t.Observed.XRConnection[key]) != newest {
			return false
		}
	}
	return true
}

// ArrivesWithin is how soon the function looks whether the connection Secret has what it published: Crossplane doesn't watch that.
const ArrivesWithin = 5 * time.Second

// Arrives reports whether Argo CD has credentials, and the connection Secret doesn't yet.
func Arrives(t tenant.Tenant) bool {
	return Part.Has(t) && !t.Accounts.Waits && argocd.HasAccounts(t) && !IsDelivered(t) && t.Observed.XR.Get("spec").Has("writeConnectionSecretToRef")
}

// Settles reports whether credentials are on their way to Argo CD, or to the connection Secret.
func Settles(t tenant.Tenant) bool {
	return Part.Has(t) && !release.IsTakenBack(t.Composed(tenant.ArgoCDRelease)) && (t.Accounts.Waits || !argocd.HasAccounts(t) || !IsDelivered(t))
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	// Crossplane copies connection details to the claim while the composite resource is Ready.
	before := t.Observed.XR.Condition(string(is))
	copied := before.True() || t.Observed.XR.Condition("Ready").True()
	switch {
	case t.Accounts.Problem != "":
		return is.No(v1alpha1.ReasonPasswordNotRotated, "The annotation "+localaccount.RotatePassword+" has no effect", t.Accounts.Problem)
	case !argocd.Runs(t):
		return is.No(v1alpha1.ReasonWaitingForArgoCD, "The accounts wait for Argo CD", "")
	case t.Accounts.Waits || !argocd.HasAccounts(t):
		return is.No(v1alpha1.ReasonInstalling, "Rolling out the accounts, tokens and password", "")
	case !IsDelivered(t) || !copied:
		return is.No(v1alpha1.ReasonInstalling, "Argo CD has the accounts, tokens and password; they are being written to the Secret of spec.writeConnectionSecretToRef", "")
	}
	return is.Yes(strings.Join(given(t), "; "))
}

// given says what Argo CD was given.
func given(t tenant.Tenant) []string {
	var out, tokens []string
	if len(t.Accounts.Names) > 0 {
		names := few.Names{Most: 5}
		for _, name := range t.Accounts.Names {
			names.Add(name)
		}
		out = append(out, "Argo CD has the accounts "+names.String())
	}
	for _, token := range t.Accounts.Tokens {
		tokens = append(tokens, fmt.Sprintf("%s until %s", token.Key, time.Unix(token.Issued.ExpiresAt, 0).UTC().Format(time.RFC3339)))
	}
	if len(tokens) > 0 {
		// Whether a claim has that field isn't in its composite resource.
		out = append(out, "tokens, in the Secret of spec.writeConnectionSecretToRef if the claim names one: "+few.Texts(tokens))
	}
	if admin := t.Accounts.Kept.Admin; isRotated(admin) {
		out = append(out, "the password of admin was rotated at "+admin.ChangedAt)
	}
	return out
}
