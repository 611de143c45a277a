package argocd

import (
	"bytes"
	"encoding/json"
	"fmt"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// The values of local accounts are in a Secret of their own, each version of them under a key that is a digest of it. The Release names
// the key. So a Release that is deployed as it is has exactly the values with that digest, whatever provider-helm's cache had: where the
// key isn't there yet, provider-helm reports an error and tries again.

// HasAccountsSecret reports whether Argo CD has local accounts with credentials. Where it once had, the Secret stays: the Release reads it.
func HasAccountsSecret(t tenant.Tenant) bool {
	return t.Accounts.ValuesKey != "" || t.Composed(tenant.AccountsSecret).Exists() || readsAccounts(t.Observed) != ""
}

// AccountsSecret composes the Secret with what is kept of local accounts, and their values: those that are wanted, and those that the Release reads
// until it reads them.
func AccountsSecret(t tenant.Tenant) (resource.Object, error) {
	s := resource.Secret(t, t.Names.AccountsSecret, corev1.SecretTypeOpaque)
	s.Data = map[string][]byte{}
	if key := readsAccounts(t.Observed); key != "" {
		if is := t.Composed(tenant.AccountsSecret).SecretValue(key); len(is) > 0 {
			s.Data[key] = is
		}
	}
	if key := t.Accounts.ValuesKey; key != "" {
		kept, err := json.Marshal(t.Accounts.Kept)
		if err != nil {
			return resource.Object{}, fmt.Errorf("cannot write what credentials are derived from: %w", err)
		}
		s.Data[localaccount.KeptKey], s.Data[key] = kept, t.Accounts.Values
	}
	return resource.Object{Typed: s}, nil
}

// readsAccounts returns the key of that Secret that the Release reads; "" for none.
func readsAccounts(o tenant.Observed) string {
	secret := tenant.NewNames(o.XR.String("metadata", "name"), "").AccountsSecret
	for _, from := range o.Composed[tenant.ArgoCDRelease].List("spec", "forProvider", "valuesFrom") {
		if from.String("secretKeyRef", "name") == secret {
			return from.String("secretKeyRef", "key")
		}
	}
	return ""
}

// readAccounts has the Release read the values that are wanted once they are in the Secret, and the ones before until then.
func readAccounts(t tenant.Tenant, r *helmv1beta1.Release) {
	key := readsAccounts(t.Observed)
	if wanted := t.Accounts.ValuesKey; wanted != "" && bytes.Equal(t.Composed(tenant.AccountsSecret).SecretValue(wanted), t.Accounts.Values) {
		key = wanted
	}
	if key == "" {
		return
	}
	r.Spec.ForProvider.ValuesFrom = append(r.Spec.ForProvider.ValuesFrom, helmv1beta1.ValueFromSource{SecretKeyRef: &helmv1beta1.DataKeySelector{
		NamespacedName: helmv1beta1.NamespacedName{Namespace: t.SecretsIn, Name: t.Names.AccountsSecret}, Key: key,
	}})
}

// DeployedAccounts returns the key of the values of accounts that Argo CD has, and reports false where that isn't known.
func DeployedAccounts(o tenant.Observed) (key string, known bool) {
	is := o.Composed[tenant.ArgoCDRelease]
	return readsAccounts(o), release.StateOf(is) == release.Deployed && !release.IsTakenBack(is)
}

// HasAccounts reports whether Argo CD has the accounts, and all of their credentials, as they are wanted.
func HasAccounts(t tenant.Tenant) bool {
	key, known := DeployedAccounts(t.Observed)
	return known && key == t.Accounts.ValuesKey && !release.Differs(t.Composed(tenant.ArgoCDRelease), t.ArgoCD)
}
