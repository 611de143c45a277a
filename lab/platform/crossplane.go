package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// Namespace is where Crossplane runs and connection Secrets are.
const Namespace = "crossplane-system"

// crossplaneStarts is how long Crossplane may take.
const crossplaneStarts = 5 * time.Minute

// crossplaneRelease is the Helm release, and the Deployment of Crossplane's
// core.
const crossplaneRelease = "crossplane"

// installCrossplane installs Crossplane from the chart in its Go module, unless
// the cluster has a Crossplane of its own or this very release already.
func (i *installer) installCrossplane(ctx context.Context, note func(string)) error {
	own, err := i.foreignCrossplane(ctx)
	if err != nil {
		return err
	}
	if own {
		note("the cluster has Crossplane already, which is used as it is")
		return i.crossplaneAvailable(ctx, note)
	}
	values, err := i.crossplaneValues()
	if err != nil {
		return err
	}
	version := strings.TrimPrefix(toolchain.Version(i.Crossplane), "v")
	if i.deployed(ctx, version, values) {
		note("already there")
		return i.crossplaneAvailable(ctx, note)
	}
	note("helm install")
	chart, cleanup, err := i.packCrossplaneChart(ctx, version)
	if err != nil {
		return err
	}
	defer cleanup()
	data, err := yaml.Marshal(values)
	if err != nil {
		return err
	}
	file := filepath.Join(filepath.Dir(chart), "values.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("cannot write Crossplane's values: %w", err)
	}
	_, err = i.runHelm(ctx, "upgrade", "--install", crossplaneRelease, chart, "--namespace="+Namespace, "--create-namespace",
		"--values="+file)
	if err != nil {
		return err
	}
	return i.crossplaneAvailable(ctx, note)
}

// crossplaneValues are the values for Crossplane's chart that users are advised
// to set.
func (i *installer) crossplaneValues() (map[string]any, error) {
	const name = "crossplane-values.yaml"
	data, err := os.ReadFile(filepath.Join(i.Root, "examples", "install", name))
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if i.embedded != nil {
		// A node with few cores starts many things at once.
		values["resourcesRBACManager"] = map[string]any{"limits": map[string]any{"cpu": "1"}}
	}
	return values, nil
}

// crossplaneAvailable waits until Crossplane serves.
func (i *installer) crossplaneAvailable(ctx context.Context, note func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, crossplaneStarts)
	defer cancel()
	for _, name := range []string{"crossplane", "crossplane-rbac-manager"} {
		key := client.ObjectKey{Namespace: Namespace, Name: name}
		if err := waitFor(ctx, i.client, appsv1.SchemeGroupVersion.WithKind("Deployment"), key, note, "Available"); err != nil {
			return errors.Join(err, i.podTrouble(ctx, Namespace))
		}
		err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			d := &appsv1.Deployment{}
			if err := i.client.Get(ctx, key, d); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			// No pod from before is left.
			return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == d.Status.Replicas, nil
		})
		if err != nil {
			return errors.Join(fmt.Errorf("%s is not rolled out: %w", name, err), i.podTrouble(context.WithoutCancel(ctx), Namespace))
		}
	}
	return nil
}

// hasCrossplane reports whether the cluster has a Crossplane.
func (i *installer) hasCrossplane(ctx context.Context) (bool, error) {
	err := i.client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: crossplaneRelease}, &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot look for Crossplane: %w", err)
	}
	return err == nil, nil
}

// foreignCrossplane reports whether a cluster that is not ours has Crossplane. It
// has to be in the namespace that the examples name.
func (i *installer) foreignCrossplane(ctx context.Context) (bool, error) {
	if i.embedded != nil {
		return false, nil
	}
	crds := &unstructured.Unstructured{}
	crds.SetAPIVersion("apiextensions.k8s.io/v1")
	crds.SetKind("CustomResourceDefinition")
	err := i.client.Get(ctx, client.ObjectKey{Name: "configurations.pkg.crossplane.io"}, crds)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look for Crossplane: %w", err)
	}
	d := &appsv1.Deployment{}
	err = i.client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: crossplaneRelease}, d)
	if apierrors.IsNotFound(err) {
		// CustomResourceDefinitions survive an uninstallation; a Crossplane
		// elsewhere would not find the connection Secrets.
		list := &appsv1.DeploymentList{}
		if err := i.client.List(ctx, list, client.MatchingLabels{"app": "crossplane"}); err != nil {
			return false, fmt.Errorf("cannot look for Crossplane: %w", err)
		}
		if len(list.Items) > 0 {
			return false, fmt.Errorf("the cluster's Crossplane is in namespace %s, where %s is needed: reinstall it there", list.Items[0].Namespace, Namespace)
		}
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look for Crossplane: %w", err)
	}
	return true, nil
}

