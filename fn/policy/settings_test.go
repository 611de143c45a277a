package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestSettingsThatArgoCDIgnores: settings that are gone, or that Argo CD can't read, and the same set elsewhere.
func TestSettingsThatArgoCDIgnores(t *testing.T) {
	configs := func(v string) string { return `{"argocd":{"values":{"configs":` + v + `}}}` }
	ingress := func(v string) string { return `{"ingress":{"host":"a.example.org"},"argocd":{"values":` + v + `}}` }
	annotated := func(key, value string) string {
		return `{"ingress":{"host":"a.example.org","annotations":{"` + key + `":"` + value + `"}}}`
	}
	const at = "spec.argocd.values.configs."
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Repositories":       {Spec: configs(`{"cm":{"repositories":"- url: https://a.b/c","repository.credentials":"- url: https://a.b"}}`), Want: []string{at + `cm."repositories": Argo CD has no such setting any more: write spec.repositories`, "spec.credentialTemplates"}},
		"RepositoriesBefore": {Spec: `{"argocd":{"chartVersion":"7.9.1","values":{"configs":{"cm":{"repositories":"- url: https://a.b/c"}}}}}`, Want: nil},
		"Plugins":            {Spec: configs(`{"cm":{"configManagementPlugins":"- name: a"}}`), Want: []string{"configs.cmp.plugins"}},
		"ProgressiveSyncs":   {Spec: configs(`{"params":{"applicationsetcontroller.enable.progressive.rollouts":true}}`), Want: []string{"progressive.syncs"}},
		"Tabs":               {Spec: configs(`{"cm":{"oidc.config":"name: Okta\n\tissuer: https://a"}}`), Want: []string{at + `cm."oidc.config": YAML has no tabs`}},
		"TabsElsewhere":      {Spec: configs(`{"cm":{"ui.bannercontent":"a\n\tb","oidc.config":"name: A\tB\nissuer: https://id.example.org\nclientID: a\nenablePKCEAuthentication: true"}}`), Want: nil},
		"PolicyTooShort":     {Spec: configs(`{"rbac":{"policy.csv":"# roles\np, role:a, applications, sync, allow\n"}}`), Want: []string{at + `rbac."policy.csv": line 2, "p, role:a, applications, sync, allow", is no policy`}},
		"PolicyOfSpaces":     {Spec: configs(`{"rbac":{"policy.extra.csv":"g admins role:admin"}}`), Want: []string{at + `rbac."policy.extra.csv": line 1`}},
		"Policies":           {Spec: configs(`{"rbac":{"policy.csv":"p, role:a, applications, *, */*, allow\r\n\n  g, \"a, b\", role:admin\n# x","policy.default":"role:readonly"}}`), Want: nil},
		"Password":           {Spec: configs(`{"secret":{"argocdServerAdminPassword":"secret1"}}`), Want: []string{at + `secret."argocdServerAdminPassword" is no bcrypt hash`}},
		"PasswordOfAccount":  {Spec: configs(`{"secret":{"extra":{"accounts.ci.password":"secret1","accounts.ci.tokens":"[]"}}}`), Want: []string{at + `secret.extra."accounts.ci.password" is no bcrypt hash`}},
		"Hashes":             {Spec: configs(`{"secret":{"argocdServerAdminPassword":"$2a$10$abc","extra":{"accounts.ci.password":"$2y$05$abc"}}}`), Want: nil},
		"TLSByArgument":      {Spec: ingress(`{"server":{"extraArgs":["--insecure=false"]}}`), Want: []string{`spec.argocd.values.server.extraArgs[0]: "--insecure=false" is not possible`}},
		"TLSByVariable":      {Spec: ingress(`{"global":{"env":[{"name":"ARGOCD_SERVER_INSECURE","value":"false"}]}}`), Want: []string{`spec.argocd.values.global.env[0]: "ARGOCD_SERVER_INSECURE=false" is not possible`}},
		"NoTLSByArgument":    {Spec: ingress(`{"server":{"extraArgs":["--insecure"],"env":[{"name":"ARGOCD_SERVER_INSECURE","value":"true"}]}}`), Want: nil},
		"OpenShift":          {Spec: annotated("route.openshift.io/termination", "reencrypt"), Want: []string{"spec.ingress.annotations[route.openshift.io/termination]", "write edge"}},
		"OpenShiftEdge":      {Spec: annotated("route.openshift.io/termination", "edge"), Want: nil},
		"TLSACMEAndIssuer":   {Spec: `{"ingress":{"host":"a.example.org","annotations":{"kubernetes.io/tls-acme":"True"},"tls":{"secretName":"a"}}}`, Want: []string{"cert-manager would overwrite the certificate"}},
	})
	crossplanetest.CheckStaysAccepted(t, configs(`{"rbac":{"policy.csv":"g admins role:admin"}}`), configs(`{"rbac":{"policy.csv":"g admin role:admin"}}`))
}

