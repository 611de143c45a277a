package vcluster

import (
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Isolation returns the values that keep a tenant apart from others and from the
// host. What bounds it on the host is no value of the chart: see Bounds.
func Isolation(p *tenant.Decision) values.Values {
	off := func() values.Values { return values.Values{"enabled": false} }
	toHost := values.Values{
		"pods": values.Values{"enabled": true,
			// The default puts tokens of the virtual cluster in host pods' annotations.
			"useSecretsForSATokens": true,
		},
		// Only what pods and Ingresses use: a tenant could fill the host's store with the rest.
		"secrets":    values.Values{"all": false},
		"configMaps": values.Values{"all": false},
		// Always, since each change of a value restarts the virtual API. The control plane's
		// rights decide whether any come to the host: see host.ControlPlaneRows.
		"ingresses":       values.Values{"enabled": true},
		"networkPolicies": off(),
		"serviceAccounts": off(),
		"endpoints":       off(),
		"endpointSlices":  off(),
	}
	return values.Values{
		"policies": values.Values{
			"resourceQuota": off(),
			"limitRange":    off(),
			"networkPolicy": off(),
			// Refuses, inside the virtual cluster, pods that the host would refuse.
			"podSecurityStandard": p.PodSecurity,
		},
		"sync": values.Values{"toHost": toHost},
		// Whoever creates a Role must hold all that it grants. So the control plane's
		// rights are ClusterRoles of the host, which Crossplane binds.
		"rbac": values.Values{"role": off(), "clusterRole": off()},
	}
}
