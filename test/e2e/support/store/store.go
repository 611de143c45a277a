// Package store runs a server of S3's API in a cluster, for backups, and reads it with rclone.
package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// Remote is the encrypted remote in the configuration of rclone.
const Remote = "backup:"

// SecretName is the Secret with that configuration, and platform its namespace.
const (
	SecretName = "virtual-argocd-backup"
	platform   = "crossplane-system"
)

const (
	name   = "store"
	bucket = "backups"
	port   = 7070
)

// Store is a server of S3's API with one bucket.
type Store struct {
	host      *kube.Cluster
	namespace string
	endpoint  string
	key       string
	secret    string
	password  string
	rclone    string
	config    string
}

// Run starts the server in a namespace, and gives the platform its credentials.
func Run(ctx context.Context, t testing.TB, host *kube.Cluster, namespace string) *Store {
	t.Helper()
	s := &Store{host: host, namespace: namespace, key: rand.Text(), secret: rand.Text()}
	cache, err := toolchain.Default()
	if err == nil {
		s.rclone, err = cache.Binary("rclone")
	}
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": name}
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}
	service, err := host.Typed.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: port, TargetPort: intstr.FromInt(port)}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot create the store's Service: %v", err)
	}
	s.endpoint = fmt.Sprintf("http://%s:%d", service.Spec.ClusterIP, port)
	user, yes, room := int64(1000), true, resource.MustParse("64Mi")
	if _, err := host.Typed.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user, FSGroup: &user, RunAsNonRoot: &yes},
					Containers: []corev1.Container{{
						Name: name, Image: artifacts.VersityImage(), Args: []string{"--access", s.key, "--secret", s.secret, "--port", fmt.Sprintf(":%d", port), "posix", "--sidecar", "/meta", "/data"},
						ReadinessProbe: &corev1.Probe{PeriodSeconds: 2, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}}},
						VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "meta", MountPath: "/meta"}},
					}},
					Volumes: []corev1.Volume{
						{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &room}}},
						{Name: "meta", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
					},
				},
			},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("cannot create the store's Deployment: %v", err)
	}
	if _, err := host.Typed.NetworkingV1().NetworkPolicies(platform).Create(ctx, &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "e2e-store", Namespace: platform},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"virtualargocd.io/package": "backup"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
			}}}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("cannot let backups reach the store: %v", err)
	}
	host.AwaitDeployment(ctx, t, "the store", namespace, name)
	out, err := exec.CommandContext(ctx, s.rclone, "obscure", rand.Text()).Output()
	if err != nil {
		t.Fatal(err)
	}
	s.password = strings.TrimSpace(string(out))
	s.config = filepath.Join(t.TempDir(), "rclone.conf")
	if err := os.WriteFile(s.config, []byte(s.Config(s.secret)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Rclone(ctx, t, "mkdir", "plain:"+bucket)
	s.Configure(ctx, t, s.Config(s.secret))
	return s
}

// Config returns the configuration of rclone with a secret key.
func (s *Store) Config(secret string) string {
	return fmt.Sprintf(`[plain]
type = s3
provider = Other
endpoint = %s
region = us-east-1
force_path_style = true
access_key_id = %s
secret_access_key = %s

[backup]
type = crypt
remote = plain:%s
password = %s
`, s.endpoint, s.key, secret, bucket, s.password)
}

// Secret returns the right secret key.
func (s *Store) Secret() string { return s.secret }

// Configure gives the platform a configuration of rclone.
func (s *Store) Configure(ctx context.Context, t testing.TB, config string) {
	t.Helper()
	secrets := s.host.Typed.CoreV1().Secrets(platform)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SecretName, Namespace: platform}, StringData: map[string]string{"rclone.conf": config}}
	_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	if err != nil {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatalf("cannot write the platform's Secret %s: %v", SecretName, err)
	}
}

