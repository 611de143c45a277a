package gitserver

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	_ "embed"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/certs"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// Username of the https server's one user.
const Username = "deployer"

// Files that the servers read anew for each request: what a rotation writes, and what is published.
const (
	passwordFile = "/srv/credentials/password"
	keysFile     = "/srv/credentials/authorized_keys"
	chartsFolder = "/srv/www/charts"
)

//go:embed private/lighttpd.conf
var lighttpdConf string

//go:embed private/sshd_config
var sshdConf string

// A Private Git server is one that asks who is there. It serves one repository over https, to a user with a password,
// and over SSH, to a key; and files of a Helm repository, for which the password is, too.
type Private struct {
	// CA is the authority, in PEM, of the https server's certificate: the test's own, which nobody trusts unasked.
	CA []byte
	// KnownHosts is the line by which SSH clients recognize the server.
	KnownHosts string

	password string
	key      []byte

	host      *kube.Cluster
	namespace string
	address   string
}

// RunPrivate starts the servers in a namespace. Their URLs have an address and no name, so that they are understood
// inside virtual clusters too. The files of the repository, by their paths, may have the URL over https in them.
func RunPrivate(ctx context.Context, t testing.TB, host *kube.Cluster, namespace string, files func(url string) map[string]string) *Private {
	t.Helper()
	p := &Private{host: host, namespace: namespace}
	labels := map[string]string{"app": privateName}
	meta := metav1.ObjectMeta{Name: privateName, Namespace: namespace, Labels: labels}
	create := func(what string, err error) {
		t.Helper()
		// One that is there already has other credentials.
		if err != nil {
			t.Fatalf("cannot create the private Git server's %s: %v", what, err)
		}
	}
	// The address is in the certificate, so the Service comes first.
	_, err := host.Typed.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{
			{Name: "https", Port: 443, TargetPort: intstr.FromInt(8443)},
			{Name: "ssh", Port: 22, TargetPort: intstr.FromInt(2222)},
		}},
	}, metav1.CreateOptions{})
	create("Service", err)
	p.address = address(ctx, t, host, namespace, privateName)

	own, err := p.files()
	if err != nil {
		t.Fatalf("cannot make the Git server's credentials: %v", err)
	}
	_, err = host.Typed.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: meta, StringData: own}, metav1.CreateOptions{})
	create("Secret", err)
	config, volume := folder(meta, files(p.HTTPS()))
	_, err = host.Typed.CoreV1().ConfigMaps(namespace).Create(ctx, config, metav1.CreateOptions{})
	create("ConfigMap", err)
	_, err = host.Typed.AppsV1().Deployments(namespace).Create(ctx, p.deployment(meta, volume), metav1.CreateOptions{})
	create("Deployment", err)
	awaitAvailable(ctx, t, host, namespace, privateName, 443)
	return p
}

// Host is the address in all URLs, for which the certificate and the line of known hosts are.
func (p *Private) Host() string { return p.address }

// HTTPS is the repository's URL over https, and Password what opens it for Username.
func (p *Private) HTTPS() string { return fmt.Sprintf("https://%s/git/repo.git", p.address) }

// Teams is how the URLs begin of the same repository as one team's, web.git.
func (p *Private) Teams() string { return fmt.Sprintf("https://%s/git/teams/", p.address) }

// Charts is the URL of the Helm repository whose files Publish writes.
func (p *Private) Charts() string { return fmt.Sprintf("https://%s/charts", p.address) }

// Password of Username.
func (p *Private) Password() string { return p.password }

// SSH is the repository's URL over SSH, and Key what opens it.
func (p *Private) SSH() string { return fmt.Sprintf("ssh://git@%s/srv/repo.git", p.address) }

// Key is the private key in OpenSSH's form.
func (p *Private) Key() string { return string(p.key) }

// RotatePassword sets another password. The old one opens nothing from then on.
func (p *Private) RotatePassword(ctx context.Context, t testing.TB) {
	t.Helper()
	p.password = rand.Text()
	p.write(ctx, t, passwordFile, passwordLine(p.password))
}

// RotateKey makes another key. The old one opens nothing from then on.
func (p *Private) RotateKey(ctx context.Context, t testing.TB) {
	t.Helper()
	key, authorized, err := newKey()
	if err != nil {
		t.Fatalf("cannot make an SSH key: %v", err)
	}
	p.key = key
	p.write(ctx, t, keysFile, authorized)
}

