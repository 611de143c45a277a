// Package gitserver runs servers in a cluster for Argo CDs to deploy from: Git servers with one repository each, one that
// everybody may read and one that asks for credentials, and a way to an OCI registry.
package gitserver

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	name = "git"
	port = 9418
)

// commit makes a repository with one commit of the files; serve offers it to all readers.
const (
	asTest = `git -c user.name=e2e -c user.email=e2e@example.org`
	commit = `set -eu
git init -q -b main /srv/work
cp -RL /files/* /srv/work/
cd /srv/work
git add .
` + asTest + ` commit -q -m 'Add manifests'
git clone -q --bare /srv/work /srv/repo.git`
	serve     = `exec git daemon --reuseaddr --export-all --base-path=/srv /srv`
	serveHTTP = `cat >/srv/lighttpd.conf <<'END'
server.modules = ("mod_setenv", "mod_alias", "mod_cgi")
server.port = 80
server.document-root = "/srv/work"
alias.url = ("/git" => "/usr/lib/git-core/git-http-backend")
cgi.assign = ("/git-http-backend" => "")
setenv.set-environment = ("GIT_PROJECT_ROOT" => "/srv", "GIT_HTTP_EXPORT_ALL" => "")
END
exec lighttpd -D -f /srv/lighttpd.conf`
)

// RunPublic starts a server that everybody may read, in a namespace, with an image that has git (Argo CD's own, which is
// in every cluster with an Argo CD), and returns the repository's URL. The URL has an address and no name, so that it is
// understood inside virtual clusters too.
func RunPublic(ctx context.Context, t testing.TB, host *kube.Cluster, namespace, image string, files map[string]string) string {
	t.Helper()
	return fmt.Sprintf("git://%s/repo.git", run(ctx, t, host, namespace, image, serve, port, files))
}

// RunHTTP does the same over HTTP, as claims ask for, with the image that has a server for that.
func RunHTTP(ctx context.Context, t testing.TB, host *kube.Cluster, namespace string, files map[string]string) string {
	t.Helper()
	return fmt.Sprintf("http://%s/git/repo.git", run(ctx, t, host, namespace, artifacts.ServersImage, serveHTTP, 80, files))
}

// run runs a server that everybody may read, and returns its address.
func run(ctx context.Context, t testing.TB, host *kube.Cluster, namespace, image, script string, port int32, files map[string]string) string {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"app": name}}
	mounts := []corev1.VolumeMount{{Name: "srv", MountPath: "/srv"}, {Name: "files", MountPath: "/files"}}
	container := func(name, script string) corev1.Container {
		return corev1.Container{Name: name, Image: image, Command: []string{"sh", "-c", script}, VolumeMounts: mounts}
	}
	server := container("server", script)
	server.Ports = []corev1.ContainerPort{{ContainerPort: port}}

	core := host.Typed.CoreV1()
	create := func(what string, err error) {
		t.Helper()
		if err != nil && !kerrors.IsAlreadyExists(err) {
			t.Fatalf("cannot create the Git server's %s: %v", what, err)
		}
	}
	config, volume := folder(meta, files)
	_, err := core.ConfigMaps(namespace).Create(ctx, config, metav1.CreateOptions{})
	create("ConfigMap", err)
	_, err = host.Typed.AppsV1().Deployments(namespace).Create(ctx, deployment(meta, corev1.PodSpec{
		InitContainers: []corev1.Container{container("commit", commit)},
		Containers:     []corev1.Container{server},
		Volumes: []corev1.Volume{
			{Name: "srv", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			volume,
		},
	}), metav1.CreateOptions{})
	create("Deployment", err)
	_, err = core.Services(namespace).Create(ctx, service(meta, port), metav1.CreateOptions{})
	create("Service", err)

	awaitAvailable(ctx, t, host, namespace, name, int(port))
	return address(ctx, t, host, namespace, name)
}

// deployment runs one pod of a server, with the labels of the Deployment itself.
func deployment(meta metav1.ObjectMeta, pod corev1.PodSpec) *appsv1.Deployment {
	pod.TerminationGracePeriodSeconds = new(int64) // There is nothing to finish.
	return &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: pod},
		},
	}
}

// service leads to a port of pods with its own labels.
func service(meta metav1.ObjectMeta, port int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: meta,
		Spec:       corev1.ServiceSpec{Selector: meta.Labels, Ports: []corev1.ServicePort{{Port: port}}},
	}
}

// folder is a ConfigMap with files, and the volume that has them under their paths, which a ConfigMap's keys can't be.
func folder(meta metav1.ObjectMeta, files map[string]string) (*corev1.ConfigMap, corev1.Volume) {
	config := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{}}
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: meta.Name}}
	for i, path := range slices.Sorted(maps.Keys(files)) {
		key := fmt.Sprint("file-", i)
		config.Data[key] = files[path]
		source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: path})
	}
	return config, corev1.Volume{Name: "files", VolumeSource: corev1.VolumeSource{ConfigMap: source}}
}

// awaitAvailable waits until a server answers at a port of its Service, which leads to its pod a moment after that is ready.
func awaitAvailable(ctx context.Context, t testing.TB, host *kube.Cluster, namespace, name string, port int) {
	t.Helper()
	host.AwaitDeployment(ctx, t, "the Git server", namespace, name)
	dialer, at := kube.NewDialer(host), net.JoinHostPort(name+"."+namespace+".svc", fmt.Sprint(port))
	eventually.True(ctx, t, 2*time.Minute, "a server answers at "+at, func(ctx context.Context) (bool, string) {
		conn, err := dialer.DialContext(ctx, "tcp", at)
		if err != nil {
			return false, err.Error()
		}
		_ = conn.Close()
		return true, ""
	})
}

// address of the server, which every pod understands.
func address(ctx context.Context, t testing.TB, host *kube.Cluster, namespace, name string) string {
	t.Helper()
	service, err := host.Typed.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("cannot get the Git server's Service: %v", err)
	}
	return service.Spec.ClusterIP
}
