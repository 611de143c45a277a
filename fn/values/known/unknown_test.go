package known

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestUnknown: what a chart doesn't have is named, with what is probably meant.
func TestUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		chart, version, values string
		// want are the messages, as "path: message".
		want []string
	}{
		"Misspelt":        {argoCD, "10.1.1", `global: {domian: a.example.org}`, []string{"global.domian: the argo-cd chart has no such value: did you mean global.domain?"}},
		"MisspeltAtTop":   {argoCD, "10.1.1", `controler: {replicas: 2}`, []string{"controler: the argo-cd chart has no such value: did you mean controller?"}},
		"Case":            {argoCD, "10.1.1", `reposerver: {replicas: 2}`, []string{"reposerver: the argo-cd chart has no such value: did you mean repoServer?"}},
		"Several":         {argoCD, "10.1.1", `{server: {replica: 2, ingres: {enabled: true}}, appset: {replicas: 2}}`, []string{"appset: the argo-cd chart has no such value", "server.ingres: the argo-cd chart has no such value: did you mean server.ingress?", "server.replica: the argo-cd chart has no such value: did you mean server.replicas?"}},
		"Deep":            {argoCD, "10.1.1", `server: {ingress: {annotation: {a: b}}}`, []string{"server.ingress.annotation: the argo-cd chart has no such value: did you mean server.ingress.annotations?"}},
		"OneLevelHigher":  {argoCD, "10.1.1", `domain: a.example.org`, []string{"domain: the argo-cd chart has no such value: did you mean global.domain?"}},
		"OtherName":       {argoCD, "10.1.1", `server: {extraEnvs: [{name: a}], replicaCount: 2}`, []string{"server.extraEnvs: the argo-cd chart has no such value: did you mean server.env?", "server.replicaCount: the argo-cd chart has no such value: did you mean server.replicas?"}},
		"Umbrella":        {argoCD, "10.1.1", `argo-cd: {server: {replicas: 2}, configs: {cm: {a: b}}}`, []string{"argo-cd: the argo-cd chart has no such value: write what is below argo-cd here, without argo-cd"}},
		"UmbrellaGlobal":  {argoCD, "10.1.1", `argo-cd: {global: {domain: x.example.org}}`, []string{"argo-cd: the argo-cd chart has no such value: write what is below argo-cd here, without argo-cd"}},
		"UmbrellaOfOther": {argoCD, "10.1.1", `other: {global: {storageClass: fast}}`, []string{"other: the argo-cd chart has no such value"}},
		"UmbrellaDeep":    {argoCD, "10.1.1", `helm: {values: {server: {replicas: 2}}}`, []string{"helm: the argo-cd chart has no such value: write what is below helm.values here, without helm.values"}},
		"Moved": {argoCD, "10.1.1", `{server: {config: {url: "https://a"}, rbacConfig: {policy.default: "role:readonly"}}, installCRDs: true}`, []string{
			"installCRDs: the argo-cd chart has no such value: write crds.install", "server.config: the argo-cd chart has no such value: write configs.cm", "server.rbacConfig: the argo-cd chart has no such value: write configs.rbac"}},
		"KeyWithDots": {argoCD, "10.1.1", `global.domain: a.example.org`, []string{"global.domain: the argo-cd chart has no such value: a key with dots is one key; write global: {domain: ...}"}},
		"NotYet":      {argoCD, "9.3.7", `server: {vpa: {enabled: true}}`, []string{"server.vpa: the argo-cd chart has no such value yet in version 9.3"}},
		"NotRecorded": {argoCD, "11.4.0", `server: {nothingLikeIt: 1}`, []string{"server.nothingLikeIt: the argo-cd chart has no such value in version 10.1, the nearest one that is known here"}},
		"Old":         {argoCD, "5.5.0", `server: {nothingLikeIt: 1}`, []string{"server.nothingLikeIt: the argo-cd chart has no such value in version 7.0, the nearest one that is known here"}},
		"Virtual":     {vCluster, "0.36.1", `{controlPlane: {statefulset: {resources: {}, replicas: 2}}, syncer: {extraArgs: [a]}}`, []string{"controlPlane.statefulset: the vcluster chart has no such value: did you mean controlPlane.statefulSet?", "syncer: the vcluster chart has no such value: write controlPlane.statefulSet"}},
		"Empty":       {argoCD, "10.1.1", `{nothing: {}, none: null, text: "", list: []}`, nil},
		"Free": {argoCD, "10.1.1", `{configs: {cm: {a.b: c}, params: {x: y}, rbac: {policy.own.csv: g}, repositories: {x: {url: y}}, clusterCredentials: {x: {}}, secret: {extra: {a: b}}, cmp: {plugins: {a: {}}}},
  server: {affinity: {nodeAffinity: {}}, resources: {limits: {cpu: 1}}, env: [{name: a}], podAnnotations: {a: b}, containerSecurityContext: {seccompProfile: {type: Unconfined}, more: 1}, ingress: {annotations: {a: b}}, extraArgs: [a]},
  notifications: {notifiers: {a: b}, templates: {a: b}, triggers: {a: b}, context: {a: b}}, global: {nodeSelector: {a: b}, affinity: {podAntiAffinity: hard}}, redis-ha: {enabled: true, redis: {config: {a: b}}},
  extraObjects: [{a: b}], applicationSet: {replicaCount: 2}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var v map[string]any
			if err := yaml.Unmarshal([]byte(tc.values), &v); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, u := range Named(tc.chart).At(tc.version).Unknown(v) {
				got = append(got, strings.Join(u.Path, ".")+": "+u.Message)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("want\n%s\ngot\n%s", strings.Join(tc.want, "\n"), strings.Join(got, "\n"))
			}
		})
	}
}
