// Package accounts is the part of a claim with local accounts, their API tokens, and the rotation of the admin's password.
package accounts

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const field = "spec.argocd.accounts"

// Part is spec.argocd.accounts, with the annotation that rotates the admin's password. It also makes the first one of an Argo CD with several API
// servers, which is no part of the claim.
var Part = part.Part{
	Field: field, Resolve: resolve,
	Condition: v1alpha1.ConditionAccountsReady,
	Has: func(t tenant.Tenant) bool {
		return len(t.Accounts.Names) > 0 || t.Accounts.Asked || isRotated(t.Accounts.Kept.Admin)
	},
	Observe: observe,
}

// accountPolicies is the key of our policies in Argo CD's RBAC settings. Argo CD reads every policy.*.csv beside policy.csv.
const accountPolicies = "policy.virtualargocd-accounts.csv"

func resolve(c part.Candidate) error {
	a := &c.Decision.Accounts
	a.Kept = localaccount.Kept{Key: localaccount.KeyOf(c.Given.Kept, c.Token), Signs: c.Kept.Signs, Admin: c.Kept.Admin}
	own, secret := values.Values{}, values.Values{}
	a.Waits = len(a.Kept.Key) == 0 && c.Rotation != ""
	for _, account := range c.Spec.ArgoCDAccounts {
		a.Waits = a.Waits || len(a.Kept.Key) == 0 && len(account.Tokens) > 0
		a.Names = append(a.Names, account.Name)
		setAccount(account, own)
	}
	if err := mistakes.Join(check(c), reserve(c, own)); err != nil {
		return err
	}
	c.Decision.ArgoCD.Values = values.Merge(c.Decision.ArgoCD.Values, own)
	if err := setTokens(c, secret); err != nil {
		return err
	}
	rotate(c)
	if !a.Kept.Signs && a.Kept.Admin == nil && !c.Spec.HasTunnels() && len(c.Kept.Key) == 0 || len(a.Kept.Key) == 0 {
		// Nothing is derived from the key.
		a.Kept = localaccount.Kept{}
		return nil
	}
	err := setValues(a, secret)
	if err == nil && settle(c) {
		err = setValues(a, secret)
	}
	return err
}

// setValues sets the values that are in the Secret of accounts. own are those for tokens.
func setValues(a *localaccount.Decision, own values.Values) (err error) {
	if admin := a.Kept.Admin; admin != nil {
		values.Insert(own, admin.Hash, passwordPath...)
		values.Insert(own, admin.ChangedAt, changedPath...)
	}
	if a.Values, err = yaml.Marshal(own); err != nil {
		return fmt.Errorf("cannot write the values of accounts: %w", err)
	}
	sum := sha256.Sum256(a.Values)
	a.ValuesKey = hex.EncodeToString(sum[:16]) + ".yaml"
	return nil
}

// setAccount sets the values of an account that are no secret, as Argo CD reads them (3.6, util/settings/accounts.go).
func setAccount(account v1alpha1.AccountSpec, own values.Values) {
	capabilities := []string{}
	for _, is := range capabilitiesOf(account) {
		capabilities = append(capabilities, string(is))
	}
	values.Insert(own, strings.Join(capabilities, ", "), "configs", "cm", "accounts."+account.Name)
	values.Insert(own, strconv.FormatBool(ptr.Deref(account.Enabled, true)), "configs", "cm", "accounts."+account.Name+".enabled")
	if account.Role == "" {
		return
	}
	b := &strings.Builder{}
	w := csv.NewWriter(b)
	// Writing to memory can't fail.
	_ = w.Write([]string{"g", account.Name, "role:" + account.Role})
	w.Flush()
	values.Insert(own, values.At[string](own, "configs", "rbac", accountPolicies)+b.String(), "configs", "rbac", accountPolicies)
}

func capabilitiesOf(account v1alpha1.AccountSpec) []v1alpha1.AccountCapability {
	if len(account.Capabilities) == 0 {
		return []v1alpha1.AccountCapability{v1alpha1.AccountAPIKey}
	}
	return account.Capabilities
}

// reserve refuses other values where the accounts set some.
func reserve(c part.Candidate, own values.Values) error {
	var found []error
	for i, account := range c.Spec.ArgoCDAccounts {
		at := fmt.Sprintf("%s[%d]", field, i)
		rules := []values.Rule{values.Be(true, "configs", "cm", "create"), enabledAs(account)}
		if account.Role != "" {
			rules = append(rules, values.Be(true, "configs", "rbac", "create"), values.Not("configs", "rbac", accountPolicies))
		}
		is, _ := values.Lookup(own, "configs", "cm", "accounts."+account.Name)
		found = append(found, c.ArgoCD.Reserve(values.Claim, at, append(rules, values.Be(is, "configs", "cm", "accounts."+account.Name))...))
		if len(account.Tokens) > 0 {
			found = append(found, reserveSecret(c, at+".tokens", tokensKey(account.Name), signingKey))
		}
	}
	return mistakes.Join(found...)
}

func enabledAs(account v1alpha1.AccountSpec) values.Rule {
	return values.Be(ptr.Deref(account.Enabled, true), "configs", "cm", "accounts."+account.Name+".enabled")
}

// reserveSecret refuses other values for keys of argocd-secret, which are set by a Secret that all others win over.
func reserveSecret(c part.Candidate, by string, keys ...string) error {
	var found []error
	for _, key := range keys {
		_, err := c.ReserveSecretKey(by, key)
		found = append(found, err)
		for i, k := range c.Spec.ArgoCDSecretKeys {
			if k.Key == key {
				found = append(found, fmt.Errorf("spec.argocd.secretKeys[%d].key: %q is set by %s: leave it out", i, key, by))
			}
		}
	}
	return mistakes.Join(found...)
}
