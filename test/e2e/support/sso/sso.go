// Package sso runs an OIDC provider in a cluster, for Argo CDs to sign people on with: Dex, with users and groups from
// an LDAP server.
package sso

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"maps"
	"testing"
	"text/template"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/e2e-framework/klient/wait"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/certs"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// ClientID is what Argo CDs call themselves.
const ClientID = "argocd"

// Groups of the users.
const (
	Admins    = "platform-admins"
	Observers = "observers"
)

// User is a person who can sign on.
type User struct {
	Name, Password string
	Groups         []string
}

// Email of the user, which is the name that Argo CD shows.
func (u User) Email() string { return u.Name + "@example.org" }

// Provider is an OIDC provider that runs.
type Provider struct {
	// Issuer is its URL. It has an address and no name, so that it is understood inside virtual clusters too.
	Issuer string
	// CA is the authority, in PEM, of the provider's certificate: the test's own, which nobody trusts unasked.
	CA []byte
	// ClientSecret is what Argo CDs prove themselves with.
	ClientSecret string
	// Ada is in Admins, Olga in Observers, and Nemo in no group.
	Ada, Olga, Nemo User

	host      *kube.Cluster
	namespace string
	// argocds are the URLs of the Argo CDs, and directoryPassword is Dex's at the LDAP server.
	argocds           []string
	directoryPassword string
}

//go:embed dex.yaml
var dexConfig string

//go:embed slapd.conf
var slapdConfig string

//go:embed users.ldif
var users string

const name = "sso"

// Run starts the provider in a namespace. It sends people back to the Argo CDs at these URLs alone, such as
// https://argocd.example.org.
func Run(ctx context.Context, t testing.TB, host *kube.Cluster, namespace string, argocds ...string) *Provider {
	t.Helper()
	p := &Provider{
		ClientSecret: rand.Text(),
		Ada:          User{Name: "ada", Password: rand.Text(), Groups: []string{Admins}},
		Olga:         User{Name: "olga", Password: rand.Text(), Groups: []string{Observers}},
		Nemo:         User{Name: "nemo", Password: rand.Text()},
		host:         host, namespace: namespace, argocds: argocds, directoryPassword: rand.Text(),
	}
	labels := map[string]string{"app": name}
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}
	core := host.Typed.CoreV1()
	// The address is in the certificate, so the Service comes first.
	service, err := core.Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: meta,
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt(8443)}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot create the OIDC provider's Service: %v", err)
	}
	p.Issuer = fmt.Sprintf("https://%s/dex", service.Spec.ClusterIP)
	files, err := p.files(service.Spec.ClusterIP)
	if err != nil {
		t.Fatalf("cannot make the OIDC provider's configuration: %v", err)
	}
	if _, err := core.Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: meta, StringData: files}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("cannot create the OIDC provider's Secret: %v", err)
	}
	if _, err := host.Typed.AppsV1().Deployments(namespace).Create(ctx, deployment(meta), metav1.CreateOptions{}); err != nil {
		t.Fatalf("cannot create the OIDC provider's Deployment: %v", err)
	}
	host.AwaitDeployment(ctx, t, "the OIDC provider", namespace, name)
	return p
}