// Close takes from the platform what Run gave it. The server goes with its namespace.
func (s *Store) Close(ctx context.Context, t testing.TB) {
	t.Helper()
	if err := s.host.Typed.CoreV1().Secrets(platform).Delete(ctx, SecretName, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if err := s.host.Typed.NetworkingV1().NetworkPolicies(platform).Delete(ctx, "e2e-store", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// Nowhere is the label app of pods that the store's Service leads to when it isn't connected.
const Nowhere = "nothing"

// Connect has the store's Service lead to it, or nowhere.
func (s *Store) Connect(ctx context.Context, t testing.TB, connected bool) {
	t.Helper()
	app := name
	if !connected {
		app = Nowhere
	}
	patch := fmt.Appendf(nil, `{"spec":{"selector":{"app":%q}}}`, app)
	if _, err := s.host.Typed.CoreV1().Services(s.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// slow is a proxy to the address that is written into it, which passes on so many bytes a second.
const slow = `defaults
  mode http
  timeout connect 5s
  timeout client 10m
  timeout server 10m
frontend slow
  bind :%[1]d
  filter bwlim-in in default-limit %[3]d default-period 1s
  filter bwlim-out out default-limit %[3]d default-period 1s
  http-request set-bandwidth-limit in
  http-response set-bandwidth-limit out
  default_backend store
backend store
  server store %[2]s:%[1]d
`

// Slow has the store's Service lead to it by a proxy that passes on so many bytes a second, until what it returns is called.
func (s *Store) Slow(ctx context.Context, t testing.TB, bytes int64) (undo func()) {
	t.Helper()
	pods, configs := s.host.Typed.CoreV1().Pods(s.namespace), s.host.Typed.CoreV1().ConfigMaps(s.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("cannot find the store's pod: %v", err)
	}
	meta := metav1.ObjectMeta{Name: "slow", Labels: map[string]string{"app": Nowhere}}
	if _, err := configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"haproxy.cfg": fmt.Sprintf(slow, port, list.Items[0].Status.PodIP, bytes)}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64),
		Containers: []corev1.Container{{
			Name: "slow", Image: artifacts.HAProxyImage, Command: []string{"/usr/sbin/haproxy", "-db", "-f", "/slow/haproxy.cfg"},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 2, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}}},
			VolumeMounts:   []corev1.VolumeMount{{Name: "slow", MountPath: "/slow"}},
		}},
		Volumes: []corev1.Volume{{Name: "slow", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "slow"}}}}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Minute, "the slow proxy runs", func(ctx context.Context) (bool, string) {
		is, err := pods.Get(ctx, "slow", metav1.GetOptions{})
		return err == nil && len(is.Status.ContainerStatuses) == 1 && is.Status.ContainerStatuses[0].Ready, fmt.Sprint(err)
	})
	s.Connect(ctx, t, false)
	return func() {
		t.Helper()
		s.Connect(ctx, t, true)
		if err := errors.Join(pods.Delete(ctx, "slow", metav1.DeleteOptions{}), configs.Delete(ctx, "slow", metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	}
}

// Fill leaves no room in the store, and returns how many files that took.
func (s *Store) Fill(ctx context.Context, t testing.TB) (files int) {
	t.Helper()
	for size := 8 << 20; size >= 4<<10; {
		file := filepath.Join(t.TempDir(), "filler")
		if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.run(ctx, "copyto", file, fmt.Sprintf("plain:%s/filler-%d", bucket, files)); err != nil {
			size /= 2
			continue
		}
		files++
	}
	return files
}

// Empty deletes what Fill has stored.
func (s *Store) Empty(ctx context.Context, t testing.TB, files int) {
	t.Helper()
	for i := range files {
		s.Rclone(ctx, t, "deletefile", fmt.Sprintf("plain:%s/filler-%d", bucket, i))
	}
}

// Rclone runs rclone with the store's configuration, and returns what it prints.
func (s *Store) Rclone(ctx context.Context, t testing.TB, args ...string) string {
	t.Helper()
	out, err := s.run(ctx, args...)
	if err != nil {
		t.Fatalf("rclone %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (s *Store) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.rclone, append([]string{"--config", s.config, "--retries", "1"}, args...)...)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, problem.String())
	}
	return string(out), err
}
