package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// namespacePrefix is the prefix of tenants' namespaces.
const namespacePrefix = "vargo-"

// tenantOf returns the tenant of a namespace.
func tenantOf(namespace string) string { return strings.TrimPrefix(namespace, namespacePrefix) }

// reach reads the credentials of a ProviderConfig, and returns the namespace of the virtual cluster that they are for; "" for
// the host. It returns an error if the virtual cluster doesn't answer. ProviderConfigs for virtual clusters have the name of
// the tenant's namespace.
func (s *controlPlanes) reach(ctx context.Context, local client.Client, config string, credentials xpv1.CommonCredentialSelectors) (string, error) {
	ref := credentials.SecretRef
	if ref == nil {
		return "", nil
	}
	secret := &corev1.Secret{}
	if err := local.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		return "", fmt.Errorf("cannot get credentials secret: %w", err)
	}
	if len(secret.Data[ref.Key]) == 0 {
		return "", fmt.Errorf("cannot use credentials: Secret %s has no %s", ref.Name, ref.Key)
	}
	if ref.Key != tenant.ProxiedKey {
		return "", nil
	}
	return config, s.answers(ctx, local, config)
}

// answers returns an error if the virtual cluster in a namespace doesn't answer.
func (s *controlPlanes) answers(ctx context.Context, local client.Client, namespace string) error {
	if err := local.Get(ctx, client.ObjectKey{Namespace: namespace, Name: tenant.KubeconfigSource}, &corev1.Secret{}); err != nil {
		return fmt.Errorf("Kubernetes cluster unreachable: %w", err) //nolint:staticcheck // Helm's words.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Faults.Has(Silent, tenantOf(namespace)) || s.asleep[namespace] || time.Now().Before(s.restarting[namespace]) {
		return errors.New("Kubernetes cluster unreachable: connection refused") //nolint:staticcheck // Helm's words.
	}
	delete(s.restarting, namespace)
	return nil
}
