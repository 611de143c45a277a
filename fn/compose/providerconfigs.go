package compose

import (
	helmpcv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	kubernetespcv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	kconfig "github.com/crossplane-contrib/provider-kubernetes/pkg/kube/config"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
)

// helmProviderConfig composes provider-helm's way into the virtual cluster.
func helmProviderConfig(t Tenant) (Object, error) {
	return Object{Typed: &helmpcv1beta1.ProviderConfig{
		TypeMeta:   helmConfigType,
		ObjectMeta: providerConfigMeta(t),
		Spec:       virtualClusterAccess(t),
	}}, nil
}

// kubernetesProviderConfig composes provider-kubernetes' way into the virtual
// cluster.
func kubernetesProviderConfig(t Tenant) (Object, error) {
	return Object{Typed: &kubernetespcv1alpha1.ProviderConfig{
		TypeMeta:   kubeConfigType,
		ObjectMeta: providerConfigMeta(t),
		Spec:       virtualClusterAccess(t),
	}}, nil
}

// virtualClusterAccess is the kubeconfig that the vcluster Release publishes.
func virtualClusterAccess(t Tenant) kconfig.ProviderConfigSpec {
	return kconfig.ProviderConfigSpec{Credentials: kconfig.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret,
		CommonCredentialSelectors: xpv1.CommonCredentialSelectors{SecretRef: &xpv1.SecretKeySelector{
			SecretReference: xpv1.SecretReference{Namespace: t.SecretsIn, Name: t.Names.KubeconfigSecret},
			Key:             KubeconfigKey,
		}},
	}}
}