// Commit adds a commit with these files, and returns its hash. Who sees it has read the repository since.
func (p *Private) Commit(ctx context.Context, t testing.TB, files map[string]string) string {
	t.Helper()
	return p.server().commit(ctx, t, Change{Files: files})
}

// server is what commands are run in.
func (p *Private) server() server { return server{p.host, p.namespace, privateName, httpsContainer} }

// Publish writes a file of the Helm repository.
func (p *Private) Publish(ctx context.Context, t testing.TB, name, content string) {
	t.Helper()
	p.write(ctx, t, chartsFolder+"/"+name, content)
}

// write puts a file in place of another at once.
func (p *Private) write(ctx context.Context, t testing.TB, file, content string) {
	t.Helper()
	p.run(ctx, t, fmt.Sprintf("umask 077; cat >%[1]s.new && mv %[1]s.new %[1]s", file), content)
}

// httpsContainer is where commands are run.
const httpsContainer = "https"

// run runs a shell command in the server's pod, and gives it an input.
func (p *Private) run(ctx context.Context, t testing.TB, command, input string) {
	t.Helper()
	p.server().run(ctx, t, command, input)
}

// files are what the servers start with.
func (p *Private) files() (map[string]string, error) {
	out := map[string]string{"lighttpd.conf": lighttpdConf, "sshd_config": sshdConf}
	ca, err := certs.NewAuthority("e2e-git")
	if err != nil {
		return nil, err
	}
	server, err := ca.Sign(certs.Identity{Name: "git", Hosts: []string{p.address}})
	if err != nil {
		return nil, err
	}
	key, err := server.KeyPEM()
	if err != nil {
		return nil, err
	}
	p.CA = ca.CertPEM()
	out["tls.pem"] = string(key) + string(server.CertPEM())

	hostKey, hostPublic, err := newKey()
	if err != nil {
		return nil, err
	}
	p.KnownHosts = p.address + " " + strings.TrimSpace(hostPublic)
	out["host_key"] = string(hostKey)

	authorized := ""
	if p.key, authorized, err = newKey(); err != nil {
		return nil, err
	}
	p.password = rand.Text()
	out["password"], out["authorized_keys"] = passwordLine(p.password), authorized
	return out, nil
}

func passwordLine(password string) string { return Username + ":" + password + "\n" }

// newKey makes a private key, and the line that lets it in.
func newKey() (private []byte, authorized string, err error) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, "", err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, "", err
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, "", err
	}
	return pem.EncodeToMemory(block), string(ssh.MarshalAuthorizedKey(line)), nil
}

const privateName = "git-private"

// prepare copies what a test may change to where it can, and what must be readable by its owner alone.
const prepare = `set -eu
umask 077
mkdir -p /srv/credentials ` + chartsFolder + ` /srv/teams
cp -L /own/* /srv/credentials/
ln -s /srv/repo.git /srv/teams/web.git
` + commit

func (p *Private) deployment(meta metav1.ObjectMeta, files corev1.Volume) *appsv1.Deployment {
	mounts := []corev1.VolumeMount{{Name: "srv", MountPath: "/srv"}}
	no, yes := false, true
	container := func(name, script string, more ...corev1.VolumeMount) corev1.Container {
		return corev1.Container{
			Name: name, Image: artifacts.ServersImage, Command: []string{"sh", "-c", script}, VolumeMounts: append(more, mounts...),
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no},
		}
	}
	https := container(httpsContainer, "exec lighttpd -D -f /srv/credentials/lighttpd.conf")
	https.ReadinessProbe = ready(8443)
	server := container("ssh", "exec /usr/sbin/sshd -D -e -f /srv/credentials/sshd_config")
	server.ReadinessProbe = ready(2222)
	user, readable := int64(1000), int32(0o444)
	return deployment(meta, corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user, FSGroup: &user, RunAsNonRoot: &yes},
		InitContainers: []corev1.Container{container("prepare", prepare,
			corev1.VolumeMount{Name: "own", MountPath: "/own"}, corev1.VolumeMount{Name: "files", MountPath: "/files"})},
		Containers: []corev1.Container{https, server},
		Volumes: []corev1.Volume{
			{Name: "srv", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "own", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: privateName, DefaultMode: &readable}}},
			files,
		},
	})
}

func ready(port int) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}},
		PeriodSeconds: 1, TimeoutSeconds: int32((2 * time.Second).Seconds()),
	}
}
