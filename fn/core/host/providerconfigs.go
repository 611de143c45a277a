package host

import (
	helmpcv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	kubernetespcv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	kconfig "github.com/crossplane-contrib/provider-kubernetes/pkg/kube/config"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// HelmProviderConfig composes a ProviderConfig of provider-helm.
func HelmProviderConfig(name func(tenant.Tenant) string, kubeconfig secretKeyOf) func(tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		return resource.Object{Typed: &helmpcv1beta1.ProviderConfig{
			TypeMeta:   resource.HelmConfigType,
			ObjectMeta: providerConfigMeta(t, name(t)),
			Spec:       access(t, kubeconfig),
		}}, nil
	}
}

// KubernetesProviderConfig composes a ProviderConfig of provider-kubernetes.
func KubernetesProviderConfig(name func(tenant.Tenant) string, kubeconfig secretKeyOf) func(tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		return resource.Object{Typed: &kubernetespcv1alpha1.ProviderConfig{
			TypeMeta:   resource.KubeConfigType,
			ObjectMeta: providerConfigMeta(t, name(t)),
			Spec:       access(t, kubeconfig),
		}}, nil
	}
}

// access is by a kubeconfig that the function has written.
func access(t tenant.Tenant, kubeconfig secretKeyOf) kconfig.ProviderConfigSpec {
	name, key := kubeconfig(t)
	return kconfig.ProviderConfigSpec{Credentials: kconfig.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret,
		CommonCredentialSelectors: xpv1.CommonCredentialSelectors{SecretRef: &xpv1.SecretKeySelector{
			SecretReference: xpv1.SecretReference{Namespace: t.SecretsIn, Name: name},
			Key:             key,
		}},
	}}
}

// VirtualConfig returns the name of the ProviderConfigs of the virtual cluster.
func VirtualConfig(t tenant.Tenant) string { return t.Names.ProviderConfig }

// OwnConfig returns the name of those of the host.
func OwnConfig(t tenant.Tenant) string { return t.Names.HostProviderConfig }

// secretKeyOf returns the name of a Secret of the tenant's and a key in it.
type secretKeyOf func(tenant.Tenant) (name, key string)

// ThroughProxy returns where the kubeconfig of the virtual cluster is.
func ThroughProxy(t tenant.Tenant) (name, key string) {
	return t.Names.KubeconfigSecret, tenant.ProxiedKey
}

// AsInstaller returns where the kubeconfig of the host is.
func AsInstaller(t tenant.Tenant) (name, key string) {
	return t.Names.InstallerSecret, tenant.KubeconfigKey
}

// providerConfigMeta is the same for a ProviderConfig. That of the host is needed until
// the namespace is gone.
func providerConfigMeta(t tenant.Tenant, name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Finalizers: []string{"in-use.crossplane.io"}}
	if name == t.Names.HostProviderConfig {
		m.OwnerReferences = untilNamespaceGoes(t)
	}
	return m
}
