package admission

import (
	"fmt"
	"strings"
	"testing"
)

// TestIngressesOfTenants: hosts of the tenant's own, and no orders to the controller.
func TestIngressesOfTenants(t *testing.T) { ask(t, ingresses()) }

func ingresses() map[string]verdict {
	do := func(object string) request {
		return request{by: syncer, resource: "networking.k8s.io/ingresses", namespace: "vargo-a", object: object}
	}
	change := func(old, object string) request {
		r := do(object)
		r.old = old
		return r
	}
	const leaving = `deletionTimestamp: "2026-01-01T00:00:00Z"`
	const own = `spec: {rules: [{host: a.example.org}]}`
	bare := do(rule("a.example.org"))
	bare.namespace, bare.by = "vargo-bare", "system:serviceaccount:vargo-bare:vc-vcluster"
	issuer := func(name string) request {
		r := do(`{metadata: {annotations: {cert-manager.io/cluster-issuer: ` + name + `}}, ` + own + `}`)
		r.namespace, r.by = "vargo-issuers", "system:serviceaccount:vargo-issuers:vc-vcluster"
		return r
	}
	webhook := func(namespace, host string) request {
		r := do(`{metadata: {labels: {vcluster.loft.sh/managed-by: vcluster, vcluster.loft.sh/namespace: ` + namespace + `}}, spec: {rules: [{host: ` + host + `}]}}`)
		r.namespace, r.by = "vargo-events", "system:serviceaccount:vargo-events:vc-vcluster"
		return r
	}
	admin := do(rule("c.example.org"))
	admin.by = "admin"
	return map[string]verdict{
		"OwnHost":           {do(rule("a.example.org")), ""},
		"OneOfTheHosts":     {do(rule("b.example.org")), ""},
		"OwnTLS":            {do(`{spec: {tls: [{hosts: [a.example.org], secretName: s}], rules: [{host: a.example.org}]}}`), ""},
		"KnownAnnotations":  {do(`{metadata: {annotations: {cert-manager.io/cluster-issuer: x, vcluster.loft.sh/object-name: y}}, ` + own + `}`), ""},
		"CertManagersPath":  {do(`{spec: {rules: [{host: a.example.org, http: {paths: [{path: /.well-known/acme-challenge/a_B-1, backend: {service: {name: x}}}]}}]}}`), ""},
		"InArgoCD":          {do(`{metadata: {labels: {vcluster.loft.sh/managed-by: vcluster, vcluster.loft.sh/namespace: argocd}}, ` + own + `}`), ""},
		"OfADeveloper":      {do(`{metadata: {labels: {vcluster.loft.sh/managed-by: vcluster, vcluster.loft.sh/namespace: team-dev}}, ` + own + `}`), "and this one is in team-dev"},
		"OfAWebhook":        {webhook("argo-events", "a.example.org"), ""},
		"OfAWebhookLater":   {webhook("hooks", "a.example.org"), ""},
		"WebhookOfOthers":   {webhook("argo-events", "c.example.org"), "those of its claim: a.example.org"},
		"BesideWebhooks":    {webhook("team-dev", "a.example.org"), "is in namespace argocd or argo-events or hooks of its virtual cluster, and this one is in team-dev"},
		"WebhookInAnother":  {do(`{metadata: {labels: {vcluster.loft.sh/managed-by: vcluster, vcluster.loft.sh/namespace: argo-events}}, ` + own + `}`), "and this one is in argo-events"},
		"OthersHost":        {do(rule("c.example.org")), "those of its claim: a.example.org"},
		"OthersHostLater":   {change(rule("a.example.org"), rule("c.example.org")), "those of its claim: a.example.org"},
		"HostBelowOwn":      {do(rule("x.a.example.org")), "those of its claim"},
		"HostAboveOwn":      {do(rule("*.example.org")), "those of its claim"},
		"ListOfHosts":       {do(rule("a.example.org,b.example.org")), "those of its claim"},
		"NoHostInRule":      {do(`{spec: {rules: [{http: {paths: []}}]}}`), "those of its claim"},
		"EmptyHostInRule":   {do(rule("")), "those of its claim"},
		"SecondRule":        {do(`{spec: {rules: [{host: a.example.org}, {host: c.example.org}]}}`), "those of its claim"},
		"TenantWithoutHost": {bare, "no spec.ingress.host"},
		"ByAnybody":         {admin, "those of its claim"},
		"DefaultBackend":    {do(`{spec: {defaultBackend: {service: {name: x}}, rules: [{host: a.example.org}]}}`), "default backend"},
		"OthersTLS":         {do(`{spec: {tls: [{hosts: [a.example.org, c.example.org]}], rules: [{host: a.example.org}]}}`), "entry of tls"},
		"TLSForAll":         {do(`{spec: {tls: [{secretName: s}], rules: [{host: a.example.org}]}}`), "entry of tls"},
		"ResourceBackend":   {do(`{spec: {rules: [{host: a.example.org, http: {paths: [{backend: {resource: {kind: Bucket}}}]}}]}}`), "is a Service"},
		"PathOfTraefik":     {do("{spec: {rules: [{host: a.example.org, http: {paths: [{path: '/`) || Host(`b.example.org', backend: {service: {name: x}}}]}}]}}"), "signs"},
		"PathOfNginx":       {do(`{spec: {rules: [{host: a.example.org, http: {paths: [{path: "/x {return 200;}\n", backend: {service: {name: x}}}]}}]}}`), "signs"},
		"ServerAlias":       {do(`{metadata: {annotations: {nginx.ingress.kubernetes.io/server-alias: b.example.org}}, ` + own + `}`), "annotation nginx.ingress.kubernetes.io/server-alias"},
		"DNSName":           {do(`{metadata: {annotations: {external-dns.alpha.kubernetes.io/hostname: b.example.org}}, ` + own + `}`), "annotation external-dns"},
		"ValueOfNginx":      {do(`{metadata: {annotations: {nginx.ingress.kubernetes.io/proxy-body-size: "1m; } location /x { return 200"}}, ` + own + `}`), "value of an annotation"},
		"UsualValues":       {do(`{metadata: {` + owned + `, annotations: {nginx.ingress.kubernetes.io/whitelist-source-range: "10.0.0.0/8, 2001:db8::/32", argocd.argoproj.io/x: "{{ y }}"}}, ` + own + `}`), ""},
		"NumberOfNginx":     {do(`{metadata: {annotations: {nginx.ingress.kubernetes.io/proxy-buffer-size: 99999999999g}}, ` + own + `}`), "proxy-buffer-size of at most 999k"},
		"SizeOfNginx":       {do(`{metadata: {annotations: {nginx.ingress.kubernetes.io/proxy-body-size: 9999999999m}}, ` + own + `}`), "proxy-body-size such as 10m"},
		"TimeoutOfNginx":    {do(`{metadata: {annotations: {nginx.ingress.kubernetes.io/proxy-read-timeout: "999999999999999999"}}, ` + own + `}`), "timeouts of at most 99999"},
		"WordOfNginx":       {do(`{metadata: {annotations: {nginx.ingress.kubernetes.io/proxy-buffering: maybe}}, ` + own + `}`), "proxy-buffering on or off"},
		"UsualOfNginx":      {do(`{metadata: {annotations: {nginx.ingress.kubernetes.io/proxy-body-size: "0", nginx.ingress.kubernetes.io/proxy-buffer-size: 128k, nginx.ingress.kubernetes.io/proxy-read-timeout: "3600", nginx.ingress.kubernetes.io/proxy-buffering: "off", nginx.ingress.kubernetes.io/backend-protocol: GRPC}}, ` + own + `}`), ""},
		"ListedIssuer":      {issuer("staging"), ""},
		"IssuerOfOthers":    {issuer("internal-ca"), "are letsencrypt, staging"},
		"PathMatcher":       {do(`{metadata: {annotations: {traefik.ingress.kubernetes.io/router.pathmatcher: Host}}, ` + own + `}`), "annotation traefik"},
		"ManyRules":         {do(`{spec: {rules: [` + many(20, "{host: a.example.org}") + `]}}`), ""},
		"TooManyRules":      {do(`{spec: {rules: [` + many(21, "{host: a.example.org}") + `]}}`), "at most 20 rules"},
		"TooManyPaths":      {do(`{spec: {rules: [{host: a.example.org, http: {paths: [` + many(51, "{path: /x, backend: {service: {name: x}}}") + `]}}]}}`), "50 paths"},
		"TooManyTLS":        {do(`{spec: {tls: [` + many(21, "{hosts: [a.example.org]}") + `], rules: [{host: a.example.org}]}}`), "20 entries of tls"},

		// A finalizer keeps it while it is being deleted, and its controller serves it.
		"LeavesWithOthersHost": {change(`{metadata: {`+leaving+`, finalizers: [a/b]}, spec: {rules: [{host: c.example.org}]}}`, `{metadata: {`+leaving+`}, spec: {rules: [{host: c.example.org}]}}`), ""},
		"TakesAHostAlong":      {change(`{metadata: {`+leaving+`}, `+own+`}`, `{metadata: {`+leaving+`}, spec: {rules: [{host: c.example.org}]}}`), "those of its claim"},
		"TakesAnAliasAlong":    {change(`{metadata: {`+leaving+`}, `+own+`}`, `{metadata: {`+leaving+`, annotations: {nginx.ingress.kubernetes.io/server-alias: c.example.org}}, `+own+`}`), "annotation nginx"},
		"LeavesAtOnce":         {do(`{metadata: {` + leaving + `}, spec: {rules: [{host: c.example.org}]}}`), "those of its claim"},
	}
}

