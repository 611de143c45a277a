package values_test

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestShapesOfValues: values that the chart, Argo CD or Kubernetes takes for something else than what is meant, and their right forms.
func TestShapesOfValues(t *testing.T) {
	valued := func(v string) string { return `{"argocd":{"values":` + v + `}}` }
	configs := func(v string) string { return valued(`{"configs":` + v + `}`) }
	const at = "spec.argocd.values."
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"SettingNested":      {Spec: configs(`{"cm":{"accounts":{"alice":"login"}}}`), Want: []string{at + `configs.cm.accounts: is an object, and Argo CD takes text there: a key with dots is one key, such as "accounts.alice"`}},
		"SettingAsObject":    {Spec: configs(`{"cm":{"oidc.config":{"name":"Okta"}}}`), Want: []string{at + "configs.cm.oidc.config: is an object", "YAML after |"}},
		"SettingAsList":      {Spec: configs(`{"cm":{"resource.exclusions":[{"kinds":["A"]}]}}`), Want: []string{at + "configs.cm.resource.exclusions: is a list", "YAML after |"}},
		"SettingsRight":      {Spec: configs(`{"cm":{"accounts.alice":"login","exec.enabled":true,"timeout.reconciliation":"180s","admin.enabled":"false","annotations":{"a":"b"},"create":true}}`), Want: nil},
		"ParameterNested":    {Spec: configs(`{"params":{"server":{"insecure":true}}}`), Want: []string{at + "configs.params.server: is an object", `"server.insecure"`}},
		"ParameterAsList":    {Spec: configs(`{"params":{"application.namespaces":["a","b"]}}`), Want: []string{at + "configs.params.application.namespaces: is a list", "commas"}},
		"ParametersRight":    {Spec: configs(`{"params":{"application.namespaces":"a,b","server.enable.gzip":false,"controller.status.processors":20}}`), Want: nil},
		"PolicyNested":       {Spec: configs(`{"rbac":{"policy":{"default":"role:readonly"}}}`), Want: []string{at + "configs.rbac.policy: is an object", `"policy.default"`}},
		"PolicyAsList":       {Spec: configs(`{"rbac":{"policy.csv":["p, a"],"scopes":["groups"]}}`), Want: []string{at + "configs.rbac.policy.csv: is a list", at + "configs.rbac.scopes: is a list"}},
		"PoliciesRight":      {Spec: configs(`{"rbac":{"policy.csv":"g, a, role:admin","scopes":"[groups]","create":true}}`), Want: nil},
		"RepositoriesAsList": {Spec: configs(`{"repositories":[{"url":"https://a.b/c"}]}`), Want: []string{at + "configs.repositories: is no object"}},
		"RepositoryNotText":  {Spec: configs(`{"repositories":{"a":{"url":"https://a.b/c","insecure":true,"githubAppID":1}}}`), Want: []string{at + "configs.repositories.a.githubAppID: 1 is not text: write it in quotes", "configs.repositories.a.insecure: true is not text"}},
		"ClusterAsText":      {Spec: configs(`{"clusterCredentials":{"a":{"server":"https://a.b","config":"{}"}}}`), Want: []string{at + "configs.clusterCredentials.a.config: is no object"}},
		"ClustersAsList":     {Spec: configs(`{"clusterCredentials":[{"name":"a"}]}`), Want: []string{at + "configs.clusterCredentials: is no object"}},
		"ClusterRight":       {Spec: configs(`{"clusterCredentials":{"a":{"server":"https://a.b","labels":{"a":"b"},"config":{"tlsClientConfig":{"insecure":false}}}},"repositories":{"a":{"url":"https://a.b/c","insecure":"true"}}}`), Want: nil},
		"HostsAsList":        {Spec: configs(`{"ssh":{"extraHosts":["a ssh-ed25519 b"]}}`), Want: []string{at + "configs.ssh.extraHosts: is a list"}},
		"NotifierAsObject":   {Spec: valued(`{"notifications":{"notifiers":{"service.slack":{"token":"$t"}}}}`), Want: []string{at + "notifications.notifiers.service.slack: is an object"}},
		"AnnotationNested":   {Spec: valued(`{"server":{"service":{"annotations":{"example":{"org/a":"b"}}}}}`), Want: []string{at + "server.service.annotations.example: is an object"}},
		"OffAsText":          {Spec: valued(`{"notifications":{"enabled":"false"},"crds":{"install":"No"}}`), Want: []string{at + `crds.install: "No" is text, which the chart takes for true: write false, without quotes`, at + `notifications.enabled: "false"`}},
		"OffAndOnRight":      {Spec: valued(`{"notifications":{"enabled":false},"crds":{"install":"true"}}`), Want: nil},
		"SwitchAsPart":       {Spec: valued(`{"dex":false,"controller":{"metrics":true}}`), Want: []string{at + "controller.metrics: true is no object, as the chart has there: write metrics: {enabled: true}, or false", "; (2) " + at + "dex: false is no object"}},
		"PartAsList":         {Spec: valued(`{"server":{"service":["a"]}}`), Want: []string{at + "server.service: a list is no object"}},
		"ObjectAsNumber":     {Spec: valued(`{"controller":{"replicas":{"min":1},"terminationGracePeriodSeconds":[1]}}`), Want: []string{at + "controller.terminationGracePeriodSeconds: a list is not possible: write one value, such as 30"}},
		"EnvironmentAsMap":   {Spec: valued(`{"repoServer":{"env":{"HTTPS_PROXY":"http://a"}}}`), Want: []string{at + "repoServer.env: an object is not a list"}},
		"EnvironmentNumber":  {Spec: valued(`{"global":{"env":[{"name":"A","value":"a"},{"name":"B","value":5}]}}`), Want: []string{at + "global.env[1].value: 5 is not text"}},
		"EnvironmentUnknown": {Spec: valued(`{"server":{"env":[{"name":"A","valuefrom":{"secretKeyRef":{"name":"a","key":"b"}}}]}}`), Want: []string{at + "server.env[0].valuefrom: there is no such field"}},
		"EnvironmentRight":   {Spec: valued(`{"server":{"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"a","key":"b"}}}]}}`), Want: nil},
		"ArgumentsAsText":    {Spec: valued(`{"repoServer":{"extraArgs":"--loglevel debug"}}`), Want: []string{at + `repoServer.extraArgs: "--loglevel debug" is not a list`}},
		"ArgumentsAsMap":     {Spec: valued(`{"server":{"extraArgs":{"insecure":true}}}`), Want: []string{at + "server.extraArgs: an object is not a list"}},
		"ArgumentsOfCopying": {Spec: valued(`{"repoServer":{"copyutil":{"extraArgs":"--update=none"}}}`), Want: nil},
		"ResourcesFlat":      {Spec: valued(`{"controller":{"resources":{"cpu":"1","memory":"1Gi"}}}`), Want: []string{at + "controller.resources.cpu: there is no such field", at + "controller.resources.memory: there is no such field"}},
		"ResourcesAmount":    {Spec: valued(`{"controller":{"resources":{"limits":{"memory":"1 Gi"}}}}`), Want: []string{at + `controller.resources.limits.memory: "1 Gi" is not an amount`}},
		"ResourcesRight":     {Spec: valued(`{"controller":{"resources":{"limits":{"memory":"1Gi","cpu":2},"requests":{"cpu":"100m"}}}}`), Want: nil},
		"AffinityMisspelt":   {Spec: valued(`{"server":{"affinity":{"nodeAfinity":{}}}}`), Want: []string{at + "server.affinity.nodeAfinity: there is no such field"}},
		"AffinityOfAll":      {Spec: valued(`{"global":{"affinity":{"podAntiAffinity":"hard","nodeAffinity":{"type":"soft"}}}}`), Want: nil},
		"VolumeMisspelt":     {Spec: valued(`{"repoServer":{"volumes":[{"name":"a","configmap":{"name":"b"}}]}}`), Want: []string{at + "repoServer.volumes[0].configmap: there is no such field"}},
		"ContainersAsMap":    {Spec: valued(`{"repoServer":{"initContainers":{"name":"a"}}}`), Want: []string{at + "repoServer.initContainers: an object is not a list"}},
		"ContainersRight":    {Spec: valued(`{"repoServer":{"initContainers":[{"name":"a","image":"b","command":["c"],"volumeMounts":[{"name":"d","mountPath":"/d"}]}],"volumes":[{"name":"d","emptyDir":{}}]}}`), Want: nil},
		"SelectorAsList":     {Spec: valued(`{"global":{"nodeSelector":["a=b"]}}`), Want: []string{at + "global.nodeSelector"}},
		"RedisHA":            {Spec: valued(`{"redis-ha":{"enabled":true,"redis":{"resources":{}},"topologySpreadConstraints":{"enabled":true}}}`), Want: nil},
	})
	crossplanetest.CheckStaysAccepted(t, configs(`{"params":{"server":{"insecure":true}}}`), configs(`{"params":{"server":{"insecure":false}}}`))
}
