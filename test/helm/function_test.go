package helm

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestValuesOfTheFunction renders the values that the function makes of a claim,
// those from Secrets too: in the test chart always, and in a real argo-cd chart
// when ARGOCD_CHART names one.
func TestValuesOfTheFunction(t *testing.T) {
	const (
		probe    = "|spec|template|spec|containers|0|readinessProbe|"
		delay    = probe + "initialDelaySeconds"
		period   = probe + "periodSeconds"
		failures = probe + "failureThreshold"
	)
	cert, certKey := keyPair(t)
	ssh := sshKey(t)
	cases := map[string]struct {
		spec    tenant.Ask
		secrets map[string]tenant.Secret
		want    map[string]any
		// lines at the end of Argo CD's known hosts.
		lines []string
	}{
		"Clusters": {
			spec: tenant.Ask{Clusters: []v1alpha1.ClusterSpec{
				{Name: "prod", Labels: map[string]v1alpha1.LabelValue{"env": "p"}, Annotations: map[string]v1alpha1.AnnotationValue{"team": `web: "#1"`},
					Namespaces: []string{"2024"}, Project: "web", SecretRef: &v1alpha1.SecretReference{Name: "prod"}},
				{Name: "stage", SecretRef: &v1alpha1.SecretReference{Name: "stage"}},
				{Name: "arn:aws:eks:eu-central-1:123456789012:cluster/{{ x }}", Annotations: map[string]v1alpha1.AnnotationValue{"team": `{{ web }}: "#1"`}, SecretRef: &v1alpha1.SecretReference{Name: "eks"}},
				{Name: "in-cluster", Labels: map[string]v1alpha1.LabelValue{"env": "hub"}},
			}},
			secrets: map[string]tenant.Secret{
				"prod":  secret("server", "https://[2001:db8::1]:6443/k8s", "config", `{"bearerToken":"a:{{b}}","tlsClientConfig":{"insecure":true}}`, "shard", "2", "clusterResources", "true"),
				"stage": secret("server", "https://stage.example.org", "config", `{"username":"u","password":"p"}`),
				"eks":   secret("server", "https://eks.example.org", "config", `{"username":"u","password":"{{ p }}"}`, "shard", "1"),
			},
			want: map[string]any{
				"Secret/argocd-cluster-prod|text": map[string]any{"name": "prod", "server": "https://[2001:db8::1]:6443/k8s", "namespaces": "2024,2024", "clusterResources": "true",
					"project": "web", "shard": "2", "config": `{"bearerToken":"a:{{b}}","tlsClientConfig":{"insecure":true}}` + "\n"},
				"Secret/argocd-cluster-prod|metadata|labels|argocd.argoproj.io/secret-type":             "cluster",
				"Secret/argocd-cluster-prod|metadata|labels|env":                                        "p",
				"Secret/argocd-cluster-prod|metadata|annotations|team":                                  `web: "#1"`,
				"Secret/argocd-cluster-bb0b6550c2e2ada6|text":                                           map[string]any{"name": "arn:aws:eks:eu-central-1:123456789012:cluster/{{ x }}", "server": "https://eks.example.org", "shard": "1", "config": `{"password":"{{ p }}","username":"u"}`},
				"Secret/argocd-cluster-bb0b6550c2e2ada6|metadata|annotations|team":                      `{{ web }}: "#1"`,
				"Secret/argocd-cluster-bb0b6550c2e2ada6|metadata|labels|argocd.argoproj.io/secret-type": "cluster",
				"Secret/argocd-cluster-in-cluster|text":                                                 map[string]any{"name": "in-cluster", "server": "https://kubernetes.default.svc", "config": `{"tlsClientConfig":{"insecure":false}}` + "\n"},
				"Secret/argocd-cluster-in-cluster|metadata|labels|env":                                  "hub",
				"Secret/argocd-cluster-stage|text":                                                      map[string]any{"name": "stage", "server": "https://stage.example.org", "config": `{"password":"p","username":"u"}` + "\n"},
			},
		},
		"Repositories": {
			spec: tenant.Ask{
				Repositories: []v1alpha1.RepositorySpec{
					{Name: "public", URL: "https://git.example.org/public"},
					{Name: "apps", URL: "https://git.example.org/apps", Project: "web", SecretRef: &v1alpha1.SecretReference{Name: "apps"}},
					{Name: "charts", URL: "oci://registry.example.org/charts", Type: v1alpha1.RepositoryHelm, SecretRef: &v1alpha1.SecretReference{Name: "apps"}},
					{Name: "ssh", URL: "git@git.example.org:apps", SecretRef: &v1alpha1.SecretReference{Name: "ssh"}},
					{Name: "app", URL: "https://git.example.org/app", SecretRef: &v1alpha1.SecretReference{Name: "app"}},
					{Name: "certificate", URL: "https://git.example.org/certificate", SecretRef: &v1alpha1.SecretReference{Name: "certificate"}},
					{Name: "manifests", URL: "oci://registry.example.org/manifests", Type: v1alpha1.RepositoryOCI, SecretRef: &v1alpha1.SecretReference{Name: "bearer"}},
				},
				CredentialTemplates: []v1alpha1.CredentialTemplateSpec{{Name: "server", URL: "https://git.example.org", SecretRef: v1alpha1.SecretReference{Name: "apps"}}},
				ArgoCDValues:        values.Values{"configs": values.Values{"ssh": values.Values{"extraHosts": "own.example.org ssh-ed25519 AAAA"}}},
			},
			secrets: map[string]tenant.Secret{
				"apps": secret("username", "u", "password", `p: "{{ x }}"`, "insecure", "true"),
				"ssh":  secret("sshPrivateKey", ssh, "knownHosts", knownHost),
				"app": secret("githubAppID", "0123456789012", "githubAppInstallationID", "9007199254740993", "githubAppPrivateKey", certKey,
					"githubAppEnterpriseBaseUrl", "https://ghe.example.org/api/v3"),
				"certificate": secret("tls.crt", cert, "tls.key", certKey, "enableLfs", "true", "forceHttpBasicAuth", "false", "proxy", "http://u:p@proxy:3128", "noProxy", "*.example.org, a"),
				"bearer":      secret("bearerToken", "0x10", "insecureOCIForceHttp", "true"),
			},
			want: map[string]any{
				"Secret/argocd-repo-public|text": map[string]any{"name": "public", "url": "https://git.example.org/public", "type": "git"},
				"Secret/argocd-repo-apps|text":   map[string]any{"name": "apps", "url": "https://git.example.org/apps", "type": "git", "project": "web", "username": "u", "password": `p: "{{ x }}"`, "insecure": "true"},
				"Secret/argocd-repo-charts|text": map[string]any{"name": "charts", "url": "registry.example.org/charts", "type": "helm", "enableOCI": "true", "username": "u", "password": `p: "{{ x }}"`, "insecure": "true"},
				"Secret/argocd-repo-ssh|text":    map[string]any{"name": "ssh", "url": "git@git.example.org:apps", "type": "git", "sshPrivateKey": ssh},
				"Secret/argocd-repo-app|text": map[string]any{"name": "app", "url": "https://git.example.org/app", "type": "git", "githubAppID": "0123456789012",
					"githubAppInstallationID": "9007199254740993", "githubAppPrivateKey": certKey, "githubAppEnterpriseBaseUrl": "https://ghe.example.org/api/v3"},
				"Secret/argocd-repo-certificate|text": map[string]any{"name": "certificate", "url": "https://git.example.org/certificate", "type": "git",
					"tlsClientCertData": strings.TrimSpace(cert), "tlsClientCertKey": strings.TrimSpace(certKey),
					"enableLfs": "true", "forceHttpBasicAuth": "false", "proxy": "http://u:p@proxy:3128", "noProxy": "*.example.org, a"},
				"Secret/argocd-repo-manifests|text":                                              map[string]any{"name": "manifests", "url": "oci://registry.example.org/manifests", "type": "oci", "bearerToken": "0x10", "insecureOCIForceHttp": "true"},
				"Secret/argocd-repo-creds-server|text":                                           map[string]any{"url": "https://git.example.org", "type": "git", "username": "u", "password": `p: "{{ x }}"`},
				"Secret/argocd-repo-apps|metadata|labels|argocd.argoproj.io/secret-type":         "repository",
				"Secret/argocd-repo-creds-server|metadata|labels|argocd.argoproj.io/secret-type": "repo-creds",
			},
			lines: []string{"own.example.org ssh-ed25519 AAAA", "# of Repository ssh", knownHost},
		},
		"Ingress": {
			spec: tenant.Ask{Ingress: &v1alpha1.IngressSpec{Host: "argocd.example.org", ClassName: "nginx", Annotations: map[string]v1alpha1.AnnotationValue{"a/b": `{{ "c" }}`}}},
			want: map[string]any{
				"Ingress/argocd-server|spec|rules":                    []any{rule("argocd.example.org")},
				"Ingress/argocd-server|spec|tls":                      []any{map[string]any{"hosts": []any{"argocd.example.org"}}},
				"Ingress/argocd-server|spec|ingressClassName":         "nginx",
				"Ingress/argocd-server|metadata|annotations":          map[string]any{"a/b": `{{ "c" }}`},
				"ConfigMap/argocd-cm|data|url":                        "https://argocd.example.org",
				"ConfigMap/argocd-cmd-params-cm|data|server.insecure": "true",
				"Service/argocd-server|spec|ports|http|port":          80,
			},
		},
		"IngressWithCertificate": {
			spec:    tenant.Ask{Ingress: &v1alpha1.IngressSpec{Host: "argocd.example.org", TLS: &v1alpha1.IngressTLS{SecretName: "cert"}}},
			secrets: map[string]tenant.Secret{"cert": secret("tls.crt", cert, "tls.key", certKey)},
			want: map[string]any{
				"Ingress/argocd-server|spec|tls": []any{map[string]any{"hosts": []any{"argocd.example.org"}, "secretName": "argocd-server-tls"}},
				"Secret/argocd-server-tls|text":  map[string]any{"tls.crt": cert, "tls.key": certKey},
			},
		},
		"IngressWithIssuer": {
			spec: tenant.Ask{Ingress: &v1alpha1.IngressSpec{Host: "argocd.example.org", TLS: &v1alpha1.IngressTLS{Issuer: &v1alpha1.IssuerReference{Name: "ca"}}}},
			want: map[string]any{
				"Ingress/argocd-server|spec|tls":             []any{map[string]any{"hosts": []any{"argocd.example.org"}, "secretName": "argocd-server-tls"}},
				"Ingress/argocd-server|metadata|annotations": map[string]any{"cert-manager.io/cluster-issuer": "ca"},
			},
		},
		"SSO": {
			spec: tenant.Ask{SSO: &v1alpha1.SSOSpec{DisableAdmin: true, OIDC: &v1alpha1.OIDCSpec{
				Issuer: "https://id.example.org", ClientID: "argocd", ClientSecretRef: &v1alpha1.SecretKeyReference{Name: "oidc"},
				AdminGroups: []string{`a, "b"`}, RootCA: cert,
			}}},
			secrets: map[string]tenant.Secret{"oidc": secret("clientSecret", `s: "{{ x }}"`)},
			want: map[string]any{
				"ConfigMap/argocd-cm|data|admin.enabled":                 "false",
				"ConfigMap/argocd-cm|data|oidc.config":                   oidcConfig(t, cert),
				"ConfigMap/argocd-rbac-cm|data|policy.csv":               "",
				"ConfigMap/argocd-rbac-cm|data|policy.virtualargocd.csv": "g,\"a, \"\"b\"\"\",role:admin\n",
				"Secret/argocd-secret|text":                              map[string]any{"oidc.clientSecret": `s: "{{ x }}"`, "virtualargocd.tenant": "a"},
			},
		},
		"Dex": {
			spec: tenant.Ask{
				SSO: &v1alpha1.SSOSpec{Dex: &v1alpha1.DexSpec{Connectors: []v1alpha1.DexConnector{
					{Type: "github", ID: "github", Name: "GitHub", Config: &runtime.RawExtension{Raw: []byte(`{"clientID":"a","clientSecret":"$oauth:secret","loadAllGroups":true}`)}}}}},
				ArgoCDSecretKeys: []v1alpha1.SecretKeySpec{{Key: "webhook.github.secret", SecretRef: v1alpha1.SecretReference{Name: "oauth"}}},
			},
			secrets: map[string]tenant.Secret{"oauth": secret("secret", `s: "{{ x }}"`, "webhook.github.secret", "w: {{ x }}")},
			want: map[string]any{
				"ConfigMap/argocd-cm|data|dex.config":                        "connectors:\n- config:\n    clientID: a\n    clientSecret: $sso-oauth:secret\n    loadAllGroups: true\n  id: github\n  name: GitHub\n  type: github\n",
				"Secret/sso-oauth|text":                                      map[string]any{"secret": `s: "{{ x }}"`},
				"Secret/sso-oauth|metadata|labels|app.kubernetes.io/part-of": "argocd",
				"Secret/argocd-secret|text":                                  map[string]any{"webhook.github.secret": "w: {{ x }}", "virtualargocd.tenant": "a"},
			},
		},
		"Notifications": {
			spec: tenant.Ask{
				Ingress: &v1alpha1.IngressSpec{Host: "argocd.example.org"},
				Notifications: &v1alpha1.NotificationsSpec{
					SecretRef:     &v1alpha1.SecretReference{Name: "services"},
					Services:      []v1alpha1.NotificationServiceSpec{{Type: "slack", Config: &runtime.RawExtension{Raw: []byte(`{"token":"$token","channels":["a: b"]}`)}}, {Type: "webhook", Name: "hook", Config: &runtime.RawExtension{Raw: []byte(`{"url":"https://a.example.org"}`)}}},
					Templates:     []v1alpha1.NotificationTemplateSpec{{Name: "failed", Message: "a: {{.app.metadata.name}} \"b\"\n# c\n  d"}},
					Triggers:      []v1alpha1.NotificationTriggerSpec{{Name: "on-failed", Conditions: []v1alpha1.NotificationConditionSpec{{When: "app.a == 'b: c'", Send: []string{"failed"}}}}},
					Subscriptions: []v1alpha1.NotificationSubscriptionSpec{{Recipients: []string{"slack:#a", "hook"}, Triggers: []string{"on-failed"}, Selector: "a=b"}},
					Context:       map[string]v1alpha1.ContextValue{"region": `east: "#1"`},
				},
			},
			secrets: map[string]tenant.Secret{"services": secret("token", "t: {{ x }}")},
			want: map[string]any{
				"ConfigMap/argocd-notifications-cm|data|service.slack":        "channels:\n- 'a: b'\ntoken: $token\n",
				"ConfigMap/argocd-notifications-cm|data|service.webhook.hook": "url: https://a.example.org\n",
				"ConfigMap/argocd-notifications-cm|data|template.failed":      "message: |-\n  a: {{.app.metadata.name}} \"b\"\n  # c\n    d\n",
				"ConfigMap/argocd-notifications-cm|data|trigger.on-failed":    "- send:\n  - failed\n  when: 'app.a == ''b: c'''\n",
				"ConfigMap/argocd-notifications-cm|data|subscriptions":        "- recipients:\n  - slack:#a\n  - hook\n  selector: a=b\n  triggers:\n  - on-failed\n",
				"ConfigMap/argocd-notifications-cm|data|context":              "argocdUrl: https://argocd.example.org\nregion: 'east: \"#1\"'\n",
				"Secret/argocd-notifications-secret|text":                     map[string]any{"token": "t: {{ x }}"},
			},
		},
		"Webhooks": {
			spec: tenant.Ask{
				Webhooks:            []v1alpha1.WebhookSpec{{Provider: v1alpha1.WebhookGitHub, SecretRef: v1alpha1.SecretReference{Name: "hook"}}},
				ImagePullSecrets:    []v1alpha1.SecretReference{{Name: "images"}},
				TrustedCertificates: []v1alpha1.TrustedCertificateSpec{{Server: "git.example.org", Certificates: cert}},
			},
			secrets: map[string]tenant.Secret{"hook": secret("secret", "w: {{ x }}"), "images": ofType("kubernetes.io/dockerconfigjson", secret(".dockerconfigjson", `{"auths":{"r":{"username":"u","password":"{{ p }}"}}}`))},
			want: map[string]any{
				// Without the token of the tenant's account, the other kinds of Git servers have no secrets.
				"Secret/argocd-secret|text":                                                     map[string]any{"webhook.github.secret": "w: {{ x }}", "virtualargocd.tenant": "a"},
				"Secret/image-pull-21b2eed1e3|text":                                             map[string]any{".dockerconfigjson": `{"auths":{"r":{"username":"u","password":"{{ p }}"}}}`},
				"Secret/image-pull-21b2eed1e3|type":                                             "kubernetes.io/dockerconfigjson",
				"Secret/image-pull-21b2eed1e3|metadata|annotations|vcluster.loft.sh/force-sync": "true",
				"ConfigMap/argocd-tls-certs-cm|data|git.example.org":                            cert,
			},
		},
		"Smallest": {
			want: map[string]any{
				"ConfigMap/argocd-cm|data|url":                         "https://argocd-server-x-argocd-x-vcluster.vargo-a.svc",
				"ConfigMap/argocd-cmd-params-cm|data|repo.server":      "argocd-repo-server:8081",
				"Secret/argocd-secret|text":                            map[string]any{"virtualargocd.tenant": "a"},
				"Deployment/argocd-server|metadata|namespace":          "argocd",
				"Deployment/argocd-server" + probe + "httpGet|path":    "/healthz",
				"Deployment/argocd-server" + delay:                     1,
				"Deployment/argocd-server" + period:                    3,
				"Deployment/argocd-server" + failures:                  10,
				"Deployment/argocd-repo-server" + delay:                1,
				"Deployment/argocd-repo-server" + period:               3,
				"Deployment/argocd-repo-server" + failures:             10,
				"StatefulSet/argocd-application-controller" + delay:    1,
				"StatefulSet/argocd-application-controller" + period:   3,
				"StatefulSet/argocd-application-controller" + failures: 10,
			},
		},
	}
	for of, ch := range subjects(t) {
		for name, tc := range cases {
			t.Run(of+"/"+name, func(t *testing.T) {
				p, err := resolve.Tenant(tenant.Given{XRName: "a", Spec: tc.spec, Secrets: tc.secrets, Claim: tenant.Claim{Namespace: "team-a", Name: "a"},
					Hostnames: tenant.Hostnames{Held: []string{"argocd.example.org"}}})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range slices.Concat(p.Clusters, p.Repositories) {
					if c.State != v1alpha1.StateConfigured {
						t.Errorf("%s: %s", c.Name, c.Message)
					}
				}
				values, err := yaml.Marshal(values.Merge(p.Sensitive, p.ArgoCD.Values))
				if err != nil {
					t.Fatal(err)
				}
				got, err := render(ch, tenant.HelmArgoCD, string(values))
				if err != nil {
					t.Fatal(err)
				}
				for _, path := range slices.Sorted(maps.Keys(tc.want)) {
					object, field, _ := strings.Cut(path, "|")
					if got[object] == nil {
						t.Errorf("there is no %s", object)
						continue
					}
					if diff := cmp.Diff(plain(t, tc.want[path]), plain(t, at(got[object], field))); diff != "" {
						t.Errorf("%s: -want, +got:\n%s", path, diff)
					}
				}
				hosts, _ := at(got["ConfigMap/argocd-ssh-known-hosts-cm"], "data|ssh_known_hosts").(string)
				if lines := strings.Split(strings.TrimSpace(hosts), "\n"); len(lines) <= len(tc.lines) || !slices.Equal(tc.lines, lines[len(lines)-len(tc.lines):]) {
					t.Errorf("known hosts should be Argo CD's own, and end with %q:\n%s", tc.lines, hosts)
				}
			})
		}
	}
}

