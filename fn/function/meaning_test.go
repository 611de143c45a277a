package function

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A meant is a claim that people write, and what is refused of it; nothing for a claim that works as it is meant.
type meant struct {
	spec string
	want []string
}

// refuses tests claims, and the right form of each kind beside the wrong ones.
func refuses(t *testing.T, cases map[string]meant) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			msg := refusal(newEngine(t, tenantXR(tc.spec), "").reconcile())
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

// unchanged tests that a claim that was accepted before a check was there stays accepted, and that the check counts for the next change.
func unchanged(t *testing.T, before, later string) {
	t.Helper()
	e := newEngine(t, tenantXR(`{}`), "").install()
	e.accepted(before)
	e.cycle(2)
	if msg := refusal(e.rsp); msg != "" {
		t.Errorf("what was accepted is refused: %s", msg)
	}
	e.spec(later)
	e.cycle(2)
	if msg := refusal(e.rsp); msg == "" {
		t.Error("a change with the same mistake is accepted")
	}
}

// accepted has the claim ask for a spec, of sso, bootstrap, clusters and values, as if an earlier version of the function had accepted it.
func (e *engine) accepted(spec string) {
	e.t.Helper()
	e.spec(spec)
	of := field(e.xr(), "spec").AsMap()
	asked := map[string]any{}
	for _, key := range []string{"sso", "bootstrap", "clusters", "repositories", "ingress"} {
		asked[key] = of[key]
	}
	argocd, _ := of["argocd"].(map[string]any)
	asked["argocdValues"], asked["argocdChartVersion"] = argocd["values"], argocd["chartVersion"]
	kept := map[string]any{}
	if err := json.Unmarshal(must(base64.StdEncoding.DecodeString(field(e.observed(tenant.AcceptedSecret), "data").Fields["accepted.json"].GetStringValue())), &kept); err != nil {
		e.t.Fatal(err)
	}
	for key, is := range asked {
		if is != nil {
			kept["spec"].(map[string]any)[key] = is
		}
	}
	raw := must(json.Marshal(kept))
	field(e.observed(tenant.AcceptedSecret), "data").Fields["accepted.json"] = structpb.NewStringValue(base64.StdEncoding.EncodeToString(raw))
}

// TestMistakesOfParts: sign-on and keys of Argo CD's Secret name all their mistakes at once, in the order of the API's fields.
func TestMistakesOfParts(t *testing.T) {
	const ref = `"secretRef":{"name":"s"}`
	refuses(t, map[string]meant{
		"OIDC": {`{"sso":{"oidc":{"issuer":"id.example.org","clientID":"","clientSecretRef":{"name":"S"},"scopes":["email"],"adminGroups":["$a"],"logoutURL":"x","userInfoPath":"u","refreshTokenThreshold":"5 min","rootCA":"x"}}}`,
			[]string{"spec.sso.oidc.issuer: ", "; (2) spec.sso.oidc.clientID: ", "; (3) spec.sso.oidc.clientSecretRef.secretRef.name: ", "; (4) spec.sso.oidc.userInfoPath: ", "; (6) spec.sso.oidc.logoutURL: ",
				"; (7) spec.sso.oidc.refreshTokenThreshold: ", "; (8) spec.sso.oidc.scopes: ", "; (9) spec.sso.oidc.adminGroups: ", "; (10) spec.sso.oidc.rootCA: "}},
		"Dex": {`{"sso":{"dex":{"connectors":[{"type":"githubb","id":"a","name":"","config":{"clientSecret":"secret-in-the-claim","a":["$b"]}},{"type":"ldap","id":"a","name":"A","config":{"bindPW":"secret-in-the-claim"}}],"adminGroups":["$x"],"readOnlyGroups":[""]}}}`,
			[]string{"spec.sso.dex.connectors[0].type: ", "; (2) spec.sso.dex.connectors[0].name: is missing", "; (3) spec.sso.dex.connectors[0].config.a[0]: ", "; (4) spec.sso.dex.connectors[0].config.clientSecret: ", "; (5) spec.sso.dex.connectors[1].id: ",
				"; (6) spec.sso.dex.connectors[1].config.bindPW: ", "; (7) spec.sso.dex.adminGroups: ", "; (8) spec.sso.dex.readOnlyGroups: "}},
		"SecretKeys": {`{"argocd":{"secretKeys":[{"key":"server.secretkey",` + ref + `},{"key":"a b","secretKey":"c d",` + ref + `},{"key":"a","secretRef":{"name":"S"}},{"key":"a",` + ref + `}]}}`,
			[]string{"spec.argocd.secretKeys[0].key: ", "; (2) spec.argocd.secretKeys[1].key: ", "; (3) spec.argocd.secretKeys[1].secretKey: ", "; (4) spec.argocd.secretKeys[2].secretRef.name: ", "; (5) spec.argocd.secretKeys[3].key: "}},
		"PartsAndValues": {`{"argocd":{"values":{"configs":{"cm":{"admin.enabled":"true"}}}},"sso":{"disableAdmin":true,"oidc":{"issuer":"x","clientID":"a","clientSecretRef":{"name":"a"}}}}`,
			[]string{"spec.argocd.values.configs.cm.admin.enabled is set by spec.sso", "; (2) spec.sso.oidc.issuer: "}},
	})
}