// RotateClientSecret gives Argo CDs a new client secret to prove themselves with. From then on the provider refuses
// those that still have the old one.
func (p *Provider) RotateClientSecret(ctx context.Context, t testing.TB) {
	t.Helper()
	p.ClientSecret = rand.Text()
	files, err := p.configuration()
	if err != nil {
		t.Fatalf("cannot make the OIDC provider's configuration: %v", err)
	}
	secrets := p.host.Typed.CoreV1().Secrets(p.namespace)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("cannot get the OIDC provider's Secret: %v", err)
	}
	secret.StringData = files
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("cannot update the OIDC provider's Secret: %v", err)
	}
	// Dex reads its clients when it starts.
	deployments := p.host.Typed.AppsV1().Deployments(p.namespace)
	d, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("cannot get the OIDC provider's Deployment: %v", err)
	}
	d.Spec.Template.Annotations = map[string]string{"restarted-for": secret.ResourceVersion}
	if d, err = deployments.Update(ctx, d, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("cannot restart the OIDC provider: %v", err)
	}
	err = wait.For(func(ctx context.Context) (bool, error) {
		now, err := deployments.Get(ctx, name, metav1.GetOptions{})
		return err == nil && now.Status.ObservedGeneration >= d.Generation && now.Status.UpdatedReplicas == 1 && now.Status.AvailableReplicas == 1 &&
			now.Status.Replicas == 1, nil
	}, wait.WithContext(ctx), wait.WithTimeout(5*time.Minute), wait.WithInterval(time.Second))
	if err != nil {
		t.Fatalf("the OIDC provider does not come back (kubectl -n %s describe pods): %v", p.namespace, err)
	}
}

// files are what Dex and the LDAP server start with.
func (p *Provider) files(address string) (map[string]string, error) {
	ca, err := certs.NewAuthority("e2e-sso")
	if err != nil {
		return nil, err
	}
	server, err := ca.Sign(certs.Identity{Name: name, Hosts: []string{address}})
	if err != nil {
		return nil, err
	}
	key, err := server.KeyPEM()
	if err != nil {
		return nil, err
	}
	p.CA = ca.CertPEM()
	out, err := p.configuration()
	if err != nil {
		return nil, err
	}
	out["tls.crt"], out["tls.key"] = string(server.CertPEM()), string(key)
	return out, nil
}

// configuration is that of Dex and the LDAP server.
func (p *Provider) configuration() (map[string]string, error) {
	out := map[string]string{}
	data := map[string]any{
		"Provider": p, "ClientID": ClientID, "ArgoCDs": p.argocds, "DirectoryPassword": p.directoryPassword,
		"Users": []User{p.Ada, p.Olga, p.Nemo}, "Groups": map[string][]User{Admins: {p.Ada}, Observers: {p.Olga}},
	}
	for file, content := range map[string]string{"dex.yaml": dexConfig, "slapd.conf": slapdConfig, "users.ldif": users} {
		parsed, err := template.New(file).Option("missingkey=error").Parse(content)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := parsed.Execute(&b, data); err != nil {
			return nil, err
		}
		out[file] = b.String()
	}
	return out, nil
}

// directory fills the LDAP server's database and serves it, to its own pod alone.
const directory = `set -eu
mkdir -p /srv/db
slapadd -f /files/slapd.conf -l /files/users.ldif
exec slapd -d none -f /files/slapd.conf -h ldap://127.0.0.1:3389/`

func deployment(meta metav1.ObjectMeta) *appsv1.Deployment {
	mount := corev1.VolumeMount{Name: "files", MountPath: "/files", ReadOnly: true}
	yes := true
	ldap := corev1.Container{
		Name: "directory", Image: artifacts.ServersImage, Command: []string{"sh", "-c", directory},
		VolumeMounts: []corev1.VolumeMount{mount, {Name: "srv", MountPath: "/srv"}},
	}
	dex := corev1.Container{
		Name: "dex", Image: artifacts.DexImage(), Args: []string{"/files/dex.yaml"}, VolumeMounts: []corev1.VolumeMount{mount},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/dex/healthz", Port: intstr.FromInt(8443), Scheme: corev1.URISchemeHTTPS}},
			PeriodSeconds: 1, TimeoutSeconds: 2,
		},
	}
	user := int64(1000)
	return &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
			// Two would know of each other's logins nothing.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(meta.Labels)},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user, FSGroup: &user, RunAsNonRoot: &yes},
					Containers:      []corev1.Container{ldap, dex},
					Volumes: []corev1.Volume{
						{Name: "files", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
						{Name: "srv", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
					},
				},
			},
		},
	}
}
