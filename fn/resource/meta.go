package resource

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Secret returns a Secret of the tenant's beside the others of the platform, without
// data.
func Secret(t tenant.Tenant, name string, typ corev1.SecretType) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: name, Labels: OfTenant(t)},
		Type:       typ,
	}
}

// OfTenant returns the labels of what is a tenant's.
func OfTenant(t tenant.Tenant) map[string]string {
	return map[string]string{tenant.LabelTenant: t.Names.Tenant}
}
