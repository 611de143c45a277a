package function_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestArgoCDIsTooOld: what the tenant's Argo CD doesn't read yet is named, and nothing else is.
func TestArgoCDIsTooOld(t *testing.T) {
	cert, key := crossplanetest.KeyPair()
	const (
		repository = `"repositories":[{"name":"a","url":"https://git.example.org/a","secretRef":{"name":"s"}}]`
		template   = `"credentialTemplates":[{"name":"a","url":"https://git.example.org","secretRef":{"name":"s"}}]`
		cluster    = `"clusters":[{"name":"a","secretRef":{"name":"s"}}]`
		tunnelled  = `"ingress":{"host":"a.example.org"},"clusters":[{"name":"s","tunnel":{}}]`
		oidc       = `"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"a","enablePKCEAuthentication":true,"enableUserInfoGroups":true,"userInfoPath":"/u","userInfoBaseURL":"https://id.example.org","refreshTokenThreshold":"5m"}}`
		bootstrap  = `"bootstrap":{"sources":[{"name":"a","repoURL":"https://git.example.org/a","path":".","tagPrefix":"v","helm":{"skipTests":true}}],"syncPolicy":{"retry":{"refresh":true},"syncOptions":["ClientSideApplyMigration=false","Prune=true"]}}`
	)
	azure := map[string]string{"azureServicePrincipalClientId": "i", "azureServicePrincipalTenantId": "t", "azureServicePrincipalClientSecret": "secret-1", "depth": "1"}
	token := map[string]string{"token": "secret-1", "ca.crt": cert}
	declared := map[string]string{"server": "https://a.example.org", "config": `{"proxyUrl":"http://proxy.example.org:3128","execProviderConfig":{"command":"x","provideClusterInfo":true}}`}
	for name, tc := range map[string]struct {
		chart, more, spec, input, condition string
		secret                              map[string]string
		want, not                           []string
	}{
		"Repository": {chart: "10.1.1", spec: repository, condition: v1alpha1.ConditionRepositoriesConnected, secret: azure,
			want: []string{"key azureServicePrincipalClientSecret has no effect: Argo CD reads it from version 3.5 on, and this tenant's is 3.4", "key azureServicePrincipalClientId has no effect"}, not: []string{"depth"}},
		"Depth":        {chart: "9.3.7", spec: repository, condition: v1alpha1.ConditionRepositoriesConnected, secret: map[string]string{"depth": "1", "bearerToken": "secret-1"}, want: []string{"key depth has no effect: Argo CD reads it from version 3.3 on, and this tenant's is 3.2"}, not: []string{"bearerToken"}},
		"Unknown":      {chart: "10.9.0", spec: repository, condition: v1alpha1.ConditionRepositoriesConnected, secret: azure, not: []string{"no effect"}},
		"OwnImage":     {chart: "9.3.7", more: `,"values":{"global":{"image":{"tag":"v3.5.7"}}}`, spec: repository, condition: v1alpha1.ConditionRepositoriesConnected, secret: azure, not: []string{"no effect"}},
		"Installation": {chart: "9.3.7", spec: repository, condition: v1alpha1.ConditionRepositoriesConnected, secret: map[string]string{"githubAppID": "1", "githubAppPrivateKey": key}, want: []string{"githubAppInstallationID is missing"}},
		"Found":        {chart: "10.1.1", spec: repository, condition: v1alpha1.ConditionRepositoriesConnected, secret: map[string]string{"githubAppID": "1", "githubAppPrivateKey": key}, not: []string{"githubAppInstallationID"}},
		"Template":     {chart: "10.1.1", spec: template, condition: v1alpha1.ConditionRepositoriesConnected, secret: azure, want: []string{"key azureServicePrincipalClientID has no effect: Argo CD reads it from version 3.5 on"}},
		"Cluster":      {chart: "8.0.17", spec: cluster, condition: v1alpha1.ConditionClustersConnected, secret: declared, want: []string{"field execProviderConfig.provideClusterInfo of key config has no effect: Argo CD reads it from version 3.5 on, and this tenant's is 3.0"}, not: []string{"proxyUrl", "none of Argo CD's"}},
		"Tunnel":       {chart: "7.7.3", spec: tunnelled, input: crossplanetest.TunnelInput, condition: v1alpha1.ConditionClustersConnected, secret: token, want: []string{"the proxy URL by which Argo CD uses the tunnel has no effect: Argo CD reads it from version 2.14 on, and this tenant's is 2.13"}},
		"NewerTunnel":  {chart: "7.8.2", spec: tunnelled, input: crossplanetest.TunnelInput, condition: v1alpha1.ConditionClustersConnected, secret: token, not: []string{"no effect"}},
		"OIDC":         {chart: "9.3.7", spec: oidc, condition: v1alpha1.ConditionSpecAccepted, want: []string{"spec.sso.oidc.refreshTokenThreshold: Argo CD reads it from version 3.3 on, and this tenant's is 3.2", "spec.sso.oidc.userInfoBaseURL: Argo CD reads it from version 3.5 on"}},
		"NewerOIDC":    {chart: "10.1.1", spec: oidc, condition: v1alpha1.ConditionSpecAccepted, want: []string{"userInfoBaseURL"}, not: []string{"refreshTokenThreshold"}},
		"Bootstrap": {chart: "8.0.17", spec: bootstrap, condition: v1alpha1.ConditionSpecAccepted,
			want: []string{"spec.bootstrap.sources[0].tagPrefix: Argo CD reads it from version 3.5 on, and this tenant's is 3.0", "spec.bootstrap.syncPolicy.retry.refresh: ", "spec.bootstrap.syncPolicy.syncOptions: ClientSideApplyMigration: "}, not: []string{"sources[0].name", "skipTests", "Option: Prune"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"argocd":{"chartVersion":"`+tc.chart+`"`+tc.more+`},`+tc.spec+`}`, tc.input)
			if tc.secret != nil {
				e.AddSecret("s", "Opaque", tc.secret)
			}
			e.Install()
			message := e.Condition(tc.condition).GetMessage()
			for _, want := range tc.want {
				if !strings.Contains(message, want) {
					t.Errorf("the condition should say %q: %s", want, message)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(message, not) {
					t.Errorf("the condition should say nothing of %q: %s", not, message)
				}
			}
		})
	}
}
