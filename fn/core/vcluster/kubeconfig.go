package vcluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapiv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// VirtualKubeconfig composes the Secret with two kubeconfigs of the virtual cluster: one for the
// claim, and one for both providers, which goes through the proxy beside each of them. The server
// is always the tenant's own Service. While the published kubeconfig is missing or can't be
// used, the Secret keeps what it has: nothing at first.
func VirtualKubeconfig(t tenant.Tenant) (resource.Object, error) {
	s := resource.Secret(t, t.Names.KubeconfigSecret, corev1.SecretTypeOpaque)
	c := t.Observed.Published
	if c == nil {
		if is := t.Composed(tenant.KubeconfigSecret); resource.HasKubeconfig(t) {
			s.Data = map[string][]byte{tenant.KubeconfigKey: is.SecretValue(tenant.KubeconfigKey), tenant.ProxiedKey: is.SecretValue(tenant.ProxiedKey)}
		}
		return resource.Object{Typed: s}, nil
	}
	token, err := proxy.Credentials{Server: t.Names.ProxiedAPIServer(), CA: c.CA, Certificate: c.Certificate, Key: c.Key}.Token()
	if err != nil {
		return resource.Object{}, fmt.Errorf("cannot write the token for the proxy of virtual clusters: %w", err)
	}
	direct, err := host.NewKubeconfig(t.Names.APIServer(), c.CA, clientcmdapiv1.AuthInfo{ClientCertificateData: c.Certificate, ClientKeyData: c.Key})
	if err != nil {
		return resource.Object{}, err
	}
	proxied, err := host.NewKubeconfig(proxy.URL, nil, clientcmdapiv1.AuthInfo{Token: token})
	s.Data = map[string][]byte{tenant.KubeconfigKey: direct, tenant.ProxiedKey: proxied}
	return resource.Object{Typed: s}, err
}

// ProviderConfig composes the ProviderConfig of that type for the virtual cluster,
// which is reached through the proxy.
func ProviderConfig(typ metav1.TypeMeta) func(tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		return resource.Object{Typed: resource.NewProviderConfig(t, typ, t.Names.ProviderConfig, t.Names.KubeconfigSecret, tenant.ProxiedKey)}, nil
	}
}
