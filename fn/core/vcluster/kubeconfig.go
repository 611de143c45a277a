package vcluster

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clientcmdapiv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// VirtualKubeconfig composes the Secret with the kubeconfig of the virtual cluster, for
// the claim, and one that reaches it through the proxy beside each provider, for both
// providers. The server is always the tenant's own Service. While the published
// kubeconfig is missing or can't be used, the Secret keeps what it has: nothing at
// first.
func VirtualKubeconfig(t tenant.Tenant) (resource.Object, error) {
	s := resource.Secret(t, t.Names.KubeconfigSecret, corev1.SecretTypeOpaque)
	c := t.Observed.Published
	if c == nil {
		if is := t.Composed(tenant.KubeconfigSecret); resource.HasKubeconfig(t) {
			s.Data = map[string][]byte{tenant.KubeconfigKey: is.SecretValue(tenant.KubeconfigKey), tenant.ProxiedKey: is.SecretValue(tenant.ProxiedKey)}
		}
		return resource.Object{Typed: s}, nil
	}
	server := t.Names.APIServer()
	token, err := proxy.Credentials{Server: server, CA: c.CA, Certificate: c.Certificate, Key: c.Key}.Token()
	if err != nil {
		return resource.Object{}, fmt.Errorf("cannot write the token for the proxy of virtual clusters: %w", err)
	}
	s.Data = map[string][]byte{}
	for key, config := range map[string]clientcmdapiv1.Config{
		tenant.KubeconfigKey: host.NewKubeconfig(server, c.CA, clientcmdapiv1.AuthInfo{ClientCertificateData: c.Certificate, ClientKeyData: c.Key}),
		tenant.ProxiedKey:    host.NewKubeconfig(proxy.URL, nil, clientcmdapiv1.AuthInfo{Token: token}),
	} {
		if s.Data[key], err = json.Marshal(config); err != nil {
			return resource.Object{}, fmt.Errorf("cannot write the kubeconfig of the virtual cluster: %w", err)
		}
	}
	return resource.Object{Typed: s}, nil
}

// IsPublished reports whether the virtual cluster has published a kubeconfig that is used.
func IsPublished(t tenant.Tenant) bool {
	return host.NamespaceReady(t) && (t.Observed.Published != nil || resource.HasKubeconfig(t))
}
