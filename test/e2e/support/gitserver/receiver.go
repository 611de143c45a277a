package gitserver

import (
	"context"
	"fmt"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	receiverName = "receiver"
	receiverPort = 8080
)

// receive hands each request to a program that writes down its path, its authorization and its body.
const receive = `server.modules = ("mod_cgi", "mod_rewrite")
server.port = %d
server.document-root = "/files"
url.rewrite-once = ("^(.*)$" => "/receive.sh")
cgi.assign = (".sh" => "/bin/sh")
`

// note is that program.
const note = `{ echo "$REQUEST_METHOD $REQUEST_URI $HTTP_AUTHORIZATION"; cat; echo; } >>/tmp/received
printf 'Content-Type: text/plain\r\n\r\nok'
`

// A Receiver is an HTTP endpoint that takes everything.
type Receiver struct {
	// URL of it.
	URL string

	host      *kube.Cluster
	namespace string
}

// RunReceiver starts an HTTP endpoint in a namespace that tenants reach.
func RunReceiver(ctx context.Context, t testing.TB, host *kube.Cluster, namespace string) *Receiver {
	t.Helper()
	meta := metav1.ObjectMeta{Name: receiverName, Namespace: namespace, Labels: map[string]string{"app": receiverName}}
	runServer(ctx, t, host, meta, receiverPort, map[string]string{"lighttpd.conf": fmt.Sprintf(receive, receiverPort), "receive.sh": note}, false)
	return &Receiver{
		URL:  "http://" + net.JoinHostPort(address(ctx, t, host, namespace, receiverName), fmt.Sprint(receiverPort)),
		host: host, namespace: namespace,
	}
}

// Received is what it has received: for each request its method, its path and its authorization on a line, and its body.
func (r *Receiver) Received(ctx context.Context, t testing.TB) string {
	t.Helper()
	s := server{r.host, r.namespace, receiverName, receiverName}
	out, err := r.host.Output(ctx, r.namespace, s.pod(ctx, t), receiverName, "sh", "-c", "cat /tmp/received 2>/dev/null || true")
	if err != nil {
		t.Logf("cannot read what the receiver has received: %v", err)
	}
	return out
}

const (
	lockedName = "locked-registry"
	// lockedPort is one of the node's: containerd speaks plain http to a registry on its own machine alone.
	lockedPort = 35443
)

// lock hands all requests of who knows a password to another server.
const lock = `server.modules = ("mod_auth", "mod_authn_file", "mod_proxy")
server.port = %d
server.bind = "127.0.0.1"
server.document-root = "/tmp"
auth.backend = "plain"
auth.backend.plain.userfile = "/files/password"
auth.require = ("/" => ("method" => "basic", "realm" => "registry", "require" => "valid-user"))
proxy.server = ("" => (("host" => "%s", "port" => %s)))
`

// RunLockedRegistry starts a server on the node that hands all on to an OCI registry, given as host and port, for those who know the
// password of Username. It returns its own host and port, as images have them.
func RunLockedRegistry(ctx context.Context, t testing.TB, host *kube.Cluster, namespace, registry, password string) string {
	t.Helper()
	at, port, err := net.SplitHostPort(registry)
	if err != nil {
		t.Fatalf("the registry %s is no host and port: %v", registry, err)
	}
	meta := metav1.ObjectMeta{Name: lockedName, Namespace: namespace, Labels: map[string]string{"app": lockedName}}
	runServer(ctx, t, host, meta, lockedPort, map[string]string{"lighttpd.conf": fmt.Sprintf(lock, lockedPort, at, port), "password": passwordLine(password)}, true)
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(lockedPort))
}

// runServer runs lighttpd with files, in the node's network or behind a Service.
func runServer(ctx context.Context, t testing.TB, host *kube.Cluster, meta metav1.ObjectMeta, port int32, files map[string]string, onNode bool) {
	t.Helper()
	create := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("cannot create the %s of %s: %v", what, meta.Name, err)
		}
	}
	config, volume := folder(meta, files)
	_, err := host.Typed.CoreV1().ConfigMaps(meta.Namespace).Create(ctx, config, metav1.CreateOptions{})
	create("ConfigMap", err)
	container := corev1.Container{
		Name: meta.Name, Image: artifacts.ServersImage, Command: []string{"lighttpd", "-D", "-f", "/files/lighttpd.conf"},
		VolumeMounts: []corev1.VolumeMount{{Name: volume.Name, MountPath: "/files"}},
	}
	if !onNode {
		container.ReadinessProbe = ready(int(port))
	}
	_, err = host.Typed.AppsV1().Deployments(meta.Namespace).Create(ctx, deployment(meta, corev1.PodSpec{
		HostNetwork: onNode, Containers: []corev1.Container{container}, Volumes: []corev1.Volume{volume},
	}), metav1.CreateOptions{})
	create("Deployment", err)
	if onNode {
		host.AwaitDeployment(ctx, t, "the registry", meta.Namespace, meta.Name)
		return
	}
	_, err = host.Typed.CoreV1().Services(meta.Namespace).Create(ctx, service(meta, port), metav1.CreateOptions{})
	create("Service", err)
	awaitAvailable(ctx, t, host, meta.Namespace, meta.Name, int(port))
}
