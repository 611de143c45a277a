package platform

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/template"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/manifests"
)

//go:embed monitoring.yaml
var monitoringManifests string

// monitoringPage draws the fleet's dashboard for those who have no Grafana.
//
//go:embed page.html
var monitoringPage string

const (
	// MonitoringNamespace is where what monitors tenants runs.
	MonitoringNamespace = "monitoring"
	monitoringStarts    = 3 * time.Minute
)

// Files of examples/monitoring that kube-state-metrics, VictoriaMetrics and vmalert read.
const (
	KubeStateMetricsFile = "kube-state-metrics.yaml"
	ScrapeConfigsFile    = "scrape-configs.yaml"
	RulesFile            = "rules.yaml"
)

// InstallMonitoring runs the files of examples/monitoring in a cluster whose registry has the images, and returns the
// address of a page that shows the fleet, and below it of the metrics' API and web interface. change, if set, is given each of these files by its name, and returns
// what is used in its place.
func InstallMonitoring(ctx context.Context, c client.Client, root string, change func(name, content string) string, note func(string)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, monitoringStarts)
	defer cancel()
	objects, err := monitoringObjects(root, change)
	if err != nil {
		return "", err
	}
	if err := apply(ctx, c, objects...); err != nil {
		return "", err
	}
	for _, name := range []string{"kube-state-metrics", "prometheus"} {
		key := client.ObjectKey{Namespace: MonitoringNamespace, Name: name}
		if err := waitFor(ctx, c, appsv1.SchemeGroupVersion.WithKind("Deployment"), key, note, "Available"); err != nil {
			return "", errors.Join(err, (&installer{client: c}).podTrouble(ctx, MonitoringNamespace))
		}
	}
	service := &corev1.Service{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: MonitoringNamespace, Name: "prometheus"}, service); err != nil {
		return "", fmt.Errorf("cannot get the Service of the metrics: %w", err)
	}
	return "http://" + service.Spec.ClusterIP, nil
}

// RemoveMonitoring takes away what InstallMonitoring has installed.
func RemoveMonitoring(ctx context.Context, c client.Client, root string) error {
	ctx, cancel := context.WithTimeout(ctx, monitoringStarts)
	defer cancel()
	objects, err := monitoringObjects(root, nil)
	if err != nil {
		return err
	}
	for _, o := range slices.Backward(objects) {
		if err := client.IgnoreNotFound(c.Delete(ctx, o)); err != nil {
			return fmt.Errorf("cannot delete %s: %w", describe(o), err)
		}
	}
	for {
		err := c.Get(ctx, client.ObjectKey{Name: MonitoringNamespace}, &corev1.Namespace{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("namespace %s doesn't go: %w", MonitoringNamespace, timedOut(ctx))
		case <-time.After(pollEvery):
		}
	}
}

// monitoringObjects are those of monitoring.yaml and of examples/monitoring, the namespace first.
func monitoringObjects(root string, change func(name, content string) string) ([]*unstructured.Unstructured, error) {
	if change == nil {
		change = func(_, content string) string { return content }
	}
	folder := filepath.Join(root, "examples", "monitoring")
	files := map[string]string{}
	for name, edit := range map[string]func([]byte) (string, error){KubeStateMetricsFile: nil, ScrapeConfigsFile: boundTenants, RulesFile: specOf} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		content := string(data)
		if edit != nil {
			if content, err = edit(data); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		files[name] = change(name, content)
	}
	fleet, err := os.ReadFile(filepath.Join(folder, "dashboards", "fleet.json"))
	if err != nil {
		return nil, err
	}
	sum, err := json.Marshal(files)
	if err != nil {
		return nil, err
	}
	t, err := template.New("monitoring.yaml").Option("missingkey=error").Parse(monitoringManifests)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, map[string]string{
		"KubeStateMetrics": artifacts.KubeStateMetricsImage(), "VictoriaMetrics": artifacts.VictoriaMetricsImage(), "VMAlert": artifacts.VMAlertImage(), "Page": artifacts.PageImage,
		// The programs read their files when they start.
		"Files": fmt.Sprintf("%x", sha256.Sum256(sum))[:16],
	}); err != nil {
		return nil, err
	}
	own, err := manifests.Decode(&out)
	if err != nil {
		return nil, fmt.Errorf("cannot parse monitoring.yaml: %w", err)
	}
	examples, err := readManifests(filepath.Join(folder, "rbac.yaml"), filepath.Join(folder, "network.yaml"))
	if err != nil {
		return nil, err
	}
	configs := []*unstructured.Unstructured{configMap("files", files), configMap("page", map[string]string{"index.html": monitoringPage, "fleet.json": string(fleet)})}
	return slices.Concat(own[:1], configs, examples, own[1:]), nil
}

// boundTenants bounds tenants' series and answers by what the README recommends for VictoriaMetrics.
func boundTenants(data []byte) (string, error) {
	file := map[string]any{}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return "", err
	}
	jobs, _ := file["scrape_configs"].([]any)
	if len(jobs) < 2 {
		return "", errors.New("it has no jobs of tenants")
	}
	for _, job := range jobs[:2] {
		if job, ok := job.(map[string]any); ok {
			job["series_limit"], job["max_scrape_size"] = 5000, job["body_size_limit"]
		}
	}
	out, err := yaml.Marshal(file)
	return string(out), err
}

// specOf is what Prometheus and vmalert read of a PrometheusRule.
func specOf(data []byte) (string, error) {
	rule := map[string]any{}
	if err := yaml.Unmarshal(data, &rule); err != nil {
		return "", err
	}
	out, err := yaml.Marshal(rule["spec"])
	return string(out), err
}

func configMap(name string, data map[string]string) *unstructured.Unstructured {
	content := map[string]any{}
	for k, v := range data {
		content[k] = v
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": MonitoringNamespace, "name": name}, "data": content,
	}}
}