// TestSignOnThatCantWork: what is well formed, and signs nobody on or gives nobody a role.
func TestSignOnThatCantWork(t *testing.T) {
	oidc := func(issuer, more string) string {
		return `{"sso":{"oidc":{"issuer":"` + issuer + `","clientID":"a","clientSecretRef":{"name":"a"}` + more + `}}}`
	}
	dex := func(more string) string {
		return `{"sso":{"dex":{"connectors":[{"type":"saml","id":"a","name":"A"}]` + more + `}}}`
	}
	const id = "https://id.example.org"
	refuses(t, map[string]meant{
		"Discovery":        {oidc(id+"/realms/a/.well-known/openid-configuration", ""), []string{"spec.sso.oidc.issuer: ", "write https://id.example.org/realms/a"}},
		"GroupsAtGoogle":   {oidc("https://accounts.google.com", `,"scopes":["openid","email","groups"]`), []string{"spec.sso.oidc.scopes: the provider knows no scope groups"}},
		"GroupsAtEntra":    {oidc("https://login.microsoftonline.com/t/v2.0", `,"scopes":["openid","groups"]`), []string{"no scope groups"}},
		"GroupsElsewhere":  {oidc(id, `,"scopes":["openid","groups"]`), nil},
		"SpaceAfterID":     {`{"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"argocd ","clientSecretRef":{"name":"a"}}}}`, []string{`spec.sso.oidc.clientID: "argocd " has space around it`}},
		"SpaceBeforeGroup": {oidc(id, `,"adminGroups":[" admins"]`), []string{`spec.sso.oidc.adminGroups: " admins" has space around it`}},
		"SpaceInGroup":     {oidc(id, `,"adminGroups":["CN=Argo CD Admins,OU=x"]`), nil},
		"SpaceInAudience":  {oidc(id, `,"allowedAudiences":["a\t"]`), []string{"spec.sso.oidc.allowedAudiences: "}},
		"Everybody":        {oidc(id, `,"readOnlyGroups":["*"]`), []string{`spec.sso.oidc.readOnlyGroups: "*" is no group`, "policy.default"}},
		"RoleAsGroup":      {oidc(id, `,"adminGroups":["role:admin"]`), []string{`spec.sso.oidc.adminGroups: "role:admin" is a role`}},
		"NegativeTime":     {oidc(id, `,"refreshTokenThreshold":"-5m"`), []string{"spec.sso.oidc.refreshTokenThreshold: "}},
		"UserInfoOff":      {oidc(id, `,"userInfoPath":"/userinfo","userInfoCacheExpiration":"5m"`), []string{"spec.sso.oidc.userInfoPath: has no effect without enableUserInfoGroups", "; (2) spec.sso.oidc.userInfoCacheExpiration: "}},
		"UserInfoOn":       {oidc(id, `,"enableUserInfoGroups":true,"userInfoPath":"/userinfo","userInfoCacheExpiration":"5m"`), nil},
		"OtherScopes":      {strings.Replace(oidc(id, `,"adminGroups":["a"]`), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[email]"}}}},"sso"`, 1), []string{`spec.argocd.values.configs.rbac.scopes: is "[email]"`, "[groups, email]"}},
		"AndGroups":        {strings.Replace(oidc(id, `,"adminGroups":["a"]`), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[cognito:groups, email]"}}}},"sso"`, 1), nil},
		"OtherScopesNoOne": {strings.Replace(oidc(id, ``), `{"sso"`, `{"argocd":{"values":{"configs":{"rbac":{"scopes":"[email]"}}}},"sso"`, 1), nil},
		"DexEverybody":     {dex(`,"adminGroups":["*"]`), []string{"spec.sso.dex.adminGroups: "}},
		"DexType":          {`{"sso":{"dex":{"connectors":[{"type":"azuread","id":"a","name":"A"}]}}}`, []string{`spec.sso.dex.connectors[0].type: "azuread" is unknown`, "microsoft"}},
		"DexKnown":         {dex(`,"adminGroups":["acme:admins"]`), nil},
	})
	unchanged(t, oidc(id, `,"adminGroups":["*"]`), oidc(id, `,"adminGroups":["*","a"]`))
}

// TestURLsOfRepositories: what Argo CD takes literally, and tokens that are no user.
func TestURLsOfRepositories(t *testing.T) {
	const ref = `,"secretRef":{"name":"s"}}]}`
	refuses(t, map[string]meant{
		"Pattern":    {`{"credentialTemplates":[{"name":"a","url":"https://git.example.org/team/*"` + ref, []string{`spec.credentialTemplates[0].url: "https://git.example.org/team/*" is no pattern`, "such as https://git.example.org/team"}},
		"Prefix":     {`{"credentialTemplates":[{"name":"a","url":"https://git.example.org/team/"` + ref, nil},
		"TokenInURL": {`{"repositories":[{"name":"a","url":"https://ghp_secret1@github.com/acme/apps"}]}`, []string{"spec.repositories[0].url: there is a token in the URL"}},
		"UserInURL":  {`{"repositories":[{"name":"a","url":"https://acme@dev.azure.com/acme/p/_git/apps"}]}`, nil},
	})
	unchanged(t, `{"repositories":[{"name":"a","url":"https://ghp_secret1@github.com/acme/apps"}]}`, `{"repositories":[{"name":"a","url":"https://ghp_secret2@github.com/acme/apps"}]}`)
}

// TestShapesOfValues: values that the chart, Argo CD or Kubernetes takes for something else than what is meant, and their right forms.
func TestShapesOfValues(t *testing.T) {
	valued := func(v string) string { return `{"argocd":{"values":` + v + `}}` }
	configs := func(v string) string { return valued(`{"configs":` + v + `}`) }
	const at = "spec.argocd.values."
	refuses(t, map[string]meant{
		"SettingNested":      {configs(`{"cm":{"accounts":{"alice":"login"}}}`), []string{at + `configs.cm.accounts: is an object, and Argo CD takes text there: a key with dots is one key, such as "accounts.alice"`}},
		"SettingAsObject":    {configs(`{"cm":{"oidc.config":{"name":"Okta"}}}`), []string{at + "configs.cm.oidc.config: is an object", "YAML after |"}},
		"SettingAsList":      {configs(`{"cm":{"resource.exclusions":[{"kinds":["A"]}]}}`), []string{at + "configs.cm.resource.exclusions: is a list", "YAML after |"}},
		"SettingsRight":      {configs(`{"cm":{"accounts.alice":"login","exec.enabled":true,"timeout.reconciliation":180,"admin.enabled":"false","annotations":{"a":"b"},"create":true}}`), nil},
		"ParameterNested":    {configs(`{"params":{"server":{"insecure":true}}}`), []string{at + "configs.params.server: is an object", `"server.insecure"`}},
		"ParameterAsList":    {configs(`{"params":{"application.namespaces":["a","b"]}}`), []string{at + "configs.params.application.namespaces: is a list", "commas"}},
		"ParametersRight":    {configs(`{"params":{"application.namespaces":"a,b","server.enable.gzip":false,"controller.status.processors":20}}`), nil},
		"PolicyNested":       {configs(`{"rbac":{"policy":{"default":"role:readonly"}}}`), []string{at + "configs.rbac.policy: is an object", `"policy.default"`}},
		"PolicyAsList":       {configs(`{"rbac":{"policy.csv":["p, a"],"scopes":["groups"]}}`), []string{at + "configs.rbac.policy.csv: is a list", at + "configs.rbac.scopes: is a list"}},
		"PoliciesRight":      {configs(`{"rbac":{"policy.csv":"g, a, role:admin","scopes":"[groups]","create":true}}`), nil},
		"RepositoriesAsList": {configs(`{"repositories":[{"url":"https://a.b/c"}]}`), []string{at + "configs.repositories: is no object"}},
		"RepositoryNotText":  {configs(`{"repositories":{"a":{"url":"https://a.b/c","insecure":true,"githubAppID":1}}}`), []string{at + "configs.repositories.a.githubAppID: 1 is not text: write it in quotes", "configs.repositories.a.insecure: true is not text"}},
		"ClusterAsText":      {configs(`{"clusterCredentials":{"a":{"server":"https://a.b","config":"{}"}}}`), []string{at + "configs.clusterCredentials.a.config: is no object"}},
		"ClustersAsList":     {configs(`{"clusterCredentials":[{"name":"a"}]}`), []string{at + "configs.clusterCredentials: is no object"}},
		"ClusterRight":       {configs(`{"clusterCredentials":{"a":{"server":"https://a.b","labels":{"a":"b"},"config":{"tlsClientConfig":{"insecure":false}}}},"repositories":{"a":{"url":"https://a.b/c","insecure":"true"}}}`), nil},
		"HostsAsList":        {configs(`{"ssh":{"extraHosts":["a ssh-ed25519 b"]}}`), []string{at + "configs.ssh.extraHosts: is a list"}},
		"NotifierAsObject":   {valued(`{"notifications":{"notifiers":{"service.slack":{"token":"$t"}}}}`), []string{at + "notifications.notifiers.service.slack: is an object"}},
		"AnnotationNested":   {valued(`{"server":{"service":{"annotations":{"example":{"org/a":"b"}}}}}`), []string{at + "server.service.annotations.example: is an object"}},
		"OffAsText":          {valued(`{"notifications":{"enabled":"false"},"crds":{"install":"No"}}`), []string{at + `crds.install: "No" is text, which the chart takes for true: write false, without quotes`, at + `notifications.enabled: "false"`}},
		"OffAndOnRight":      {valued(`{"notifications":{"enabled":false},"crds":{"install":"true"}}`), nil},
		"SwitchAsPart":       {valued(`{"dex":false,"controller":{"metrics":true}}`), []string{at + "controller.metrics: true is no object, as the chart has there: write metrics: {enabled: true}, or false", "; (2) " + at + "dex: false is no object"}},
		"PartAsList":         {valued(`{"server":{"service":["a"]}}`), []string{at + "server.service: a list is no object"}},
		"ObjectAsNumber":     {valued(`{"controller":{"replicas":{"min":1},"terminationGracePeriodSeconds":[1]}}`), []string{at + "controller.terminationGracePeriodSeconds: a list is not possible: write one value, such as 30"}},
		"EnvironmentAsMap":   {valued(`{"repoServer":{"env":{"HTTPS_PROXY":"http://a"}}}`), []string{at + "repoServer.env: an object is not a list"}},
		"EnvironmentNumber":  {valued(`{"global":{"env":[{"name":"A","value":"a"},{"name":"B","value":5}]}}`), []string{at + "global.env[1].value: 5 is not text"}},
		"EnvironmentUnknown": {valued(`{"server":{"env":[{"name":"A","valuefrom":{"secretKeyRef":{"name":"a","key":"b"}}}]}}`), []string{at + "server.env[0].valuefrom: there is no such field"}},
		"EnvironmentRight":   {valued(`{"server":{"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"a","key":"b"}}}]}}`), nil},
		"ArgumentsAsText":    {valued(`{"repoServer":{"extraArgs":"--loglevel debug"}}`), []string{at + `repoServer.extraArgs: "--loglevel debug" is not a list`}},
		"ArgumentsAsMap":     {valued(`{"server":{"extraArgs":{"insecure":true}}}`), []string{at + "server.extraArgs: an object is not a list"}},
		"ArgumentsOfCopying": {valued(`{"repoServer":{"copyutil":{"extraArgs":"--update=none"}}}`), nil},
		"ResourcesFlat":      {valued(`{"controller":{"resources":{"cpu":"1","memory":"1Gi"}}}`), []string{at + "controller.resources.cpu: there is no such field", at + "controller.resources.memory: there is no such field"}},
		"ResourcesAmount":    {valued(`{"controller":{"resources":{"limits":{"memory":"1 Gi"}}}}`), []string{at + `controller.resources.limits.memory: "1 Gi" is not an amount`}},
		"ResourcesRight":     {valued(`{"controller":{"resources":{"limits":{"memory":"1Gi","cpu":2},"requests":{"cpu":"100m"}}}}`), nil},
		"AffinityMisspelt":   {valued(`{"server":{"affinity":{"nodeAfinity":{}}}}`), []string{at + "server.affinity.nodeAfinity: there is no such field"}},
		"AffinityOfAll":      {valued(`{"global":{"affinity":{"podAntiAffinity":"hard","nodeAffinity":{"type":"soft"}}}}`), nil},
		"VolumeMisspelt":     {valued(`{"repoServer":{"volumes":[{"name":"a","configmap":{"name":"b"}}]}}`), []string{at + "repoServer.volumes[0].configmap: there is no such field"}},
		"ContainersAsMap":    {valued(`{"repoServer":{"initContainers":{"name":"a"}}}`), []string{at + "repoServer.initContainers: an object is not a list"}},
		"ContainersRight":    {valued(`{"repoServer":{"initContainers":[{"name":"a","image":"b","command":["c"],"volumeMounts":[{"name":"d","mountPath":"/d"}]}],"volumes":[{"name":"d","emptyDir":{}}]}}`), nil},
		"SelectorAsList":     {valued(`{"global":{"nodeSelector":["a=b"]}}`), []string{at + "global.nodeSelector"}},
		"RedisHA":            {valued(`{"redis-ha":{"enabled":true,"redis":{"resources":{}},"topologySpreadConstraints":{"enabled":true}}}`), nil},
	})
	unchanged(t, configs(`{"params":{"server":{"insecure":true}}}`), configs(`{"params":{"server":{"insecure":false}}}`))
}

// TestSettingsThatArgoCDIgnores: settings that are gone, or that Argo CD can't read, and the same set elsewhere.
func TestSettingsThatArgoCDIgnores(t *testing.T) {
	configs := func(v string) string { return `{"argocd":{"values":{"configs":` + v + `}}}` }
	ingress := func(v string) string { return `{"ingress":{"host":"a.example.org"},"argocd":{"values":` + v + `}}` }
	annotated := func(key, value string) string {
		return `{"ingress":{"host":"a.example.org","annotations":{"` + key + `":"` + value + `"}}}`
	}
	const at = "spec.argocd.values.configs."
	refuses(t, map[string]meant{
		"Repositories":       {configs(`{"cm":{"repositories":"- url: https://a.b/c","repository.credentials":"- url: https://a.b"}}`), []string{at + `cm."repositories": Argo CD has no such setting any more: write spec.repositories`, "spec.credentialTemplates"}},
		"RepositoriesBefore": {`{"argocd":{"chartVersion":"7.9.1","values":{"configs":{"cm":{"repositories":"- url: https://a.b/c"}}}}}`, nil},
		"Plugins":            {configs(`{"cm":{"configManagementPlugins":"- name: a"}}`), []string{"configs.cmp.plugins"}},
		"ProgressiveSyncs":   {configs(`{"params":{"applicationsetcontroller.enable.progressive.rollouts":true}}`), []string{"progressive.syncs"}},
		"Tabs":               {configs(`{"cm":{"oidc.config":"name: Okta\n\tissuer: https://a"}}`), []string{at + `cm."oidc.config": YAML has no tabs`}},
		"TabsElsewhere":      {configs(`{"cm":{"ui.bannercontent":"a\n\tb","oidc.config":"name: A\tB"}}`), nil},
		"PolicyTooShort":     {configs(`{"rbac":{"policy.csv":"# roles\np, role:a, applications, sync, allow\n"}}`), []string{at + `rbac."policy.csv": line 2, "p, role:a, applications, sync, allow", is no policy`}},
		"PolicyOfSpaces":     {configs(`{"rbac":{"policy.extra.csv":"g admins role:admin"}}`), []string{at + `rbac."policy.extra.csv": line 1`}},
		"Policies":           {configs(`{"rbac":{"policy.csv":"p, role:a, applications, *, */*, allow\r\n\n  g, \"a, b\", role:admin\n# x","policy.default":"role:readonly"}}`), nil},
		"Password":           {configs(`{"secret":{"argocdServerAdminPassword":"secret1"}}`), []string{at + `secret."argocdServerAdminPassword" is no bcrypt hash`}},
		"PasswordOfAccount":  {configs(`{"secret":{"extra":{"accounts.ci.password":"secret1","accounts.ci.tokens":"[]"}}}`), []string{at + `secret.extra."accounts.ci.password" is no bcrypt hash`}},
		"Hashes":             {configs(`{"secret":{"argocdServerAdminPassword":"$2a$10$abc","extra":{"accounts.ci.password":"$2y$05$abc"}}}`), nil},
		"TLSByArgument":      {ingress(`{"server":{"extraArgs":["--insecure=false"]}}`), []string{`spec.argocd.values.server.extraArgs[0]: "--insecure=false" is not possible`}},
		"TLSByVariable":      {ingress(`{"global":{"env":[{"name":"ARGOCD_SERVER_INSECURE","value":"false"}]}}`), []string{`spec.argocd.values.global.env[0]: "ARGOCD_SERVER_INSECURE=false" is not possible`}},
		"NoTLSByArgument":    {ingress(`{"server":{"extraArgs":["--insecure"],"env":[{"name":"ARGOCD_SERVER_INSECURE","value":"true"}]}}`), nil},
		"OpenShift":          {annotated("route.openshift.io/termination", "reencrypt"), []string{"spec.ingress.annotations[route.openshift.io/termination]", "write edge"}},
		"OpenShiftEdge":      {annotated("route.openshift.io/termination", "edge"), nil},
		"TLSACMEAndIssuer":   {`{"ingress":{"host":"a.example.org","annotations":{"kubernetes.io/tls-acme":"True"},"tls":{"secretName":"a"}}}`, []string{"cert-manager would overwrite the certificate"}},
	})
	unchanged(t, configs(`{"rbac":{"policy.csv":"g admins role:admin"}}`), configs(`{"rbac":{"policy.csv":"g admin role:admin"}}`))
}

// TestSyncOptions: Argo CD ignores an option that it doesn't know letter by letter.
func TestSyncOptions(t *testing.T) {
	option := func(o string) string {
		return `{"bootstrap":{"repoURL":"https://a.b/c","syncPolicy":{"syncOptions":["` + o + `"]}}}`
	}
	refuses(t, map[string]meant{
		"Plural":    {option("CreateNamespaces=true"), []string{`spec.bootstrap.syncPolicy.syncOptions: "CreateNamespaces=true" is none of Argo CD's: did you mean CreateNamespace=true?`}},
		"Case":      {option("createNamespace=true"), []string{"did you mean CreateNamespace=true?"}},
		"CaseOfOn":  {option("ServerSideApply=True"), []string{"did you mean ServerSideApply=true?"}},
		"Spaces":    {option("PruneLast = true"), []string{"did you mean PruneLast=true?"}},
		"Misspelt":  {option("RespectIgnoreDiferences=true"), []string{"did you mean RespectIgnoreDifferences=true?"}},
		"Right":     {option("PrunePropagationPolicy=foreground"), nil},
		"Prune":     {option("Prune=confirm"), nil},
		"New":       {option("SomethingElse=true"), nil},
		"URLsToken": {`{"bootstrap":{"sources":[{"repoURL":"https://glpat-secret1@gitlab.com/a/b","path":"."}]}}`, []string{"spec.bootstrap.sources[0].repoURL: there is a token in the URL"}},
	})
	unchanged(t, option("createNamespace=true"), option("createnamespace=true"))
}

// TestPlacesOfDecodingErrors: the field that is wrong is named, also in a type that is a part of another one, below a key, and in place of a list.
func TestPlacesOfDecodingErrors(t *testing.T) {
	refuses(t, map[string]meant{
		"PartOfAType":   {`{"bootstrap":{"repoURL":"https://a.b/c","helm":{"values":{"a":"b"}}}}`, []string{"spec.bootstrap.helm.values: an object is not text"}},
		"DeeperInAPart": {`{"bootstrap":{"repoURL":"https://a.b/c","helm":{"parameters":[{"name":"a","value":1}]}}}`, []string{"spec.bootstrap.helm.parameters[0].value: 1 is not text"}},
		"BelowAKey":     {`{"sso":{"oidc":{"issuer":"https://a.b","clientID":"a","clientSecretRef":{"name":"a"},"requestedIDTokenClaims":{"groups":{"essential":"true"}}}}}`, []string{`spec.sso.oidc.requestedIDTokenClaims.groups.essential: "true" is not true or false`}},
		"NoList":        {`{"clusters":{"prod":{"secretRef":{"name":"s"}}}}`, []string{"spec.clusters: an object is not a list"}},
		"ValuesAsText":  {`{"argocd":{"values":"server: {}"}}`, []string{"spec.argocd.values: write an object of chart values, not a text"}},
	})
}
