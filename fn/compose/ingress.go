package compose

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// hostRecord composes the record that a host is this tenant's. Its name follows
// from the host alone, and Crossplane applies no object that another composite
// resource controls: of two tenants that ask at once one gets it, and the other
// sees whose it is when it asks again.
func hostRecord(host string) func(t Tenant) (Object, error) {
	return func(t Tenant) (Object, error) {
		return Object{Typed: &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: t.SecretsIn, Name: plan.HostRecord(host),
				Labels: map[string]string{LabelTenant: t.Names.Tenant},
			},
			Data: map[string]string{decode.HostKey: host},
		}}, nil
	}
}

func ingressWanted(t Tenant) bool {
	// What is observed stays while it isn't known whose the host is.
	return t.Ingress.Host != "" || t.Ingress.Wanted != "" && !t.Ingress.Taken && exists(Ingress)(t)
}

// ingressInstalled tells whether the argo-cd chart is installed with an Ingress:
// an Object that observes nothing is an error, tried again ever later.
func ingressInstalled(t Tenant) bool {
	r := t.observed(ArgoCD)
	return argoCDDeployed(t) && r.Current() && r.Get("spec", "forProvider", "values", "server", "ingress").Has("enabled")
}

func ingressCountWanted(t Tenant) bool { return len(t.Ingress.Leaving) > 0 }

func ingressCountWaits(t Tenant) bool { return !t.Ingress.Counted }

// ingressCount composes an Object that observes the tenant's ResourceQuota on the
// host, which counts its Ingresses there.
func ingressCount(t Tenant) (Object, error) {
	return observer(t, "ingress-count", t.Names.HostProviderConfig, readyOnceCreated, map[string]any{
		"apiVersion": "v1",
		"kind":       "ResourceQuota",
		"metadata":   map[string]any{"name": plan.QuotaName, "namespace": t.Names.Namespace},
	}), nil
}

// ingressReady is the readiness of the observed Ingress, in CEL.
const ingressReady = `has(object.status) && has(object.status.loadBalancer) && has(object.status.loadBalancer.ingress)
 && size(object.status.loadBalancer.ingress) > 0`

// ingress composes an Object that observes Argo CD's Ingress in the virtual
// cluster, which has the status of the one on the host.
func ingress(t Tenant) (Object, error) {
	return observer(t, "argocd-ingress", t.Names.ProviderConfig, readyBy(ingressReady), map[string]any{
		"apiVersion": "networking.k8s.io/v1",
		"kind":       "Ingress",
		"metadata":   map[string]any{"name": plan.ArgoCDServer, "namespace": plan.ArgoCDNamespace},
	}), nil
}
