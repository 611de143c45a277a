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
		"EmptyAndMisspelt":   {`{"global":{"domian":""}}`, "spec.argocd.values.global.domian: the argo-cd chart has no such value: did you mean global.domain?"},
		"EmptyAndElse":       {`{"global":{"something":"","domain":""},"openshift":{}}`, ""},
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
		"Application":          {Spec: valued(`{"extraObjects":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}},{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"a"}}]}`), Want: []string{`spec.argocd.values.extraObjects: entry 1 is a "Application" of "argoproj.io/v1alpha1", which a new virtual cluster doesn't have, and Helm fails with it: have spec.bootstrap bring it`}},
		"Project":              {Spec: valued(`{"extraObjects":[{"apiVersion":"argoproj.io/v1alpha1","kind":"AppProject","metadata":{"name":"a"}}]}`), Want: []string{`entry 0 is a "AppProject"`}},
		"WithDefinition":       {Spec: valued(`{"extraObjects":[{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.org"}},{"apiVersion":"example.org/v1","kind":"A","metadata":{"name":"a"}}]}`), Want: []string{`entry 1 is a "A" of "example.org/v1"`}},
		"Others":               {Spec: valued(`{"extraObjects":[{"apiVersion":"cert-manager.io/v1","kind":"Certificate"},{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute"},{"apiVersion":"monitoring.coreos.com/v1","kind":"ServiceMonitor"},{"apiVersion":"external-secrets.io/v1","kind":"ExternalSecret"}]}`), Want: []string{"entry 0", "entry 1", "entry 2", "entry 3"}},
		"InAList":              {Spec: valued(`{"extraObjects":[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap"},{"apiVersion":"argoproj.io/v1alpha1","kind":"AppProject"}]}]}`), Want: []string{`entry 0, item 1 is a "AppProject"`}},
		"OtherGroup":           {Spec: valued(`{"extraObjects":[{"apiVersion":"v1","kind":"Deployment"},{"apiVersion":"extensions/v1beta1","kind":"Ingress"},{"apiVersion":"apps/v1beta1","kind":"Deployment"}]}`), Want: []string{`entry 0 is a "Deployment" of "v1", which Kubernetes doesn't have, and Helm fails with it: write apiVersion: apps/v1`, `entry 1 is a "Ingress" of "extensions/v1beta1"`, `entry 2 is a "Deployment" of "apps/v1beta1"`}},
		"NoKind":               {Spec: valued(`{"extraObjects":[{"metadata":{"name":"a"}},{"apiVersion":"v1","kind":"configmap"}]}`), Want: []string{"entry 0 has no apiVersion or no kind", `entry 1 is a "configmap", which Kubernetes doesn't have, and Helm fails with it: did you mean ConfigMap?`}},
		"KubernetesOwn":        {Spec: valued(`{"extraObjects":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}},{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"a"}},{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"}},{"apiVersion":"admissionregistration.k8s.io/v1beta1","kind":"MutatingAdmissionPolicy","metadata":{"name":"a"}}]}`)},
		"Moved":                {Spec: valued(`{"server":{"additionalApplications":[{"name":"a"}]}}`), Want: []string{"spec.argocd.values.server.additionalApplications: the argo-cd chart has no such value: write spec.bootstrap"}},
		"Port":                 {Spec: valued(`{"server":{"containerPorts":{"server":8443}}}`), Want: []string{`spec.argocd.values.server.containerPorts.server: "8443" is not 8080: `, "server.service.servicePortHttp"}},
		"PortOfMetrics":        {Spec: valued(`{"controller":{"containerPorts":{"metrics":9090}},"repoServer":{"containerPorts":{"metrics":9090}}}`), Want: []string{"controller.containerPorts.metrics: ", "; (2) spec.argocd.values.repoServer.containerPorts.metrics: "}},
		"PortsAsTheyAre":       {Spec: valued(`{"server":{"containerPorts":{"server":8080,"metrics":9083},"service":{"servicePortHttps":8443}},"controller":{"containerPorts":{"metrics":8082}},"repoServer":{"containerPorts":{"metrics":8084,"server":9081}}}`)},
	})
	t.Run("AcceptedBefore", func(t *testing.T) {
		crossplanetest.CheckStaysAccepted(t, valued(`{"server":{"containerPorts":{"server":8443}}}`), valued(`{"server":{"containerPorts":{"server":8444}}}`))
	})
	t.Run("ObjectOfATenantThatIsThere", func(t *testing.T) {
		e := crossplanetest.New(t, `{}`, "").Install()
		e.SetSpec(valued(`{"extraObjects":[{"apiVersion":"argoproj.io/v1alpha1","kind":"AppProject","metadata":{"name":"a"}},{"apiVersion":"example.org/v1","kind":"A","metadata":{"name":"a"}}]}`))
		e.Cycle(2)
		if c := e.Condition("SpecAccepted"); c.GetReason() != "UnusedValues" || strings.Contains(c.GetMessage(), "entry 0") || !strings.Contains(c.GetMessage(), `entry 1 is a "A"`) {
			t.Errorf("got %s: %s", c.GetReason(), c.GetMessage())
		}
	})
	t.Run("ObjectsOfThePlatform", func(t *testing.T) {
		e := crossplanetest.New(t, valued(`{"extraObjects":[{"apiVersion":"example.org/v1","kind":"A","metadata":{"name":"a"}}]}`), `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"vcluster":{"values":{"experimental":{"deploy":{"vcluster":{"manifests":"kind: CustomResourceDefinition"}}}}}}}`)
		if msg := crossplanetest.Refusal(e.Reconcile()); msg != "" {
			t.Errorf("what the platform may bring is refused: %s", msg)
		}
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

// TestRedis: Argo CD has one redis, and that which is meant.
func TestRedis(t *testing.T) {
	const external = `"externalRedis":{"host":"redis.example.org"}`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"None":           {Spec: valued(`{"redis":{"enabled":false}}`), Want: []string{"spec.argocd.values.redis.enabled: Argo CD compares nothing without redis: write externalRedis.host, or leave it out"}},
		"NoneHA":         {Spec: valued(`{"redis-ha":{"enabled":true,"haproxy":{"enabled":false}}}`), Want: []string{"spec.argocd.values.redis-ha.haproxy.enabled: Argo CD compares nothing without redis"}},
		"Ignored":        {Spec: valued(`{` + external + `}`), Want: []string{"spec.argocd.values.externalRedis.host: Argo CD ignores it while a redis of its own runs: write redis.enabled: false, too"}},
		"IgnoredByHA":    {Spec: valued(`{"redis-ha":{"enabled":true},` + external + `}`), Want: []string{"write redis-ha.enabled: false and redis.enabled: false, too"}},
		"External":       {Spec: valued(`{"redis":{"enabled":false},` + external + `}`)},
		"ExternalEmpty":  {Spec: valued(`{"externalRedis":{"host":""}}`)},
		"Own":            {Spec: valued(`{"redis":{"enabled":true}}`)},
		"HA":             {Spec: valued(`{"redis-ha":{"enabled":true}}`)},
		"HAInPlaceOfOne": {Spec: valued(`{"redis":{"enabled":false},"redis-ha":{"enabled":true}}`)},
		"ByParameter":    {Spec: valued(`{"redis":{"enabled":false},"configs":{"params":{"redis.server":"redis.example.org:6379"}}}`)},
	})
	crossplanetest.CheckStaysAccepted(t, valued(`{`+external+`}`), valued(`{"externalRedis":{"host":"redis.example.net"}}`))
}

