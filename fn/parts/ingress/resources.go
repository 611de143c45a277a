package ingress

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// record composes the record that a hostname is this tenant's. Its name follows
// from the hostname alone, and Crossplane applies no object that another composite
// resource controls: of two tenants that ask at once one gets it, and the other
// sees whose it is when it asks again.
func record(hostname string) func(t tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		return resource.Object{Typed: &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: t.SecretsIn, Name: tenant.HostnameRecord(hostname),
				Labels: map[string]string{tenant.LabelTenant: t.Names.Tenant},
			},
			Data: map[string]string{tenant.HostnameKey: hostname},
		}}, nil
	}
}

// installed reports whether the argo-cd chart is installed with an Ingress:
// an Object that observes nothing is an error, tried again ever later.
func installed(t tenant.Tenant) bool {
	r := t.Composed(tenant.ArgoCDRelease)
	return argocd.Deployed(t) && r.Current() && r.Get("spec", "forProvider", "values", "server", "ingress").Has("enabled")
}

// count composes an Object that observes the tenant's ResourceQuota on the
// host, which counts its Ingresses there.
func count(t tenant.Tenant) (resource.Object, error) {
	return resource.Observer(t, "ingress-count", t.Names.HostProviderConfig, resource.ReadyOnceCreated, map[string]any{
		"apiVersion": "v1",
		"kind":       "ResourceQuota",
		"metadata":   map[string]any{"name": tenant.QuotaName, "namespace": t.Names.Namespace},
	}), nil
}

// addressed is the readiness of the observed Ingress, in CEL.
const addressed = `has(object.status) && has(object.status.loadBalancer) && has(object.status.loadBalancer.ingress)
 && size(object.status.loadBalancer.ingress) > 0`

// observer composes an Object that observes Argo CD's Ingress in the virtual
// cluster, which has the status of the one on the host.
func observer(t tenant.Tenant) (resource.Object, error) {
	return resource.Observer(t, "argocd-ingress", t.Names.ProviderConfig, resource.ReadyBy(addressed), map[string]any{
		"apiVersion": "networking.k8s.io/v1",
		"kind":       "Ingress",
		"metadata":   map[string]any{"name": tenant.ArgoCDServer, "namespace": tenant.ArgoCDNamespace},
	}), nil
}
