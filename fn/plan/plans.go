package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// DefaultPlan is the name of the plan of claims that name none, where the platform
// has said of no other that it is. Where there is none of that name either, it has
// the built-in defaults.
const DefaultPlan = "standard"

// Stores of a virtual cluster's state.
const (
	StoreSQLite = "sqlite"
	StoreEtcd   = "etcd"
)

// haReplicas are those of Argo CD's workloads with high availability, as the
// chart's documentation has it.
const haReplicas = 2

// A Chosen is the plan of a tenant.
type Chosen struct {
	// Name of the plan.
	Name string
	// Data of the plan.
	Data v1alpha1.PlanData
}

// over lays the plan's settings over the platform's input.
func (c Chosen) over(in v1alpha1.Input) v1alpha1.Input {
	d := c.Data
	in.Ingress.Domain = cmp.Or(d.Ingress.Domain, in.Ingress.Domain)
	in.Ingress.ClassName = cmp.Or(d.Ingress.ClassName, in.Ingress.ClassName)
	in.Ingress.TLS.Issuer = cmp.Or(d.Ingress.TLS.Issuer, in.Ingress.TLS.Issuer)
	if len(d.Ingress.Hosts) > 0 {
		in.Ingress.Hosts = d.Ingress.Hosts
	}
	if len(d.Ingress.Annotations) > 0 {
		annotations := maps.Clone(in.Ingress.Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		maps.Copy(annotations, d.Ingress.Annotations)
		in.Ingress.Annotations = annotations
	}
	s := d.VCluster.Storage
	in.Storage.Size = cmp.Or(string(s.Size), in.Storage.Size)
	in.Storage.StorageClass = cmp.Or(s.StorageClass, in.Storage.StorageClass)
	if s.Size != "" {
		in.Storage.Ephemeral = false
	}
	return in
}

// A decision is a value of a chart that a field of the plan sets.
type decision struct {
	// field of the plan.
	field string
	path  []string
	value any
}

// valuesOf are the values that decisions make.
func valuesOf(all []decision) Values {
	v := Values{}
	for _, d := range all {
		insert(v, d.value, d.path...)
	}
	return v
}

// checkDecisions refuses values of the claim that a field of the plan sets.
func (c Chosen) checkDecisions(field string, v Values, all []decision) error {
	for _, d := range all {
		if at := taken(v, d.path); at != nil {
			return fmt.Errorf("%s.%s is set by plan %s (%s): leave it out, or choose another plan", field, strings.Join(at, "."), c.Name, d.field)
		}
	}
	return nil
}

// vclusterDecisions are the values of the vcluster chart that the plan sets.
// Replicas, store and volume are protected: see storage.
func (c Chosen) vclusterDecisions() []decision {
	d := c.Data
	out := resources("vcluster.resources", d.VCluster.Resources, "controlPlane", "statefulSet")
	out = append(out, quantitiesAt("quota", d.Quota, "policies", "resourceQuota", "quota")...)
	out = append(out, quantitiesAt("limits.default", d.Limits.Default, "policies", "limitRange", "default")...)
	out = append(out, quantitiesAt("limits.defaultRequest", d.Limits.DefaultRequest, "policies", "limitRange", "defaultRequest")...)
	out = append(out, quantitiesAt("limits.max", d.Limits.Max, "policies", "limitRange", "max")...)
	if n := d.LoadBalancers; n > 0 {
		quota := []string{"policies", "resourceQuota", "quota"}
		out = append(out,
			decision{"loadBalancers", append(slices.Clone(quota), "services.loadbalancers"), strconv.FormatInt(n, 10)},
			// Kubernetes counts the node ports that a LoadBalancer takes. Services of type
			// NodePort are refused by admission.
			decision{"loadBalancers", append(slices.Clone(quota), "services.nodeports"), strconv.FormatInt(n*portsOfLoadBalancer, 10)})
	}
	if d.RuntimeClass != "" {
		out = append(out, decision{"runtimeClass", []string{"sync", "toHost", "pods", "runtimeClassName"}, d.RuntimeClass})
	}
	return out
}

// portsOfLoadBalancer is how many ports each LoadBalancer may have.
const portsOfLoadBalancer = 10

// A planWorkload is one of Argo CD's workloads, as the plan sizes it.
type planWorkload struct {
	// key of the workload, in the plan's argocd and in the chart's values.
	key  string
	size v1alpha1.PlanWorkload
	// several: there are several of it with high availability.
	several bool
}

// workloads are those that a plan sizes.
func (c Chosen) workloads() []planWorkload {
	d := c.Data.ArgoCD
	container := func(of v1alpha1.PlanContainer) v1alpha1.PlanWorkload {
		return v1alpha1.PlanWorkload{Resources: of.Resources}
	}
	return []planWorkload{
		{"server", d.Server, true},
		{"repoServer", d.RepoServer, true},
		{"controller", d.Controller, false},
		{"applicationSet", d.ApplicationSet, true},
		{"notifications", container(d.Notifications), false},
		{"redis", container(d.Redis), false},
		{"dex", container(d.Dex), false},
	}
}

// argocdDecisions are the values of the argo-cd chart that the plan sets.
func (c Chosen) argocdDecisions() []decision {
	var out []decision
	d := c.Data.ArgoCD
	if d.HA {
		out = append(out, decision{"argocd.ha", []string{"redis-ha", "enabled"}, true})
	}
	for _, w := range c.workloads() {
		n, field := w.size.Replicas, "argocd."+w.key+".replicas"
		if n == 0 && w.several && d.HA {
			n, field = haReplicas, "argocd.ha"
		}
		if n > 0 {
			out = append(out, decision{field, []string{w.key, "replicas"}, float64(n)})
		}
		out = append(out, resources("argocd."+w.key+".resources", w.size.Resources, w.key)...)
	}
	if d.HA {
		for _, at := range [][]string{{"redis-ha", "redis"}, {"redis-ha", "sentinel"}, {"redis-ha", "haproxy"}} {
			out = append(out, resources("argocd.redis.resources", d.Redis.Resources, at...)...)
		}
	}
	return out
}

func resources(field string, r v1alpha1.Resources, path ...string) []decision {
	at := func(kind string) []string { return append(slices.Clone(path), "resources", kind) }
	return append(quantitiesAt(field+".requests", r.Requests, at("requests")...), quantitiesAt(field+".limits", r.Limits, at("limits")...)...)
}

func quantitiesAt(field string, of map[string]v1alpha1.Quantity, path ...string) []decision {
	var out []decision
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, decision{field + "." + name, append(slices.Clone(path), name), string(of[name])})
	}
	return out
}

// values are the chart values of the plan, which claims may change.
func (c Chosen) values() (vcluster, argocd Values, err error) {
	if vcluster, err = rawValues(c.at("values.vcluster"), c.Data.Values.VCluster); err != nil {
		return nil, nil, err
	}
	if err := checkPlanValues(c.at("values.vcluster"), vcluster); err != nil {
		return nil, nil, err
	}
	if argocd, err = rawValues(c.at("values.argocd"), c.Data.Values.ArgoCD); err != nil {
		return nil, nil, err
	}
	return vcluster, argocd, checkArgoCDValues(c.at("values.argocd"), argocd)
}

// at is the path of a field of the plan.
func (c Chosen) at(field string) string { return c.prefix() + "data." + field }

func (c Chosen) prefix() string { return "plan " + c.Name + ": " }