// TestValuesOfSettings: values that Argo CD doesn't take as they are meant, settings in another place than Argo CD's, and the right ones.
func TestValuesOfSettings(t *testing.T) {
	configs := func(v string) string { return `{"argocd":{"values":{"configs":` + v + `}}}` }
	notifications := func(v string) string { return `{"argocd":{"values":{"notifications":` + v + `}}}` }
	policy := func(v string) string { return configs(`{"rbac":{"policy.csv":"` + v + `"}}`) }
	const at, role = "spec.argocd.values.configs.", `p, role:dev, applications, sync, */*, allow\n`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Duration":         {Spec: configs(`{"cm":{"timeout.reconciliation":60}}`), Want: []string{at + `cm."timeout.reconciliation": "60" has no unit, and Argo CD would take its default: write 60s`}},
		"DurationRight":    {Spec: configs(`{"cm":{"timeout.reconciliation":"60s"}}`), Want: nil},
		"Switch":           {Spec: configs(`{"cm":{"exec.enabled":"yes","users.anonymous.enabled":"yes"}}`), Want: []string{at + `cm."exec.enabled": "yes" is not "true"`, at + `cm."users.anonymous.enabled": "yes"`}},
		"SwitchRight":      {Spec: configs(`{"cm":{"exec.enabled":"true","users.anonymous.enabled":false}}`), Want: nil},
		"Account":          {Spec: configs(`{"cm":{"accounts.ci":"apikey, Login","accounts.alice.enabled":"no","accounts.bob.enable":"true","accounts.a.b":"login"}}`), Want: []string{at + `cm."accounts.ci": "apikey" is no capability`, at + `cm."accounts.alice.enabled": "no"`, at + `cm."accounts.bob.enable": Argo CD has no such setting of an account: write "accounts.bob" or "accounts.bob.enabled"`, at + `cm."accounts.a.b": `}},
		"AccountRight":     {Spec: configs(`{"cm":{"accounts.ci":"apiKey, login","accounts.alice.enabled":"false"}}`), Want: nil},
		"Sharding":         {Spec: configs(`{"params":{"controller.sharding.algorithm":"consistent-hashin"}}`), Want: []string{at + `params."controller.sharding.algorithm"`, "did you mean consistent-hashing?"}},
		"ShardingRight":    {Spec: configs(`{"params":{"controller.sharding.algorithm":"consistent-hashing"}}`), Want: nil},
		"Scopes":           {Spec: configs(`{"rbac":{"scopes":"groups, email","policy.matchMode":"globb"}}`), Want: []string{at + `rbac."scopes": "groups, email" is no list`, at + `rbac."policy.matchMode": "globb" is unknown`}},
		"ScopesRight":      {Spec: configs(`{"rbac":{"scopes":"[groups, email]","policy.matchMode":"glob"}}`), Want: nil},
		"DefaultRole":      {Spec: configs(`{"rbac":{"policy.default":"role:readonli"}}`), Want: []string{at + `rbac."policy.default": "role:readonli" is no role that a policy has`, "did you mean role:readonly?"}},
		"DefaultNoPrefix":  {Spec: configs(`{"rbac":{"policy.default":"readonly"}}`), Want: []string{"did you mean role:readonly?"}},
		"DefaultNobody":    {Spec: configs(`{"rbac":{"policy.default":"role:nobody-at-all"}}`), Want: nil},
		"DefaultOwn":       {Spec: configs(`{"rbac":{"policy.csv":"` + role + `","policy.default":"role:dev"}}`), Want: nil},
		"DefaultNearOwn":   {Spec: configs(`{"rbac":{"policy.more.csv":"p, role:deployer, applications, sync, */*, allow","policy.default":"role:deploier"}}`), Want: []string{"did you mean role:deployer?"}},
		"Group":            {Spec: policy(role + `g, team, role:undefined`), Want: []string{at + `rbac."policy.csv": line 2, "g, team, role:undefined", gives nobody any rights, because no policy has "role:undefined": write policies for it`}},
		"GroupNear":        {Spec: policy(role + `g, team, role:devv`), Want: []string{"did you mean role:dev?"}},
		"NotOfTheChart":    {Spec: configs(`{"rbac":{"create":false,"policy.csv":"g, team, role:undefined"},"cm":{"create":false,"exec.enabled":"yes"}}`), Want: nil},
		"GroupUnlike":      {Spec: policy(`g, team, role:team-admin`), Want: []string{`no policy has "role:team-admin": write policies for it`}},
		"GroupNoPrefix":    {Spec: policy(role + `g, team, dev`), Want: []string{"write role:dev"}},
		"GroupRight":       {Spec: policy(role + `g, team, role:dev\ng, role:ops, role:dev\ng, others, role:ops\ng, boss, role:admin\ng, chief, admin\ng, x, proj:a:b`), Want: nil},
		"Action":           {Spec: policy(`p, role:a, applications, gett, */*, allow`), Want: []string{`has action "gett", which Argo CD doesn't have, so that it has no effect: did you mean get?`}},
		"Resource":         {Spec: policy(`p, role:a, application, get, */*, allow`), Want: []string{`has resource "application", which`, "did you mean applications?"}},
		"Effect":           {Spec: policy(`p, role:a, applications, get, */*, allowed`), Want: []string{`has effect "allowed", which`, "did you mean allow?"}},
		"EffectUpperCase":  {Spec: policy(`p, role:a, applications, get, */*, Allow`), Want: []string{`has effect "Allow", which`}},
		"Space":            {Spec: policy(`p, role:a , applications, get, */*, allow`), Want: []string{`has a space after "role:a"`}},
		"ActionOfResource": {Spec: policy(`p, role:a, applications, actions/apps/Deployment/restart, */*, allow`), Want: []string{`has action "actions"`, "did you mean action?"}},
		"Rules":            {Spec: policy(`p, role:a, applications, action/apps/Deployment/*, */*, allow\np, role:a, applications, delete/*/Pod/*/*, */*, deny\np, role:a, *, get, *, allow\np, role:a, app*, \"{get,sync}\", *, allow\np, role:a, logs, get, */*, allow\np, role:a, exec, create, */*, allow\np, role:a, extensions, invoke, httpbin, allow\np, role:a, write-repositories, get, *, allow`), Want: nil},
		"Expressions":      {Spec: configs(`{"rbac":{"policy.matchMode":"regex","policy.csv":"p, role:a, appl, (get|sync), .*/.*, allow"}}`), Want: nil},
		"ParamsInCM":       {Spec: configs(`{"cm":{"server.insecure":"true"}}`), Want: []string{at + `cm."server.insecure": Argo CD ignores it there: write it in configs.params`}},
		"CMInParams":       {Spec: configs(`{"params":{"exec.enabled":"true"}}`), Want: []string{at + `params."exec.enabled": Argo CD ignores it there: write it in configs.cm`}},
		"PolicyInCM":       {Spec: configs(`{"cm":{"policy.csv":"g, a, role:admin"}}`), Want: []string{at + `cm."policy.csv": Argo CD ignores it there: write it in configs.rbac`}},
		"AccountInRBAC":    {Spec: configs(`{"rbac":{"accounts.ci":"apiKey"}}`), Want: []string{at + `rbac."accounts.ci": Argo CD ignores it there: write it in configs.cm`}},
		"WebhookInCM":      {Spec: configs(`{"cm":{"webhook.github.secret":"abc"}}`), Want: []string{at + `cm."webhook.github.secret": Argo CD reads it in argocd-secret: write it into a Secret, and an entry with key "webhook.github.secret" into spec.argocd.secretKeys`}},
		"UnreadKey":        {Spec: configs(`{"secret":{"extra":{"webhook.github.secrets":"abc","accounts.ci.pasword":"abc"}}}`), Want: []string{at + `secret.extra."webhook.github.secrets": Argo CD reads no such key: did you mean webhook.github.secret?`, at + `secret.extra."accounts.ci.pasword": Argo CD reads no such key: write accounts.<name>.password`}},
		"ReadKey":          {Spec: configs(`{"secret":{"extra":{"webhook.github.secret":"abc","accounts.ci.tokens":"[]","my.own":"abc"}}}`), Want: nil},
		"InTheirPlaces":    {Spec: configs(`{"cm":{"exec.enabled":"true","my.own":"x","annotations":{"a":"b"}},"params":{"server.insecure":true,"annotations":{"a":"b"}},"rbac":{"policy.mine.csv":"g, a, role:admin","annotations":{"a":"b"}}}`), Want: nil},
		"NoPrefix":         {Spec: notifications(`{"notifiers":{"slack":"token: $a"},"templates":{"app-deployed":"message: a"},"triggers":{"on-deployed":"- when: a"}}`), Want: []string{`spec.argocd.values.notifications.notifiers."slack": Argo CD ignores it, because its name doesn't begin with service.: write "service.slack"`, `notifications.templates."app-deployed"`, `write "template.app-deployed"`, `write "trigger.on-deployed"`}},
		"Prefix":           {Spec: notifications(`{"notifiers":{"service.slack":"token: $a","context":"a: b"},"templates":{"template.app-deployed":"message: a"},"triggers":{"trigger.on-deployed":"- when: a","defaultTriggers":"- on-deployed","defaultTriggers.slack":"- on-deployed"}}`), Want: nil},
	})
	crossplanetest.CheckStaysAccepted(t, configs(`{"cm":{"exec.enabled":"yes","server.insecure":"true"}}`), configs(`{"cm":{"exec.enabled":"on"}}`))
	crossplanetest.CheckStaysAccepted(t, notifications(`{"notifiers":{"slack":"token: $a"}}`), notifications(`{"notifiers":{"slack":"token: $b"}}`))
	// Policies of a plan have roles, too.
	e := crossplanetest.New(t, `{"plan":"small","argocd":{"values":{"configs":{"rbac":{"policy.csv":"g, team, role:dev","policy.default":"role:dev"}}}}}`, "")
	e.AddPlan("small", `{"values":{"argocd":{"configs":{"rbac":{"policy.platform.csv":"`+role+`"}}}}}`)
	if msg := crossplanetest.Refusal(e.Reconcile()); msg != "" {
		t.Errorf("a role of the plan is refused: %s", msg)
	}
}

// TestManySettings: claims with as much as they may have don't take long to check.
func TestManySettings(t *testing.T) {
	var cm, policies strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&cm, `"timeout.recon%dcilation":"60s",`, i)
	}
	for i := range 1000 {
		fmt.Fprintf(&policies, `g, team%d, role:undefined%d\np, role:defined%d, applications, get, */*, allow\n`, i, i, i)
	}
	begin := time.Now()
	msg := crossplanetest.Refusal(crossplanetest.New(t, `{"argocd":{"values":{"configs":{"cm":{`+cm.String()+`"a":"b"},"rbac":{"policy.csv":"`+policies.String()+`"}}}}}`, "").Reconcile())
	if took := time.Since(begin); !strings.Contains(msg, `line 1, "g, team0, role:undefined0", gives nobody any rights`) || took > 5*time.Second {
		t.Errorf("after %s: %.200s", took, msg)
	}
}
