package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// chosen are values of Services with which the host refuses them.
var chosen = map[string]string{
	"externalIPs":       "Services of tenants with externalIPs, which would take traffic of others",
	"loadBalancerIP":    "Services of tenants that choose the address of a load balancer",
	"loadBalancerClass": "Services of tenants that choose the class of a load balancer",
}

// Services refuses Services of a claim's values that the host refuses, unless they were accepted before: Helm installs them in the
// virtual cluster, where nothing says that they never work. quota is that of the vcluster chart's values.
func Services(g tenant.Given, quota values.Values) error {
	most, _ := strconv.ParseInt(values.AmountText(quota["services.loadbalancers"]), 10, 64)
	instead := "leave it out, and write spec.ingress for a URL"
	var found []error
	balancers := int64(0)
	check := func(field, of string) {
		switch corev1.ServiceType(of) {
		case corev1.ServiceTypeLoadBalancer:
			if balancers++; balancers > most && !g.Unassigned {
				found = append(found, fmt.Errorf("%s: plan %s allows %d Services of type LoadBalancer (loadBalancers): %s, or choose another plan", field, g.Plan.Name, most, instead))
			}
		case corev1.ServiceTypeNodePort, corev1.ServiceTypeExternalName:
			found = append(found, fmt.Errorf("%s: the host has no Services of type %s for tenants: %s", field, of, instead))
		}
	}
	for _, path := range values.Leaves(g.Spec.ArgoCDValues) {
		last := len(path) - 1
		if last < 1 || path[last-1] != "service" || g.KeepsValues(path...) {
			continue
		}
		why, value := chosen[path[last]], fmt.Sprint(values.At[any](g.Spec.ArgoCDValues, path...))
		if why != "" && !slices.Contains([]string{"", "[]", "<nil>"}, value) {
			found = append(found, fmt.Errorf("spec.argocd.values.%s: the host refuses %s: leave it out", strings.Join(path, "."), why))
		}
	}
	root := mistakes.Field{Owner: mistakes.Claim, Path: "spec.argocd.values"}
	for _, s := range servicesIn(root, g) {
		check(s.Field.Path, fmt.Sprint(s.Value))
	}
	return mistakes.Join(found...)
}

// servicesIn returns the types of Services that a claim's values make: of the chart's own Services, and of objects of the claim's.
func servicesIn(root mistakes.Field, g tenant.Given) []values.Setting {
	v, before := g.Spec.ArgoCDValues, g.WasAsked().ArgoCDValues
	var out []values.Setting
	for _, path := range values.Leaves(v) {
		last := len(path) - 1
		if last < 1 || path[last] != "type" || path[last-1] != "service" && path[last-1] != "serviceGrpc" {
			continue
		}
		is, _ := values.Lookup(v, path...)
		if had, ok := values.Lookup(before, path...); !ok || had != is {
			out = append(out, values.Setting{Field: root.Below(strings.Join(path, ".")), Path: path, Value: is})
		}
	}
	had := map[string]bool{}
	for _, o := range values.At[[]any](before, "extraObjects") {
		had[fmt.Sprint(o)] = true
	}
	for i, o := range values.At[[]any](v, "extraObjects") {
		object, _ := o.(values.Values)
		if kind := values.At[string](object, "kind"); kind == "Service" && !had[fmt.Sprint(o)] {
			out = append(out, values.Setting{Field: root.Below(fmt.Sprintf("extraObjects[%d].spec.type", i)), Value: values.At[string](object, "spec", "type")})
		}
	}
	return out
}