func rule(host string) string {
	return `{spec: {rules: [{host: "` + host + `", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: x}}}]}}]}}`
}

// many repeats text, with numbers for %d, as entries of a list or a map.
func many(n int, text string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = text
		if strings.Contains(text, "%d") {
			out[i] = fmt.Sprintf(text, i)
		}
	}
	return strings.Join(out, ", ")
}

// TestServicesOfTenants: no addresses of others.
func TestServicesOfTenants(t *testing.T) { ask(t, services()) }

func services() map[string]verdict {
	do := func(object string) request {
		return request{by: syncer, resource: "services", namespace: "vargo-a", object: object}
	}
	change := func(old, object string) request {
		r := do(object)
		r.old = old
		return r
	}
	endpoints := func(resource, by string) request {
		return request{by: by, resource: resource, namespace: "vargo-a", object: `{endpoints: [{addresses: [169.254.169.254]}]}`}
	}
	later := endpoints("endpoints", syncer)
	later.old = `{subsets: []}`
	slice := endpoints("discovery.k8s.io/endpointslices", syncer)
	slice.old = `{endpoints: []}`
	const leaving = `metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}`
	byAdmin := do(`{metadata: {annotations: {external-dns.alpha.kubernetes.io/hostname: b.example.org}}, spec: {}}`)
	byAdmin.by = "admin"
	return map[string]verdict{
		"Service":              {do(`{spec: {type: ClusterIP, selector: {a: b}}}`), ""},
		"LoadBalancer":         {do(`{spec: {type: LoadBalancer}}`), ""},
		"LoadBalancersOwn":     {do(`{metadata: {annotations: {vcluster.loft.sh/object-name: a}}, spec: {type: LoadBalancer}}`), ""},
		"LoadBalancersAddress": {do(`{spec: {type: LoadBalancer, loadBalancerIP: 192.0.2.1}}`), "neither its address"},
		"LoadBalancersClass":   {do(`{spec: {type: LoadBalancer, loadBalancerClass: tailscale}}`), "neither its address"},
		"ExternalIPs":          {do(`{spec: {externalIPs: [192.0.2.1]}}`), "externalIPs"},
		"ExternalIPsLater":     {change(`{spec: {type: ClusterIP}}`, `{spec: {type: ClusterIP, externalIPs: [192.0.2.1]}}`), "externalIPs"},
		"ExternalName":         {do(`{spec: {type: ExternalName, externalName: argocd-server.vargo-b.svc}}`), "ExternalName"},
		"NodePort":             {do(`{spec: {type: NodePort}}`), "NodePort"},
		"NodePortLater":        {change(`{spec: {type: ClusterIP}}`, `{spec: {type: NodePort}}`), "NodePort"},
		"DNSNameByAnybody":     {byAdmin, "may not have annotations of external-dns"},
		"ManyPorts":            {do(`{spec: {ports: [` + many(32, "{port: 1%d}") + `]}}`), ""},
		"TooManyPorts":         {do(`{spec: {ports: [` + many(33, "{port: 1%d}") + `]}}`), "at most 32 ports"},
		"LosesAFinalizer":      {change(`{`+leaving+`, spec: {externalIPs: [192.0.2.1]}}`, `{`+leaving+`, spec: {externalIPs: [192.0.2.1]}}`), ""},
		"TakesAddressesAlong":  {change(`{`+leaving+`, spec: {}}`, `{`+leaving+`, spec: {externalIPs: [192.0.2.1]}}`), "externalIPs"},

		"EndpointsOfVCluster":  {endpoints("endpoints", syncer), "no Endpoints"},
		"EndpointsLater":       {later, "no Endpoints"},
		"SlicesOfVCluster":     {endpoints("discovery.k8s.io/endpointslices", syncer), "no Endpoints"},
		"SlicesLater":          {slice, "no Endpoints"},
		"EndpointsOfHost":      {endpoints("discovery.k8s.io/endpointslices", "system:serviceaccount:kube-system:endpointslice-controller"), ""},
		"EndpointsOfLookalike": {endpoints("discovery.k8s.io/endpointslices", "system:serviceaccount:vargo-ab:vc-vcluster"), ""},
	}
}
