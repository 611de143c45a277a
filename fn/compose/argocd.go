package compose

import (
	"slices"
	"strings"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// PasswordKey is the key of the admin's initial password in connection Secrets.
const PasswordKey = "password"

// annotationAvailable has provider-helm look at the Release, and at the password, once
// Argo CD's API server is up, which makes it: where Helm hasn't waited for that, it would
// look ten minutes later.
const annotationAvailable = "virtualargocd.io/server-available"

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
	if published && argoCDDeployed(t) && !publishedPassword(t) && serverAvailable(t) {
		r.Annotations[annotationAvailable] = "true"
	}
	readValues(t, r)
	waits(t, r)
	return Object{Typed: r, Raw: t.ArgoCD.Values, RawAt: valuesPath}, retry(t, ArgoCD, r, t.ArgoCD)
}

// waits sets how long Helm waits for Argo CD. The first time it sees sooner than
// provider-kubernetes that Argo CD is up. When it isn't up by then, something is missing that
// may take long to come: the next time Helm waits for nothing. That stays until the chart or
// its values change, since a Release with another spec is one that is rolled out: a rotated
// credential doesn't make it one.
func waits(t Tenant, r *helmv1beta1.Release) {
	is := t.observed(ArgoCD)
	was := is.Get("spec", "forProvider")
	switch {
	case !t.installedBefore(ArgoCD):
		r.Spec.ForProvider.Wait = t.failed(ArgoCD) == 0
	case was.String("waitTimeout") == firstWait.String() && !differs(is, t.ArgoCD):
		r.Spec.ForProvider.Wait = was.Bool("wait")
	default:
		return
	}
	r.Spec.ForProvider.WaitTimeout = &metav1.Duration{Duration: firstWait}
}

func serverAvailable(t Tenant) bool {
	all, _ := WorkloadHealth(t)
	return slices.ContainsFunc(all, func(h Health) bool { return h.Component == plan.ComponentServer && h.Available })
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