// ofType returns a Secret as one of another type.
func ofType(typ string, s tenant.Secret) tenant.Secret {
	s.Type = typ
	return s
}

// TestTemplatesOfClaims: what a claim may have braces in, the charts don't take for a template.
func TestTemplatesOfClaims(t *testing.T) {
	const (
		template = `{{ fail "rendered" }}`
		policy   = `p, "{{ fail ""rendered"" }}", applications, get, */*, allow`
	)
	notifications := values.Values{"context": values.Values{"x": template}, "secret": values.Values{"items": values.Values{"x": template}, "annotations": values.Values{"x": template}}}
	for _, key := range []string{"notifiers", "templates", "triggers"} {
		notifications[key] = values.Values{strings.NewReplacer("notifiers", "service", "templates", "template", "triggers", "trigger").Replace(key) + ".x": template}
	}
	notifications["subscriptions"] = []any{values.Values{"recipients": []any{template}}}
	spec := tenant.Ask{ArgoCDValues: values.Values{"notifications": notifications, "configs": values.Values{
		"cm": values.Values{"x": template}, "params": values.Values{"x": template}, "rbac": values.Values{"policy.csv": policy},
		"secret":       values.Values{"extra": values.Values{"x": template}, "annotations": values.Values{"x": template}},
		"ssh":          values.Values{"extraHosts": template},
		"tls":          values.Values{"certificates": values.Values{"x": template}},
		"gpg":          values.Values{"keys": values.Values{"x": template}},
		"repositories": values.Values{"x": values.Values{"url": template}},
	}}}
	p, err := resolve.Tenant(tenant.Given{XRName: "a", Spec: spec, Claim: tenant.Claim{Namespace: "team-a", Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	values, err := yaml.Marshal(values.Merge(p.Sensitive, p.ArgoCD.Values))
	if err != nil {
		t.Fatal(err)
	}
	for of, ch := range subjects(t) {
		got, err := render(ch, tenant.HelmArgoCD, string(values))
		if err != nil {
			t.Errorf("%s: %v", of, err)
			continue
		}
		if x := at(got["ConfigMap/argocd-cm"], "data|x"); x != template {
			t.Errorf("%s: want %s as it is, got %v", of, template, x)
		}
	}
}

// rule is what an Ingress does with a host.
func rule(host string) map[string]any {
	backend := map[string]any{"service": map[string]any{"name": "argocd-server", "port": map[string]any{"number": 80}}}
	return map[string]any{"host": host, "http": map[string]any{"paths": []any{map[string]any{"path": "/", "pathType": "Prefix", "backend": backend}}}}
}

// oidcConfig is Argo CD's setting for an OpenID Connect provider.
func oidcConfig(t *testing.T, ca string) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"name": "SSO", "issuer": "https://id.example.org", "clientID": "argocd", "clientSecret": "$oidc.clientSecret",
		"requestedScopes": []string{"openid", "profile", "email", "groups"}, "rootCA": ca,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keyPair is a certificate and its key.
func keyPair(t *testing.T) (string, string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

const knownHost = "git.example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"

// sshKey is a private key.
func sshKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

// secret is a Secret that was read, of keys and values in turn.
func secret(data ...string) tenant.Secret {
	s := tenant.Secret{Read: true, Found: true, Labelled: true, Type: "Opaque", Data: map[string]string{}}
	for i := 0; i < len(data); i += 2 {
		s.Data[data[i]] = data[i+1]
	}
	return s
}
