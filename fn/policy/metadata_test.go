package policy_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

const policies = "../../examples/install/tenants.yaml"

func valued(v string) string { return `{"argocd":{"values":` + v + `}}` }

// TestMetadataThatTheHostRefuses: labels and annotations by values are compared with the lists in the policies that users apply.
func TestMetadataThatTheHostRefuses(t *testing.T) {
	const domain = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org"}}`
	refused := func(at, kind, key string) []string {
		return []string{"spec.argocd.values." + at + ": the host refuses a tenant's " + kind + " with the " + key + ": leave it out, or ask the administrators", "ValidatingAdmissionPolicy virtual-argocd-"}
	}
	cases := map[string]crossplanetest.Claim{
		"Service":           {Spec: valued(`{"server":{"service":{"annotations":{"external-dns.alpha.kubernetes.io/hostname":"a"}}}}`), Want: refused("server.service.annotations.external-dns.alpha.kubernetes.io/hostname", "Service", "annotation external-dns.alpha.kubernetes.io/hostname")},
		"ServiceAllowed":    {Spec: valued(`{"server":{"service":{"annotations":{"service.kubernetes.io/topology-mode":"Auto","team":"a"},"labels":{"team.name":"a"}}}}`)},
		"ServiceOfRedis":    {Spec: valued(`{"redis":{"service":{"annotations":{"prometheus.io/scrape":"true"}}}}`), Want: refused("redis.service.annotations.prometheus.io/scrape", "Service", "annotation prometheus.io/scrape")},
		"ServiceOfMetrics":  {Spec: valued(`{"controller":{"metrics":{"enabled":true,"service":{"annotations":{"prometheus.io/scrape":"true"},"labels":{"grafana_dashboard":"1"}}}}}`), Want: []string{"controller.metrics.service.annotations.prometheus.io/scrape: the host refuses", "; (2) spec.argocd.values.controller.metrics.service.labels.grafana_dashboard: the host refuses a tenant's Service with the label grafana_dashboard"}},
		"ServiceOfHAProxy":  {Spec: valued(`{"redis-ha":{"enabled":true,"haproxy":{"service":{"annotations":{"tailscale.com/expose":"true"}}}}}`), Want: refused("redis-ha.haproxy.service.annotations.tailscale.com/expose", "Service", "annotation tailscale.com/expose")},
		"Prometheus":        {Spec: valued(`{"global":{"addPrometheusAnnotations":true}}`), Want: refused("global.addPrometheusAnnotations", "Service", "annotation prometheus.io/scrape")},
		"NoPrometheus":      {Spec: valued(`{"global":{"addPrometheusAnnotations":false}}`)},
		"Pods":              {Spec: valued(`{"repoServer":{"podAnnotations":{"linkerd.io/inject":"enabled"},"podLabels":{"istio-injection":"enabled"}}}`), Want: []string{"repoServer.podAnnotations.linkerd.io/inject: the host refuses a tenant's Pod", "; (2) spec.argocd.values.repoServer.podLabels.istio-injection"}},
		"PodsAllowed":       {Spec: valued(`{"repoServer":{"podAnnotations":{"checksum/a":"b","cluster-autoscaler.kubernetes.io/safe-to-evict":"true"},"podLabels":{"release":"a","app.kubernetes.io/part-of":"b"}}}`)},
		"EveryObject":       {Spec: valued(`{"global":{"additionalLabels":{"example.org/team":"a"}}}`), Want: refused("global.additionalLabels.example.org/team", "object", "label example.org/team")},
		"OnlyInTheCluster":  {Spec: valued(`{"server":{"deploymentAnnotations":{"reloader.stakater.com/auto":"true"},"serviceAccount":{"labels":{"example.org/a":"b"}}}}`)},
		"NoKey":             {Spec: valued(`{"server":{"podAnnotations":{"not a key":"a"}}}`)},
		"IngressOfGRPC":     {Input: domain, Spec: valued(`{"server":{"ingressGrpc":{"enabled":true,"annotations":{"nginx.ingress.kubernetes.io/server-snippet":"a"},"labels":{"example.org/a":"b"}}}}`), Want: []string{"server.ingressGrpc.annotations.nginx.ingress.kubernetes.io/server-snippet: the host refuses a tenant's Ingress", "virtual-argocd-ingresses; (2) spec.argocd.values.server.ingressGrpc.labels.example.org/a: the host refuses a tenant's Ingress with the label"}},
		"IngressOfWebhooks": {Input: domain, Spec: valued(`{"applicationSet":{"ingress":{"enabled":true,"annotations":{"external-dns.alpha.kubernetes.io/target":"a"}}}}`), Want: refused("applicationSet.ingress.annotations.external-dns.alpha.kubernetes.io/target", "Ingress", "annotation external-dns.alpha.kubernetes.io/target")},
		"IngressAllowed":    {Input: domain, Spec: valued(`{"server":{"ingressGrpc":{"enabled":true,"annotations":{"nginx.ingress.kubernetes.io/backend-protocol":"GRPC"}}},"applicationSet":{"ingress":{"enabled":true,"annotations":{"nginx.ingress.kubernetes.io/proxy-body-size":"1m"}}}}`)},
		"OwnService":        {Spec: valued(`{"extraObjects":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"example.org/a":"b"}}},{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","annotations":{"example.org/a":"b"}}}]}`), Want: []string{"spec.argocd.values.extraObjects: item 1, Service a: the host refuses a tenant's Service with the annotation example.org/a"}},
		"OwnPods":           {Spec: valued(`{"extraObjects":[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"template":{"metadata":{"labels":{"example.org/a":"b"}}}}}]}`), Want: []string{"item 0, Deployment a: the host refuses a tenant's Deployment with the label example.org/a"}},
	}
	for name, tc := range cases {
		tc.Policies = policies
		cases[name] = tc
	}
	crossplanetest.CheckClaims(t, cases)
	t.Run("OfThePlatform", func(t *testing.T) {
		e := crossplanetest.New(t, `{}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"server":{"service":{"annotations":{"example.org/a":"b"}}}}}}}`)
		e.AddPolicies(policies)
		e.Install()
		if c := e.Condition("SpecAccepted"); c.GetReason() != "UnusedValues" || !strings.Contains(c.GetMessage(), "input.charts.argocd.values.server.service.annotations.example.org/a: the host refuses") {
			t.Errorf("got %s: %s", c.GetReason(), c.GetMessage())
		}
	})
	t.Run("AcceptedBefore", func(t *testing.T) {
		// The lists of the host were longer.
		e := crossplanetest.New(t, valued(`{"server":{"service":{"annotations":{"example.org/a":"b"}}}}`), "").Install()
		e.AddPolicies(policies)
		e.Reconcile()
		if c := e.Condition("SpecAccepted"); c.GetReason() != "UnusedValues" || !strings.Contains(c.GetMessage(), "spec.argocd.values.server.service.annotations.example.org/a: the host refuses") {
			t.Errorf("got %s: %s", c.GetReason(), c.GetMessage())
		}
	})
}

// TestServicesThatTheHostRefuses: what the host refuses of a Service's spec is refused in values.
func TestServicesThatTheHostRefuses(t *testing.T) {
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"ExternalIPs":       {Spec: valued(`{"server":{"service":{"externalIPs":["192.0.2.1"]}}}`), Want: []string{"spec.argocd.values.server.service.externalIPs: the host refuses Services of tenants with externalIPs"}},
		"LoadBalancerIP":    {Spec: valued(`{"redis-ha":{"enabled":true,"haproxy":{"service":{"loadBalancerIP":"192.0.2.1"}}}}`), Want: []string{"spec.argocd.values.redis-ha.haproxy.service.loadBalancerIP: the host refuses"}},
		"LoadBalancerClass": {Spec: valued(`{"server":{"service":{"loadBalancerClass":"a"}}}`), Want: []string{"spec.argocd.values.server.service.loadBalancerClass: the host refuses"}},
		"Defaults":          {Spec: valued(`{"server":{"service":{"externalIPs":[],"loadBalancerIP":"","loadBalancerClass":""}}}`)},
	})
}
