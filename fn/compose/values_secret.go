package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// annotationDigest stands on the Release of argo-cd, so that provider-helm looks
// at the Secret of its values as soon as that has changed.
const annotationDigest = "virtualargocd.io/values-digest"

// valuesSecretWanted tells whether values come from Secrets. Where they once did
// the Secret stays, empty: Crossplane deletes a resource before it changes another,
// and the Release would miss it in between.
func valuesSecretWanted(t Tenant) bool {
	return t.Sensitive != nil || exists(ValuesSecret)(t) || readsValues(t)
}

// valuesSecretWaits reports whether a value isn't known yet: the password of redis follows
// from the account's token.
func valuesSecretWaits(t Tenant) bool { return !namespaceReady(t) || !hasCredentials(t) }

// readsValues tells whether the Release of argo-cd reads that Secret already.
func readsValues(t Tenant) bool {
	return len(t.observed(ArgoCD).List("spec", "forProvider", "valuesFrom")) > 0
}

// valuesSecret composes the Secret with the values of argo-cd that come from
// Secrets. They stand nowhere else.
func valuesSecret(t Tenant) (Object, error) {
	values, err := yaml.Marshal(values.Merge(t.Sensitive))
	if err != nil {
		return Object{}, fmt.Errorf("cannot write the values from Secrets: %w", err)
	}
	return Object{Typed: &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: t.Names.ValuesSecret},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{decode.ValuesKey: values},
	}}, nil
}

// argocdWaits tells whether the Release of argo-cd can't be installed yet.
func argocdWaits(t Tenant) bool {
	return !HasKubeconfig(t) || !exists(HelmProviderConfig)(t) || valuesSecretWanted(t) && !exists(ValuesSecret)(t)
}

// readValues has the Release read the values in the Secret. The digest is that of
// what is observed, not of what is composed now: told before the Secret has
// changed, provider-helm would find nothing new in it, and not look again for ten
// minutes.
func readValues(t Tenant, r *helmv1beta1.Release) {
	if !exists(ValuesSecret)(t) && !readsValues(t) {
		return
	}
	r.Spec.ForProvider.ValuesFrom = []helmv1beta1.ValueFromSource{{SecretKeyRef: &helmv1beta1.DataKeySelector{
		NamespacedName: helmv1beta1.NamespacedName{Namespace: t.SecretsIn, Name: t.Names.ValuesSecret},
		Key:            decode.ValuesKey,
	}}}
	digest := t.observed(ArgoCD).String("metadata", "annotations", annotationDigest)
	if s := t.observed(ValuesSecret); s.Exists() {
		digest = digestOf(s)
	}
	r.Annotations[annotationDigest] = digest
}

// digestOf is a digest of a Secret's values. The Secret's UID, which only those
// who may read the Secret know, keeps others from finding a weak password by
// trying.
func digestOf(s decode.Composed) string {
	sum := sha256.Sum256([]byte(s.String("metadata", "uid") + "\n" + s.String("data", decode.ValuesKey)))
	return hex.EncodeToString(sum[:16])
}
