package repositories_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestRepositorySecretsOfArgoCD: Secrets for repositories and credential templates as Argo CD's documentation writes them.
func TestRepositorySecretsOfArgoCD(t *testing.T) {
	_, key := crossplanetest.KeyPair()
	keys, _ := crossplanetest.SSHKey()
	const https, oci = `"url":"https://git.example.org/team/apps.git"`, `"url":"oci://registry.example.org/charts"`
	account := `{"type":"service_account","private_key":"secret-key-1"}`
	cases := map[string]struct {
		reason, spec string
		data         map[string]string
		want         map[string]any
	}{
		"TypeOfTheSecret": {"The entry leaves the type open.", `"url":"https://charts.example.org"`, map[string]string{"type": "helm", "username": "u", "password": "secret-1"},
			map[string]any{"name": "apps", "url": "https://charts.example.org", "type": "helm", "username": "u", "password": "secret-1"}},
		"ProjectOfTheSecret": {"Only that project may use the credentials.", https, map[string]string{"project": "team-a", "username": "u", "password": "secret-1"},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "project": "team-a", "username": "u", "password": "secret-1"}},
		"Whole": {"As Argo CD's documentation has it.", https, map[string]string{"url": "https://git.example.org/team/apps", "name": "Apps of the team", "password": "secret-1", "username": "u",
			"bearerToken": "tok-1", "project": "team-a", "insecure": "true", "forceHttpBasicAuth": "TRUE", "enableLfs": "1"},
			map[string]any{"name": "Apps of the team", "url": "https://git.example.org/team/apps.git", "type": "git", "project": "team-a", "username": "u", "password": "secret-1", "bearerToken": "tok-1",
				"insecure": "true", "forceHttpBasicAuth": "true", "enableLfs": "true"}},
		"EnableOCI": {"Charts in an OCI registry.", oci, map[string]string{"url": "registry.example.org/charts", "enableOCI": "true", "username": "u", "password": "secret-1"},
			map[string]any{"name": "apps", "url": "registry.example.org/charts", "type": "helm", "enableOCI": "true", "username": "u", "password": "secret-1"}},
		"OCI": {"Manifests in an OCI registry.", oci, map[string]string{"url": "oci://registry.example.org/charts/", "type": "oci", "username": "u", "password": "secret-1"},
			map[string]any{"name": "apps", "url": "oci://registry.example.org/charts", "type": "oci", "username": "u", "password": "secret-1"}},
		"Public": {"A Secret without credentials.", `"url":"https://charts.example.org"`, map[string]string{"type": "helm", "name": "istio.io", "url": "https://charts.example.org"},
			map[string]any{"name": "istio.io", "url": "https://charts.example.org", "type": "helm"}},
		"SSHByTemplate": {"The key is in a credential template.", `"url":"git@git.example.org:team/apps.git"`, map[string]string{"url": "ssh://git@git.example.org/team/apps", "type": "git", "insecureIgnoreHostKey": "true"},
			map[string]any{"name": "apps", "url": "git@git.example.org:team/apps.git", "type": "git", "insecureIgnoreHostKey": "true"}},
		"Options": {"Newer options.", https, map[string]string{"username": "u", "password": "secret-1", "depth": "1", "webhookManifestCacheWarmDisabled": "true", "useAzureWorkloadIdentity": "false"},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "username": "u", "password": "secret-1", "depth": "1", "webhookManifestCacheWarmDisabled": "true"}},
		"Google": {"A service account of Google Cloud.", https, map[string]string{"gcpServiceAccountKey": account},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "gcpServiceAccountKey": account}},
		"Azure": {"A service principal of Azure.", https, map[string]string{"azureServicePrincipalClientID": "i", "azureServicePrincipalTenantId": "t", "azureServicePrincipalClientSecret": "secret-1", "azureActiveDirectoryEndpoint": "https://login.microsoftonline.de"},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "azureServicePrincipalClientId": "i", "azureServicePrincipalTenantId": "t",
				"azureServicePrincipalClientSecret": "secret-1", "azureActiveDirectoryEndpoint": "https://login.microsoftonline.de"}},
		"GitHubAppWithoutInstallation": {"Newer versions find it.", https, map[string]string{"githubAppID": "1", "githubAppPrivateKey": key},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "githubAppID": "1", "githubAppPrivateKey": key}},
		"SSH": {"Without a check of the server's key.", `"url":"git@git.example.org:team/apps.git"`, map[string]string{"sshPrivateKey": keys[0], "insecure": "true", "url": "git@git.example.org:team/apps"},
			map[string]any{"name": "apps", "url": "git@git.example.org:team/apps.git", "type": "git", "sshPrivateKey": keys[0], "insecure": "true"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"repositories":[{"name":"apps",`+tc.spec+`,"secretRef":{"name":"s"}}]}`, "")
			e.AddSecret("s", "Opaque", tc.data)
			e.Install()
			if diff := cmp.Diff(map[string]any{"configs": map[string]any{"repositories": map[string]any{"apps": tc.want}}}, e.SecretValues()); diff != "" {
				t.Errorf("\n%s\nvalues in the Secret: -want, +got:\n%s", tc.reason, diff)
			}
			if c := e.Condition(v1alpha1.ConditionRepositoriesConnected); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				t.Errorf("\n%s\nRepositoriesConnected: %v", tc.reason, c)
			}
		})
	}
}

// TestSecretsOfAnotherKind: a Secret says of itself what it is for, and the entry that names it is for something else.
func TestSecretsOfAnotherKind(t *testing.T) {
	for name, tc := range map[string]struct{ list, label, want string }{
		"TemplateAsRepository": {"repositories", "repo-creds", "name it in spec.credentialTemplates"},
		"RepositoryAsTemplate": {"credentialTemplates", "repository", "name it in spec.repositories"},
		"ClusterAsRepository":  {"repositories", "cluster", "name it in spec.clusters"},
		"ToPush":               {"repositories", "repository-write", "nothing in a claim is for"},
		"Repository":           {"repositories", "repository", ""},
		"Template":             {"credentialTemplates", "repo-creds", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"`+tc.list+`":[{"name":"a","url":"https://git.example.org/team","secretRef":{"name":"s"}}]}`, "")
			e.AddSecret("s", "Opaque", map[string]string{"username": "u", "password": "secret-1"})
			e.AnnotateSecret("s", map[string]string{"argocd.argoproj.io/secret-type": tc.label}, nil)
			e.Install()
			message, _ := e.StatusList("repositories")[0].(map[string]any)["message"].(string)
			if !strings.Contains(message, tc.want) || (message == "") != (tc.want == "") {
				t.Errorf("want %q, got %q", tc.want, message)
			}
		})
	}
}

