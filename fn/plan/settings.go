package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// haReplicas is the number of replicas with high availability of the workloads that can have
// several, from the documentation of the argo-cd chart.
const haReplicas = 2

// VClusterSettings returns the values of the vcluster chart that the plan sets, except those
// that are protected: replicas, store and volume.
func (c Plan) VClusterSettings() []values.Setting {
	d := c.Data
	out := slices.Concat(
		c.resources("vcluster.resources", d.VCluster.Resources, "controlPlane", "statefulSet"),
		c.quantities("quota", d.Quota, "policies", "resourceQuota", "quota"),
		c.quantities("limits.default", d.Limits.Default, "policies", "limitRange", "default"),
		c.quantities("limits.defaultRequest", d.Limits.DefaultRequest, "policies", "limitRange", "defaultRequest"),
		c.quantities("limits.max", d.Limits.Max, "policies", "limitRange", "max"))
	if n := d.LoadBalancers; n > 0 {
		// Kubernetes counts the node ports that a LoadBalancer takes. Admission refuses Services of
		// type NodePort.
		ports := strconv.FormatInt(n*portsOfLoadBalancer, 10)
		out = append(out,
			c.setting("loadBalancers", strconv.FormatInt(n, 10), "policies", "resourceQuota", "quota", "services.loadbalancers"),
			c.setting("loadBalancers", ports, "policies", "resourceQuota", "quota", "services.nodeports"))
	}
	if d.RuntimeClass != "" {
		out = append(out, c.setting("runtimeClass", d.RuntimeClass, "sync", "toHost", "pods", "runtimeClassName"))
	}
	return out
}

// portsOfLoadBalancer is how many ports each LoadBalancer may have.
const portsOfLoadBalancer = 10

// A Workload is one of Argo CD's workloads, with its size in the plan.
type Workload struct {
	// Key of the workload, in the plan's argocd and in the chart's values.
	Key  string
	Size v1alpha1.PlanWorkload
	// several reports whether the workload has several replicas with high availability.
	several bool
}

// Workloads returns the workloads whose size a plan can set.
func (c Plan) Workloads() []Workload {
	d := c.Data.ArgoCD
	return []Workload{
		{"server", d.Server, true},
		{"repoServer", d.RepoServer, true},
		{"controller", d.Controller, false},
		{"applicationSet", d.ApplicationSet, true},
		{"notifications", v1alpha1.PlanWorkload{PlanContainer: d.Notifications}, false},
		{"redis", v1alpha1.PlanWorkload{PlanContainer: d.Redis}, false},
		{"dex", v1alpha1.PlanWorkload{PlanContainer: d.Dex}, false},
	}
}

// ArgoCDSettings returns the values of the argo-cd chart that the plan sets.
func (c Plan) ArgoCDSettings() []values.Setting {
	var out []values.Setting
	d := c.Data.ArgoCD
	if d.HA {
		out = append(out, c.setting("argocd.ha", true, "redis-ha", "enabled"))
	}
	for _, w := range c.Workloads() {
		n, field := w.Size.Replicas, "argocd."+w.Key+".replicas"
		if n == 0 && w.several && d.HA {
			n, field = haReplicas, "argocd.ha"
		}
		if n > 0 {
			out = append(out, c.setting(field, float64(n), w.Key, "replicas"))
		}
		out = append(out, c.resources("argocd."+w.Key+".resources", w.Size.Resources, w.Key)...)
	}
	if d.HA {
		for _, container := range []string{"redis", "sentinel", "haproxy"} {
			out = append(out, c.resources("argocd.redis.resources", d.Redis.Resources, "redis-ha", container)...)
		}
	}
	return out
}

func (c Plan) resources(field string, r v1alpha1.Resources, path ...string) []values.Setting {
	at := func(kind string) []string { return append(slices.Clone(path), "resources", kind) }
	return append(c.quantities(field+".requests", r.Requests, at("requests")...), c.quantities(field+".limits", r.Limits, at("limits")...)...)
}

func (c Plan) quantities(field string, of map[string]v1alpha1.Quantity, path ...string) []values.Setting {
	var out []values.Setting
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, c.setting(field+"."+name, string(of[name]), append(slices.Clone(path), name)...))
	}
	return out
}

// setting returns a value of a chart that a field of the plan sets.
func (c Plan) setting(field string, value any, path ...string) values.Setting {
	return values.Setting{Field: c.At(field), By: fmt.Sprintf("plan %s (%s)", c.Name, field), Path: path, Value: value}
}
