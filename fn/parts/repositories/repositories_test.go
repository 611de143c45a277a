package repositories_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestURLsOfRepositories: what Argo CD takes literally, and tokens that are no user.
func TestURLsOfRepositories(t *testing.T) {
	const ref = `,"secretRef":{"name":"s"}}]}`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Pattern":    {Spec: `{"credentialTemplates":[{"name":"a","url":"https://git.example.org/team/*"` + ref, Want: []string{`spec.credentialTemplates[0].url: "https://git.example.org/team/*" is no pattern`, "such as https://git.example.org/team"}},
		"Prefix":     {Spec: `{"credentialTemplates":[{"name":"a","url":"https://git.example.org/team/"` + ref, Want: nil},
		"TokenInURL": {Spec: `{"repositories":[{"name":"a","url":"https://ghp_secret1@github.com/acme/apps"}]}`, Want: []string{"spec.repositories[0].url: there is a token in the URL"}},
		"UserInURL":  {Spec: `{"repositories":[{"name":"a","url":"https://acme@dev.azure.com/acme/p/_git/apps"}]}`, Want: nil},
	})
	crossplanetest.CheckStaysAccepted(t, `{"repositories":[{"name":"a","url":"https://ghp_secret1@github.com/acme/apps"}]}`, `{"repositories":[{"name":"a","url":"https://ghp_secret2@github.com/acme/apps"}]}`)
}

