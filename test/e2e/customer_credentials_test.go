//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/leak"
)

// credentials are Secrets of a customer in every form that a claim knows, and what in them must be found nowhere else.
type credentials struct {
	secrets map[string]map[string]string
	needles []leak.Needle
}

// certificateSecret is that of the claim's URL.
const certificateSecret = "credential-ingress"

// add writes a Secret down. What is secret in it is named beside it.
func (c *credentials) add(name string, data map[string]string, secret ...string) {
	if c.secrets == nil {
		c.secrets = map[string]map[string]string{}
	}
	c.secrets[name] = data
	for i, value := range secret {
		c.needles = append(c.needles, leak.Value(fmt.Sprintf("secret %d of Secret %s", i+1, name), value))
	}
}

// givesCredentials puts one of each kind of credential into the claim, those of broken Secrets too. Nothing is behind
// their addresses: it is about where they are written, not about what they open.
func (c *customer) givesCredentials(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	spec := c.credentials.write(t)
	for name, data := range c.credentials.secrets {
		_, err := host.Typed.CoreV1().Secrets(claims).Create(ctx, &corev1.Secret{ObjectMeta: forClaims(name), StringData: data}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	c.events = countCrossplaneEvents(ctx, t)
	for field, value := range spec {
		c.live.Patch(ctx, t, value, "spec", field)
	}
	c.live.Await(ctx, t, 3*time.Minute, "has taken its credentials, but for those of broken Secrets", func(s *claim.State) bool {
		states := map[string]int{}
		for _, cluster := range s.Clusters {
			states[cluster.State]++
		}
		// Nothing uses them, and no provider answers.
		signOn := s.Condition(claim.SSOReady).Reason
		return states["Configured"] == 4 && states["SecretInvalid"] == 3 && s.Condition(claim.RepositoriesConnected).Reason == v1alpha1.ReasonConfigured &&
			(signOn == v1alpha1.ReasonConfigured || signOn == v1alpha1.ReasonConnectionFailed) && s.True(claim.Ready)
	})
	// They are where they are to be: looking for them elsewhere means something.
	virtual := open(ctx, t, c.live)
	eventually.True(ctx, t, 2*time.Minute, "Argo CD has all credentials", func(ctx context.Context) (bool, string) {
		list, err := virtual.Typed.CoreV1().Secrets("argocd").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		got := map[string]int{}
		for _, s := range list.Items {
			if kind := s.Labels["argocd.argoproj.io/secret-type"]; kind != "" {
				got[kind]++
			}
			if s.Name == "argocd-secret" && len(s.Data["oidc.clientSecret"]) > 0 {
				got["client secret"]++
			}
		}
		return got["cluster"] == 4 && got["repository"] == 5 && got["repo-creds"] == 1 && got["client secret"] == 1, fmt.Sprint(got)
	})
	c.knowsRepositories(ctx, t)
	c.takesCertificate(ctx, t, virtual)
	return ctx
}

// knowsRepositories asks Argo CD what it has taken the repositories for, which are of kinds that nothing here serves.
func (c *customer) knowsRepositories(ctx context.Context, t *testing.T) {
	t.Helper()
	want := []argocd.Repository{
		{Name: "password", Repo: "https://192.0.2.7/password.git", Proxy: anyProxy},
		{Name: "bearer", Repo: "https://192.0.2.7/bearer.git"},
		{Name: "ssh", Repo: "ssh://git@192.0.2.7/ssh.git"},
		{Name: "github", Repo: "https://192.0.2.7/github.git", GitHubAppID: 1, GitHubAppInstallationID: 2},
		{Name: "certificate", Repo: "https://192.0.2.7/certificate.git"},
	}
	for i := range want {
		want[i].Type = "git"
	}
	awaitRepositories(ctx, t, loggedIn(ctx, t, c.live), want)
}

// takesCertificate gives the claim a URL with a certificate. From then on the URL is one that nobody here resolves.
func (c *customer) takesCertificate(ctx context.Context, t *testing.T, virtual *kube.Cluster) {
	t.Helper()
	c.live.Patch(ctx, t, map[string]any{"host": "customer1.example.org", "tls": map[string]any{"secretName": certificateSecret}}, "spec", "ingress")
	eventually.True(ctx, t, 3*time.Minute, "Argo CD has the certificate", func(ctx context.Context) (bool, string) {
		s, err := virtual.Typed.CoreV1().Secrets("argocd").Get(ctx, "argocd-server-tls", metav1.GetOptions{})
		if err != nil || string(s.Data["tls.key"]) != c.credentials.secrets[certificateSecret]["tls.key"] {
			return false, fmt.Sprint("not in Secret argocd-server-tls: ", err)
		}
		_, wrong, err := workloads(ctx, virtual)
		return err == nil && len(wrong) == 0, fmt.Sprint(wrong, err)
	})
	c.live.AwaitReady(ctx, t, 3*time.Minute)
}

// write fills the Secrets, and is the parts of the spec that name them.
func (c *credentials) write(t *testing.T) map[string]any {
	t.Helper()
	cert, key := clientCertificate(t)
	clusters := []any{}
	cluster := func(name string, data map[string]string, secret ...string) {
		clusters = append(clusters, map[string]any{"name": name, "secretRef": map[string]any{"name": "credential-" + name}})
		c.add("credential-"+name, data, secret...)
	}
	const kubeconfig = `{apiVersion: v1, kind: Config, current-context: it, contexts: [{name: it, context: {cluster: it, user: it}}],
clusters: [{name: it, cluster: {server: "https://%s"}}], users: [{name: it, user: %s}]}`
	token, password := rand.Text(), rand.Text()
	cluster("kubeconfig-token", map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, "192.0.2.1", "{token: "+token+"}")}, token)
	pair := fmt.Sprintf("{client-certificate-data: %s, client-key-data: %s}", base64.StdEncoding.EncodeToString(cert), base64.StdEncoding.EncodeToString(key))
	cluster("kubeconfig-key", map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, "192.0.2.2", pair)}, string(key))
	config, err := json.Marshal(map[string]any{"username": "it", "password": password, "tlsClientConfig": map[string]any{"insecure": true}})
	if err != nil {
		t.Fatal(err)
	}
	cluster("declared", map[string]string{"server": "https://192.0.2.3", "config": string(config)}, password)
	token = rand.Text()
	cluster("token", map[string]string{"token": token, "ca.crt": string(cert)}, token)
	last, _ := clusters[len(clusters)-1].(map[string]any)
	last["server"] = "https://192.0.2.4"

	token, password = rand.Text(), rand.Text()
	cluster("broken-kubeconfig", map[string]string{"kubeconfig": "users: [{token: " + token + "}, {password: \"" + password}, token, password)
	token, password = rand.Text(), rand.Text()
	cluster("broken-config", map[string]string{"server": "https://192.0.2.5", "config": `{"bearerToken": ["` + token + `"], "tlsClientConfig": {"caData": "` + password + `"}}`}, token, password)
	token = rand.Text()
	cluster("broken-server", map[string]string{"server": "https://it:" + token + "@192.0.2.6", "config": "{}"}, token)

	repositories := []any{}
	repository := func(name, url string, data map[string]string, secret ...string) {
		repositories = append(repositories, map[string]any{"name": name, "url": url, "secretRef": map[string]any{"name": "credential-" + name}})
		c.add("credential-"+name, data, secret...)
	}
	password, token = rand.Text(), rand.Text()
	repository("password", "https://192.0.2.7/password.git", map[string]string{"username": "it", "password": password, "proxy": "http://it:" + token + "@192.0.2.8:3128"}, password, token)
	token = rand.Text()
	repository("bearer", "https://192.0.2.7/bearer.git", map[string]string{"bearerToken": token}, token)
	private := sshKey(t)
	repository("ssh", "ssh://git@192.0.2.7/ssh.git", map[string]string{"sshPrivateKey": private}, private)
	_, app := clientCertificate(t)
	repository("github", "https://192.0.2.7/github.git", map[string]string{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": string(app)}, string(app))
	cert, key = clientCertificate(t)
	repository("certificate", "https://192.0.2.7/certificate.git", map[string]string{"tlsClientCertData": string(cert), "tlsClientCertKey": string(key)}, string(key))

	password = rand.Text()
	c.add("credential-template", map[string]string{"username": "it", "password": password}, password)
	cert, key = clientCertificate(t)
	c.add(certificateSecret, map[string]string{"tls.crt": string(cert), "tls.key": string(key)}, string(key))
	secret := rand.Text()
	c.add("credential-sso", map[string]string{"clientSecret": secret}, secret)
	return map[string]any{
		"clusters": clusters, "repositories": repositories,
		"credentialTemplates": []any{map[string]any{"name": "template", "url": "https://192.0.2.9", "secretRef": map[string]any{"name": "credential-template"}}},
		"sso": map[string]any{"oidc": map[string]any{
			"issuer": "https://192.0.2.10", "clientID": "argocd", "clientSecretRef": map[string]any{"name": "credential-sso"},
		}},
	}
}

// remove deletes the Secrets.
func (c *credentials) remove(ctx context.Context, t *testing.T) {
	t.Helper()
	for name := range c.secrets {
		if err := host.Typed.CoreV1().Secrets(claims).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// clientCertificate is a certificate and its key, in PEM.
func clientCertificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// sshKey is a private key in OpenSSH's form.
func sshKey(t *testing.T) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}
