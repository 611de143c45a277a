package helm

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"helm.sh/helm/v3/pkg/chart"
)

// TestValues holds the effect of each value: in the test chart always, and in
// a real argo-cd chart too when ARGOCD_CHART names one. What stands here is
// thus what the test chart has in common with the real one.
func TestValues(t *testing.T) {
	const pod = "|spec|template|spec"
	cases := map[string]struct {
		release string
		values  string
		want    map[string]any
	}{
		"Defaults": {
			want: map[string]any{
				"Deployment/argocd-server|spec|replicas":                                1,
				"Deployment/argocd-server|metadata|namespace":                           "argocd",
				"Deployment/argocd-server|metadata|labels|app.kubernetes.io/part-of":    "argocd",
				"Deployment/argocd-server|metadata|labels|app.kubernetes.io/component":  "server",
				"Deployment/argocd-server|metadata|labels|app.kubernetes.io/managed-by": "Helm",
				"Deployment/argocd-server|spec|selector|matchLabels":                    map[string]any{"app.kubernetes.io/name": "argocd-server", "app.kubernetes.io/instance": "argocd"},
				"Deployment/argocd-redis|spec|selector|matchLabels":                     map[string]any{"app.kubernetes.io/name": "argocd-redis"},
				"Deployment/argocd-server" + pod + "|serviceAccountName":                "argocd-server",
				"Deployment/argocd-redis" + pod + "|serviceAccountName":                 "default",
				"Deployment/argocd-redis" + pod + "|initContainers":                     nil,
				"Deployment/argocd-notifications-controller|spec|strategy|type":         "Recreate",
				"StatefulSet/argocd-application-controller|spec|serviceName":            "argocd-application-controller",
				"Service/argocd-server|spec|type":                                       "ClusterIP",
				"Service/argocd-server|spec|selector":                                   map[string]any{"app.kubernetes.io/name": "argocd-server", "app.kubernetes.io/instance": "argocd"},
				"Service/argocd-repo-server|spec|ports|0|port":                          8081,
				"Service/argocd-redis|spec|ports|0|port":                                6379,
				"ConfigMap/argocd-cmd-params-cm|data|repo.server":                       "argocd-repo-server:8081",
				"ConfigMap/argocd-cmd-params-cm|data|redis.server":                      "argocd-redis:6379",
				"ConfigMap/argocd-cmd-params-cm|data|server.dex.server":                 "https://argocd-dex-server:5556",
				"ConfigMap/argocd-cmd-params-cm|data|controller.log.level":              "info",
				"ConfigMap/argocd-cm|data|url":                                          "https://argocd.example.com",
				"ConfigMap/argocd-cm|data|admin.enabled":                                "true",
				"ConfigMap/argocd-rbac-cm|data|policy.default":                          "",
				"Secret/argocd-secret|text":                                             map[string]any{},
				"Job/argocd-redis-secret-init|metadata|annotations|helm.sh/hook":        "pre-install,pre-upgrade",
				"Job/argocd-redis-secret-init" + pod + "|containers|0|command":          []any{"argocd", "admin", "redis-initial-password"},
				"ClusterRoleBinding/argocd-server|subjects|0|namespace":                 "argocd",
				"ClusterRole/argocd-applicationset-controller":                          nil,
				"ClusterRole/argocd-aggregate-to-view":                                  nil,
				"Ingress/argocd-server":                                                 nil,
			},
		},
		"OtherRelease": {
			release: "blue",
			want: map[string]any{
				"Deployment/blue-argocd-server|spec|selector|matchLabels|app.kubernetes.io/name":     "argocd-server",
				"Deployment/blue-argocd-server|spec|selector|matchLabels|app.kubernetes.io/instance": "blue",
				"ConfigMap/argocd-cmd-params-cm|data|repo.server":                                    "blue-argocd-repo-server:8081",
				"ServiceAccount/argocd-server|metadata|name":                                         "argocd-server",
				"RoleBinding/blue-argocd-server|roleRef|name":                                        "blue-argocd-server",
			},
		},
		"NameOverride": {
			values: `nameOverride: cd`,
			want: map[string]any{
				"Deployment/argocd-server|spec|selector|matchLabels|app.kubernetes.io/name": "cd-server",
			},
		},
		"FullnameOverride": {
			values: `fullnameOverride: blue`,
			want: map[string]any{
				"Deployment/blue-server|metadata|name":             "blue-server",
				"ConfigMap/argocd-cmd-params-cm|data|redis.server": "blue-redis:6379",
			},
		},
		"CRDsKept": {
			values: `crds: {install: true}`,
			want: map[string]any{
				"CustomResourceDefinition/applications.argoproj.io|metadata|annotations|helm.sh/resource-policy": "keep",
			},
		},
		"CRDsOff": {
			values: `crds: {install: false}`,
			want:   map[string]any{"CustomResourceDefinition/applications.argoproj.io": nil},
		},
		"CRDsNotKept": {
			values: `crds: {keep: false, additionalLabels: {a: b}}`,
			want: map[string]any{
				"CustomResourceDefinition/appprojects.argoproj.io|metadata|annotations|helm.sh/resource-policy": nil,
				"CustomResourceDefinition/appprojects.argoproj.io|metadata|labels|a":                            "b",
			},
		},
		"GlobalImage": {
			values: `global: {image: {repository: mirror.example.org/argocd, tag: v9, imagePullPolicy: Always}, imagePullSecrets: [{name: pull}]}`,
			want: map[string]any{
				"Deployment/argocd-server" + pod + "|containers|0|image":                  "mirror.example.org/argocd:v9",
				"Deployment/argocd-server" + pod + "|containers|0|imagePullPolicy":        "Always",
				"Deployment/argocd-server" + pod + "|imagePullSecrets|0|name":             "pull",
				"Deployment/argocd-repo-server" + pod + "|initContainers|0|image":         "mirror.example.org/argocd:v9",
				"Deployment/argocd-dex-server" + pod + "|initContainers|0|image":          "mirror.example.org/argocd:v9",
				"StatefulSet/argocd-application-controller" + pod + "|containers|0|image": "mirror.example.org/argocd:v9",
				"Job/argocd-redis-secret-init" + pod + "|containers|0|image":              "mirror.example.org/argocd:v9",
				"Deployment/argocd-server|metadata|labels|app.kubernetes.io/version":      "v9",
				"Deployment/argocd-redis" + pod + "|containers|0|imagePullPolicy":         "Always",
			},
		},
		"OwnImages": {
			values: `{server: {image: {tag: v8}}, redis: {image: {repository: example.org/redis, tag: "7"}}}`,
			want: map[string]any{
				"Deployment/argocd-server" + pod + "|containers|0|image": "quay.io/argoproj/argocd:v8",
				"Deployment/argocd-redis" + pod + "|containers|0|image":  "example.org/redis:7",
			},
		},
		"Domain": {
			values: `global: {domain: cd.example.org}`,
			want: map[string]any{
				"ConfigMap/argocd-cm|data|url": "https://cd.example.org",
			},
		},
		"GlobalPodSettings": {
			values: `global: {podLabels: {l: x}, podAnnotations: {a: 1}, additionalLabels: {all: z}, nodeSelector: {disk: ssd}, tolerations: [{key: k}], priorityClassName: high, env: [{name: A, value: B}], securityContext: {fsGroup: 1}, affinity: {podAntiAffinity: none}}`,
			want: map[string]any{
				"Deployment/argocd-server|spec|template|metadata|labels|l":                       "x",
				"Deployment/argocd-server|spec|template|metadata|labels|all":                     "z",
				"Deployment/argocd-redis|spec|template|metadata|annotations|a":                   "1",
				"StatefulSet/argocd-application-controller|spec|template|metadata|annotations|a": "1",
				"Deployment/argocd-server" + pod + "|nodeSelector":                               map[string]any{"disk": "ssd", "kubernetes.io/os": "linux"},
				"Deployment/argocd-server" + pod + "|tolerations|0|key":                          "k",
				"Deployment/argocd-server" + pod + "|priorityClassName":                          "high",
				"Deployment/argocd-server" + pod + "|containers|0|env|A|value":                   "B",
				"Deployment/argocd-server" + pod + "|securityContext|fsGroup":                    1,
				"Deployment/argocd-server" + pod + "|affinity":                                   nil,
			},
		},
		"Affinity": {
			values: `{global: {affinity: {podAntiAffinity: hard}}, repoServer: {affinity: {nodeAffinity: {a: b}}}}`,
			want: map[string]any{
				"Deployment/argocd-server" + pod + "|affinity|podAntiAffinity|requiredDuringSchedulingIgnoredDuringExecution|0|topologyKey": "kubernetes.io/hostname",
				"Deployment/argocd-repo-server" + pod + "|affinity":                                                                         map[string]any{"nodeAffinity": map[string]any{"a": "b"}},
			},
		},
		"Logging": {
			values: `global: {logging: {format: json, level: debug}}`,
			want: map[string]any{
				"ConfigMap/argocd-cmd-params-cm|data|server.log.format":    "json",
				"ConfigMap/argocd-cmd-params-cm|data|reposerver.log.level": "debug",
			},
		},
		"ConfigMaps": {
			values: `configs: {cm: {kustomize.buildOptions: --enable-helm, admin.enabled: false, statusbadge.enabled: true, resource.exclusions: ""}, params: {server.insecure: true, controller.status.processors: 50}, rbac: {policy.default: "role:readonly", policy.csv: "g, a, b"}}`,
			want: map[string]any{
				"ConfigMap/argocd-cm|data|kustomize.buildOptions":                  "--enable-helm",
				"ConfigMap/argocd-cm|data|admin.enabled":                           "false",
				"ConfigMap/argocd-cm|data|statusbadge.url":                         "https://argocd.example.com/",
				"ConfigMap/argocd-cm|data|resource.exclusions":                     nil,
				"ConfigMap/argocd-cmd-params-cm|data|server.insecure":              "true",
				"ConfigMap/argocd-cmd-params-cm|data|controller.status.processors": "50",
				"ConfigMap/argocd-rbac-cm|data|policy.default":                     "role:readonly",
				"ConfigMap/argocd-rbac-cm|data|policy.csv":                         "g, a, b",
			},
		},
		"ConfigMapsNotCreated": {
			values: `configs: {cm: {create: false}, params: {create: false}, rbac: {create: false}, secret: {createSecret: false}}`,
			want: map[string]any{
				"ConfigMap/argocd-cm": nil, "ConfigMap/argocd-cmd-params-cm": nil, "ConfigMap/argocd-rbac-cm": nil, "Secret/argocd-secret": nil,
			},
		},
		"Secret": {
			values: `configs: {secret: {argocdServerAdminPassword: hash, argocdServerAdminPasswordMtime: "2026-01-01T00:00:00Z", githubSecret: hook, extra: {oidc.secret: s}, labels: {l: x}}}`,
			want: map[string]any{
				"Secret/argocd-secret|text": map[string]any{
					"admin.password": "hash", "admin.passwordMtime": "2026-01-01T00:00:00Z", "webhook.github.secret": "hook", "oidc.secret": "s",
				},
				"Secret/argocd-secret|metadata|labels|l": "x",
			},
		},
		"Credentials": {
			values: `
configs:
  clusterCredentials: {prod: {server: "https://prod", labels: {env: p}, project: web, config: {bearerToken: t}}}
  repositories: {app: {url: "https://git/app", type: git, insecure: "true"}}
  repositoriesAnnotations: {a: b}
  credentialTemplates: {all: {url: "https://git", username: u, password: p}}
`,
			want: map[string]any{
				"Secret/argocd-cluster-prod|text":                                             map[string]any{"name": "prod", "server": "https://prod", "project": "web", "config": `{"bearerToken":"t"}` + "\n"},
				"Secret/argocd-cluster-prod|metadata|labels|argocd.argoproj.io/secret-type":   "cluster",
				"Secret/argocd-cluster-prod|metadata|labels|env":                              "p",
				"Secret/argocd-repo-app|text":                                                 map[string]any{"url": "https://git/app", "type": "git", "insecure": "true"},
				"Secret/argocd-repo-app|metadata|labels|argocd.argoproj.io/secret-type":       "repository",
				"Secret/argocd-repo-app|metadata|annotations|a":                               "b",
				"Secret/argocd-repo-creds-all|text":                                           map[string]any{"url": "https://git", "username": "u", "password": "p"},
				"Secret/argocd-repo-creds-all|metadata|labels|argocd.argoproj.io/secret-type": "repo-creds",
			},
		},
		"Workloads": {
			values: `
server: {replicas: 2, resources: {limits: {memory: 1Gi}}, env: [{name: A, value: B}], envFrom: [{secretRef: {name: s}}], extraArgs: [--x], podLabels: {l: x}, podAnnotations: {a: 1}, deploymentAnnotations: {d: z}, nodeSelector: {disk: ssd}, volumes: [{name: v, emptyDir: {}}], volumeMounts: [{name: v, mountPath: /v}], containerSecurityContext: {runAsUser: 5, allowPrivilegeEscalation: true, readOnlyRootFilesystem: false}, extraContainers: [{name: side}], serviceAccount: {annotations: {role: r}}}
controller: {replicas: 3, statefulsetAnnotations: {d: z}}
applicationSet: {replicas: 2, extraEnv: [{name: A, value: B}], allowAnyNamespace: true}
repoServer: {replicas: 4, initContainers: [{name: first}], serviceAccount: {name: mine}}
`,
			want: map[string]any{
				"Deployment/argocd-server|spec|replicas":                                                                 2,
				"Deployment/argocd-server" + pod + "|containers|0|resources|limits|memory":                               "1Gi",
				"Deployment/argocd-server" + pod + "|containers|0|env|A|value":                                           "B",
				"Deployment/argocd-server" + pod + "|containers|0|envFrom|0|secretRef|name":                              "s",
				"Deployment/argocd-server" + pod + "|containers|0|args|-1":                                               "--x",
				"Deployment/argocd-server" + pod + "|containers|0|volumeMounts|v|mountPath":                              "/v",
				"Deployment/argocd-server" + pod + "|containers|0|securityContext|runAsUser":                             5,
				"Deployment/argocd-server" + pod + "|containers|0|securityContext|readOnlyRootFilesystem":                false,
				"Deployment/argocd-server" + pod + "|containers|-1|name":                                                 "side",
				"Deployment/argocd-server" + pod + "|volumes|v|emptyDir":                                                 map[string]any{},
				"Deployment/argocd-server" + pod + "|nodeSelector":                                                       map[string]any{"disk": "ssd"},
				"Deployment/argocd-server|spec|template|metadata|labels|l":                                               "x",
				"Deployment/argocd-server|spec|template|metadata|annotations|a":                                          "1",
				"Deployment/argocd-server|metadata|annotations|d":                                                        "z",
				"ServiceAccount/argocd-server|metadata|annotations|role":                                                 "r",
				"StatefulSet/argocd-application-controller|spec|replicas":                                                3,
				"StatefulSet/argocd-application-controller|metadata|annotations|d":                                       "z",
				"StatefulSet/argocd-application-controller" + pod + "|containers|0|env|ARGOCD_CONTROLLER_REPLICAS|value": "3",
				"Deployment/argocd-applicationset-controller|spec|replicas":                                              2,
				"Deployment/argocd-applicationset-controller" + pod + "|containers|0|env|A|value":                        "B",
				"ConfigMap/argocd-cmd-params-cm|data|applicationsetcontroller.enable.leader.election":                    "true",
				"ClusterRole/argocd-applicationset-controller|metadata|name":                                             "argocd-applicationset-controller",
				"Deployment/argocd-repo-server|spec|replicas":                                                            4,
				"Deployment/argocd-repo-server" + pod + "|initContainers|first|name":                                     "first",
				"Deployment/argocd-repo-server" + pod + "|initContainers|copyutil|name":                                  "copyutil",
				"Deployment/argocd-repo-server" + pod + "|serviceAccountName":                                            "mine",
			},
		},
		"ReadinessProbes": {
			values: `{controller: {readinessProbe: {initialDelaySeconds: 1}}, server: {readinessProbe: {periodSeconds: 3, failureThreshold: 9}}, repoServer: {readinessProbe: {enabled: false}}}`,
			want: map[string]any{
				"StatefulSet/argocd-application-controller" + pod + "|containers|0|readinessProbe|initialDelaySeconds": 1,
				"StatefulSet/argocd-application-controller" + pod + "|containers|0|readinessProbe|periodSeconds":       10,
				"Deployment/argocd-server" + pod + "|containers|0|readinessProbe|initialDelaySeconds":                  10,
				"Deployment/argocd-server" + pod + "|containers|0|readinessProbe|periodSeconds":                        3,
				"Deployment/argocd-server" + pod + "|containers|0|readinessProbe|failureThreshold":                     9,
				"Deployment/argocd-server" + pod + "|containers|0|readinessProbe|httpGet|path":                         "/healthz",
				"Deployment/argocd-repo-server" + pod + "|containers|0|readinessProbe":                                 nil,
			},
		},
		"WorkloadsOff": {
			values: `{dex: {enabled: false}, notifications: {enabled: false}, applicationSet: {replicas: 0}, redisSecretInit: {enabled: false}}`,
			want: map[string]any{
				"Deployment/argocd-dex-server":                              nil,
				"Service/argocd-dex-server":                                 nil,
				"ServiceAccount/argocd-dex-server":                          nil,
				"ConfigMap/argocd-cmd-params-cm|data|server.dex.server":     nil,
				"Deployment/argocd-notifications-controller":                nil,
				"ConfigMap/argocd-notifications-cm":                         nil,
				"Secret/argocd-notifications-secret":                        nil,
				"Deployment/argocd-applicationset-controller|spec|replicas": 0,
				"Job/argocd-redis-secret-init":                              nil,
			},
		},
		"ServerService": {
			values: `server: {service: {type: NodePort, annotations: {a: b}, labels: {l: x}, nodePortHttps: 31443, servicePortHttp: 8080}}`,
			want: map[string]any{
				"Service/argocd-server|spec|type":                  "NodePort",
				"Service/argocd-server|spec|ports|https|nodePort":  31443,
				"Service/argocd-server|spec|ports|http|port":       8080,
				"Service/argocd-server|spec|externalTrafficPolicy": "Cluster",
				"Service/argocd-server|metadata|annotations|a":     "b",
				"Service/argocd-server|metadata|labels|l":          "x",
			},
		},
		"LoadBalancer": {
			values: `server: {service: {type: LoadBalancer, loadBalancerClass: c, loadBalancerSourceRanges: [10.0.0.0/8]}}`,
			want: map[string]any{
				"Service/argocd-server|spec|loadBalancerClass":        "c",
				"Service/argocd-server|spec|loadBalancerSourceRanges": []any{"10.0.0.0/8"},
				"Service/argocd-server|spec|ports|https|nodePort":     nil,
			},
		},
		"Ingress": {
			values: `{global: {domain: cd.example.org}, configs: {params: {server.insecure: true}}, server: {ingress: {enabled: true, ingressClassName: nginx, annotations: {a: b}, labels: {l: x}, tls: true, extraHosts: [{name: two.example.org, path: /x}], extraTls: [{secretName: more}]}}}`,
			want: map[string]any{
				"Ingress/argocd-server|spec|ingressClassName":                                 "nginx",
				"Ingress/argocd-server|metadata|annotations|a":                                "b",
				"Ingress/argocd-server|metadata|labels|l":                                     "x",
				"Ingress/argocd-server|spec|rules|0|host":                                     "cd.example.org",
				"Ingress/argocd-server|spec|rules|0|http|paths|0|path":                        "/",
				"Ingress/argocd-server|spec|rules|0|http|paths|0|pathType":                    "Prefix",
				"Ingress/argocd-server|spec|rules|0|http|paths|0|backend|service|name":        "argocd-server",
				"Ingress/argocd-server|spec|rules|0|http|paths|0|backend|service|port|number": 80,
				"Ingress/argocd-server|spec|rules|1|host":                                     "two.example.org",
				"Ingress/argocd-server|spec|rules|1|http|paths|0|path":                        "/x",
				"Ingress/argocd-server|spec|tls|0":                                            map[string]any{"hosts": []any{"cd.example.org", "two.example.org"}, "secretName": "argocd-server-tls"},
				"Ingress/argocd-server|spec|tls|1|secretName":                                 "more",
			},
		},
		"CertificateSecret": {
			values: `server: {certificateSecret: {enabled: true, crt: c, key: k, labels: {l: x}, annotations: {a: b}}}`,
			want: map[string]any{
				"Secret/argocd-server-tls|type":                   "kubernetes.io/tls",
				"Secret/argocd-server-tls|text":                   map[string]any{"tls.crt": "c", "tls.key": "k"},
				"Secret/argocd-server-tls|metadata|labels|l":      "x",
				"Secret/argocd-server-tls|metadata|annotations|a": "b",
			},
		},
		"IngressHostname": {
			values: `server: {ingress: {enabled: true, hostname: "{{ .Release.Name }}.example.org"}}`,
			want: map[string]any{
				"Ingress/argocd-server|spec|rules|0|host":                                     "argocd.example.org",
				"Ingress/argocd-server|spec|rules|0|http|paths|0|backend|service|port|number": 443,
			},
		},
		"Roles": {
			values: `{createAggregateRoles: true, createClusterRoles: false}`,
			want: map[string]any{
				"ClusterRole/argocd-aggregate-to-view|rules|0|verbs":  []any{"get", "list", "watch"},
				"ClusterRole/argocd-aggregate-to-admin|rules|0|verbs": []any{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
				"ClusterRole/argocd-server":                           nil,
				"ClusterRoleBinding/argocd-application-controller":    nil,
			},
		},
		"ClusterRoleRules": {
			values: `controller: {clusterRoleRules: {enabled: true, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}}`,
			want: map[string]any{
				"ClusterRole/argocd-application-controller|rules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}},
			},
		},
		"Notifications": {
			values: `notifications: {notifiers: {service.slack: "token: $t"}, templates: {template.a: "message: x"}, triggers: {trigger.a: "- send: [a]"}, subscriptions: [{recipients: [x]}], secret: {items: {t: v}}}`,
			want: map[string]any{
				"ConfigMap/argocd-notifications-cm|data|service.slack": "token: $t",
				"ConfigMap/argocd-notifications-cm|data|template.a":    "message: x",
				"ConfigMap/argocd-notifications-cm|data|trigger.a":     "- send: [a]",
				"Secret/argocd-notifications-secret|text":              map[string]any{"t": "v"},
			},
		},
		"ExtraObjects": {
			values: `extraObjects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-extra"}}, "{apiVersion: v1, kind: ConfigMap, metadata: {name: text}}"]`,
			want: map[string]any{
				"ConfigMap/argocd-extra|kind": "ConfigMap",
				"ConfigMap/text|kind":         "ConfigMap",
			},
		},
	}
	for of, ch := range subjects(t) {
		for name, tc := range cases {
			t.Run(of+"/"+name, func(t *testing.T) {
				release := tc.release
				if release == "" {
					release = "argocd"
				}
				got, err := render(ch, release, tc.values)
				if err != nil {
					t.Fatal(err)
				}
				for path, want := range tc.want {
					object, field, _ := strings.Cut(path, "|")
					var value any
					if o, ok := got[object]; ok {
						value = any(o)
						if field != "" {
							value = at(o, field)
						}
					}
					if diff := cmp.Diff(plain(t, want), plain(t, value)); diff != "" {
						t.Errorf("%s: -want, +got:\n%s", path, diff)
					}
				}
			})
		}
	}
}

// TestExecAddsARule: rules come in no particular order, so they are searched.
func TestExecAddsARule(t *testing.T) {
	for of, ch := range subjects(t) {
		for enabled, want := range map[string]bool{"true": true, "false": false} {
			got, err := render(ch, "argocd", "configs: {cm: {exec.enabled: "+enabled+"}}")
			if err != nil {
				t.Fatal(err)
			}
			rules, _ := got["ClusterRole/argocd-server"]["rules"].([]any)
			has := slices.ContainsFunc(rules, func(r any) bool {
				return cmp.Equal(r.(map[string]any)["resources"], []any{"pods/exec"})
			})
			if has != want {
				t.Errorf("%s: exec.enabled %s: argocd-server may exec into pods: want %t, got %t", of, enabled, want, has)
			}
		}
	}
}

// TestSettingsRollPods: a workload that reads a ConfigMap at start gets new
// pods when that ConfigMap changes, and only then.
func TestSettingsRollPods(t *testing.T) {
	const template = "spec|template|metadata|annotations"
	for of, ch := range subjects(t) {
		before, err := render(ch, "argocd", "")
		if err != nil {
			t.Fatal(err)
		}
		for values, rolled := range map[string]bool{
			"configs: {params: {server.insecure: true}}":     true,
			"configs: {cm: {users.anonymous.enabled: true}}": true,
			"configs: {rbac: {policy.default: a}}":           false,
		} {
			after, err := render(ch, "argocd", values)
			if err != nil {
				t.Fatal(err)
			}
			same := cmp.Equal(at(before["Deployment/argocd-server"], template), at(after["Deployment/argocd-server"], template))
			if same == rolled {
				t.Errorf("%s: %s: new pods of argocd-server: want %t, got %t", of, values, rolled, !same)
			}
		}
	}
}

// TestSameObjects: a plain installation has the same objects in both charts,
// but for what the test chart's README says is missing.
func TestSameObjects(t *testing.T) {
	all := subjects(t)
	if all["real"] == nil {
		t.Skip("ARGOCD_CHART is not set: there is no real chart to compare with")
	}
	if want, got := all["test"].Metadata.Version, all["real"].Metadata.Version; want != got {
		t.Skipf("ARGOCD_CHART has version %s: only %s has to have the same objects", got, want)
	}
	missing := []string{
		"ClusterRole/argocd-notifications-controller", "ClusterRoleBinding/argocd-notifications-controller",
		"ConfigMap/argocd-redis-health-configmap",
		"Role/argocd-repo-server", "RoleBinding/argocd-repo-server",
	}
	names := map[string][]string{}
	for of, ch := range all {
		got, err := render(ch, "argocd", "crds: {install: true}")
		if err != nil {
			t.Fatal(err)
		}
		for name := range got {
			if !slices.Contains(missing, name) {
				names[of] = append(names[of], name)
			}
		}
		slices.Sort(names[of])
	}
	if diff := cmp.Diff(names["real"], names["test"]); diff != "" {
		t.Errorf("objects: -real chart, +test chart:\n%s", diff)
	}
}

func TestUnknownValuesAreRefused(t *testing.T) {
	ch := argoCD(t)
	for values, path := range map[string]string{
		"server: {autoscaling: {enabled: true}}":   "server.autoscaling",
		"redis-ha: {enabled: true}":                "redis-ha",
		"externalRedis: {host: redis.example.org}": "externalRedis",
		"global: {networkPolicy: {create: true}}":  "global.networkPolicy",
		"apiVersionOverrides: {a: b}":              "apiVersionOverrides",
		"configs: {cmp: {create: true}}":           "configs.cmp",
	} {
		_, err := render(ch, "argocd", values)
		if err == nil || !strings.Contains(err.Error(), "value "+path+" has no effect") {
			t.Errorf("%s: want an error that names %s, got %v", values, path, err)
		}
	}
}

// subjects are the test chart and, with ARGOCD_CHART, a real one.
func subjects(t *testing.T) map[string]*chart.Chart {
	t.Helper()
	all := map[string]*chart.Chart{"test": argoCD(t)}
	if path := os.Getenv("ARGOCD_CHART"); path != "" {
		ch, err := charts.RealArgoCD(path)
		if err != nil {
			t.Fatal(err)
		}
		all["real"] = ch
	}
	return all
}

// plain makes numbers of different Go types comparable.
func plain(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
