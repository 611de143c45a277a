// Package ingress is the part of a claim that says how its Argo CD is reached from outside
// the host cluster.
package ingress

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
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
	out := []resource.Row{
		{Name: tenant.IngressObject, Has: observed, Waits: resource.Not(installed), Ready: resource.Always, Build: observer},
		{Name: tenant.IngressCount, Has: counted, Waits: countWaits, Ready: resource.Always, Build: count},
	}
	for _, hostname := range t.Ingress.Records {
		out = append(out, resource.Row{Name: tenant.HostnameResource(hostname), Has: resource.Always, Waits: resource.Never, Ready: resource.Always, Build: record(hostname)})
	}
	return out
}
