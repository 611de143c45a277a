package policy_test

import (
	"testing"

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
