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
