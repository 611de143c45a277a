package compose

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clientcmdapiv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// KubeconfigProblem returns why the kubeconfig that the virtual cluster has published
// isn't used; "" when it is used, or when there is none yet.
func KubeconfigProblem(t Tenant) string {
	if err := t.Observed.PublishedProblem; err != nil {
		return err.Error()
	}
	return ""
}

// virtualKubeconfig composes the Secret with the kubeconfig of the virtual cluster, for
// the claim, and one that reaches it through the proxy beside each provider, for both
// providers. The server is always the tenant's own Service. While the published
// kubeconfig is missing or can't be used, the Secret keeps what it has: nothing at
// first.
func virtualKubeconfig(t Tenant) (Object, error) {
	s := secret(t, t.Names.KubeconfigSecret, corev1.SecretTypeOpaque)
	c := t.Observed.Published
	if c == nil {
		if is := t.observed(KubeconfigSecret); HasKubeconfig(t) {
			s.Data = map[string][]byte{KubeconfigKey: is.SecretValue(KubeconfigKey), ProxiedKey: is.SecretValue(ProxiedKey)}
		}
		return Object{Typed: s}, nil
	}
	server := t.Names.APIServer()
	token, err := proxy.Credentials{Server: server, CA: c.CA, Certificate: c.Certificate, Key: c.Key}.Token()
	if err != nil {
		return Object{}, fmt.Errorf("cannot write the token for the proxy of virtual clusters: %w", err)
	}
	s.Data = map[string][]byte{}
	for key, config := range map[string]clientcmdapiv1.Config{
		KubeconfigKey: kubeconfig(server, c.CA, clientcmdapiv1.AuthInfo{ClientCertificateData: c.Certificate, ClientKeyData: c.Key}),
		ProxiedKey:    kubeconfig(proxy.URL, nil, clientcmdapiv1.AuthInfo{Token: token}),
	} {
		if s.Data[key], err = json.Marshal(config); err != nil {
			return Object{}, fmt.Errorf("cannot write the kubeconfig of the virtual cluster: %w", err)
		}
	}
	return Object{Typed: s}, nil
}

// isPublished reports whether the virtual cluster has published a kubeconfig that is used.
func isPublished(t Tenant) bool {
	return namespaceReady(t) && (t.Observed.Published != nil || HasKubeconfig(t))
}

// Kubeconfig returns the kubeconfig of the virtual cluster, nil when there is none yet.
func Kubeconfig(t Tenant) []byte { return t.observed(KubeconfigSecret).SecretValue(KubeconfigKey) }

// HasKubeconfig reports whether the providers have a kubeconfig of the virtual
// cluster.
func HasKubeconfig(t Tenant) bool {
	return len(t.observed(KubeconfigSecret).SecretValue(ProxiedKey)) > 0
}
