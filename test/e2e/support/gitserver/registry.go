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
	registryName = "registry"
	registryPort = 5000
)

// forward is a configuration of lighttpd's that hands all requests to another server.
const forward = `server.modules = ("mod_proxy")
server.port = %d
server.document-root = "/tmp"
proxy.server = ("" => (("host" => "%s", "port" => %s)))
`

// RunRegistry starts a server in a namespace that hands all on to an OCI registry elsewhere, given as host and port,
// which pods in virtual clusters may not reach themselves. It returns its own host and port.
func RunRegistry(ctx context.Context, t testing.TB, host *kube.Cluster, namespace, registry string) string {
	t.Helper()
	at, port, err := net.SplitHostPort(registry)
	if err != nil {
		t.Fatalf("the registry %s is no host and port: %v", registry, err)
	}
	meta := metav1.ObjectMeta{Name: registryName, Namespace: namespace, Labels: map[string]string{"app": registryName}}
	config, volume := folder(meta, map[string]string{"lighttpd.conf": fmt.Sprintf(forward, registryPort, at, port)})
	create := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("cannot create the registry's %s: %v", what, err)
		}
	}
	_, err = host.Typed.CoreV1().ConfigMaps(namespace).Create(ctx, config, metav1.CreateOptions{})
	create("ConfigMap", err)
	_, err = host.Typed.AppsV1().Deployments(namespace).Create(ctx, deployment(meta, corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: registryName, Image: artifacts.ServersImage, Command: []string{"lighttpd", "-D", "-f", "/files/lighttpd.conf"},
			VolumeMounts:   []corev1.VolumeMount{{Name: volume.Name, MountPath: "/files"}},
			ReadinessProbe: ready(registryPort),
		}},
		Volumes: []corev1.Volume{volume},
	}), metav1.CreateOptions{})
	create("Deployment", err)
	_, err = host.Typed.CoreV1().Services(namespace).Create(ctx, service(meta, registryPort), metav1.CreateOptions{})
	create("Service", err)
	awaitAvailable(ctx, t, host, namespace, registryName, registryPort)
	return net.JoinHostPort(address(ctx, t, host, namespace, registryName), fmt.Sprint(registryPort))
}