// TestTextsOfTheChart: the chart takes others than those that it knows for nothing.
func TestTextsOfTheChart(t *testing.T) {
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Affinity":       {Spec: valued(`{"global":{"affinity":{"podAntiAffinity":"hardd","nodeAffinity":{"type":"weak"}}}}`), Want: []string{`spec.argocd.values.global.affinity.podAntiAffinity: "hardd" is unknown to the chart: did you mean hard?`, `nodeAffinity.type: "weak" is unknown to the chart: write one of none, soft, hard`}},
		"AffinityRight":  {Spec: valued(`{"global":{"affinity":{"podAntiAffinity":"hard","nodeAffinity":{"type":"soft"}}}}`)},
		"NoAffinity":     {Spec: valued(`{"global":{"affinity":{"podAntiAffinity":"none"}}}`)},
		"Logging":        {Spec: valued(`{"global":{"logging":{"level":"verbose","format":"plain"}}}`), Want: []string{"spec.argocd.values.global.logging.format: ", "spec.argocd.values.global.logging.level: "}},
		"LoggingRight":   {Spec: valued(`{"global":{"logging":{"level":"Warning","format":"JSON"}}}`)},
		"DexReplicas":    {Spec: valued(`{"dex":{"replicas":2}}`), Want: []string{"spec.argocd.values.dex.replicas: the argo-cd chart has no such value: Dex keeps who is signing on in its memory"}},
		"ApplicationSet": {Spec: valued(`{"applicationSet":{"enabled":false}}`), Want: []string{"spec.argocd.values.applicationSet.enabled: the argo-cd chart has no such value: write applicationSet.replicas, 0 for none"}},
		"RedisReplicas":  {Spec: valued(`{"redis":{"replicas":2}}`), Want: []string{"write redis-ha.enabled: true"}},
	})
	crossplanetest.CheckStaysAccepted(t, valued(`{"global":{"affinity":{"podAntiAffinity":"hardd"}}}`), valued(`{"global":{"affinity":{"podAntiAffinity":"softt"}}}`))
}