// deployed reports whether Crossplane's release is there, in this version and with
// these values.
func (i *installer) deployed(ctx context.Context, version string, values map[string]any) bool {
	out, err := i.runHelm(ctx, "list", "--namespace="+Namespace, "--filter=^"+crossplaneRelease+"$", "--output=json")
	if err != nil {
		return false
	}
	var releases []struct{ Status, Chart string }
	if json.Unmarshal(out, &releases) != nil || len(releases) != 1 ||
		releases[0].Status != "deployed" || releases[0].Chart != "crossplane-"+version {
		return false
	}
	out, err = i.runHelm(ctx, "get", "values", crossplaneRelease, "--namespace="+Namespace, "--output=json")
	if err != nil {
		return false
	}
	have := map[string]any{}
	_ = json.Unmarshal(out, &have)
	return reflect.DeepEqual(have, values) || len(have) == 0 && len(values) == 0
}

// packCrossplaneChart makes an archive of the chart in Crossplane's module,
// where its version is not filled in.
func (i *installer) packCrossplaneChart(ctx context.Context, version string) (file string, cleanup func(), err error) {
	module, err := i.Cache.ModuleDir(ctx, i.Crossplane)
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "crossplane-chart-")
	if err != nil {
		return "", nil, fmt.Errorf("cannot make a folder for Crossplane's chart: %w", err)
	}
	cleanup = func() { _ = os.RemoveAll(dir) }
	_, err = i.runHelm(ctx, "package", filepath.Join(module, "cluster/charts/crossplane"),
		"--version="+version, "--app-version="+version, "--destination="+dir)
	if err != nil {
		cleanup()
		return "", nil, err
	}
	return filepath.Join(dir, "crossplane-"+version+".tgz"), cleanup, nil
}

func (i *installer) runHelm(ctx context.Context, args ...string) ([]byte, error) {
	helm, err := i.Cache.Binary("helm")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, helm, append(args, "--kubeconfig="+i.kubeconfig)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("helm %s: %w: %s", args[0], err, text(stderr.String()))
	}
	return out, nil
}

// podTrouble describes the pods of a namespace that are not ready:
// helm says no more than that it gave up.
func (i *installer) podTrouble(ctx context.Context, namespace string) error {
	pods := &unstructured.UnstructuredList{}
	pods.SetAPIVersion("v1")
	pods.SetKind("PodList")
	if err := i.client.List(context.WithoutCancel(ctx), pods, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var errs []error
	for _, p := range pods.Items {
		if u := unmet(&p, []string{"Ready"}); u != "" {
			errs = append(errs, fmt.Errorf("pod %s: %s%s", p.GetName(), u, waiting(&p)))
		}
	}
	return errors.Join(errs...)
}

// waiting tells why containers of a pod don't run, such as an image that can't
// be pulled.
func waiting(pod *unstructured.Unstructured) string {
	out := ""
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _, _ := unstructured.NestedSlice(pod.Object, "status", field)
		for _, item := range list {
			c, ok := item.(map[string]any)
			if !ok {
				continue
			}
			if w, ok, _ := unstructured.NestedMap(c, "state", "waiting"); ok {
				out += fmt.Sprintf("; container %v waits: %s %s", c["name"], text(w["reason"]), text(w["message"]))
			}
		}
	}
	return out
}

// ensureNamespace makes Crossplane's namespace, so that what needs nothing else
// can be applied while Crossplane starts.
func (i *installer) ensureNamespace(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if err := client.IgnoreAlreadyExists(i.client.Create(ctx, ns)); err != nil {
		return fmt.Errorf("cannot make namespace %s: %w", Namespace, err)
	}
	return nil
}
