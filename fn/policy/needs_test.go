package policy_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestValuesWithoutEffect: values of which nothing comes are named, and stop nothing.
func TestValuesWithoutEffect(t *testing.T) {
	for name, tc := range map[string]struct{ values, want string }{
		"Misspelt":           {`{"configs":{"cm":{"timeout.reconcilation":"60s"}}}`, `spec.argocd.values.configs.cm.timeout.reconcilation: Argo CD has no such setting: did you mean "timeout.reconciliation"?`},
		"SwitchedOff":        {`{"server":{"autoscaling":{"minReplicas":2}}}`, "spec.argocd.values.server.autoscaling.minReplicas: has no effect while server.autoscaling.enabled is false"},
		"SwitchedOn":         {`{"server":{"autoscaling":{"enabled":true,"minReplicas":2}}}`, ""},
		"ServiceMonitor":     {`{"controller":{"metrics":{"enabled":true,"serviceMonitor":{"enabled":true}}}}`, "spec.argocd.values.controller.metrics.serviceMonitor.enabled: the chart makes no ServiceMonitor before you install"},
		"ServiceMonitorOff":  {`{"controller":{"metrics":{"enabled":true,"serviceMonitor":{"enabled":false}}}}`, ""},
		"Rules":              {`{"controller":{"metrics":{"enabled":true,"rules":{"enabled":true,"spec":[]}}}}`, "controller.metrics.rules.enabled: the chart makes no PrometheusRule"},
		"NetworkPolicy":      {`{"server":{"networkPolicy":{"create":true}}}`, "spec.argocd.values.server.networkPolicy.create: a NetworkPolicy has no effect in a virtual cluster"},
		"NetworkPolicies":    {`{"global":{"networkPolicy":{"create":true,"defaultDenyIngress":true}}}`, "spec.argocd.values.global.networkPolicy.defaultDenyIngress: a NetworkPolicy has no effect"},
		"NetworkPolicyAsIs":  {`{"global":{"networkPolicy":{"create":false,"defaultDenyIngress":false}}}`, ""},
		"Budget":             {`{"server":{"pdb":{"enabled":true,"maxUnavailable":1}}}`, "spec.argocd.values.server.pdb.enabled: a PodDisruptionBudget has no effect"},
		"CopyOfTheChartsOff": {`{"redis-ha":{"enabled":false,"haproxy":{"enabled":true},"persistentVolume":{"enabled":false}},"server":{"pdb":{"enabled":false},"vpa":{"enabled":false},"metrics":{"enabled":false,"serviceMonitor":{"enabled":false}}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"argocd":{"chartVersion":"10.1.1","values":`+tc.values+`}}`, "").Install()
			c := e.Condition("SpecAccepted")
			if want := map[bool]string{true: "Accepted", false: "UnusedValues"}[tc.want == ""]; c.GetReason() != want || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("want %s, %q, got %s: %s", want, tc.want, c.GetReason(), c.GetMessage())
			}
		})
	}
}

// TestBudgetsOnTheHost: a disruption budget takes effect where vcluster copies it to the host.
func TestBudgetsOnTheHost(t *testing.T) {
	e := crossplanetest.New(t, valued(`{"server":{"pdb":{"enabled":true,"maxUnavailable":1}}}`), `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"vcluster":{"values":{"sync":{"toHost":{"podDisruptionBudgets":{"enabled":true}}}}}}}`).Install()
	if c := e.Condition("SpecAccepted"); c.GetReason() != "Accepted" {
		t.Errorf("got %s: %s", c.GetReason(), c.GetMessage())
	}
}

// TestValuesThatFail: what Helm would fail with in a new virtual cluster is refused, and so are ports at which nobody finds Argo CD.
func TestValuesThatFail(t *testing.T) {
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"VPA":                  {Spec: `{"argocd":{"chartVersion":"10.1.1","values":{"server":{"vpa":{"enabled":true}}}}}`, Want: []string{"spec.argocd.values.server.vpa.enabled: a virtual cluster has no VerticalPodAutoscalers: leave it out and write resources"}},
		"Certificate":          {Spec: valued(`{"server":{"certificate":{"enabled":true,"domain":"a.example.org"}}}`), Want: []string{"spec.argocd.values.server.certificate.enabled: ", "write spec.ingress.tls"}},
		"CertificateOfAnother": {Spec: valued(`{"applicationSet":{"certificate":{"enabled":true}}}`), Want: []string{"spec.argocd.values.applicationSet.certificate.enabled: "}},
		"HTTPRoute":            {Spec: `{"argocd":{"chartVersion":"10.1.1","values":{"server":{"httproute":{"enabled":true}}}}}`, Want: []string{"spec.argocd.values.server.httproute.enabled: a virtual cluster has no Gateway API", "write spec.ingress"}},
		"AllOff":               {Spec: `{"argocd":{"chartVersion":"10.1.1","values":{"server":{"vpa":{"enabled":false},"certificate":{"enabled":false},"httproute":{"enabled":false},"certificateSecret":{"enabled":false}}}}}`},
		"Port":                 {Spec: valued(`{"server":{"containerPorts":{"server":8443}}}`), Want: []string{`spec.argocd.values.server.containerPorts.server: "8443" is not 8080: `, "server.service.servicePortHttp"}},
		"PortOfMetrics":        {Spec: valued(`{"controller":{"containerPorts":{"metrics":9090}},"repoServer":{"containerPorts":{"metrics":9090}}}`), Want: []string{"controller.containerPorts.metrics: ", "; (2) spec.argocd.values.repoServer.containerPorts.metrics: "}},
		"PortsAsTheyAre":       {Spec: valued(`{"server":{"containerPorts":{"server":8080,"metrics":9083},"service":{"servicePortHttps":8443}},"controller":{"containerPorts":{"metrics":8082}},"repoServer":{"containerPorts":{"metrics":8084,"server":9081}}}`)},
	})
	t.Run("AcceptedBefore", func(t *testing.T) {
		crossplanetest.CheckStaysAccepted(t, valued(`{"server":{"containerPorts":{"server":8443}}}`), valued(`{"server":{"containerPorts":{"server":8444}}}`))
	})
	t.Run("TenantThatIsThere", func(t *testing.T) {
		// It may have the CustomResourceDefinitions.
		e := crossplanetest.New(t, `{}`, "").Install()
		e.SetSpec(`{"argocd":{"chartVersion":"10.1.1","values":{"server":{"vpa":{"enabled":true}}}}}`)
		e.Cycle(2)
		if c := e.Condition("SpecAccepted"); c.GetReason() != "UnusedValues" || !strings.Contains(c.GetMessage(), "server.vpa.enabled: a virtual cluster has no VerticalPodAutoscalers") {
			t.Errorf("got %s: %s", c.GetReason(), c.GetMessage())
		}
	})
}
