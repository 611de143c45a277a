package compose

import (
	"strings"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// PasswordKey is the key of the admin's initial password in connection Secrets.
const PasswordKey = "password"

// initialPassword is the Secret that Argo CD makes, with its admin's password.
const initialPassword = "argocd-initial-admin-secret"

// argocd composes the Release of Argo CD in the virtual cluster.
func argocd(t Tenant) (Object, error) {
	r := release(t, ArgoCD, plan.ArgoCDRelease, plan.ArgoCDNamespace, t.ArgoCD)
	r.Spec.ProviderConfigReference = providerConfig(t.Names.ProviderConfig)
	r.Spec.ManagementPolicies = withoutDelete
	published := t.GeneratesPassword || keepsPassword(t)
	if published {
		r.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: t.SecretsIn, Name: t.Names.PasswordSecret}
	}
	if published && readsPassword(t) {
		r.Spec.ConnectionDetails = []helmv1beta1.ConnectionDetail{
			// Argo CD writes this Secret, not Helm: it has no mark of the release.
			secretKey(plan.ArgoCDNamespace, initialPassword, "password", PasswordKey),
		}
	}
	readValues(t, r)
	return Object{Typed: r, Raw: t.ArgoCD.Values, RawAt: valuesPath}, nil
}

// readsPassword tells whether the Release reads the admin's initial password.
// Argo CD tells its users to delete that Secret once they have a password of
// their own, and without it provider-helm can't observe the Release any more. So
// one that misses it stops reading what is published already.
func readsPassword(t Tenant) bool {
	r := t.observed(ArgoCD)
	if !r.Exists() || !publishedPassword(t) {
		return true
	}
	synced := r.Condition("Synced")
	missed := synced.False() && strings.Contains(synced.Message, initialPassword)
	return r.Get("spec").Has("connectionDetails") && !missed
}

// keepsPassword tells whether the Release goes on reading the password of an admin
// that is switched off, so that it is there when the admin is switched on again.
func keepsPassword(t Tenant) bool {
	return t.AdminDisabled && publishedPassword(t) && t.observed(ArgoCD).Get("spec").Has("writeConnectionSecretToRef")
}

func publishedPassword(t Tenant) bool {
	return len(t.Observed.XRConnection[PasswordKey]) > 0 || len(t.observed(ArgoCD).Connection[PasswordKey]) > 0
}
