package gitserver

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/klient/wait"
	"sigs.k8s.io/e2e-framework/klient/wait/conditions"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const httpName = "git-http"

// httpServer is all that git http-backend needs around it. Perl comes with git.
//
//go:embed http.pl
var httpServer string

// commitFolders is commit, for files whose names say in which folder they go: a ConfigMap's keys have no slash.
const commitFolders = `set -eu
git init -q -b main /srv/work
cd /srv/work
for file in /manifests/*; do
  to=$(basename "$file" | sed 's|__|/|g')
  mkdir -p "$(dirname "$to")"
  cp -L "$file" "$to"
done
git add .
git -c user.name=e2e -c user.email=e2e@example.org commit -q -m 'Add manifests'
git clone -q --bare /srv/work /srv/repo.git`

// RunHTTP starts a server that everybody may read over HTTP, as a claim wants it, in a namespace, with an image that
// has git (Argo CD's own), and returns the repository's URL, which has an address and no name. The files may have that
// URL in them. A name such as web__deployment.yaml is that of a file in a folder.
func RunHTTP(ctx context.Context, t testing.TB, host *kube.Cluster, namespace, image string, files func(url string) map[string]string) string {
	t.Helper()
	labels := map[string]string{"app": httpName}
	meta := metav1.ObjectMeta{Name: httpName, Namespace: namespace, Labels: labels}
	core := host.Typed.CoreV1()
	create := func(what string, err error) {
		t.Helper()
		if err != nil && !kerrors.IsAlreadyExists(err) {
			t.Fatalf("cannot create the Git server's %s: %v", what, err)
		}
	}
	// The address is in the files, so the Service comes first.
	_, err := core.Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: meta,
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt(8080)}}},
	}, metav1.CreateOptions{})
	create("Service", err)
	service, err := core.Services(namespace).Get(ctx, httpName, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("cannot get the Git server's Service: %v", err)
	}
	url := fmt.Sprintf("http://%s/repo.git", service.Spec.ClusterIP)
	_, err = core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: files(url)}, metav1.CreateOptions{})
	create("ConfigMap", err)
	_, err = host.Typed.AppsV1().Deployments(namespace).Create(ctx, httpDeployment(meta, image), metav1.CreateOptions{})
	create("Deployment", err)

	client, err := klient.New(host.Config)
	if err != nil {
		t.Fatalf("cannot make a client: %v", err)
	}
	available := conditions.New(client.Resources()).DeploymentAvailable(httpName, namespace)
	if err := wait.For(available, wait.WithContext(ctx), wait.WithTimeout(3*time.Minute), wait.WithInterval(time.Second)); err != nil {
		t.Fatalf("the Git server does not become available (kubectl -n %s describe pods): %v", namespace, err)
	}
	return url
}

func httpDeployment(meta metav1.ObjectMeta, image string) *appsv1.Deployment {
	mounts := []corev1.VolumeMount{{Name: "srv", MountPath: "/srv"}, {Name: "manifests", MountPath: "/manifests"}}
	return &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(meta.Labels)},
				Spec: corev1.PodSpec{
					InitContainers: []corev1.Container{{Name: "commit", Image: image, Command: []string{"sh", "-c", commitFolders}, VolumeMounts: mounts}},
					Containers: []corev1.Container{{
						Name: "server", Image: image, Command: []string{"perl", "-e", httpServer}, VolumeMounts: mounts,
						ReadinessProbe: &corev1.Probe{
							ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(8080)}},
							PeriodSeconds: 1,
						},
					}},
					Volumes: []corev1.Volume{
						{Name: "srv", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
						{Name: "manifests", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
							LocalObjectReference: corev1.LocalObjectReference{Name: httpName},
						}}},
					},
				},
			},
		},
	}
}
