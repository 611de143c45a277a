package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// A need is what a switch of the argo-cd chart's values needs, and a virtual cluster doesn't have, by the end of the switch's path.
type need struct{ path, why string }

// silent are those with which Helm is content.
var silent = []need{
	{"serviceMonitor.enabled", "the chart makes no ServiceMonitor before you install its CustomResourceDefinition in the virtual cluster, and the platform's Prometheus doesn't see it there"},
	{"metrics.rules.enabled", "the chart makes no PrometheusRule before you install its CustomResourceDefinition in the virtual cluster, and the platform's Prometheus doesn't see it there"},
	{"networkPolicy.create", "a NetworkPolicy has no effect in a virtual cluster: those of the platform apply on the host"},
	{"networkPolicy.defaultDenyIngress", "a NetworkPolicy has no effect in a virtual cluster: those of the platform apply on the host"},
	{"networkPolicy.enabled", "a NetworkPolicy has no effect in a virtual cluster: those of the platform apply on the host"},
}

// budgets are those with which Helm is content where vcluster copies no disruption budgets to the host.
var budgets = []need{
	{"pdb.enabled", "a PodDisruptionBudget has no effect, because the plan has sync.toHost.podDisruptionBudgets off"},
}

// missing are those without which Helm fails.
var missing = []need{
	{"vpa.enabled", "a virtual cluster has no VerticalPodAutoscalers: leave it out and write resources"},
	{"certificate.enabled", "a virtual cluster has no cert-manager: leave it out and write spec.ingress.tls"},
	{"server.route.enabled", "a virtual cluster has no Routes of OpenShift: leave it out and write spec.ingress"},
	{"httproute.enabled", "a virtual cluster has no Gateway API: leave it out and write spec.ingress"},
	{"grpcroute.enabled", "a virtual cluster has no Gateway API: leave it out and write spec.ingress"},
	{"listenerset.enabled", "a virtual cluster has no Gateway API: leave it out and write spec.ingress"},
	{"backendTLSPolicy.enabled", "a virtual cluster has no Gateway API: leave it out and write spec.ingress"},
}

// Missing returns the values of the argo-cd chart that need CustomResourceDefinitions without which Helm fails: who has them installed may
// use them, which isn't known of a tenant that is there. installed reports whether Argo CD was installed.
func Missing(installed bool) func(values.Values) []known.Unknown {
	return func(v values.Values) []known.Unknown {
		return append(needed(missing, nil)(v), objects(v, installed)...)
	}
}

// Silent returns the values of the argo-cd chart of which nothing comes in a virtual cluster, other than the chart's defaults.
func Silent(version *known.Version) func(values.Values) []known.Unknown {
	return needed(silent, version)
}

// bringsObjects reports whether the platform has vcluster itself bring objects to virtual clusters, CustomResourceDefinitions perhaps.
func bringsObjects(vcluster values.Values) bool {
	return values.Enabled(vcluster, false, "experimental", "deploy", "vcluster", "manifests")
}

func needed(needs []need, version *known.Version) func(values.Values) []known.Unknown {
	return func(v values.Values) []known.Unknown {
		var out []known.Unknown
		for _, path := range values.Leaves(v) {
			value, _ := values.Lookup(v, path...)
			if !values.Enabled(v, false, path...) || path[0] == "extraObjects" || path[0] == "configs" || version != nil && version.IsDefault(path, value) {
				continue
			}
			for _, n := range needs {
				if at := strings.Split(n.path, "."); len(path) >= len(at) && slices.Equal(path[len(path)-len(at):], at) {
					out = append(out, known.Unknown{Path: path, Message: n.why})
				}
			}
		}
		return out
	}
}

// ports are those at which others than Argo CD connect to its pods.
var ports = []struct{ path, port, why string }{
	{"server.containerPorts.server", "8080", "NetworkPolicies on the host let nobody connect to another port: leave it out; the ports of the Service are server.service.servicePortHttp and servicePortHttps"},
	{"controller.containerPorts.metrics", "8082", "what Argo CD tells of its clusters is read at that port: leave it out; the port of the Service is controller.metrics.service.servicePort"},
	{"repoServer.containerPorts.metrics", "8084", "NetworkPolicies on the host let the platform's Prometheus connect to no other port: leave it out; the port of the Service is repoServer.metrics.service.servicePort"},
}

// Ports returns the ports in values of the argo-cd chart at which those who connect to Argo CD's pods wouldn't find them.
func Ports(v values.Values) []known.Unknown {
	var out []known.Unknown
	for _, p := range ports {
		path := strings.Split(p.path, ".")
		if is, ok := values.Lookup(v, path...); ok && is != nil && values.AmountText(is) != p.port {
			out = append(out, known.Unknown{Path: path, Message: fmt.Sprintf("%.20q is not %s: %s", values.AmountText(is), p.port, p.why)})
		}
	}
	return out
}

// Values refuses values of the argo-cd chart with which something of a tenant isn't there, though Helm may be content, and names those of
// which nothing comes. version is that of the chart, or nil, and vcluster are the values of the vcluster chart.
func Values(g tenant.Given, of *values.Stack, version *known.Version, vcluster values.Values) error {
	of.Name(Silent(version))
	if version != nil && version.Exact {
		of.Name(version.Misspelt)
	}
	if !values.Enabled(vcluster, false, "sync", "toHost", "podDisruptionBudgets", "enabled") && !g.Unassigned {
		of.Name(needed(budgets, version))
	}
	found := mistakes.Join(of.Check(Metadata(g.HostPolicies)), of.Check(Ports), of.Check(Enums), redis(g, of))
	switch {
	case bringsObjects(vcluster):
	case g.Was == nil:
		return mistakes.Join(found, of.Check(Missing(false)))
	default:
		of.Name(Missing(g.Running.ArgoCD != ""))
	}
	return found
}
