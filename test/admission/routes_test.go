package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// TestRoutesOfTenants: a tenant's HTTPRoute has the hostnames of its claim, and leads to its Argo CD; there is nothing else of the Gateway API
// in its namespace.
func TestRoutesOfTenants(t *testing.T) { ask(t, routes()) }

func routes() map[string]verdict {
	const (
		resource = "gateway.networking.k8s.io/httproutes"
		backend  = `{name: argocd-server-x-argocd-x-vcluster, port: 80}`
		own      = `{spec: {parentRefs: [{namespace: gateways, name: public}], hostnames: [a.example.org, b.example.org], rules: [{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [` + backend + `]}]}}`

		hosts, leads, only, not = "the hostnames of a tenant's HTTPRoute are those of its claim: a.example.org", "leads to the Services of its Argo CD and of its tunnels", "has no object of the Gateway API but the HTTPRoute virtual-argocd", "writes nothing but what the vcluster chart has"
	)
	// As provider-kubernetes applies it.
	apply := func(object string) request {
		return request{by: installer, resource: resource, namespace: "vargo-a", name: "virtual-argocd", object: object, options: &metav1.PatchOptions{FieldManager: "provider-kubernetes/a-route"}}
	}
	but := func(from, to string) request {
		if !strings.Contains(own, from) {
			panic(from)
		}
		return apply(strings.Replace(own, from, to, 1))
	}
	later := func(r request) request {
		r.old = own
		return r
	}
	named := func(name string) request {
		r := apply(own)
		r.name = name
		return r
	}
	as := func(by string, r request) request {
		r.by = by
		return r
	}
	other := func(resource, name, object string) request {
		return request{by: "admin", resource: resource, namespace: "vargo-a", name: name, object: object}
	}
	byHelm, bare, ofAnother := apply(own), apply(own), but(", b.example.org", "")
	byHelm.options = &metav1.PatchOptions{FieldManager: "helm"}
	bare.namespace, bare.by = "vargo-bare", "system:serviceaccount:crossplane-system:vargo-bare"
	ofAnother.namespace = "vargo-issuers"
	gone := request{by: installer, operation: admission.Delete, resource: resource, namespace: "vargo-a", name: "virtual-argocd", old: own, options: &metav1.DeleteOptions{}}
	othersGone := gone
	othersGone.name = "other"
	const leaving = `deletionTimestamp: "2026-01-01T00:00:00Z"`
	leaves := apply(strings.Replace(own, "{spec", `{metadata: {`+leaving+`}, spec`, 1))
	leaves.object = strings.Replace(leaves.object, "a.example.org", "c.example.org", 1)
	leaves.old = strings.Replace(leaves.object, leaving, leaving+", finalizers: [a/b]", 1)
	leaves.by = "system:serviceaccount:gateways:controller"
	takes := leaves
	takes.old = strings.Replace(own, "{spec", `{metadata: {`+leaving+`}, spec`, 1)
	return map[string]verdict{
		"Route":           {apply(own), ""},
		"RouteLater":      {later(but(", b.example.org", "")), ""},
		"RouteGone":       {gone, ""},
		"OthersHost":      {but("b.example.org", "c.example.org"), hosts},
		"OthersHostLater": {later(but("b.example.org", "c.example.org")), hosts},
		"HostBelowOwn":    {but("b.example.org", "x.a.example.org"), hosts},
		"Wildcard":        {but("b.example.org", `"*.example.org"`), hosts},
		"AnyHost":         {but("hostnames: [a.example.org, b.example.org], ", ""), hosts},
		"NoHosts":         {but("a.example.org, b.example.org", ""), hosts},
		"WithoutHost":     {bare, "are those of its claim: none"},

		"Tunnels":            {but(backend, `{name: argocd-tunnel-x-argocd-x-vcluster, port: 8080}`), ""},
		"OtherService":       {but("argocd-server-x-argocd-x-vcluster", "x-x-default-x-vcluster"), leads},
		"ServiceOfOthers":    {but("port: 80", "port: 80, namespace: vargo-gpu"), leads},
		"OwnNamespace":       {but("port: 80", "port: 80, namespace: vargo-a"), ""},
		"OtherKind":          {but("port: 80", "group: traefik.io, kind: TraefikService"), leads},
		"OtherKindOfCore":    {but("port: 80", "kind: Secret"), leads},
		"SecondBackend":      {but(backend, backend+`, {name: x}`), leads},
		"SecondRule":         {but("rules: [", "rules: [{backendRefs: [{name: x}]}, "), leads},
		"FilterOfBackend":    {but("port: 80", "port: 80, filters: [{type: RequestMirror, requestMirror: {backendRef: {name: x}}}]"), leads},
		"Redirects":          {but("backendRefs", "filters: [{type: RequestRedirect, requestRedirect: {hostname: evil.example.org}}], backendRefs"), "has no filters"},
		"Mirrors":            {but("backendRefs", "filters: [{type: RequestMirror, requestMirror: {backendRef: {name: x}}}], backendRefs"), "has no filters"},
		"OtherName":          {other(resource, "other", own), only},
		"OtherNameOfHelm":    {named("other"), not},
		"RouteByHelm":        {byHelm, not},
		"OthersRouteGone":    {othersGone, not},
		"OtherTenants":       {ofAnother, "may write only in that tenant's namespace"},
		"ForGRPC":            {other("gateway.networking.k8s.io/grpcroutes", "virtual-argocd", own), only},
		"Grant":              {other("gateway.networking.k8s.io/referencegrants", "virtual-argocd", `{spec: {}}`), only},
		"OwnGateway":         {other("gateway.networking.k8s.io/gateways", "virtual-argocd", `{spec: {}}`), only},
		"NotYetStable":       {other("gateway.networking.x-k8s.io/xlistenersets", "virtual-argocd", `{spec: {}}`), only},
		"StatusByController": {as("system:serviceaccount:gateways:controller", later(request{resource: resource + "/status", namespace: "vargo-a", name: "virtual-argocd", object: own})), ""},
		"StatusByInstaller":  {later(as(installer, request{resource: resource + "/status", namespace: "vargo-a", name: "virtual-argocd", object: own, options: &metav1.PatchOptions{FieldManager: "provider-kubernetes/a-route"}})), not},

		// RBAC lets no ServiceAccount of a tenant write one. If it did:
		"BySyncer":        {as(syncer, but("b.example.org", "c.example.org")), hosts},
		"SyncersOwn":      {as(syncer, other(resource, "x-x-argocd-x-vcluster", own)), only},
		"LeavesItsHost":   {leaves, ""},
		"TakesAHostAlong": {takes, hosts},
		// Their own namespaces are no tenants'.
		"OutsideOfTenants": {request{by: "admin", resource: resource, namespace: "team", name: "x", object: `{spec: {}}`}, ""},
	}
}
