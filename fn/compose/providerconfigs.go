package compose

import (
	helmpcv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	kubernetespcv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	kconfig "github.com/crossplane-contrib/provider-kubernetes/pkg/kube/config"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
)

// helmProviderConfig composes a ProviderConfig of provider-helm.
func helmProviderConfig(name func(Tenant) string, kubeconfig secretKeyOf) func(Tenant) (Object, error) {
	return func(t Tenant) (Object, error) {
		return Object{Typed: &helmpcv1beta1.ProviderConfig{
			TypeMeta:   helmConfigType,
			ObjectMeta: providerConfigMeta(t, name(t)),
			Spec:       access(t, kubeconfig),
		}}, nil
	}
}

// kubernetesProviderConfig composes a ProviderConfig of provider-kubernetes.
func kubernetesProviderConfig(name func(Tenant) string, kubeconfig secretKeyOf) func(Tenant) (Object, error) {
	return func(t Tenant) (Object, error) {
		return Object{Typed: &kubernetespcv1alpha1.ProviderConfig{
			TypeMeta:   kubeConfigType,
			ObjectMeta: providerConfigMeta(t, name(t)),
			Spec:       access(t, kubeconfig),
		}}, nil
	}
}

// access is by a kubeconfig that the function has written.
func access(t Tenant, kubeconfig secretKeyOf) kconfig.ProviderConfigSpec {
	name, key := kubeconfig(t)
	return kconfig.ProviderConfigSpec{Credentials: kconfig.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret,
		CommonCredentialSelectors: xpv1.CommonCredentialSelectors{SecretRef: &xpv1.SecretKeySelector{
			SecretReference: xpv1.SecretReference{Namespace: t.SecretsIn, Name: name},
			Key:             key,
		}},
	}}
}

// Names of ProviderConfigs.
func virtualConfig(t Tenant) string { return t.Names.ProviderConfig }
func hostConfig(t Tenant) string    { return t.Names.HostProviderConfig }

// secretKeyOf returns the name of a Secret of the tenant's and a key in it.
type secretKeyOf func(Tenant) (name, key string)

// Kubeconfigs of the virtual cluster and of the host.
func throughProxy(t Tenant) (name, key string) { return t.Names.KubeconfigSecret, ProxiedKey }
func asInstaller(t Tenant) (name, key string)  { return t.Names.InstallerSecret, KubeconfigKey }
