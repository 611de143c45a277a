// Package argocd is a tenant's Argo CD: its chart values, its Release, the health of its
// workloads and its condition.
package argocd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// initialPassword is the Secret that Argo CD makes, with its admin's password.
const initialPassword = "argocd-initial-admin-secret"

// ComposeRelease composes the Release of Argo CD in the virtual cluster.
func ComposeRelease(t tenant.Tenant) (resource.Object, error) {
	r := release.New(t, tenant.ArgoCDRelease, tenant.HelmArgoCD, tenant.ArgoCDNamespace, t.Names.ProviderConfig, t.ArgoCD)
	// The password of an admin that is switched off is kept, for when it is switched on again.
	kept := t.AdminDisabled && publishedPassword(t) && t.Composed(tenant.ArgoCDRelease).Get("spec").Has("writeConnectionSecretToRef")
	published := t.GeneratesPassword || kept
	if published {
		r.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: t.SecretsIn, Name: t.Names.PasswordSecret}
	}
	if since := readSince(t); published && readsPassword(t) && (since != "" || publishedPassword(t)) {
		r.Spec.ConnectionDetails = []helmv1beta1.ConnectionDetail{{
			ObjectReference: corev1.ObjectReference{
				APIVersion: "v1", Kind: "Secret", Namespace: tenant.ArgoCDNamespace, Name: initialPassword, FieldPath: "data.password",
				UID: since,
			},
			ToConnectionSecretKey: tenant.PasswordKey,
			// Argo CD creates this Secret, so it doesn't have the labels of the Helm release.
			SkipPartOfReleaseCheck: true,
		}}
	}
	readValues(t, r)
	readAccounts(t, r)
	waits(t, r)
	release.Repair(t, tenant.ArgoCDRelease, r, t.ArgoCD, drifted(t))
	release.Retry(t, tenant.ArgoCDRelease, r, t.ArgoCD)
	return resource.Object{Typed: r, Raw: release.Values(t, tenant.ArgoCDRelease, r, t.ArgoCD), RawAt: resource.ValuesPath}, nil
}

// waits sets whether Helm waits for Argo CD. In the first installation it doesn't: provider-helm would take down an Argo CD that comes up
// slowly, and begin again, which is what makes a host slower. Whether Argo CD is up, its workloads tell. The field stays as it is until the chart
// or its values change after that, for which credentials don't count.
func waits(t tenant.Tenant, r *helmv1beta1.Release) {
	is := t.Composed(tenant.ArgoCDRelease)
	was := is.Get("spec", "forProvider")
	if timeout, err := time.ParseDuration(was.String("waitTimeout")); err == nil && !release.Differs(is, t.ArgoCD) {
		r.Spec.ForProvider.Wait, r.Spec.ForProvider.WaitTimeout = was.Bool("wait"), &metav1.Duration{Duration: timeout}
		return
	}
	r.Spec.ForProvider.Wait = tenant.WasReady(t.Observed)
}

// readsPassword reports whether the Release reads the admin's initial password. Argo CD tells its
// users to delete that Secret once they have set a password, and provider-helm can't observe a
// Release whose Secret is missing. So it is read no more once it is missing and published.
func readsPassword(t tenant.Tenant) bool {
	r := t.Composed(tenant.ArgoCDRelease)
	if !r.Exists() || !publishedPassword(t) {
		return true
	}
	synced := r.Condition("Synced")
	missed := synced.False() && strings.Contains(synced.Message, initialPassword)
	return r.Get("spec").Has("connectionDetails") && !missed
}

// readSince returns what has to be there when provider-helm reads the password: the API server that
// makes it, once it is available, and the revision of the Helm release; "" for none. After a first
// installation that was taken back, the Secret with the password outlives the installation, and the
// next API server replaces the password. provider-helm doesn't look at the UID in a reference: a
// change of it makes a new generation, which it observes at once. Otherwise it observes a Release ten
// minutes later, also after each upgrade, for which it reads no password.
func readSince(t tenant.Tenant) types.UID {
	if (!tenant.WasReady(t.Observed) || !publishedPassword(t)) && Deployed(t) && server(t).available {
		return source(t)
	}
	return wasReadSince(t)
}

// wasReadSince returns what readSince has returned before.
func wasReadSince(t tenant.Tenant) types.UID {
	for _, d := range t.Composed(tenant.ArgoCDRelease).List("spec", "connectionDetails") {
		return types.UID(d.String("uid"))
	}
	return ""
}

