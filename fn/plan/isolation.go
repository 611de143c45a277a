package plan

import "github.com/virtual-argocd/virtual-argocd/fn/values"

// Pod Security levels. The namespace on the host enforces baseline: vcluster's own
// pods don't run under restricted. A plan can have restricted enforced on the
// tenant's pods, which vcluster does before they get to the host.
const (
	PodSecurityBaseline   = "baseline"
	PodSecurityRestricted = "restricted"
)

// QuotaName is the name of the tenant's ResourceQuota, and QuotaOfIngresses what it
// calls the number of Ingresses.
const (
	QuotaName        = "virtual-argocd"
	QuotaOfIngresses = "count/ingresses.networking.k8s.io"
)

// DefaultQuota is what a tenant may use of the host, all its pods together: enough
// for a virtual cluster and an Argo CD with high availability while every workload
// of them is rolled over at once, by the charts' own sizes and the defaults below.
// TestQuotaIsEnough adds that up.
func DefaultQuota() map[string]string {
	return map[string]string{
		"count/pods":                 "60",
		"requests.cpu":               "8",
		"requests.memory":            "16Gi",
		"limits.cpu":                 "80",
		"limits.memory":              "64Gi",
		"requests.ephemeral-storage": "20Gi",
		"limits.ephemeral-storage":   "240Gi",

		"count/persistentvolumeclaims": "10",
		"requests.storage":             "50Gi",

		// vcluster makes one for each node that a pod of the tenant runs on, too.
		"count/services":         "150",
		"services.nodeports":     "0",
		"services.loadbalancers": "0",
		// Made by the host for Services.
		"count/endpoints":                       "150",
		"count/endpointslices.discovery.k8s.io": "300",
		QuotaOfIngresses:                        "10",
		"count/leases.coordination.k8s.io":      "5",

		// Each of up to 256 KiB: see examples/install/tenants.yaml.
		"count/secrets":    "100",
		"count/configmaps": "100",
	}
}

// DefaultLimits are the limits of a container that names none.
func DefaultLimits() map[string]string {
	return map[string]string{"cpu": "1", "memory": "1Gi", "ephemeral-storage": "4Gi"}
}

// DefaultRequests are the requests of a container that names none: about what a
// workload of Argo CD takes when it is idle.
func DefaultRequests() map[string]string {
	return map[string]string{"cpu": "10m", "memory": "64Mi", "ephemeral-storage": "32Mi"}
}

// bounds are the values that bound a tenant, where neither the platform nor a plan
// says otherwise.
func bounds() values.Values {
	return values.Values{
		"resourceQuota": values.Values{"quota": quantities(DefaultQuota())},
		"limitRange":    values.Values{"default": quantities(DefaultLimits()), "defaultRequest": quantities(DefaultRequests())},
	}
}

func quantities(of map[string]string) values.Values {
	v := make(values.Values, len(of))
	for name, q := range of {
		v[name] = q
	}
	return v
}

// isolation returns the values that keep a tenant apart from others and from the
// host. What bounds it on the host is no value of the chart: see Bounds.
func isolation(p *Plan) values.Values {
	off := func() values.Values { return values.Values{"enabled": false} }
	toHost := values.Values{
		"pods": values.Values{"enabled": true,
			// The default puts tokens of the virtual cluster in host pods' annotations.
			"useSecretsForSATokens": true,
		},
		// Only what pods use: a tenant could fill the host's store with the rest.
		"secrets":         values.Values{"all": false},
		"configMaps":      values.Values{"all": false},
		"ingresses":       values.Values{"enabled": p.Ingress.Synced},
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

// SyncsDisruptionBudgets reports whether the platform has the virtual cluster bring
// PodDisruptionBudgets to the host.
func (p *Plan) SyncsDisruptionBudgets() bool {
	return values.Enabled(p.VCluster.Values, false, "sync", "toHost", "podDisruptionBudgets", "enabled")
}
