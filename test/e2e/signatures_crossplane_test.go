//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// verifyingCrossplane is Crossplane's core, which verifies signatures between start and stop.
type verifyingCrossplane struct {
	// was is the Deployment before start, and sets are the names of its ReplicaSets.
	was  *appsv1.Deployment
	sets map[string]bool
	// root has the files of the folder.
	root *corev1.ConfigMap
}

const (
	// core is the Deployment of Crossplane's core.
	core = "crossplane"
	// packageCache is a volume of its pod, and tufRoot the folder in it to which Crossplane sets TUF_ROOT.
	packageCache = "package-cache"
	tufRoot      = "/cache/xpkg/.sigstore/root"
)

// start restarts Crossplane with the flag, and with a folder of the form of TUF_ROOT: it doesn't reach Sigstore's services from here.
func (c *verifyingCrossplane) start(ctx context.Context, t *testing.T, root string) {
	t.Helper()
	var err error
	if c.was, err = host.Typed.AppsV1().Deployments(crossplane).Get(ctx, core, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	c.sets = map[string]bool{}
	for _, s := range c.replicaSets(ctx, t) {
		c.sets[s.Name] = true
	}
	config, files := configMapOf(t, "e2e-tuf-root", root)
	c.root = config
	if _, err := host.Typed.CoreV1().ConfigMaps(crossplane).Create(ctx, config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.change(ctx, t, func(pod *corev1.PodSpec) {
		const prepared = "/prepared"
		main := &pod.Containers[0]
		pod.Volumes = append(pod.Volumes, files)
		pod.InitContainers = append(pod.InitContainers, corev1.Container{
			Name: "tuf-root", Image: artifacts.ServersImage, Command: []string{"sh", "-c", "mkdir -p $0 && cp -rL " + prepared + "/. $0", tufRoot},
			VolumeMounts:    []corev1.VolumeMount{{Name: files.Name, MountPath: prepared}, {Name: packageCache, MountPath: "/cache/xpkg"}},
			SecurityContext: main.SecurityContext,
		})
		main.Args = append(main.Args, "--enable-signature-verification")
	})
}

// stop gives Crossplane the pods back that it had before start, if it was called.
func (c *verifyingCrossplane) stop(ctx context.Context, t *testing.T) {
	t.Helper()
	if c.was == nil {
		return
	}
	c.change(ctx, t, func(pod *corev1.PodSpec) { *pod = *c.was.Spec.Template.Spec.DeepCopy() })
	// Kubernetes keeps those without pods, to go back to them.
	for _, s := range c.replicaSets(ctx, t) {
		if c.sets[s.Name] {
			continue
		}
		if err := host.Typed.AppsV1().ReplicaSets(crossplane).Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	if c.root == nil {
		return
	}
	if err := host.Typed.CoreV1().ConfigMaps(crossplane).Delete(ctx, c.root.Name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Error(err)
	}
}

func (c *verifyingCrossplane) replicaSets(ctx context.Context, t *testing.T) []appsv1.ReplicaSet {
	t.Helper()
	list, err := host.Typed.AppsV1().ReplicaSets(crossplane).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(c.was.Spec.Selector)})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// change changes Crossplane's pods, and waits until there are no others.
func (c *verifyingCrossplane) change(ctx context.Context, t *testing.T, edit func(pod *corev1.PodSpec)) {
	t.Helper()
	deployments := host.Typed.AppsV1().Deployments(crossplane)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		d, err := deployments.Get(ctx, core, metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(&d.Spec.Template.Spec)
		_, err = deployments.Update(ctx, d, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("cannot change Crossplane's Deployment: %v", err)
	}
	took := eventually.True(ctx, t, 3*time.Minute, "Crossplane runs as wanted", func(ctx context.Context) (bool, string) {
		d, err := deployments.Get(ctx, core, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		s := d.Status
		done := s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == *d.Spec.Replicas && s.AvailableReplicas == s.UpdatedReplicas && s.Replicas == s.UpdatedReplicas
		return done, fmt.Sprintf("%+v", s)
	})
	t.Logf("Crossplane was restarted in %s", took.Round(time.Second))
}

// configMapOf makes a ConfigMap of the files of a folder, and the volume that has them under their paths, which a ConfigMap's keys can't be.
func configMapOf(t *testing.T, name, dir string) (*corev1.ConfigMap, corev1.Volume) {
	t.Helper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: crossplane}, BinaryData: map[string][]byte{}}
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		path, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		key := fmt.Sprint("file-", len(source.Items))
		config.BinaryData[key] = content
		source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: path})
		return err
	})
	if err != nil {
		t.Fatalf("cannot read folder %s: %v", dir, err)
	}
	return config, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: source}}
}
