// Package ingress is the part of a claim that says how its Argo CD is reached from outside
// the host cluster.
package ingress

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Part is spec.ingress, and what the platform's domain gives claims without.
var Part = part.Part{
	Field: "spec.ingress", Secrets: secrets, Resolve: resolve, Rows: rows,
	Condition: v1alpha1.ConditionIngressReady, Has: func(t tenant.Tenant) bool { return t.Ingress.Asked != "" }, Observe: observe,
}

func secrets(s tenant.Ask) []string {
	if i := s.Ingress; i != nil && i.TLS != nil && i.TLS.SecretName != "" {
		return []string{i.TLS.SecretName}
	}
	return nil
}

func rows(t tenant.Tenant) []resource.Row {
	// What is observed stays while it isn't known whose the hostname is.
	observed := t.Ingress.Hostname != "" || t.Ingress.Asked != "" && !t.Ingress.Taken && t.Composed(tenant.IngressObject).Exists()
	out := []resource.Row{
		{Name: tenant.IngressObject, Has: observed, Waits: !installed(t), Ready: true, Build: observer},
		{Name: tenant.IngressCount, Has: len(t.Ingress.Leaving) > 0, Waits: !t.Ingress.Counted, Ready: true, Build: count},
	}
	for _, hostname := range t.Ingress.Records {
		out = append(out, resource.Row{Name: tenant.HostnameResource(hostname), Has: true, Ready: true, Build: record(hostname)})
	}
	return out
}

// record composes the record that a hostname is this tenant's. Its name follows
// from the hostname alone, and Crossplane applies no object that another composite
// resource controls: of two tenants that ask at once one gets it, and the other
// sees whose it is when it asks again.
func record(hostname string) func(t tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		return resource.Object{Typed: &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: tenant.HostnameRecord(hostname), Labels: resource.OfTenant(t)},
			Data:       map[string]string{tenant.HostnameKey: hostname},
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
	return resource.Observer(t, "ingress-count", t.Names.HostProviderConfig, resource.ReadyOnceCreated,
		corev1.ObjectReference{APIVersion: "v1", Kind: "ResourceQuota", Namespace: t.Names.Namespace, Name: tenant.QuotaName}), nil
}

// addressed is the readiness of the observed Ingress, in CEL.
const addressed = `has(object.status) && has(object.status.loadBalancer) && has(object.status.loadBalancer.ingress)
 && size(object.status.loadBalancer.ingress) > 0`

// observer composes an Object that observes Argo CD's Ingress in the virtual
// cluster, which has the status of the one on the host.
func observer(t tenant.Tenant) (resource.Object, error) {
	return resource.Observer(t, "argocd-ingress", t.Names.ProviderConfig, resource.ReadyBy(addressed),
		corev1.ObjectReference{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Namespace: tenant.ArgoCDNamespace, Name: tenant.ArgoCDServer}), nil
}
