package function_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// number begins each further mistake of a message.
var number = regexp.MustCompile(`; \([0-9]+\) `)

// checkMistakes checks how the mistakes of a message begin, all of them.
func checkMistakes(t *testing.T, message string, want ...string) {
	t.Helper()
	got := number.Split(message, -1)
	for i, begin := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], begin) {
			t.Errorf("mistake %d should begin with %q:\n%s", i+1, begin, strings.Join(got, "\n"))
			return
		}
	}
	if len(got) > len(want) {
		t.Errorf("want %d mistakes, got:\n%s", len(want), strings.Join(got, "\n"))
	}
}

// TestAllMistakesAtOnce: whoever writes a claim or an input reads all that is wrong with it the first time, in the order of the fields.
func TestAllMistakesAtOnce(t *testing.T) {
	const input = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input",`
	for name, tc := range map[string]struct {
		spec, input string
		want        []string
	}{
		"Bootstrap": {spec: `{"bootstrap":{"project":"A","source":{"repoURL":"x","path":"../a","ref":"r","directory":{"recurse":true},"kustomize":{},"helm":{"values":"a: 1","valuesObject":{"a":1},"valueFiles":["$x/a.yaml","$y/a.yaml"]}},
			"syncPolicy":{"syncOptions":["a","b"],"managedNamespaceMetadata":{"labels":{"a":"b"}},"retry":{"backoff":{"duration":"x","maxDuration":"y"}}}}}`,
			want: []string{"spec.bootstrap.source: has directory, helm, kustomize", "spec.bootstrap.source.repoURL: ", "spec.bootstrap.source.path: ", "spec.bootstrap.source.ref: ",
				"spec.bootstrap.source.helm.valueFiles[0]: ", "spec.bootstrap.source.helm.valueFiles[1]: ", "spec.bootstrap.source.helm.values: ", "spec.bootstrap.project: ",
				"spec.bootstrap.syncPolicy.syncOptions: \"a\"", "spec.bootstrap.syncPolicy.syncOptions: \"b\"",
				"spec.bootstrap.syncPolicy.retry.backoff.duration: ", "spec.bootstrap.syncPolicy.retry.backoff.maxDuration: ", "spec.bootstrap.syncPolicy.managedNamespaceMetadata: "}},
		"Sources": {spec: `{"bootstrap":{"repoURL":"https://git.example.org/a","sources":[{"repoURL":"x","ref":"a b"},{"repoURL":"https://git.example.org/a","ref":"r","chart":"c"},{"repoURL":"https://git.example.org/b","ref":"r","path":"/"}]}}`,
			want: []string{"spec.bootstrap: has repoURL and sources", "spec.bootstrap.sources[0].repoURL: ", "spec.bootstrap.sources[0].ref: ", "spec.bootstrap.sources[1].targetRevision: ", "spec.bootstrap.sources[1].ref: ",
				"spec.bootstrap.sources[2].path: ", "spec.bootstrap.sources[2].ref: "}},
		"Cluster": {spec: `{"clusters":[{"name":" a","server":"x","secretRef":{"name":"S"},"project":"P","namespaces":["A","B"],"labels":{"helm.sh/a":"b","a":"b c"},"annotations":{"helm.sh/a":"b","a b":"c"}},{"name":" a","server":"https://a.example.org"}]}`,
			want: []string{"spec.clusters[0].name: ", "spec.clusters[0].labels: ", "spec.clusters[0].labels: ", "spec.clusters[0].annotations: ", "spec.clusters[0].annotations: ", `spec.clusters[0].namespaces: "A"`, `spec.clusters[0].namespaces: "B"`,
				"spec.clusters[0].project: ", "spec.clusters[0].server: ", "spec.clusters[0].secretRef.name: ", "spec.clusters[1].name: ", "spec.clusters[1].name: ", "spec.clusters[1].secretRef.name: "}},
		"Repository": {spec: `{"repositories":[{"name":"A","url":"x","project":"P","secretRef":{"name":"S"}},{"name":"a","url":"https://git.example.org/a","type":"svn","project":"P"}],"credentialTemplates":[{"name":"B","url":"https://*.example.org","secretRef":{"name":"S"}}]}`,
			want: []string{"spec.repositories[0].name: ", "spec.repositories[0].url: ", "spec.repositories[0].project: ", "spec.repositories[0].secretRef.name: ", "spec.repositories[1].type: ", "spec.repositories[1].project: ",
				"spec.credentialTemplates[0].name: ", "spec.credentialTemplates[0].url: ", "spec.credentialTemplates[0].secretRef.name: "}},
		"Ingress": {spec: `{"argocd":{"values":{"server":{"ingress":{"enabled":true}},"configs":{"params":{"server.insecure":"false"}}}},"ingress":{"host":"A","className":"N N","tls":{"secretName":"S","issuer":{"name":"I","kind":"K"}},
			"annotations":{"certmanager.k8s.io/issuer":"a","cert-manager.io/issuer":"b","nginx.ingress.kubernetes.io/rewrite-target":"/"}}}`,
			want: []string{"spec.argocd.values.configs.params.server.insecure", "spec.argocd.values.server.ingress", "spec.ingress.host: ", "spec.ingress.className: ", "spec.ingress.annotations[cert-manager.io/issuer]: ", "spec.ingress.annotations[cert-manager.io/issuer]: ",
				"spec.ingress.annotations[certmanager.k8s.io/issuer]: ", "spec.ingress.annotations[nginx.ingress.kubernetes.io/rewrite-target]: ", "spec.ingress.tls: ", "spec.ingress.tls.secretRef.name: ", "spec.ingress.tls.issuer.name: ", "spec.ingress.tls.issuer.kind: "}},
		"Fields": {spec: `{"notifications":{"secretRef":{"name":"S"},"services":[{"type":"slak"},{"type":"slack","config":{"tokn":"a","token":"b"}}],"templates":[{"name":"a b","message":"{{"}],"triggers":[{"name":"t","conditions":[{"when":"(","send":["x"]}]}],
			"defaultTriggers":["u"],"subscriptions":[{"recipients":["x"],"triggers":["u"],"selector":"a b"}],"context":{"argocdUrl":"x"}},
			"webhooks":[{"provider":"gitea","secretRef":{"name":"a"}},{"provider":"github","secretKey":"a b","secretRef":{"name":"S"}}],"imagePullSecrets":[{"name":"S"}],"trustedCertificates":[{"server":"a:b","certificates":"x"}]}`,
			want: []string{"spec.notifications.secretRef.name: ", "spec.notifications.services[0].type: ", "spec.notifications.services[1].config.token has a secret", "spec.notifications.services[1].config.tokn: ",
				"spec.notifications.templates[0].name: ", "spec.notifications.templates[0].message: ", "spec.notifications.triggers[0].conditions[0].when: ", "spec.notifications.triggers[0].conditions[0].send[0]: ",
				"spec.notifications.defaultTriggers[0]: ", "spec.notifications.subscriptions[0].recipients[0]: ", "spec.notifications.subscriptions[0].triggers[0]: ", "spec.notifications.subscriptions[0].selector: ", "spec.notifications.context.argocdUrl: ",
				"spec.webhooks[0].provider: ", "spec.webhooks[1].secretRef.name: ", "spec.webhooks[1].secretKey: ", "spec.imagePullSecrets[0].name: ", "spec.trustedCertificates[0].server: ", "spec.trustedCertificates[0].certificates: "}},
		"NoHostname": {spec: `{"argocd":{"values":{"server":{"ingress":{"enabled":true}}}},"ingress":{"className":"N N"}}`,
			want: []string{"spec.argocd.values.server.ingress", "spec.ingress.host: is missing", "spec.ingress.className: "}},
		"RootPath": {spec: `{"argocd":{"values":{"configs":{"params":{"server.rootpath":"a b"}},"server":{"extraArgs":["--rootpath=/a"]}}}}`,
			want: []string{`spec.argocd.values.configs.params.server.rootpath: `, "spec.argocd.values.server.extraArgs[0]: "}},
		"SignOn": {spec: `{"argocd":{"values":{"configs":{"rbac":{"create":false},"secret":{"createSecret":false}}}},"sso":{"oidc":{"issuer":"x","clientID":"a","clientSecretRef":{"name":"a"},"adminGroups":["*"]},"dex":{"connectors":[{"type":"azuread","id":"a","name":"A"}]}}}`,
			want: []string{"spec.argocd.values.configs.rbac.create is set by spec.sso.oidc", "spec.argocd.values.configs.rbac.create is set by spec.sso.dex", "spec.argocd.values.configs.secret.createSecret", "spec.sso.oidc.issuer: ", "spec.sso.oidc.adminGroups: ", "spec.sso.dex: ", "spec.sso.dex.connectors[0].type: "}},
		"Accounts": {spec: `{"argocd":{"accounts":[{"name":"a","capabilities":["x","y","login"],"role":"r!","tokens":[{"name":"A","expiresIn":"1s"},{"name":"b"},{"name":"b","expiresIn":"x"}]}]}}`,
			want: []string{"spec.argocd.accounts[0].capabilities: ", "spec.argocd.accounts[0].capabilities[0]: ", "spec.argocd.accounts[0].capabilities[1]: ", "spec.argocd.accounts[0].role: ",
				"spec.argocd.accounts[0].tokens[0].name: ", "spec.argocd.accounts[0].tokens[0].expiresIn: ", "spec.argocd.accounts[0].tokens[2].name: ", "spec.argocd.accounts[0].tokens[2].expiresIn: "}},
		"Maintenance": {spec: `{"maintenance":{"days":["Sunday"],"timeWindow":{"begin":"22:00","end":"3:00","timeZone":"Europe/Berlim"},"freeze":{"until":"soon"}}}`,
			want: []string{"spec.maintenance.timeWindow.begin: ", "spec.maintenance.timeWindow.end: ", "spec.maintenance.timeWindow.timeZone: ", "spec.maintenance.days[0]: ", "spec.maintenance.freeze.until: "}},
		"TooLongLists": {spec: `{"maintenance":{"days":["Mon","Mon","Mon","Mon","Mon","Mon","Mon","Mon"]},"kubernetes":{"version":"v1.99.0"},"argocd":{"values":{"extraObjects":["a",{"a":"b"},"c"]}},"ingress":{"additionalHosts":["a.x","b.x","c.x","d.x","e.x"],"className":"N N"},"sso":{"oidc":{"issuer":"x","clientID":"a","clientSecretRef":{"name":"a"}}}}`,
			want: []string{"spec.maintenance.days: has 8 entries", "spec.maintenance.days: there is no time window", "spec.argocd.values.extraObjects[0]: ", "spec.argocd.values.extraObjects[2]: ", "spec.kubernetes.version: ", "spec.ingress.host: ", "spec.ingress.additionalHosts: has 5 entries", "spec.ingress.className: ", "spec.sso.oidc.issuer: "}},
		"TooLarge": {spec: `{"argocd":{"values":{"a":"` + strings.Repeat("x", 300<<10) + `"}},"vcluster":{"values":{"a":"` + strings.Repeat("x", 300<<10) + `"}},"ingress":{"additionalHosts":["a.x","b.x","c.x","d.x","e.x"]}}`,
			want: []string{"spec.argocd.values: ", "spec.vcluster.values: ", "spec.ingress.additionalHosts: "}},
		"UnknownPlan": {spec: `{"plan":"gold","kubernetes":{"version":"v1.99.0"},"vcluster":{"chartVersion":"0.1.0"},"argocd":{"chartVersion":"1.x","values":{"global":{"domian":"a"},"server":{"service":{"type":"NodePort"}}}},"clusters":[{"name":"a"}]}`,
			want: []string{`spec.plan: "gold" is unknown: write one of broken, small, standard`, "spec.argocd.chartVersion: ", "spec.argocd.values.global.domian: ", "spec.argocd.values.server.service.type: ", "spec.vcluster.chartVersion: ", "spec.clusters[0].secretRef.name: "}},
		"UnknownPlanAndKubernetes": {spec: `{"plan":"gold","kubernetes":{"version":"v1.99.0"}}`,
			want: []string{"spec.plan: ", "spec.kubernetes.version: Kubernetes \"v1.99.0\" is not supported by any vcluster: write a version of 1.30, "}},
		"UnknownPlanAndField": {spec: `{"plan":"gold","kubernetes":{"versio":"a"},"clusters":[{"name":"a"}]}`, want: []string{"spec.plan: ", "spec.kubernetes.versio: ", "spec.clusters[0].secretRef.name: "}},
		"UnknownChannel": {spec: `{"plan":"small","channel":"gold","kubernetes":{"version":"v1.99.0"},"clusters":[{"name":"a"}]}`,
			want: []string{"spec.channel: ", "spec.kubernetes.version: ", "spec.clusters[0].secretRef.name: "}},
		// What a plan or a channel could allow isn't refused while neither is known.
		"UnknownPlanAllowsMuch": {spec: `{"plan":"gold","kubernetes":{"version":"v1.34.0"},"vcluster":{"chartVersion":"0.36.0"},"argocd":{"accounts":[{"name":"a","role":"deployer"}],"values":{"server":{"service":{"type":"LoadBalancer"}}}},
			"ingress":{"annotations":{"cert-manager.io/cluster-issuer":"le"}}}`, input: input + `"ingress":{"hosts":["*.example.net"],"tls":{"clusterIssuers":["other"]}}}`, want: []string{"spec.plan: "}},
		"UnknownPlanAndHost": {spec: `{"plan":"gold","ingress":{"host":"a.example.org","className":"N N"}}`, input: input + `"ingress":{"hosts":["*.example.net"]}}`, want: []string{"spec.plan: ", "spec.ingress.className: "}},
		"Input": {spec: `{}`, input: input + `"credentials":{"label":"x"},"storage":{"size":"x"},"host":{"apiServer":{"port":-1,"cidrs":["0.0.0.0/0","x"]}},"network":{"providersNamespace":"A","dns":{"address":"x"},"allowTo":[{},{"namespaceSelector":{"matchLabels":{"a b":"c"}},"podSelector":{"matchLabels":{"a b":"c"}}}]}}`,
			want: []string{"input.credentials.label: ", "input.storage.size: ", "input.host.apiServer.port: ", "input.network.dns.address: ", "input.host.apiServer.cidrs[0]: ", "input.host.apiServer.cidrs[1]: ", "input.network.providersNamespace: ", "input.network.allowTo[0]: ",
				"input.network.allowTo[1].namespaceSelector: ", "input.network.allowTo[1].podSelector: "}},
		"Plan": {spec: `{"plan":"broken"}`, want: []string{"plan broken: spec.quota.count pods: ", "plan broken: spec.quota.x: ", "plan broken: spec.ingress.domain: ", "plan broken: spec.ingress.annotations: ", "plan broken: spec.maintenance.freeze.until: "}},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, tc.input)
			e.AddPlan("small", `{}`)
			e.AddPlan("broken", `{"quota":{"count pods":"1","x":"1"},"ingress":{"domain":"A","annotations":{"a b":"c"}},"maintenance":{"freeze":{"until":"soon"}}}`)
			checkMistakes(t, crossplanetest.Refusal(e.Reconcile()), tc.want...)
		})
	}
}

