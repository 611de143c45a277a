package ingress

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

// routeRow is the row of the HTTPRoute. It is deleted with the tenant's namespace, so that the tenant's deletion doesn't wait for it: its Object
// may delete it only while the tenant is to have none.
func routeRow(t tenant.Tenant) resource.Row {
	is, i := t.Composed(tenant.Route), t.Ingress
	// What is observed stays while it isn't known whose the hostnames are.
	unknown := is.Exists() && !slices.ContainsFunc(composedHostnames(is), func(hostname string) bool {
		return !slices.ContainsFunc(i.Asked, func(a tenant.AskedHostname) bool { return a.Name == hostname && !a.Taken })
	})
	wanted := i.Gateway != nil && (len(i.Routed) > 0 || i.Hostname != "" && !is.Exists() || unknown)
	// Before there is a Service, a Gateway would say so, and the provider looks again half a minute later.
	installed := release.StateOf(t.Composed(tenant.ArgoCDRelease)) >= release.Unready
	row := resource.Row{Name: tenant.Route, Has: wanted, Waits: !installed || len(i.Routed) == 0, Ready: true, Build: route}
	if !wanted && is.Exists() {
		row.Has, row.Build = !mayDelete(is), leavingRoute
	}
	return row
}

// mayDelete reports whether an Object deletes its object when it is deleted itself.
func mayDelete(o wire.Composed) bool {
	policies := o.Strings("spec", "managementPolicies")
	return len(policies) == 0 || slices.Contains(policies, "*")
}

// routed is the readiness of the HTTPRoute, in CEL.
const routed = `has(object.status) && has(object.status.parents) && size(object.status.parents) > 0
 && object.status.parents.all(p, has(p.conditions) && ["Accepted", "ResolvedRefs"].all(t, p.conditions.exists(c, c.type == t && c.status == "True"
 && (!has(c.observedGeneration) || c.observedGeneration == object.metadata.generation))))`

// route composes the Object for the HTTPRoute.
func route(t tenant.Tenant) (resource.Object, error) {
	i := t.Ingress
	hostnames := i.Routed
	if len(hostnames) == 0 {
		hostnames = composedHostnames(t.Composed(tenant.Route))
	}
	parent := map[string]any{"namespace": i.Gateway.Namespace, "name": i.Gateway.Name}
	if i.Gateway.SectionName != "" {
		parent["sectionName"] = i.Gateway.SectionName
	}
	path := t.RootPath
	if path == "" {
		path = "/"
	}
	rules := []any{rule(path, tenant.ArgoCDServerOnHost, serverPort(t))}
	if len(t.Tunnels.Agents) > 0 {
		// A Gateway takes the rule with the longest path.
		rules = append(rules, rule(tunnelPath(t.Decision), tenant.OnHost(tunnel.Service), tunnel.AgentsPort))
	}
	return routeObject(t, map[string]any{
		"apiVersion": gatewayGroup + "/v1",
		"kind":       "HTTPRoute",
		"metadata":   map[string]any{"namespace": t.Names.Namespace, "name": tenant.RouteName, "labels": map[string]any{tenant.LabelTenant: t.Names.Tenant}},
		"spec": map[string]any{
			"parentRefs": []any{parent},
			"hostnames":  anys(hostnames),
			"rules":      rules,
		},
	}, false), nil
}

// rule sends requests below a path to a port of a Service.
func rule(path, service string, port int64) map[string]any {
	return map[string]any{
		"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": path}}},
		"backendRefs": []any{map[string]any{"name": service, "port": port}},
	}
}

// leavingRoute composes the Object as it is, except that it may delete the HTTPRoute.
func leavingRoute(t tenant.Tenant) (resource.Object, error) {
	var manifest map[string]any
	err := t.Composed(tenant.Route).Get(resource.ManifestPath...).Into(&manifest)
	return routeObject(t, manifest, true), err
}

func routeObject(t tenant.Tenant, manifest map[string]any, mayDelete bool) resource.Object {
	o := resource.NewObject(t, tenant.Route, t.Names.HostProviderConfig, resource.ReadyBy(routed))
	if !mayDelete {
		o.Spec.ManagementPolicies = resource.WithoutDelete
	}
	return resource.Object{Typed: o, RawAt: resource.ManifestPath, Raw: manifest}
}