// TestContradictingRepositorySecrets: what Secret and entry say differently is refused, and both are named.
func TestContradictingRepositorySecrets(t *testing.T) {
	const https = "https://git.example.org/apps"
	cases := map[string]struct {
		spec string
		data map[string]string
		want string
	}{
		"Type":             {`"url":"` + https + `","type":"git"`, map[string]string{"type": "helm", "username": "u", "password": "secret-1"}, "key type is helm, and spec.repositories[0].type is git: write the same in both"},
		"URL":              {`"url":"` + https + `"`, map[string]string{"url": "https://git.example.org/other", "username": "u", "password": "secret-1"}, `key url is another than spec.repositories[0].url, "` + https + `"`},
		"Project":          {`"url":"` + https + `","project":"a"`, map[string]string{"project": "b", "username": "u", "password": "secret-1"}, `key project is another than spec.repositories[0].project, "a"`},
		"OCIButHTTPS":      {`"url":"` + https + `","type":"helm"`, map[string]string{"enableOCI": "true"}, "key enableOCI is true, and spec.repositories[0].url"},
		"NotOCIButOCI":     {`"url":"oci://a.b/c","type":"helm"`, map[string]string{"enableOCI": "false"}, "key enableOCI is false, and spec.repositories[0].url"},
		"NoTypeForOCI":     {`"url":"oci://a.b/c"`, map[string]string{"username": "u", "password": "secret-1"}, "spec.repositories[0].type: is missing, and the url begins with oci://: write helm for charts, or oci for manifests"},
		"SSHForCharts":     {`"url":"ssh://git@a.b/c"`, map[string]string{"type": "helm"}, "is not the URL of a repository of type helm"},
		"WorkloadIdentity": {`"url":"` + https + `"`, map[string]string{"useAzureWorkloadIdentity": "true"}, "key useAzureWorkloadIdentity is not possible here: a pod of a virtual cluster has no identity in Azure: write azureServicePrincipalClientId"},
		"Federation":       {`"url":"` + https + `"`, map[string]string{"gcpServiceAccountKey": `{"type":"external_account"}`}, "gcpServiceAccountKey needs an identity of the pod"},
		"NotAKey":          {`"url":"` + https + `"`, map[string]string{"gcpServiceAccountKey": "secret-1"}, "gcpServiceAccountKey is not the key of a service account"},
		"Depth":            {`"url":"` + https + `"`, map[string]string{"depth": "one"}, "depth is not a number"},
		"HalfAPrincipal":   {`"url":"` + https + `"`, map[string]string{"azureServicePrincipalClientSecret": "secret-1"}, "azureServicePrincipalClientId, azureServicePrincipalTenantId and azureServicePrincipalClientSecret go together"},
		"SameProject":      {`"url":"` + https + `","secretRef":{"name":"s"}},{"name":"other","url":"` + https + `"`, map[string]string{"project": "b"}, "its url and project are those of spec.repositories[0], too"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"repositories":[{"name":"apps",`+tc.spec+`,"secretRef":{"name":"s"}}]}`, "")
			e.AddSecret("s", "Opaque", tc.data)
			e.Install()
			if c := e.Condition(v1alpha1.ConditionRepositoriesConnected); c.GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("RepositoriesConnected: want SecretInvalid, %q, got %v", tc.want, c)
			}
		})
	}
	// Each of two projects has its own credentials.
	e := crossplanetest.New(t, `{"repositories":[{"name":"a","url":"`+https+`","secretRef":{"name":"s"}},{"name":"b","url":"`+https+`","secretRef":{"name":"t"}}]}`, "")
	e.AddSecret("s", "Opaque", map[string]string{"project": "a", "username": "u", "password": "secret-1"})
	e.AddSecret("t", "Opaque", map[string]string{"project": "b", "username": "u", "password": "secret-2"})
	e.Install()
	if c := e.Condition(v1alpha1.ConditionRepositoriesConnected); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("RepositoriesConnected: %v", c)
	}
}

// TestTemplateSecretsOfArgoCD: what Argo CD doesn't read in a credential template is named, and does no harm.
func TestTemplateSecretsOfArgoCD(t *testing.T) {
	e := crossplanetest.New(t, `{"credentialTemplates":[{"name":"t","url":"oci://my.registry.com/namespace","secretRef":{"name":"s"}}]}`, "")
	e.AddSecret("s", "Opaque", map[string]string{"username": "my-username", "password": "my-password", "project": "myproject", "type": "oci", "url": "oci://my.registry.com/namespace", "azureServicePrincipalTenantId": ""})
	e.Install()
	want := map[string]any{"configs": map[string]any{"credentialTemplates": map[string]any{
		"t": map[string]any{"url": "oci://my.registry.com/namespace", "type": "oci", "username": "my-username", "password": "my-password"}}}}
	if diff := cmp.Diff(want, e.SecretValues()); diff != "" {
		t.Errorf("values in the Secret: -want, +got:\n%s", diff)
	}
	c := e.Condition(v1alpha1.ConditionRepositoriesConnected)
	// Nothing connects to a template.
	if c.GetStatus() != fnv1.Status_STATUS_CONDITION_UNKNOWN || !strings.Contains(c.GetMessage(), "key project has no effect: every project may use a credential template") {
		t.Errorf("RepositoriesConnected: %v", c)
	}
}
