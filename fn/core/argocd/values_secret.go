package argocd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// HasValuesSecret reports whether values come from Secrets. Where they once did
// the Secret stays, empty: Crossplane deletes a resource before it changes another,
// and the Release would miss it in between.
func HasValuesSecret(t tenant.Tenant) bool {
	return t.Sensitive != nil || resource.Exists(tenant.ValuesSecret)(t) || readsValues(t)
}

// ValuesSecretWaits reports whether a value isn't known yet: the password of redis follows
// from the account's token.
func ValuesSecretWaits(t tenant.Tenant) bool {
	return !host.NamespaceReady(t) || !host.HasCredentials(t)
}

// readsValues reports whether the Release of argo-cd reads that Secret already.
func readsValues(t tenant.Tenant) bool {
	return len(t.Composed(tenant.ArgoCDRelease).List("spec", "forProvider", "valuesFrom")) > 0
}

// ValuesSecret composes the Secret with the values of argo-cd that come from
// Secrets. They stand nowhere else.
func ValuesSecret(t tenant.Tenant) (resource.Object, error) {
	values, err := yaml.Marshal(values.Merge(t.Sensitive))
	if err != nil {
		return resource.Object{}, fmt.Errorf("cannot write the values from Secrets: %w", err)
	}
	return resource.Object{Typed: &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: t.Names.ValuesSecret},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{tenant.ValuesKey: values},
	}}, nil
}

// ReleaseWaits reports whether the Release of argo-cd can't be installed yet.
func ReleaseWaits(t tenant.Tenant) bool {
	return !resource.HasKubeconfig(t) || !resource.Exists(tenant.HelmProviderConfig)(t) || HasValuesSecret(t) && !resource.Exists(tenant.ValuesSecret)(t)
}

// readValues has the Release read the values in the Secret. The digest is that of
// what is observed, not of what is composed now: told before the Secret has
// changed, provider-helm would find nothing new in it, and not look again for ten
// minutes.
func readValues(t tenant.Tenant, r *helmv1beta1.Release) {
	if !resource.Exists(tenant.ValuesSecret)(t) && !readsValues(t) {
		return
	}
	r.Spec.ForProvider.ValuesFrom = []helmv1beta1.ValueFromSource{{SecretKeyRef: &helmv1beta1.DataKeySelector{
		NamespacedName: helmv1beta1.NamespacedName{Namespace: t.SecretsIn, Name: t.Names.ValuesSecret},
		Key:            tenant.ValuesKey,
	}}}
	digest := t.Composed(tenant.ArgoCDRelease).String("metadata", "annotations", release.AnnotationDigest)
	if s := t.Composed(tenant.ValuesSecret); s.Exists() {
		digest = digestOf(s)
	}
	r.Annotations[release.AnnotationDigest] = digest
}

// digestOf is a digest of a Secret's values. The Secret's UID, which only those
// who may read the Secret know, keeps others from finding a weak password by
// trying.
func digestOf(s wire.Composed) string {
	sum := sha256.Sum256([]byte(s.String("metadata", "uid") + "\n" + s.String("data", tenant.ValuesKey)))
	return hex.EncodeToString(sum[:16])
}
