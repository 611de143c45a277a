package known

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestSwitchedOff: what a switch keeps from having an effect is named, unless it is the chart's default.
func TestSwitchedOff(t *testing.T) {
	for name, tc := range map[string]struct {
		version, values, others string
		// want are the messages, as "path: message".
		want []string
	}{
		"Autoscaling":         {"10.1.1", `server: {autoscaling: {minReplicas: 2, maxReplicas: 9}}`, "", []string{"server.autoscaling.maxReplicas: has no effect while server.autoscaling.enabled is false", "server.autoscaling.minReplicas: has no effect while server.autoscaling.enabled is false"}},
		"AutoscalingOn":       {"10.1.1", `server: {autoscaling: {enabled: true, minReplicas: 2}}`, "", nil},
		"OnByOthers":          {"10.1.1", `server: {autoscaling: {minReplicas: 2}}`, `server: {autoscaling: {enabled: true}}`, nil},
		"OffByOthers":         {"10.1.1", `dex: {resources: {limits: {cpu: 1}}}`, `dex: {enabled: false}`, []string{"dex.resources: has no effect while dex.enabled is false"}},
		"ReplicasBesideIt":    {"10.1.1", `repoServer: {replicas: 3, autoscaling: {enabled: true}}`, "", []string{"repoServer.replicas: has no effect while repoServer.autoscaling.enabled is true"}},
		"Budget":              {"10.1.1", `controller: {pdb: {minAvailable: 1}}`, "", []string{"controller.pdb.minAvailable: has no effect while controller.pdb.enabled is false"}},
		"OuterSwitch":         {"10.1.1", `server: {metrics: {serviceMonitor: {enabled: true, interval: 10s}}}`, "", []string{"server.metrics.serviceMonitor: has no effect while server.metrics.enabled is false"}},
		"OtherUseOfMetrics":   {"10.1.1", `controller: {metrics: {applicationLabels: {enabled: true, labels: [a]}}}`, "", nil},
		"RedisHA":             {"10.1.1", `redis-ha: {haproxy: {replicas: 2}}`, "", []string{"redis-ha.haproxy: has no effect while redis-ha.enabled is false"}},
		"RedisBesideHA":       {"10.1.1", `{redis: {resources: {limits: {cpu: 1}}, servicePort: 6380}, redis-ha: {enabled: true}}`, "", []string{"redis.resources: has no effect while redis-ha.enabled is true"}},
		"Notifications":       {"10.1.1", `notifications: {enabled: false, notifiers: {service.slack: a}}`, "", []string{"notifications.notifiers: has no effect while notifications.enabled is false"}},
		"NotificationsCM":     {"10.1.1", `notifications: {cm: {create: false}, triggers: {on-a: b}}`, "", []string{"notifications.triggers: has no effect while notifications.cm.create is false"}},
		"NotificationsOn":     {"10.1.1", `notifications: {enabled: true, notifiers: {service.slack: a}}`, "", nil},
		"Params":              {"10.1.1", `configs: {params: {create: false, server.insecure: true}}`, "", []string{`configs.params.server.insecure: has no effect while configs.params.create is false`}},
		"RBAC":                {"10.1.1", `configs: {rbac: {create: false, policy.csv: "g, a, role:admin"}}`, "", []string{`configs.rbac.policy.csv: has no effect while configs.rbac.create is false`}},
		"RBACOn":              {"10.1.1", `configs: {rbac: {policy.csv: "g, a, role:admin"}, params: {a: b}}`, "", nil},
		"Plugins":             {"10.1.1", `configs: {cmp: {plugins: {a: {}, b: {init: {}, generate: {command: [c]}}}}}`, "", []string{"configs.cmp.plugins: has no effect while configs.cmp.create is false"}},
		"SecretOfArgoCD":      {"10.1.1", `configs: {secret: {createSecret: false, githubSecret: a}}`, "", []string{"configs.secret.githubSecret: has no effect while configs.secret.createSecret is false"}},
		"NameOfAnAccount":     {"10.1.1", `server: {serviceAccount: {create: false, name: a, annotations: {b: c}}}`, "", []string{"server.serviceAccount.annotations: has no effect while server.serviceAccount.create is false"}},
		"Certificate":         {"10.1.1", `server: {certificate: {domain: a.example.org}}`, "", []string{"server.certificate.domain: has no effect while server.certificate.enabled is false"}},
		"OfADeployment":       {"10.1.1", `controller: {deploymentAnnotations: {a: b}}`, "", []string{"controller.deploymentAnnotations: has no effect while controller.dynamicClusterDistribution is false"}},
		"Copy":                {"10.1.1", `{server: {autoscaling: {enabled: false, minReplicas: 1, maxReplicas: 5, behavior: {}}, certificate: {enabled: false, privateKey: {rotationPolicy: Never, encoding: PKCS1}}, pdb: {labels: {}}}, dex: {certificateSecret: {crt: ""}}}`, "", nil},
		"NoSwitchInTheChart":  {"10.1.1", `configs: {repositories: {a: {enabled: false, url: b}}}`, "", nil},
		"OfAnUnknownVersion":  {"11.0.0", `server: {autoscaling: {minReplicas: 2}}`, "", nil},
		"UnknownIsNamedOnce":  {"10.1.1", `server: {autoscaling: {minReplica: 2}}`, "", nil},
		"WithoutSwitchBefore": {"7.0.0", `server: {readinessProbe: {periodSeconds: 3}}`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			v, merged, others := decoded(t, tc.values), decoded(t, tc.values), decoded(t, tc.others)
			lay(merged, others)
			var got []string
			for _, u := range Named(argoCD).At(tc.version).SwitchedOff(v, merged) {
				got = append(got, strings.Join(u.Path, ".")+": "+u.Message)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("want\n%s\ngot\n%s", strings.Join(tc.want, "\n"), strings.Join(got, "\n"))
			}
		})
	}
}

func decoded(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// lay lays values over others.
func lay(under, over map[string]any) {
	for key, is := range over {
		of, isMap := is.(map[string]any)
		if below, ok := under[key].(map[string]any); ok && isMap {
			lay(below, of)
		} else {
			under[key] = is
		}
	}
}
