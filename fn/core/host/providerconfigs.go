package host

import (
	kubernetespcv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	kconfig "github.com/crossplane-contrib/provider-kubernetes/pkg/kube/config"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// ProviderConfig composes the ProviderConfig of that type for the host, with the
// installer's kubeconfig. It is needed until the namespace is gone.
func ProviderConfig(typ metav1.TypeMeta) func(tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		c := newProviderConfig(t, typ, t.Names.HostProviderConfig, t.Names.InstallerSecret, tenant.KubeconfigKey)
		c.OwnerReferences = untilNamespaceGoes(t)
		return resource.Object{Typed: c}, nil
	}
}

// VirtualProviderConfig composes the ProviderConfig of that type for the virtual cluster,
// which is reached through the proxy.
func VirtualProviderConfig(typ metav1.TypeMeta) func(tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		return resource.Object{Typed: newProviderConfig(t, typ, t.Names.ProviderConfig, t.Names.KubeconfigSecret, tenant.ProxiedKey)}, nil
	}
}

// newProviderConfig returns a ProviderConfig with a kubeconfig that the function has
// written. Those of both providers have the same fields.
func newProviderConfig(t tenant.Tenant, typ metav1.TypeMeta, name, secret, key string) *kubernetespcv1alpha1.ProviderConfig {
	return &kubernetespcv1alpha1.ProviderConfig{
		TypeMeta:   typ,
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"in-use.crossplane.io"}},
		Spec: kconfig.ProviderConfigSpec{Credentials: kconfig.ProviderCredentials{
			Source: xpv1.CredentialsSourceSecret,
			CommonCredentialSelectors: xpv1.CommonCredentialSelectors{SecretRef: &xpv1.SecretKeySelector{
				SecretReference: xpv1.SecretReference{Namespace: t.SecretsIn, Name: secret},
				Key:             key,
			}},
		}},
	}
}