// source returns a digest of the UID of the API server's workload, and the revision of the Helm
// release. The UID comes from the tenant, so it isn't written as it is.
func source(t tenant.Tenant) types.UID {
	sum := sha256.Sum256([]byte(server(t).uid))
	revision := t.Composed(tenant.ArgoCDRelease).Int(0, "status", "atProvider", "revision")
	return types.UID(fmt.Sprintf("%s-%d", hex.EncodeToString(sum[:8]), revision))
}

func publishedPassword(t tenant.Tenant) bool {
	return len(t.Observed.XRConnection[tenant.PasswordKey]) > 0 || len(t.Composed(tenant.ArgoCDRelease).Connection[tenant.PasswordKey]) > 0
}

// hasPassword reports whether the admin's password is published, or none will be. Until the tenant
// is Ready for the first time, it has to be the password of the API server that runs.
func hasPassword(t tenant.Tenant) bool {
	switch {
	case !t.GeneratesPassword:
		return true
	case !publishedPassword(t):
		return false
	case tenant.WasReady(t.Observed) || !readsPassword(t):
		return true
	}
	since := wasReadSince(t)
	return since == "" || since == source(t) && !stateOf(t).RollsOut()
}

// Installed reports whether the argo-cd chart is installed as wanted and the
// admin's password published.
func Installed(t tenant.Tenant) bool {
	return stateOf(t) == release.Deployed && hasPassword(t)
}

// Deployed reports whether Helm has installed the argo-cd chart once.
func Deployed(t tenant.Tenant) bool { return stateOf(t).HasDeployed() }

func stateOf(t tenant.Tenant) release.State { return release.StateOf(t.Composed(tenant.ArgoCDRelease)) }

// HasValuesSecret reports whether values come from Secrets. Where they once did
// the Secret stays, empty: Crossplane deletes a resource before it changes another,
// and the Release would miss it in between.
func HasValuesSecret(t tenant.Tenant) bool {
	return t.Sensitive != nil || t.Composed(tenant.ValuesSecret).Exists() || readsValues(t)
}

// readsValues reports whether the Release of argo-cd reads that Secret already.
func readsValues(t tenant.Tenant) bool {
	return slices.ContainsFunc(t.Composed(tenant.ArgoCDRelease).List("spec", "forProvider", "valuesFrom"), func(from wire.Struct) bool {
		return from.String("secretKeyRef", "name") == t.Names.ValuesSecret
	})
}

// ValuesSecret composes the Secret with the values of argo-cd that come from Secrets.
func ValuesSecret(t tenant.Tenant) (resource.Object, error) {
	values, err := yaml.Marshal(values.Merge(t.Sensitive))
	if err != nil {
		return resource.Object{}, fmt.Errorf("cannot write the values from Secrets: %w", err)
	}
	s := resource.Secret(t, t.Names.ValuesSecret, corev1.SecretTypeOpaque)
	s.Labels = nil
	s.Data = map[string][]byte{tenant.ValuesKey: values}
	return resource.Object{Typed: s}, nil
}

// ReleaseWaits reports whether the Release of argo-cd can't be installed yet.
func ReleaseWaits(t tenant.Tenant) bool {
	return !resource.HasKubeconfig(t) || !t.Composed(tenant.HelmProviderConfig).Exists() ||
		HasValuesSecret(t) && !t.Composed(tenant.ValuesSecret).Exists() ||
		HasAccountsSecret(t) && !t.Composed(tenant.AccountsSecret).Exists()
}

// readValues has the Release read the values in the Secret. The digest is that of the observed
// Secret, not of the composed one: if it changed before the Secret does, provider-helm would find
// the old values, and not look again for ten minutes.
func readValues(t tenant.Tenant, r *helmv1beta1.Release) {
	if !t.Composed(tenant.ValuesSecret).Exists() && !readsValues(t) {
		return
	}
	r.Spec.ForProvider.ValuesFrom = []helmv1beta1.ValueFromSource{{SecretKeyRef: &helmv1beta1.DataKeySelector{
		NamespacedName: helmv1beta1.NamespacedName{Namespace: t.SecretsIn, Name: t.Names.ValuesSecret},
		Key:            tenant.ValuesKey,
	}}}
	r.Annotations[release.AnnotationDigest] = t.Composed(tenant.ArgoCDRelease).String("metadata", "annotations", release.AnnotationDigest)
	if s := t.Composed(tenant.ValuesSecret); s.Exists() {
		// The Secret's UID, which only those who may read the Secret know, keeps others from
		// finding a weak password by trying.
		sum := sha256.Sum256([]byte(s.String("metadata", "uid") + "\n" + s.String("data", tenant.ValuesKey)))
		r.Annotations[release.AnnotationDigest] = hex.EncodeToString(sum[:16])
	}
}
