package decide

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const (
	// mostNames is how many of the values or bounds that change a message names. maxName is how
	// many bytes of a name it has.
	mostNames = 5
	maxName   = 100
)

// changes returns the end of a message, which says what would change in a tenant from one
// decision to another; "" if one of them is nil, or nothing would. Of values and bounds it has
// only the names.
func changes(now, then *tenant.Decision) string {
	if now == nil || then == nil || unaffected(now, then) {
		return ""
	}
	var out []string
	say := func(what, is, will string) {
		if is != will {
			out = append(out, what+" "+cmp.Or(is, "none")+" to "+cmp.Or(will, "none"))
		}
	}
	list := func(what string, names []string) {
		if len(names) > 0 {
			out = append(out, what+" ("+named(names)+")")
		}
	}
	say("chart argo-cd", now.ArgoCD.Version, then.ArgoCD.Version)
	say("chart vcluster", now.VirtualCluster.Version, then.VirtualCluster.Version)
	say("Kubernetes", now.Kubernetes, then.Kubernetes)
	say("plan", now.PlanName, then.PlanName)
	say("Pod Security", now.PodSecurity, then.PodSecurity)
	say("LoadBalancers", fmt.Sprint(now.LoadBalancers), fmt.Sprint(then.LoadBalancers))
	say("hostname", now.Ingress.Hostname, then.Ingress.Hostname)
	say("Gateway", gateway(now), gateway(then))
	for _, name := range componentNames(now, then) {
		is, will := componentOf(now, name), componentOf(then, name)
		say("component "+name, is.Version, will.Version)
		if is.Name != "" && will.Name != "" {
			list("values of component "+name, differing(is.Values, will.Values))
		}
	}
	list("values of argo-cd", differing(now.ArgoCD.Values, then.ArgoCD.Values))
	list("values of vcluster", differing(now.VirtualCluster.Values, then.VirtualCluster.Values))
	list("quota", differing(fields(now.Bounds.Quota), fields(then.Bounds.Quota)))
	list("limits", differing(fields(now.Bounds.Limits), fields(then.Bounds.Limits)))
	list("network policies", differing(policies(now), policies(then)))
	if len(out) == 0 {
		out = []string{"other settings"}
	}
	return "; would change: " + strings.Join(out, ", ")
}

// gateway names the Gateway that serves a tenant; "" for none.
func gateway(d *tenant.Decision) string {
	if g := d.Ingress.Gateway; g != nil {
		return g.Namespace + "/" + g.Name
	}
	return ""
}

// componentNames returns the names of the components of two decisions, sorted.
func componentNames(now, then *tenant.Decision) []string {
	var out []string
	for _, c := range slices.Concat(now.Components, then.Components) {
		out = append(out, c.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// componentOf returns a component of a decision; an empty one for none.
func componentOf(d *tenant.Decision, name string) tenant.Component {
	for _, c := range d.Components {
		if c.Name == name {
			return c
		}
	}
	return tenant.Component{}
}

// differing returns the sorted paths of the values that aren't the same in a and b.
func differing(a, b values.Values) []string {
	var out []string
	for _, path := range append(values.Leaves(a), values.Leaves(b)...) {
		is, _ := values.Lookup(a, path...)
		will, _ := values.Lookup(b, path...)
		if !equal(is, will) {
			out = append(out, strings.Join(path, "."))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fields returns the fields of an object as in JSON.
func fields(v any) values.Values {
	out := values.Values{}
	if raw, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(raw, &out)
	}
	return out
}

// policies returns the specs of the tenant's NetworkPolicies, by name.
func policies(d *tenant.Decision) values.Values {
	out := values.Values{}
	for _, p := range d.Bounds.NetworkPolicies {
		out[p.Name] = []networkingv1.NetworkPolicySpec{p.Spec}
	}
	return out
}

// named returns the first of the names, and how many others there are.
func named(names []string) string {
	out := few.Names{Most: mostNames}
	for _, name := range names {
		if len(name) > maxName {
			name = strings.ToValidUTF8(name[:maxName], "") + "..."
		}
		out.Add(name)
	}
	return out.String()
}
