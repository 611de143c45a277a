package plan

import (
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// Pod Security levels. The namespace on the host enforces baseline: vcluster's own
// pods don't run under restricted. A plan can have restricted enforced on the
// tenant's pods, which vcluster does before they get to the host.
const (
	PodSecurityBaseline   = "baseline"
	PodSecurityRestricted = "restricted"
)

// QuotaName is the name of the ResourceQuota that the vcluster chart installs, and
// QuotaOfIngresses what it calls the number of Ingresses.
const (
	QuotaName        = "vc-vcluster"
	QuotaOfIngresses = "count/ingresses.networking.k8s.io"
)

// DefaultQuota is what a tenant may use of the host, all its pods together: enough
// for a virtual cluster and an Argo CD with high availability while every workload
// of them is rolled over at once, by the charts' own sizes and the defaults below.
// TestQuotaIsEnough adds that up. It names each resource that the vcluster chart's
// own quota does, since those of the chart stay where nothing replaces them.
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

		"count/secrets":    "200",
		"count/configmaps": "200",
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
func bounds() Values {
	return Values{
		"resourceQuota": Values{"quota": quantities(DefaultQuota())},
		"limitRange":    Values{"default": quantities(DefaultLimits()), "defaultRequest": quantities(DefaultRequests())},
	}
}

func quantities(of map[string]string) Values {
	v := make(Values, len(of))
	for name, q := range of {
		v[name] = q
	}
	return v
}

// endpointSlicesSince is the first minor version of vcluster 0.x that is known to
// have a switch for EndpointSlices; its chart refuses what it doesn't know.
const endpointSlicesSince = 30

// isolation are the values that keep a tenant apart from others and from the host.
func isolation(p *Plan, in v1alpha1.Input) (Values, error) {
	off := func() Values { return Values{"enabled": false} }
	toHost := Values{
		"pods": Values{"enabled": true,
			// The default puts tokens of the virtual cluster in host pods' annotations.
			"useSecretsForSATokens": true,
		},
		"ingresses":       Values{"enabled": p.Ingress.Synced},
		"networkPolicies": off(),
		"serviceAccounts": off(),
		"endpoints":       off(),
	}
	rights := Values{}
	if v := parse(p.VCluster.Version); v.Major() > 0 || v.Minor() >= endpointSlicesSince {
		toHost["endpointSlices"] = off()
		// vcluster reads them nevertheless, and does nothing until it has. Its chart gives
		// the right to with the switch only.
		rights["role"] = Values{"extraRules": []any{map[string]any{
			"apiGroups": []any{"discovery.k8s.io"}, "resources": []any{"endpointslices"}, "verbs": []any{"get", "list", "watch"},
		}}}
	}
	manifests, err := networkPolicies(p, in)
	if err != nil {
		return nil, err
	}
	return Values{
		"policies": Values{
			"resourceQuota": Values{"enabled": true},
			"limitRange":    Values{"enabled": true},
			"networkPolicy": off(),
			// Refuses, inside the virtual cluster, pods that the host would refuse.
			"podSecurityStandard": p.PodSecurity,
		},
		"sync":         Values{"toHost": toHost},
		"rbac":         rights,
		"experimental": Values{"deploy": Values{"host": Values{"manifests": manifests}}},
	}, nil
}

// Tolerated are the keys of taints that the platform has the tenant's pods tolerate.
func (p *Plan) Tolerated() []string {
	enforced, _ := lookup(p.VCluster.Values, "sync", "toHost", "pods", "enforceTolerations")
	list, _ := enforced.([]any)
	var keys []string
	for _, one := range list {
		// As in `kubectl taint`: key=value:effect, key:effect or key.
		text, _ := one.(string)
		if key, _, _ := strings.Cut(strings.ReplaceAll(text, "=", ":"), ":"); key != "" && !strings.Contains(key, ",") {
			keys = append(keys, key)
		}
	}
	return keys
}
