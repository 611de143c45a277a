package main

import (
	"strings"
	"testing"
)

// TestWritten: what people really write into claims works, or is refused with what to write instead. Each kind of mistake has its right
// form beside it.
func TestWritten(t *testing.T) {
	const domain = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org","className":"nginx"}}`
	values := func(v string) string { return `{"argocd":{"values":` + v + `}}` }
	annotated := func(key, value string) string {
		return `{"ingress":{"host":"a.example.org","annotations":{"` + key + `":"` + value + `"}}}`
	}
	cases := map[string]struct {
		spec, input string
		// want are parts of the refusal; none for a claim that is accepted.
		want []string
	}{
		"ValueMisspelt":         {spec: values(`{"global":{"domian":"a.example.org"}}`), want: []string{"spec.argocd.values.global.domian: the argo-cd chart has no such value: did you mean global.domain?"}},
		"ValueSpelt":            {spec: values(`{"global":{"domain":"a.example.org"}}`)},
		"Umbrella":              {spec: values(`{"argo-cd":{"server":{"replicas":2}}}`), want: []string{"spec.argocd.values.argo-cd: ", "write what is below argo-cd here"}},
		"UmbrellaOtherwise":     {spec: values(`{"argocd":{"controller":{"replicas":2},"configs":{"cm":{}}}}`), want: []string{"spec.argocd.values.argocd: ", "write what is below argocd here"}},
		"YearsAgo":              {spec: values(`{"server":{"config":{"url":"https://a"},"rbacConfig":{"policy.csv":"p"}},"installCRDs":true}`), want: []string{"installCRDs: the argo-cd chart has no such value: write crds.install; (2) spec.argocd.values.server.config: ", "write configs.cm; (3) spec.argocd.values.server.rbacConfig: ", "write configs.rbac"}},
		"Today":                 {spec: values(`{"configs":{"cm":{"a":"b"},"rbac":{"policy.csv":"p"}},"crds":{"install":true}}`)},
		"VClusterValue":         {spec: `{"vcluster":{"values":{"controlPlane":{"statefulset":{"resources":{"limits":{"cpu":"2"}}}}}}}`, want: []string{"spec.vcluster.values.controlPlane.statefulset: the vcluster chart has no such value: did you mean controlPlane.statefulSet?"}},
		"IngressByValues":       {spec: values(`{"server":{"ingress":{"enabled":true,"hostname":"a.example.org","ingressClassName":"nginx","annotations":{"x/y":"z"}}}}`), want: []string{"spec.argocd.values.server.ingress is set by spec.ingress", "write spec.ingress: {host: a.example.org, className: nginx, annotations: {...}}"}},
		"IngressOfGRPC":         {spec: values(`{"server":{"ingressGrpc":{"enabled":true}}}`), want: []string{"spec.argocd.values.server.ingressGrpc.enabled: ", "write spec.ingress.host"}},
		"IngressOfWebhooks":     {spec: values(`{"applicationSet":{"ingress":{"enabled":true}}}`), want: []string{"spec.argocd.values.applicationSet.ingress.enabled: ", "write spec.ingress.host"}},
		"IngressByTheClaim":     {spec: `{"ingress":{"host":"a.example.org","className":"nginx"},"argocd":{"values":{"server":{"ingressGrpc":{"enabled":true}}}}}`},
		"LoadBalancer":          {spec: values(`{"server":{"service":{"type":"LoadBalancer"}}}`), want: []string{"spec.argocd.values.server.service.type: plan standard allows 0 Services of type LoadBalancer (loadBalancers)", "spec.ingress"}},
		"LoadBalancerOfHAProxy": {spec: values(`{"redis-ha":{"enabled":true,"haproxy":{"service":{"type":"LoadBalancer"}}}}`), want: []string{"spec.argocd.values.redis-ha.haproxy.service.type"}},
		"LoadBalancerOfOwn":     {spec: values(`{"extraObjects":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"LoadBalancer"}}]}`), want: []string{"spec.argocd.values.extraObjects[0].spec.type"}},
		"NodePort":              {spec: values(`{"server":{"service":{"type":"NodePort"}}}`), want: []string{"spec.argocd.values.server.service.type: the host has no Services of type NodePort"}},
		"ClusterIP":             {spec: values(`{"server":{"service":{"type":"ClusterIP"}}}`)},
		"IssuerAndAnnotation":   {spec: `{"ingress":{"host":"a.example.org","annotations":{"cert-manager.io/cluster-issuer":"letsencrypt"},"tls":{"issuer":{"name":"internal"}}}}`, want: []string{"spec.ingress.annotations[cert-manager.io/cluster-issuer]: ", "spec.ingress.tls.issuer"}},
		"IssuerAndSecret":       {spec: `{"ingress":{"host":"a.example.org","annotations":{"cert-manager.io/issuer":"letsencrypt"},"tls":{"secretName":"a"}}}`, want: []string{"spec.ingress.annotations[cert-manager.io/issuer]: ", "tls.secretName"}},
		"EarlierCertManager":    {spec: annotated("certmanager.k8s.io/cluster-issuer", "letsencrypt"), want: []string{"spec.ingress.annotations[certmanager.k8s.io/cluster-issuer]", "spec.ingress.tls.issuer"}},
		"SameIssuerTwice":       {spec: `{"ingress":{"host":"a.example.org","annotations":{"cert-manager.io/cluster-issuer":"letsencrypt"},"tls":{"issuer":{"name":"letsencrypt"}}}}`},
		"ClassTwice":            {spec: `{"ingress":{"host":"a.example.org","className":"nginx","annotations":{"kubernetes.io/ingress.class":"nginx"}}}`, want: []string{"spec.ingress.annotations[kubernetes.io/ingress.class]: ", "spec.ingress.className"}},
		"ClassByAnnotation":     {spec: annotated("kubernetes.io/ingress.class", "nginx"), input: domain},
		"NginxHTTPS":            {spec: annotated("nginx.ingress.kubernetes.io/backend-protocol", "HTTPS"), want: []string{"spec.ingress.annotations[nginx.ingress.kubernetes.io/backend-protocol]", "plain HTTP"}},
		"NginxGRPC":             {spec: annotated("nginx.ingress.kubernetes.io/backend-protocol", "GRPC"), want: []string{"plain HTTP"}},
		"NginxHTTP":             {spec: annotated("nginx.ingress.kubernetes.io/backend-protocol", "HTTP")},
		"NginxPassthrough":      {spec: annotated("nginx.ingress.kubernetes.io/ssl-passthrough", "true"), want: []string{"plain HTTP"}},
		"NginxNoPassthrough":    {spec: annotated("nginx.ingress.kubernetes.io/ssl-passthrough", "false")},
		"NginxRedirect":         {spec: annotated("nginx.ingress.kubernetes.io/force-ssl-redirect", "true")},
		"NginxRewrite":          {spec: annotated("nginx.ingress.kubernetes.io/rewrite-target", "/"), want: []string{"server.rootpath"}},
		"HAProxy":               {spec: annotated("haproxy.org/server-ssl", "true"), want: []string{"plain HTTP"}},
		"HAProxyIngress":        {spec: annotated("haproxy-ingress.github.io/backend-protocol", "h1-ssl"), want: []string{"plain HTTP"}},
		"ALB":                   {spec: annotated("alb.ingress.kubernetes.io/backend-protocol", "HTTPS"), want: []string{"plain HTTP"}},
		"ALBWithGRPC":           {spec: annotated("alb.ingress.kubernetes.io/backend-protocol-version", "GRPC"), want: []string{"plain HTTP"}},
		"ALBWithHTTP":           {spec: annotated("alb.ingress.kubernetes.io/backend-protocol-version", "HTTP1")},
		"ALBHealth":             {spec: annotated("alb.ingress.kubernetes.io/healthcheck-protocol", "HTTPS"), want: []string{"plain HTTP"}},
		"Azure":                 {spec: annotated("appgw.ingress.kubernetes.io/backend-protocol", "https"), want: []string{"plain HTTP"}},
		"Traefik":               {spec: annotated("traefik.ingress.kubernetes.io/router.tls", "true")},
		"TraefikService":        {spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"server":{"service":{"annotations":{"traefik.ingress.kubernetes.io/service.serversscheme":"https"}}}}}}`, want: []string{"spec.argocd.values.server.service.annotations[traefik.ingress.kubernetes.io/service.serversscheme]", "plain HTTP"}},
		"ContourService":        {spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"server":{"service":{"annotations":{"projectcontour.io/upstream-protocol.tls":"https,443"}}}}}}`, want: []string{"upstream-protocol.tls", "plain HTTP"}},
		"BaseHrefAlone":         {spec: values(`{"configs":{"params":{"server.basehref":"/argocd"}}}`), want: []string{`spec.argocd.values.configs.params.server.basehref: is "/argocd"`, "server.rootpath"}},
		"RootPathElsewhere":     {spec: values(`{"configs":{"params":{"server.basehref":"/a","server.rootpath":"/b"}}}`), want: []string{"server.basehref"}},
		"RootPathNotAPath":      {spec: values(`{"configs":{"params":{"server.rootpath":"/a b"}}}`), want: []string{`spec.argocd.values.configs.params.server.rootpath: "/a b" is not a path`}},
		"RootPathAsArgument":    {spec: values(`{"server":{"extraArgs":["--rootpath=/argocd"]}}`), want: []string{"spec.argocd.values.server.extraArgs[0]", "configs.params"}},
		"RootPathAsVariable":    {spec: values(`{"server":{"env":[{"name":"ARGOCD_SERVER_ROOTPATH","value":"/argocd"}]}}`), want: []string{"spec.argocd.values.server.env[0]", "configs.params"}},
		"DexBesideOIDC":         {spec: `{"argocd":{"values":{"configs":{"cm":{"dex.config":"connectors: []"}}}},"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"a","clientSecretRef":{"name":"a"}}}}`, want: []string{`spec.argocd.values.configs.cm."dex.config": Argo CD ignores Dex`}},
		"DexAlone":              {spec: values(`{"configs":{"cm":{"dex.config":"connectors: []"}}}`)},
		"Several": {spec: `{"kubernetes":{"version":"1"},"clusters":[{"name":"A","secretRef":{"name":"a"}}],"ingress":{"host":"A.example.org","annotations":{"haproxy.org/server-ssl":"true"}},"argocd":{"chartVersion":"10","values":{"global":{"domian":"a"},"server":{"name":"x"},"extraObjects":[{"a":"{{ b }}"}]}}}`,
			want: []string{"spec.argocd.chartVersion: ", "; (2) spec.argocd.values.extraObjects: ", "; (3) spec.argocd.values.server.name is", "; (4) spec.kubernetes.version: ", "; (5) spec.clusters[0].name: ", "; (6) spec.ingress.host: ", "; (7) spec.ingress.annotations[haproxy.org/server-ssl]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(tc.spec), tc.input)
			msg := refusal(e.reconcile())
			if (msg == "") != (len(tc.want) == 0) {
				t.Errorf("want %q, got %q", tc.want, msg)
			}
			for _, want := range tc.want {
				if !strings.Contains(msg, want) {
					t.Errorf("the refusal should say %q: %q", want, msg)
				}
			}
		})
	}
}
