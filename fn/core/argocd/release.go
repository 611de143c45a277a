// Package argocd is a tenant's Argo CD: its chart values, its Release, the health of its
// workloads and its condition.
package argocd

import (
	"slices"
	"strings"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// annotationAvailable has provider-helm look at the Release, and at the password, once
// Argo CD's API server is up, which makes it: where Helm hasn't waited for that, it would
// look ten minutes later.
const annotationAvailable = "virtualargocd.io/server-available"

// initialPassword is the Secret that Argo CD makes, with its admin's password.
const initialPassword = "argocd-initial-admin-secret"

// ComposeRelease composes the Release of Argo CD in the virtual cluster.
func ComposeRelease(t tenant.Tenant) (resource.Object, error) {
	r := release.New(t, tenant.ArgoCDRelease, tenant.HelmArgoCD, tenant.ArgoCDNamespace, t.ArgoCD)
	r.Spec.ProviderConfigReference = resource.ProviderConfig(t.Names.ProviderConfig)
	r.Spec.ManagementPolicies = resource.WithoutDelete
	published := t.GeneratesPassword || keepsPassword(t)
	if published {
		r.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: t.SecretsIn, Name: t.Names.PasswordSecret}
	}
	if published && readsPassword(t) {
		r.Spec.ConnectionDetails = []helmv1beta1.ConnectionDetail{
			// Argo CD writes this Secret, not Helm: it has no mark of the release.
			secretKey(tenant.ArgoCDNamespace, initialPassword, "password", tenant.PasswordKey),
		}
	}
	if published && Deployed(t) && !publishedPassword(t) && serverAvailable(t) {
		r.Annotations[annotationAvailable] = "true"
	}
	readValues(t, r)
	waits(t, r)
	return resource.Object{Typed: r, Raw: t.ArgoCD.Values, RawAt: resource.ValuesPath}, release.Retry(t, tenant.ArgoCDRelease, r, t.ArgoCD)
}

// waits sets how long Helm waits for Argo CD. The first time it sees sooner than
// provider-kubernetes that Argo CD is up. When it isn't up by then, something is missing that
// may take long to come: the next time Helm waits for nothing. That stays until the chart or
// its values change, since a Release with another spec is one that is rolled out: a rotated
// credential doesn't make it one.
func waits(t tenant.Tenant, r *helmv1beta1.Release) {
	is := t.Composed(tenant.ArgoCDRelease)
	was := is.Get("spec", "forProvider")
	switch {
	case !t.InstalledBefore(tenant.ArgoCDRelease):
		r.Spec.ForProvider.Wait = release.Failed(t, tenant.ArgoCDRelease) == 0
	case was.String("waitTimeout") == release.FirstWait.String() && !release.Differs(is, t.ArgoCD):
		r.Spec.ForProvider.Wait = was.Bool("wait")
	default:
		return
	}
	r.Spec.ForProvider.WaitTimeout = &metav1.Duration{Duration: release.FirstWait}
}

func serverAvailable(t tenant.Tenant) bool {
	all, _ := workloadHealth(t)
	return slices.ContainsFunc(all, func(h health) bool { return h.component == tenant.ComponentServer && h.available })
}

// readsPassword reports whether the Release reads the admin's initial password.
// Argo CD tells its users to delete that Secret once they have a password of
// their own, and without it provider-helm can't observe the Release any more. So
// one that misses it stops reading what is published already.
func readsPassword(t tenant.Tenant) bool {
	r := t.Composed(tenant.ArgoCDRelease)
	if !r.Exists() || !publishedPassword(t) {
		return true
	}
	synced := r.Condition("Synced")
	missed := synced.False() && strings.Contains(synced.Message, initialPassword)
	return r.Get("spec").Has("connectionDetails") && !missed
}

// keepsPassword reports whether the Release goes on reading the password of an admin
// that is switched off, so that it is there when the admin is switched on again.
func keepsPassword(t tenant.Tenant) bool {
	return t.AdminDisabled && publishedPassword(t) && t.Composed(tenant.ArgoCDRelease).Get("spec").Has("writeConnectionSecretToRef")
}

func publishedPassword(t tenant.Tenant) bool {
	return len(t.Observed.XRConnection[tenant.PasswordKey]) > 0 || len(t.Composed(tenant.ArgoCDRelease).Connection[tenant.PasswordKey]) > 0
}

// hasPassword reports whether the admin's password is published, or none will be.
func hasPassword(t tenant.Tenant) bool {
	return !t.GeneratesPassword || publishedPassword(t)
}

// Installed reports whether the argo-cd chart is installed as wanted and the
// admin's password published.
func Installed(t tenant.Tenant) bool {
	return resource.IsReady(tenant.ArgoCDRelease)(t) && hasPassword(t)
}

// Deployed reports whether Helm has installed the argo-cd chart once.
func Deployed(t tenant.Tenant) bool { return t.Composed(tenant.ArgoCDRelease).Deployed() }

func secretKey(namespace, name, key, toKey string) helmv1beta1.ConnectionDetail {
	return helmv1beta1.ConnectionDetail{
		ObjectReference: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name, FieldPath: "data." + key,
		},
		ToConnectionSecretKey:  toKey,
		SkipPartOfReleaseCheck: true,
	}
}
