package decode_test

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestWritten: what people really write into claims works, or is refused with what to write instead. Each kind of mistake has its right
// form beside it.
func TestWritten(t *testing.T) {
	const domain = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org","className":"nginx"}}`
	valued := func(v string) string { return `{"argocd":{"values":` + v + `}}` }
	annotated := func(key, value string) string {
		return `{"ingress":{"host":"a.example.org","annotations":{"` + key + `":"` + value + `"}}}`
	}
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"ValueMisspelt":           {Spec: valued(`{"global":{"domian":"a.example.org"}}`), Want: []string{"spec.argocd.values.global.domian: the argo-cd chart has no such value: did you mean global.domain?"}},
		"ValueSpelt":              {Spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"global":{"domain":"a.example.org"}}}}`},
		"DomainAlone":             {Spec: valued(`{"global":{"domain":"a.example.org"}}`), Want: []string{`spec.argocd.values.global.domain: nobody serves Argo CD at "a.example.org"`, "write spec.ingress: {host: a.example.org}"}},
		"DomainOfTheChart":        {Spec: valued(`{"global":{"domain":"argocd.example.com"},"configs":{"cm":{"url":""}}}`)},
		"URLAlone":                {Spec: valued(`{"configs":{"cm":{"url":"https://a.example.org/argocd"}}}`), Want: []string{`spec.argocd.values.configs.cm.url: nobody serves Argo CD at "https://a.example.org/argocd"`, "write spec.ingress: {host: a.example.org}"}},
		"URLsAlone":               {Spec: valued(`{"configs":{"cm":{"additionalUrls":"- https://a.example.org\n"}}}`), Want: []string{"spec.argocd.values.configs.cm.additionalUrls: nobody serves"}},
		"URLWithoutIngress":       {Input: domain, Spec: valued(`{"server":{"ingress":{"enabled":false}},"global":{"domain":"a.example.org"}}`), Want: []string{"spec.argocd.values.global.domain: nobody serves"}},
		"Umbrella":                {Spec: valued(`{"argo-cd":{"server":{"replicas":2}}}`), Want: []string{"spec.argocd.values.argo-cd: ", "write what is below argo-cd here"}},
		"UmbrellaOtherwise":       {Spec: valued(`{"argocd":{"controller":{"replicas":2},"configs":{"cm":{}}}}`), Want: []string{"spec.argocd.values.argocd: ", "write what is below argocd here"}},
		"YearsAgo":                {Spec: valued(`{"server":{"config":{"url":"https://a"},"rbacConfig":{"policy.csv":"p"}},"installCRDs":true}`), Want: []string{"installCRDs: the argo-cd chart has no such value: write crds.install; (2) spec.argocd.values.server.config: ", "write configs.cm; (3) spec.argocd.values.server.rbacConfig: ", "write configs.rbac"}},
		"Today":                   {Spec: valued(`{"configs":{"cm":{"a":"b"},"rbac":{"policy.csv":"g, a, role:admin"}},"crds":{"install":true}}`)},
		"VClusterValue":           {Spec: `{"vcluster":{"values":{"controlPlane":{"statefulset":{"resources":{"limits":{"cpu":"2"}}}}}}}`, Want: []string{"spec.vcluster.values.controlPlane.statefulset: the vcluster chart has no such value: did you mean controlPlane.statefulSet?"}},
		"IngressByValues":         {Spec: valued(`{"server":{"ingress":{"enabled":true,"hostname":"a.example.org","ingressClassName":"nginx","annotations":{"x/y":"z"}}}}`), Want: []string{"spec.argocd.values.server.ingress is set by spec.ingress", "write spec.ingress: {host: a.example.org, className: nginx, annotations: {...}}"}},
		"IngressOfGRPC":           {Spec: valued(`{"server":{"ingressGrpc":{"enabled":true}}}`), Want: []string{"spec.argocd.values.server.ingressGrpc.enabled: ", "write spec.ingress.host"}},
		"IngressOfWebhooks":       {Spec: valued(`{"applicationSet":{"ingress":{"enabled":true}}}`), Want: []string{"spec.argocd.values.applicationSet.ingress.enabled: ", "write spec.ingress.host"}},
		"IngressByTheClaim":       {Spec: `{"ingress":{"host":"a.example.org","className":"nginx"},"argocd":{"values":{"server":{"ingressGrpc":{"enabled":true}}}}}`},
		"LoadBalancer":            {Spec: valued(`{"server":{"service":{"type":"LoadBalancer"}}}`), Want: []string{"spec.argocd.values.server.service.type: plan standard allows 0 Services of type LoadBalancer (loadBalancers)", "spec.ingress"}},
		"LoadBalancerOfHAProxy":   {Spec: valued(`{"redis-ha":{"enabled":true,"haproxy":{"service":{"type":"LoadBalancer"}}}}`), Want: []string{"spec.argocd.values.redis-ha.haproxy.service.type"}},
		"LoadBalancerOfOwn":       {Spec: valued(`{"extraObjects":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"LoadBalancer"}}]}`), Want: []string{"spec.argocd.values.extraObjects[0].spec.type"}},
		"NodePort":                {Spec: valued(`{"server":{"service":{"type":"NodePort"}}}`), Want: []string{"spec.argocd.values.server.service.type: the host has no Services of type NodePort"}},
		"ClusterIP":               {Spec: valued(`{"server":{"service":{"type":"ClusterIP"}}}`)},
		"IssuerAndAnnotation":     {Spec: `{"ingress":{"host":"a.example.org","annotations":{"cert-manager.io/cluster-issuer":"letsencrypt"},"tls":{"issuer":{"name":"internal"}}}}`, Want: []string{"spec.ingress.annotations[cert-manager.io/cluster-issuer]: ", "spec.ingress.tls.issuer"}},
		"IssuerAndSecret":         {Spec: `{"ingress":{"host":"a.example.org","annotations":{"cert-manager.io/issuer":"letsencrypt"},"tls":{"secretName":"a"}}}`, Want: []string{"spec.ingress.annotations[cert-manager.io/issuer]: ", "tls.secretName"}},
		"EarlierCertManager":      {Spec: annotated("certmanager.k8s.io/cluster-issuer", "letsencrypt"), Want: []string{"spec.ingress.annotations[certmanager.k8s.io/cluster-issuer]", "spec.ingress.tls.issuer"}},
		"SameIssuerTwice":         {Spec: `{"ingress":{"host":"a.example.org","annotations":{"cert-manager.io/cluster-issuer":"letsencrypt"},"tls":{"issuer":{"name":"letsencrypt"}}}}`},
		"ClassTwice":              {Spec: `{"ingress":{"host":"a.example.org","className":"nginx","annotations":{"kubernetes.io/ingress.class":"nginx"}}}`, Want: []string{"spec.ingress.annotations[kubernetes.io/ingress.class]: ", "spec.ingress.className"}},
		"ClassByAnnotation":       {Spec: annotated("kubernetes.io/ingress.class", "nginx"), Input: domain},
		"NginxHTTPS":              {Spec: annotated("nginx.ingress.kubernetes.io/backend-protocol", "HTTPS"), Want: []string{"spec.ingress.annotations[nginx.ingress.kubernetes.io/backend-protocol]", "plain HTTP"}},
		"NginxGRPC":               {Spec: annotated("nginx.ingress.kubernetes.io/backend-protocol", "GRPC"), Want: []string{"plain HTTP"}},
		"NginxHTTP":               {Spec: annotated("nginx.ingress.kubernetes.io/backend-protocol", "HTTP")},
		"NginxPassthrough":        {Spec: annotated("nginx.ingress.kubernetes.io/ssl-passthrough", "true"), Want: []string{"plain HTTP"}},
		"NginxNoPassthrough":      {Spec: annotated("nginx.ingress.kubernetes.io/ssl-passthrough", "false")},
		"NginxRedirect":           {Spec: annotated("nginx.ingress.kubernetes.io/force-ssl-redirect", "true")},
		"NginxRewrite":            {Spec: annotated("nginx.ingress.kubernetes.io/rewrite-target", "/"), Want: []string{"server.rootpath"}},
		"HAProxy":                 {Spec: annotated("haproxy.org/server-ssl", "true"), Want: []string{"plain HTTP"}},
		"HAProxyIngress":          {Spec: annotated("haproxy-ingress.github.io/backend-protocol", "h1-ssl"), Want: []string{"plain HTTP"}},
		"ALB":                     {Spec: annotated("alb.ingress.kubernetes.io/backend-protocol", "HTTPS"), Want: []string{"plain HTTP"}},
		"ALBWithGRPC":             {Spec: annotated("alb.ingress.kubernetes.io/backend-protocol-version", "GRPC"), Want: []string{"plain HTTP"}},
		"ALBWithHTTP":             {Spec: annotated("alb.ingress.kubernetes.io/backend-protocol-version", "HTTP1")},
		"ALBHealth":               {Spec: annotated("alb.ingress.kubernetes.io/healthcheck-protocol", "HTTPS"), Want: []string{"plain HTTP"}},
		"Azure":                   {Spec: annotated("appgw.ingress.kubernetes.io/backend-protocol", "https"), Want: []string{"plain HTTP"}},
		"Traefik":                 {Spec: annotated("traefik.ingress.kubernetes.io/router.tls", "true")},
		"TraefikService":          {Spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"server":{"service":{"annotations":{"traefik.ingress.kubernetes.io/service.serversscheme":"https"}}}}}}`, Want: []string{"spec.argocd.values.server.service.annotations[traefik.ingress.kubernetes.io/service.serversscheme]", "plain HTTP"}},
		"ContourService":          {Spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"server":{"service":{"annotations":{"projectcontour.io/upstream-protocol.tls":"https,443"}}}}}}`, Want: []string{"upstream-protocol.tls", "plain HTTP"}},
		"BaseHrefAlone":           {Spec: valued(`{"configs":{"params":{"server.basehref":"/argocd"}}}`), Want: []string{`spec.argocd.values.configs.params.server.basehref: is "/argocd"`, "server.rootpath"}},
		"RootPathElsewhere":       {Spec: valued(`{"configs":{"params":{"server.basehref":"/a","server.rootpath":"/b"}}}`), Want: []string{"server.basehref"}},
		"RootPathNotAPath":        {Spec: valued(`{"configs":{"params":{"server.rootpath":"/a b"}}}`), Want: []string{`spec.argocd.values.configs.params.server.rootpath: "/a b" is not a path`}},
		"RootPathAsArgument":      {Spec: valued(`{"server":{"extraArgs":["--rootpath=/argocd"]}}`), Want: []string{"spec.argocd.values.server.extraArgs[0]", "configs.params"}},
		"RootPathAsVariableOfAll": {Spec: valued(`{"global":{"env":[{"name":"ARGOCD_SERVER_ROOTPATH","value":"/argocd"}]}}`), Want: []string{"spec.argocd.values.global.env[0]", "configs.params"}},
		"RootPathAsVariable":      {Spec: valued(`{"server":{"env":[{"name":"ARGOCD_SERVER_ROOTPATH","value":"/argocd"}]}}`), Want: []string{"spec.argocd.values.server.env[0]", "configs.params"}},
		"DexBesideOIDC":           {Spec: `{"argocd":{"values":{"configs":{"cm":{"dex.config":"connectors: []"}}}},"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"a","clientSecretRef":{"name":"a"}}}}`, Want: []string{`spec.argocd.values.configs.cm."dex.config": Argo CD ignores Dex`}},
		"DexAlone":                {Spec: valued(`{"configs":{"cm":{"dex.config":"connectors: [{type: linkedin, id: a, name: A, config: {clientID: a}}]"}}}`)},
		"CopyOfTheChartsValues": {Input: domain, Spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"nameOverride":"argocd","fullnameOverride":"","namespaceOverride":"","crds":{"install":true,"keep":true},
			"global":{"domain":"argocd.example.com","image":{"repository":"quay.io/argoproj/argocd"}},"controller":{"name":"application-controller","replicas":1},"dex":{"name":"dex-server"},"redis":{"name":"redis"},"repoServer":{"name":"repo-server"},
			"applicationSet":{"name":"applicationset-controller","ingress":{"enabled":false,"hostname":""}},"notifications":{"name":"notifications-controller"},"server":{"name":"server","service":{"type":"ClusterIP"},"certificateSecret":{"enabled":false},
			"ingress":{"enabled":false,"controller":"generic","hostname":"","path":"/","pathType":"Prefix","tls":false,"annotations":{}}},"configs":{"cm":{"create":true,"admin.enabled":true},"params":{"create":true},"clusterCredentials":{},"repositories":{}}}}}`},
		"CopyWithOneChange":   {Input: domain, Spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"server":{"name":"mine","ingress":{"enabled":true}},"controller":{"name":"application-controller"}}}}`, Want: []string{"spec.argocd.values.server.ingress is set by spec.ingress", "; (2) spec.argocd.values.server.name is the platform's to set"}},
		"TemplatesAsText":     {Spec: valued(`{"controller":{"metrics":{"rules":{"enabled":true,"spec":[{"alert":"a","annotations":{"summary":"{{ $labels.name }}"}}]}}},"server":{"podAnnotations":{"a":"{{ b }}"}},"notifications":{"templates":{"template.a":"{{ .app }}"}}}`)},
		"TemplatesRendered":   {Spec: valued(`{"extraObjects":[{"apiVersion":"v1","kind":"ConfigMap","a":"{{ b }}"}],"controller":{"initContainers":[{"name":"{{ b }}"}]}}`), Want: []string{"spec.argocd.values.controller.initContainers: templates ({{ }}) aren't rendered for claims", "; (2) spec.argocd.values.extraObjects: templates"}},
		"TemplatesUnknown":    {Spec: `{"argocd":{"chartVersion":"11.0.0","values":{"server":{"podAnnotations":{"a":"{{ b }}"}}}}}`, Want: []string{"spec.argocd.values.server.podAnnotations.a: templates"}},
		"RootPath":            {Spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"configs":{"params":{"server.rootpath":"/argocd","server.basehref":"/argocd"}}}}}`},
		"RootPathAndURL":      {Spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"configs":{"params":{"server.rootpath":"argocd"},"cm":{"url":"https://a.example.org/argocd"}}}}}`},
		"RootPathOtherURL":    {Spec: `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"configs":{"params":{"server.rootpath":"argocd"},"cm":{"url":"https://a.example.org"}}}}}`, Want: []string{"spec.argocd.values.configs.cm.url is set by spec.ingress"}},
		"ChartsWithoutScheme": {Spec: `{"repositories":[{"name":"a","type":"helm","url":"registry.example.org/charts"}]}`, Want: []string{"spec.repositories[0].url: ", "https:// or http:// or oci://"}},
		"NoTypeAndNoScheme":   {Spec: `{"repositories":[{"name":"a","url":"registry.example.org/charts"}]}`, Want: []string{"spec.repositories[0].url: ", "type: helm", "https:// or oci://"}},
		"ChartsWithScheme":    {Spec: `{"repositories":[{"name":"a","type":"helm","url":"oci://registry.example.org/charts"},{"name":"b","type":"helm","url":"https://charts.example.org"}]}`},
		"SeveralRepositories": {Spec: `{"repositories":[{"name":"A","url":"https://a"},{"name":"b","url":"b"},{"name":"c","url":"https://c"},{"name":"c","url":"https://d"}],"clusters":[{"name":" A","secretRef":{"name":"a"}},{"name":"b","server":"b","secretRef":{"name":"a"}}]}`,
			Want: []string{"spec.clusters[0].name", "; (2) spec.clusters[1].server", "; (3) spec.repositories[0].name", "; (4) spec.repositories[1].url", "; (5) spec.repositories[3].name"}},
		"SeveralTexts":  {Spec: valued(`{"configs":{"cm":{"a":"x: &a b","b":"c\u2028d"}}}`), Want: []string{"spec.argocd.values.configs.cm.a: a YAML anchor", "; (2) spec.argocd.values.configs.cm.b: a line break"}},
		"TopLevel":      {Spec: `{"values":{"server":{"replicas":2}},"argocdd":{},"chanel":"stable","backups":{"enabled":true}}`, Want: []string{"spec.values: there is no such field: see", "spec.chanel: there is no such field: did you mean channel?", "spec.backups: there is no such field: did you mean backup?"}},
		"TopLevelNull":  {Spec: `{"argocdd":null}`, Want: []string{"spec.argocdd: there is no such field: did you mean argocd?"}},
		"Crossplanes":   {Spec: `{"compositionRef":{"name":"a"},"compositionRevisionRef":{"name":"a"},"compositionRevisionSelector":{"matchLabels":{"a":"b"}},"compositionSelector":{"matchLabels":{"a":"b"}},"compositionUpdatePolicy":"Automatic","compositeDeletePolicy":"Background","resourceRef":{"name":"a"},"resourceRefs":[{"name":"a"}],"writeConnectionSecretToRef":{"name":"a","namespace":"b"},"publishConnectionDetailsTo":{"name":"a"},"environmentConfigRefs":[],"crossplane":{"compositionRef":{"name":"a"}}}`},
		"SeveralFields": {Spec: `{"argocd":{"chartversion":"10.1.1"},"ingress":{"hosts":["a"]}}`, Want: []string{"spec.argocd.chartversion: there is no such field", "; (2) spec.ingress.hosts: there is no such field"}},
		"DecodedAndDecided": {Spec: `{"kubernetes":{"versio":"1"},"clusters":[{"name":" A","secretRef":{"name":"a"}}],"ingress":{"host":"A.example.org","hots":["a"]},"argocd":{"chartVersion":"10","values":{"global":{"domian":"a"},"configs":{"cm":{"a":"x: &a b"}}}}}`,
			Want: []string{"spec.argocd.chartVersion: ", "; (2) spec.argocd.values.configs.cm.a: a YAML anchor", "; (3) spec.argocd.values.global.domian: ", "; (4) spec.kubernetes.versio: there is no such field", "; (5) spec.clusters[0].name: ", "; (6) spec.ingress.hots: there is no such field", "; (7) spec.ingress.host: "}},
		"UnknownPlanAndField": {Spec: `{"plan":"gold","ingress":{"hots":["a"]}}`, Want: []string{`spec.plan: "gold" is unknown`, "; (2) spec.ingress.hots: there is no such field"}},
		"Several": {Spec: `{"kubernetes":{"version":"1"},"clusters":[{"name":" A","secretRef":{"name":"a"}}],"ingress":{"host":"A.example.org","annotations":{"haproxy.org/server-ssl":"true"}},"argocd":{"chartVersion":"10","values":{"global":{"domian":"a"},"server":{"name":"x"},"extraObjects":[{"apiVersion":"v1","kind":"ConfigMap","a":"{{ b }}"}]}}}`,
			Want: []string{"spec.argocd.chartVersion: ", "; (2) spec.argocd.values.extraObjects: ", "; (3) spec.argocd.values.global.domian: ", "; (4) spec.argocd.values.server.name is", "; (5) spec.kubernetes.version: ", "; (6) spec.clusters[0].name: ", "; (7) spec.ingress.host: ", "; (8) spec.ingress.annotations[haproxy.org/server-ssl]"}},
	})
}