func anys(list []string) []any {
	out := make([]any, 0, len(list))
	for _, text := range list {
		out = append(out, text)
	}
	return out
}

// defaultServerPort is the port of plain HTTP of Argo CD's Service in the argo-cd chart.
const defaultServerPort = 80

// serverPort returns that port.
func serverPort(t tenant.Tenant) int64 {
	is, _ := values.Lookup(t.ArgoCD.Values, "server", "service", "servicePortHttp")
	if port, err := strconv.ParseInt(values.AmountText(is), 10, 32); err == nil && port > 0 {
		return port
	}
	return defaultServerPort
}

// composedHostnames returns the hostnames of the HTTPRoute as it was composed last.
func composedHostnames(o wire.Composed) []string {
	return o.Get(resource.ManifestPath...).Strings("spec", "hostnames")
}

// hostnamesOfRoute returns the hostnames that the HTTPRoute has or may have on the host, the one of the URL first.
func hostnamesOfRoute(o wire.Composed) []string {
	var out []string
	// What was composed, and what was observed last.
	for _, path := range [][]string{resource.ManifestPath, {"status", "atProvider", "manifest"}} {
		for _, hostname := range o.Get(path...).Strings("spec", "hostnames") {
			if !slices.Contains(out, hostname) {
				out = append(out, hostname)
			}
		}
	}
	return out
}

// observeRoute returns the condition of an HTTPRoute, and where it is served; nil for one that is.
func observeRoute(t tenant.Tenant, is condition.Of) *condition.Condition {
	i, o := t.Ingress, t.Composed(tenant.Route)
	no := func(reason, message, detail string) *condition.Condition {
		c := is.No(reason, message, detail)
		return &c
	}
	on := o.Get("status", "atProvider", "manifest")
	has := on.Strings("spec", "hostnames")
	if !o.Current() || o.Condition("Synced").False() || slices.ContainsFunc(i.InUse(), func(hostname string) bool { return !slices.Contains(has, hostname) }) {
		return no(v1alpha1.ReasonInstalling, "Waiting to see the HTTPRoute for "+inUse(i), condition.Problem(o))
	}
	var accepted bool
	for _, parent := range on.List("status", "parents") {
		if ref := parent.Get("parentRef"); ref.String("name") != i.Gateway.Name || ref.String("namespace") != i.Gateway.Namespace || ref.String("sectionName") != i.Gateway.SectionName {
			continue
		}
		for _, c := range parent.List("conditions") {
			typ, status, generation := c.String("type"), c.String("status"), on.Int(0, "metadata", "generation")
			switch {
			case typ != "Accepted" && typ != "ResolvedRefs" || c.Int(generation, "observedGeneration") < generation:
			case status == "False":
				return no(v1alpha1.ReasonRouteRefused, fmt.Sprintf("The platform's Gateway refuses the HTTPRoute for %s, with %s False, %s", inUse(i), typ, short(c.String("reason"))), short(c.String("message")))
			case status == "True" && typ == "Accepted":
				accepted = true
			}
		}
	}
	switch {
	case !accepted:
		return no(v1alpha1.ReasonWaitingForAddress, "The platform's Gateway hasn't accepted the HTTPRoute for "+inUse(i)+" yet: its controller must run", "")
	case i.Gateway.Seen && len(i.Gateway.Addresses) == 0:
		return no(v1alpha1.ReasonWaitingForAddress, "The platform's Gateway, which is to serve "+inUse(i)+", has no address", "")
	}
	return nil
}

// servedAt says where a Gateway serves.
func servedAt(g *tenant.Gateway) string {
	if len(g.Addresses) == 0 {
		return " served by the platform's Gateway, whose address isn't observed"
	}
	var addresses few.Names
	for _, address := range g.Addresses {
		addresses.Add(address)
	}
	return " served at " + addresses.String()
}

// short returns the beginning of a controller's message.
func short(message string) string { return fmt.Sprintf("%.200s", message) }