func TestRepositories(t *testing.T) {
	cert, key := crossplanetest.KeyPair()
	keys, host := crossplanetest.SSHKey()
	https := `"url":"https://git.example.org/team/apps.git"`
	cases := map[string]struct {
		reason string
		spec   string
		typ    string
		data   map[string]string
		// want of the entry, beside name, type and url.
		want  map[string]any
		hosts any
	}{
		"Public": {
			"A public repository needs no Secret.",
			`{"name":"apps",` + https + `}`, "", nil,
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git"}, nil,
		},
		"Password": {
			"A user name and a password, as in Kubernetes' own type of Secret.",
			`{"name":"apps",` + https + `,"project":"web","secretRef":{"name":"s"}}`, "kubernetes.io/basic-auth",
			map[string]string{"username": "git", "password": "secret-password-1\n"},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "project": "web", "username": "git", "password": "secret-password-1"}, nil,
		},
		"BearerToken": {
			"A token, and options.",
			`{"name":"apps",` + https + `,"secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"bearerToken": "tok-repository-1", "insecure": "true", "enableLfs": "false", "forceHttpBasicAuth": "true", "proxy": "http://proxy:3128", "noProxy": "a,b"},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "bearerToken": "tok-repository-1",
				"insecure": "true", "enableLfs": "false", "forceHttpBasicAuth": "true", "proxy": "http://proxy:3128", "noProxy": "a,b"}, nil,
		},
		"SSH": {
			"An SSH key, with the server's key.",
			`{"name":"apps","url":"git@git.example.org:team/apps.git","secretRef":{"name":"s"}}`, "kubernetes.io/ssh-auth",
			map[string]string{"ssh-privatekey": strings.TrimSpace(keys[0]), "knownHosts": "# printed by ssh-keyscan\n" + host + "\n\n"},
			map[string]any{"name": "apps", "url": "git@git.example.org:team/apps.git", "type": "git", "sshPrivateKey": keys[0]},
			"# of Repository apps\n" + host,
		},
		"SSHURL": {
			"The long form of an SSH URL.",
			`{"name":"apps","url":"ssh://git@git.example.org:2222/team/apps.git","secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"sshPrivateKey": strings.ReplaceAll(keys[0], "\n", "\r\n")},
			map[string]any{"name": "apps", "url": "ssh://git@git.example.org:2222/team/apps.git", "type": "git", "sshPrivateKey": keys[0]}, nil,
		},
		"GitHubApp": {
			"A GitHub App of a GitHub Enterprise.",
			`{"name":"apps",` + https + `,"secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": key, "githubAppEnterpriseBaseUrl": "https://ghe.example.org/api/v3"},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git",
				"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": key, "githubAppEnterpriseBaseUrl": "https://ghe.example.org/api/v3"}, nil,
		},
		"ClientCertificate": {
			"A client certificate, as cert-manager writes it.",
			`{"name":"apps","type":"helm","url":"https://charts.example.org","secretRef":{"name":"s"}}`, "kubernetes.io/tls",
			map[string]string{"tls.crt": cert, "tls.key": key, "ca.crt": cert},
			map[string]any{"name": "apps", "url": "https://charts.example.org", "type": "helm", "tlsClientCertData": strings.TrimSpace(cert), "tlsClientCertKey": strings.TrimSpace(key)}, nil,
		},
		"HelmInOCI": {
			"Argo CD has Helm charts in OCI registries without a scheme.",
			`{"name":"apps","type":"helm","url":"oci://registry.example.org/charts","secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"username": "u", "password": "secret-password-2"},
			map[string]any{"name": "apps", "url": "registry.example.org/charts", "type": "helm", "enableOCI": "true", "username": "u", "password": "secret-password-2"}, nil,
		},
		"OCI": {
			"Manifests in an OCI registry, and Argo CD's own form of a repository Secret.",
			`{"name":"apps","type":"oci","url":"oci://registry.example.org/apps","secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"url": "oci://registry.example.org/apps", "type": "oci", "name": "apps", "username": "u", "password": "secret-password-3", "insecureOCIForceHttp": "true"},
			map[string]any{"name": "apps", "url": "oci://registry.example.org/apps", "type": "oci", "username": "u", "password": "secret-password-3", "insecureOCIForceHttp": "true"}, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"repositories":[`+tc.spec+`]}`, "")
			if tc.data != nil {
				e.AddSecret("s", tc.typ, tc.data)
			}
			e.Install()
			configs := map[string]any{"repositories": map[string]any{"apps": tc.want}}
			if tc.hosts != nil {
				configs["ssh"] = map[string]any{"extraHosts": tc.hosts}
			}
			if diff := cmp.Diff(map[string]any{"configs": configs}, e.SecretValues()); diff != "" {
				t.Errorf("\n%s\nvalues in the Secret: -want, +got:\n%s", tc.reason, diff)
			}
			if c := e.Condition(v1alpha1.ConditionRepositoriesConnected); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				t.Errorf("\n%s\nRepositoriesConnected: %v", tc.reason, c)
			}
			if diff := cmp.Diff([]any{map[string]any{"kind": "Repository", "name": "apps", "state": "Connected"}}, e.StatusList("repositories")); diff != "" {
				t.Errorf("\n%s\nstatus.repositories: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCredentialTemplates(t *testing.T) {
	keys, host := crossplanetest.SSHKey()
	e := crossplanetest.New(t, `{"credentialTemplates":[
		{"name":"server","url":"https://git.example.org/team","secretRef":{"name":"password"}},
		{"name":"ssh","url":"git@git.example.org:","secretRef":{"name":"key"}},
		{"name":"charts","type":"helm","url":"oci://registry.example.org","secretRef":{"name":"gone"}}]}`, "")
	e.AddSecret("password", "Opaque", map[string]string{"username": "git", "password": "secret-password-1"})
	e.AddSecret("key", "Opaque", map[string]string{"sshPrivateKey": keys[0], "knownHosts": host})
	e.Install()
	want := map[string]any{"configs": map[string]any{
		"credentialTemplates": map[string]any{
			"server": map[string]any{"url": "https://git.example.org/team", "type": "git", "username": "git", "password": "secret-password-1"},
			"ssh":    map[string]any{"url": "git@git.example.org:", "type": "git", "sshPrivateKey": keys[0]},
		},
		"ssh": map[string]any{"extraHosts": "# of CredentialTemplate ssh\n" + host},
	}}
	if diff := cmp.Diff(want, e.SecretValues()); diff != "" {
		t.Errorf("values in the Secret: -want, +got:\n%s", diff)
	}
	wantStatus := []any{
		map[string]any{"kind": "CredentialTemplate", "name": "server", "state": "Configured"},
		map[string]any{"kind": "CredentialTemplate", "name": "ssh", "state": "Configured"},
		map[string]any{"kind": "CredentialTemplate", "name": "charts", "state": "SecretMissing", "message": "Secret gone in namespace team-a does not exist: create it"},
	}
	if diff := cmp.Diff(wantStatus, e.StatusList("repositories")); diff != "" {
		t.Errorf("status.repositories: -want, +got:\n%s", diff)
	}
	if c := e.Condition(v1alpha1.ConditionRepositoriesConnected); c.GetReason() != v1alpha1.ReasonSecretMissing || !strings.Contains(c.GetMessage(), "Credential template charts: Secret gone") {
		t.Errorf("RepositoriesConnected: %v", c)
	}
}

func TestBrokenRepositorySecrets(t *testing.T) {
	cert, _ := crossplanetest.KeyPair()
	keys, _ := crossplanetest.SSHKey()
	const overHTTPS, overSSH = "https://git.example.org/apps", "ssh://git@git.example.org/apps"
	cases := map[string]struct {
		url  string
		data map[string]string
		want string
	}{
		"Empty":               {overHTTPS, map[string]string{}, "no credentials: write username and password, or bearerToken"},
		"UnknownKey":          {overHTTPS, map[string]string{"username": "u", "pasword": "misspelt-1"}, "key pasword is unknown: write one of username, password"},
		"PasswordAlone":       {overHTTPS, map[string]string{"password": "secret-password-1"}, "username and password go together"},
		"TwoWaysIn":           {overHTTPS, map[string]string{"username": "u", "password": "secret-password-1", "githubAppPrivateKey": keys[0], "githubAppID": "1"}, "several ways in, of which Argo CD takes one: write only one of githubAppPrivateKey, username and password"},
		"PasswordOverSSH":     {overSSH, map[string]string{"username": "u", "password": "secret-password-1"}, "write sshPrivateKey"},
		"KeyOverHTTPS":        {overHTTPS, map[string]string{"sshPrivateKey": keys[0]}, "sshPrivateKey is for an SSH URL"},
		"KeyNotAKey":          {overSSH, map[string]string{"sshPrivateKey": "secret-not-a-key"}, "sshPrivateKey is not a private key"},
		"KeyWithPassphrase":   {overSSH, map[string]string{"sshPrivateKey": keys[1]}, "has a passphrase"},
		"KnownHostsNotLines":  {overSSH, map[string]string{"sshPrivateKey": keys[0], "knownHosts": "git.example.org"}, "knownHosts has a line"},
		"AppWithoutID":        {overHTTPS, map[string]string{"githubAppPrivateKey": keys[0]}, "write all three"},
		"AppIDNotANumber":     {overHTTPS, map[string]string{"githubAppPrivateKey": keys[0], "githubAppID": "one", "githubAppInstallationID": "2"}, "githubAppID is not a number"},
		"CertificateAlone":    {overHTTPS, map[string]string{"tlsClientCertData": cert}, "write both"},
		"CertificateNotPEM":   {overHTTPS, map[string]string{"tlsClientCertData": "a", "tlsClientCertKey": "b"}, "don't belong together"},
		"OptionNotTrueNorFal": {overHTTPS, map[string]string{"insecure": "yes"}, "insecure is neither true nor false"},
		"NotText":             {overHTTPS, map[string]string{"username": "u", "password": "\xff\xfe\xff"}, "key password is not text"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"repositories":[{"name":"apps","url":"`+tc.url+`","secretRef":{"name":"s"}}]}`, "")
			e.AddSecret("s", "Opaque", tc.data)
			e.Install()
			c := e.Condition(v1alpha1.ConditionRepositoriesConnected)
			if c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || c.GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("RepositoriesConnected: want False, SecretInvalid, %q, got %v", tc.want, c)
			}
		})
	}
}

// TestRepositoryStays: what worked stays in use, known hosts too, while its Secret
// is missing or broken; and a claim's own known hosts stay beside.
func TestRepositoryStays(t *testing.T) {
	keys, host := crossplanetest.SSHKey()
	const own = `"argocd":{"values":{"configs":{"ssh":{"extraHosts":"own.example.org ssh-ed25519 AAAA\n"}}}}`
	const spec = `"repositories":[{"name":"apps","url":"git@git.example.org:apps","secretRef":{"name":"s"}},{"name":"other","url":"git@git.example.org:other","secretRef":{"name":"t"}}]`
	e := crossplanetest.New(t, `{`+own+`,`+spec+`}`, "")
	for _, name := range []string{"s", "t"} {
		e.AddSecret(name, "Opaque", map[string]string{"sshPrivateKey": keys[0], "knownHosts": host})
	}
	e.Install()
	used := e.SecretValues()
	if got := used["configs"].(map[string]any)["ssh"].(map[string]any)["extraHosts"]; got != "own.example.org ssh-ed25519 AAAA\n# of Repository apps\n"+host+"\n# of Repository other\n"+host {
		t.Errorf("known hosts: %s", got)
	}
	if v := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values", "configs", "ssh").AsMap(); len(v) > 0 {
		t.Errorf("values of the Release would win over those in the Secret: %v", v)
	}
	delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/s")
	e.Reconcile()
	if diff := cmp.Diff(used, e.SecretValues()); diff != "" {
		t.Errorf("a Secret is gone: the values changed: -want, +got:\n%s", diff)
	}
	e.SetSpec(`{` + own + `}`)
	e.Reconcile()
	if diff := cmp.Diff(map[string]any{}, e.SecretValues()); diff != "" {
		t.Errorf("the entries are gone: -want, +got:\n%s", diff)
	}
	if got := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values", "configs", "ssh").GetFields()["extraHosts"].GetStringValue(); got != "own.example.org ssh-ed25519 AAAA\n" {
		t.Errorf("the claim's own known hosts are lost: %q", got)
	}
}

func TestRefusedRepositories(t *testing.T) {
	cases := map[string]struct {
		spec string
		want []string
	}{
		"NameNotALabel":    {`{"repositories":[{"name":"A","url":"https://a.b/c"}]}`, []string{"spec.repositories[0].name", `"A"`}},
		"NameTwice":        {`{"repositories":[{"name":"a","url":"https://a.b/c"},{"name":"a","url":"https://a.b/d"}]}`, []string{"spec.repositories[1].name", "spec.repositories[0]"}},
		"URLTwice":         {`{"repositories":[{"name":"a","url":"https://a.b/c"},{"name":"b","url":"https://a.b/c"}]}`, []string{"spec.repositories[1].url", "spec.repositories[0]"}},
		"URLWithGit":       {`{"repositories":[{"name":"a","url":"https://a.b/c"},{"name":"b","url":"https://A.b/C.git"}]}`, []string{`spec.repositories[1].url: "https://A.b/C.git" is that of spec.repositories[0], too, "https://a.b/c", which is the same to Argo CD: leave one of the two out`}},
		"URLOfSSH":         {`{"repositories":[{"name":"a","url":"git@a.b:c/d.git"},{"name":"b","url":"ssh://git@a.b/c/d"}]}`, []string{"spec.repositories[1].url", "which is the same to Argo CD"}},
		"URLOfTemplate":    {`{"credentialTemplates":[{"name":"a","url":"https://a.b/c","secretRef":{"name":"s"}},{"name":"b","url":"https://a.b/c.git","secretRef":{"name":"s"}}]}`, []string{"spec.credentialTemplates[1].url"}},
		"NoURL":            {`{"repositories":[{"name":"a"}]}`, []string{"spec.repositories[0].url"}},
		"URLOfAnotherType": {`{"repositories":[{"name":"a","type":"helm","url":"ssh://git@a.b/c"}]}`, []string{"spec.repositories[0].url", "helm", "https:// or http:// or oci://"}},
		"TypeUnknown":      {`{"repositories":[{"name":"a","type":"svn","url":"https://a.b/c"}]}`, []string{"spec.repositories[0].type", "svn", "git helm oci"}},
		"ProjectNotAName":  {`{"repositories":[{"name":"a","project":"A B","url":"https://a.b/c"}]}`, []string{"spec.repositories[0].project", "A B"}},
		"SecretElsewhere":  {`{"repositories":[{"name":"a","url":"https://a.b/c","secretRef":{"name":"b/c"}}]}`, []string{"spec.repositories[0].secretRef.name", "b/c"}},
		"TemplateNoSecret": {`{"credentialTemplates":[{"name":"a","url":"https://a.b"}]}`, []string{"spec.credentialTemplates[0].secretRef.name"}},
		"ValuesHaveIt":     {`{"repositories":[{"name":"a","url":"https://a.b/c"}],"argocd":{"values":{"configs":{"repositories":{"a":{}}}}}}`, []string{"spec.argocd.values.configs.repositories.a", "spec.repositories[0]"}},
		"TemplateInValues": {`{"credentialTemplates":[{"name":"a","url":"https://a.b","secretRef":{"name":"s"}}],"argocd":{"values":{"configs":{"credentialTemplates":["a"]}}}}`, []string{"spec.argocd.values.configs.credentialTemplates"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { crossplanetest.New(t, tc.spec, "").CheckRefused(tc.want...) })
	}
	// A password in a URL is not shown again.
	e := crossplanetest.New(t, `{"repositories":[{"name":"a","url":"https://git:secret-in-url@a.b/c"}]}`, "")
	if msg := crossplanetest.Refusal(e.Reconcile()); !strings.Contains(msg, "spec.repositories[0].url") || strings.Contains(msg, "secret-in-url") {
		t.Errorf("a password in a URL: %q", msg)
	}
	// Known hosts have no place to go.
	keys, host := crossplanetest.SSHKey()
	e = crossplanetest.New(t, `{"repositories":[{"name":"a","url":"git@a.b:c","secretRef":{"name":"s"}}],"argocd":{"values":{"configs":{"ssh":null}}}}`, "")
	e.AddSecret("s", "Opaque", map[string]string{"sshPrivateKey": keys[0], "knownHosts": host})
	if msg := crossplanetest.Refusal(e.Reconcile()); !strings.Contains(msg, "spec.argocd.values.configs.ssh is set by the known hosts of repositories") {
		t.Errorf("known hosts have no place to go: %q", msg)
	}
}

// TestURLsThatDiffer: URLs that Argo CD tells apart, and those that it doesn't, where they were accepted before.
func TestURLsThatDiffer(t *testing.T) {
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Slash":     {Spec: `{"repositories":[{"name":"a","url":"https://a.b/c"},{"name":"b","url":"https://a.b/c/"}]}`},
		"Project":   {Spec: `{"repositories":[{"name":"a","url":"https://a.b/c","project":"x"},{"name":"b","url":"https://a.b/c.git","project":"y"}]}`},
		"Scheme":    {Spec: `{"repositories":[{"name":"a","url":"https://a.b/c"},{"name":"b","url":"http://a.b/c.git"}]}`},
		"Templates": {Spec: `{"repositories":[{"name":"a","url":"https://a.b/c"}],"credentialTemplates":[{"name":"a","url":"https://a.b/c.git","secretRef":{"name":"s"}}]}`},
	})
	claims := map[string]crossplanetest.Claim{}
	for url, right := range map[string]string{
		"https://github.com/acme/apps/tree/main/customers":               "https://github.com/acme/apps",
		"https://github.example.org/acme/apps/blob/main/README.md":       "https://github.example.org/acme/apps",
		"https://gitlab.example.org/a/b/apps/-/tree/main?ref_type=heads": "https://gitlab.example.org/a/b/apps",
		"https://bitbucket.org/acme/apps/src/main/":                      "https://bitbucket.org/acme/apps",
	} {
		claims["Page "+url] = crossplanetest.Claim{Spec: `{"repositories":[{"name":"a","url":"` + url + `"}]}`, Want: []string{"spec.repositories[0].url: ", "is a page of a website: write the URL with which git clones, such as " + right + ","}}
		claims["PageOfBootstrap "+url] = crossplanetest.Claim{Spec: `{"bootstrap":{"repoURL":"` + url + `"}}`, Want: []string{"spec.bootstrap.repoURL: ", "is a page of a website"}}
		claims["Right "+right] = crossplanetest.Claim{Spec: `{"repositories":[{"name":"a","url":"` + right + `"}]}`}
	}
	claims["Subgroup"] = crossplanetest.Claim{Spec: `{"repositories":[{"name":"a","url":"https://gitlab.example.org/acme/plants/tree/oak"}]}`}
	claims["Index"] = crossplanetest.Claim{Spec: `{"repositories":[{"name":"a","type":"helm","url":"https://charts.example.org/stable/index.yaml"}]}`, Want: []string{`"https://charts.example.org/stable/index.yaml" is the index of a repository of charts, and Argo CD adds index.yaml to the URL: write https://charts.example.org/stable`}}
	claims["IndexRight"] = crossplanetest.Claim{Spec: `{"repositories":[{"name":"a","type":"helm","url":"https://charts.example.org/stable"}]}`}
	crossplanetest.CheckClaims(t, claims)
	hidden := crossplanetest.New(t, `{"repositories":[{"name":"a","url":"https://u:secret-in-url@github.com/acme/apps/tree/main?private_token=secret-in-query"}]}`, "")
	if msg := crossplanetest.Refusal(hidden.Reconcile()); !strings.Contains(msg, "spec.repositories[0].url") || strings.Contains(msg, "secret-in") {
		t.Errorf("secrets in a URL: %q", msg)
	}
	const twice = `{"repositories":[{"name":"a","url":"https://a.b/c"},{"name":"b","url":"https://a.b/c.git"}]}`
	crossplanetest.CheckStaysAccepted(t, twice, `{"repositories":[{"name":"a","url":"https://a.b/c"},{"name":"b","url":"https://a.b/C.git"}]}`)
	// Which project they are in, their Secrets say.
	const open = `{"repositories":[{"name":"a","url":"https://a.b/c","secretRef":{"name":"s"}},{"name":"b","url":"https://a.b/c.git","secretRef":{"name":"s"}}]}`
	e := crossplanetest.New(t, open, "")
	e.AddSecret("s", "Opaque", map[string]string{"username": "u", "password": "secret-1"})
	e.Install()
	if message, _ := e.StatusList("repositories")[1].(map[string]any)["message"].(string); !strings.Contains(message, "its url and project are those of spec.repositories[0], too") {
		t.Errorf("the second one says %q", message)
	}
}
