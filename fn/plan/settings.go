package plan

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const (
	// haReplicas is the number of replicas, with high availability, of the workloads that can
	// have several, from the documentation of the argo-cd chart.
	haReplicas = 2
	// portsOfLoadBalancer is the number of ports that each LoadBalancer may have.
	portsOfLoadBalancer = 10
)

// A place is the path at which a chart has the values at and below a field of the plan.
type place struct {
	field string
	path  []string
}

// VClusterSettings returns the values of the vcluster chart that the plan sets, except those
// that are protected: replicas, store and volume.
func (c Plan) VClusterSettings() []values.Setting {
	quota := []string{"policies", "resourceQuota", "quota"}
	out := c.settings(
		place{"vcluster.resources", []string{"controlPlane", "statefulSet", "resources"}},
		place{"quota", quota},
		place{"limits", []string{"policies", "limitRange"}},
		place{"runtimeClass", []string{"sync", "toHost", "pods", "runtimeClassName"}})
	if n := c.Spec.LoadBalancers; n > 0 {
		// Kubernetes counts the node ports that a LoadBalancer takes. Admission refuses Services of
		// type NodePort.
		ports := strconv.FormatInt(n*portsOfLoadBalancer, 10)
		out = append(out,
			c.setting("loadBalancers", strconv.FormatInt(n, 10), slices.Concat(quota, []string{"services.loadbalancers"})),
			c.setting("loadBalancers", ports, slices.Concat(quota, []string{"services.nodeports"})))
	}
	return out
}

// ArgoCDSettings returns the values of the argo-cd chart that the plan sets. The fields of
// workloads have the same paths there.
func (c Plan) ArgoCDSettings() []values.Setting {
	d := c.Spec.ArgoCD
	out := c.settings(place{"argocd.ha", []string{"redis-ha", "enabled"}}, place{"argocd", nil})
	if !d.HA {
		return out
	}
	for _, w := range []struct {
		key      string
		replicas int64
	}{{"server", d.Server.Replicas}, {"repoServer", d.RepoServer.Replicas}, {"applicationSet", d.ApplicationSet.Replicas}} {
		if w.replicas == 0 {
			out = append(out, c.setting("argocd.ha", float64(haReplicas), []string{w.key, "replicas"}))
		}
	}
	for _, container := range []string{"redis", "sentinel", "haproxy"} {
		out = append(out, c.settings(place{"argocd.redis.resources", []string{"redis-ha", container, "resources"}})...)
	}
	return out
}

// settings returns a setting for each value of the plan at or below the field of a place, the
// first one that matches.
func (c Plan) settings(places ...place) []values.Setting {
	var out []values.Setting
	fields, data := c.Spec, values.Values{}
	fields.Values = v1alpha1.PlanValues{}
	// Without values, which can be anything, this can't fail.
	raw, _ := json.Marshal(fields)
	_ = json.Unmarshal(raw, &data)
	for _, path := range values.Leaves(data) {
		for _, p := range places {
			if field := strings.Split(p.field, "."); values.Below(path, field) {
				value, _ := values.Lookup(data, path...)
				out = append(out, c.setting(strings.Join(path, "."), value, slices.Concat(p.path, path[len(field):])))
				break
			}
		}
	}
	return out
}

// setting returns a value of a chart that a field of the plan sets.
func (c Plan) setting(field string, value any, path []string) values.Setting {
	return values.Setting{Field: c.At(field), By: "plan " + c.Name + " (" + field + ")", Path: path, Value: value}
}
