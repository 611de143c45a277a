package host

import (
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// defaultQuota is what a tenant may use of the host, all its pods together: enough
// for a virtual cluster and an Argo CD with high availability while every workload
// of them is rolled over at once, by the charts' own sizes and the defaults below.
// TestQuotaIsEnough adds that up.
func defaultQuota() map[string]string {
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
		tenant.QuotaOfIngresses:                 "10",
		"count/leases.coordination.k8s.io":      "5",

		// Each of up to 256 KiB: see examples/install/tenants.yaml.
		"count/secrets":    "100",
		"count/configmaps": "100",
	}
}

// defaultLimits are the limits of a container that names none.
func defaultLimits() map[string]string {
	return map[string]string{"cpu": "1", "memory": "1Gi", "ephemeral-storage": "4Gi"}
}

// DefaultRequests are the requests of a container that names none: about what a
// workload of Argo CD takes when it is idle.
func DefaultRequests() map[string]string {
	return map[string]string{"cpu": "10m", "memory": "64Mi", "ephemeral-storage": "32Mi"}
}

// DefaultBounds returns the values that bound a tenant, where neither the platform nor a plan
// says otherwise.
func DefaultBounds() values.Values {
	return values.Values{
		"resourceQuota": values.Values{"quota": quantities(defaultQuota())},
		"limitRange":    values.Values{"default": quantities(defaultLimits()), "defaultRequest": quantities(DefaultRequests())},
	}
}

func quantities(of map[string]string) values.Values {
	v := make(values.Values, len(of))
	for name, q := range of {
		v[name] = q
	}
	return v
}
