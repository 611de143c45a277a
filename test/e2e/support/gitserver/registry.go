package gitserver

import (
	"context"
	"fmt"
	"net"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/artifacts"
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
	labels := map[string]string{"app": registryName}
	meta := metav1.ObjectMeta{Name: registryName, Namespace: namespace, Labels: labels}
	config, volume := folder(meta, map[string]string{"lighttpd.conf": fmt.Sprintf(forward, registryPort, at, port)})
	create := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("cannot create the registry's %s: %v", what, err)
		}
	}
	_, err = host.Typed.CoreV1().ConfigMaps(namespace).Create(ctx, config, metav1.CreateOptions{})
	create("ConfigMap", err)
	_, err = host.Typed.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64), // There is nothing to finish.
					Containers: []corev1.Container{{
						Name: registryName, Image: artifacts.ServersImage, Command: []string{"lighttpd", "-D", "-f", "/files/lighttpd.conf"},
						VolumeMounts:   []corev1.VolumeMount{{Name: volume.Name, MountPath: "/files"}},
						ReadinessProbe: ready(registryPort),
					}},
					Volumes: []corev1.Volume{volume},
				},
			},
		},
	}, metav1.CreateOptions{})
	create("Deployment", err)
	_, err = host.Typed.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: meta,
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: registryPort}}},
	}, metav1.CreateOptions{})
	create("Service", err)
	awaitAvailable(ctx, t, host, namespace, registryName)
	return net.JoinHostPort(address(ctx, t, host, namespace, registryName), fmt.Sprint(registryPort))
}