// TestMistakesOfATenantThatRuns: a tenant that runs reads all mistakes, too, and isn't changed by a claim with any.
func TestMistakesOfATenantThatRuns(t *testing.T) {
	of := crossplanetest.New(t, `{"plan":"small"}`, "")
	of.AddPlan("small", `{}`)
	of.Install()
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"Field":   {`{"plan":"small","kubernetes":{"versio":"a","version":"v1.99.0"}}`, []string{"spec.kubernetes.versio: ", "spec.kubernetes.version: "}},
		"List":    {`{"plan":"small","ingress":{"host":"a.example.org","additionalHosts":["a.x","b.x","c.x","d.x","e.x"]},"clusters":[{"name":"a"}]}`, []string{"spec.clusters[0].secretRef.name: ", "spec.ingress.additionalHosts: "}},
		"Plan":    {`{"plan":"gold","kubernetes":{"version":"v1.99.0"}}`, []string{"spec.plan: ", "spec.kubernetes.version: "}},
		"Back":    {`{"plan":"gold","kubernetes":{"version":"v1.30.0"}}`, []string{"spec.plan: ", "spec.kubernetes.version: Kubernetes v1.36.0 runs, and can't go back"}},
		"Channel": {`{"plan":"small","channel":"gold","clusters":[{"name":"a"}]}`, []string{"spec.channel: ", "spec.clusters[0].secretRef.name: "}},
		"Both":    {`{"plan":"gold","channel":"gold","kubernetes":{"versio":"a"},"clusters":[{"name":"a"}]}`, []string{"spec.plan: ", "spec.kubernetes.versio: ", "spec.clusters[0].secretRef.name: "}},
	} {
		t.Run(name, func(t *testing.T) {
			e := of.Fork(t)
			before := desiredOf(e)
			e.SetSpec(tc.spec)
			e.Cycle(2)
			checkMistakes(t, e.Condition(v1alpha1.ConditionSpecAccepted).GetMessage(), tc.want...)
			if crossplanetest.Fatal(e.Response) != "" || e.Status("phase") != "Ready" {
				t.Errorf("the tenant is %s: %s %s", e.Status("phase"), e.Status("message"), crossplanetest.Fatal(e.Response))
			}
			for name, is := range desiredOf(e) {
				if before[name] != is {
					t.Errorf("%s has changed", name)
				}
			}
		})
	}
}
