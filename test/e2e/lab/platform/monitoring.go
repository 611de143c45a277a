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
	"strings"
	"text/template"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/artifacts"
)

//go:embed monitoring.yaml
var monitoringManifests string

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
// address of the metrics' API and web interface. change, if set, is given each of these files by its name, and returns
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
	return fmt.Sprintf("http://%s:%d", service.Spec.ClusterIP, service.Spec.Ports[0].Port), nil
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
	for name, edit := range map[string]func([]byte) (string, error){KubeStateMetricsFile: unchanged, ScrapeConfigsFile: boundTenants, RulesFile: specOf} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		content, err := edit(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = change(name, content)
	}
	fleet, err := os.ReadFile(filepath.Join(folder, "dashboards", "fleet.json"))
	if err != nil {
		return nil, err
	}
	page, err := pageOf(fleet)
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
		"KubeStateMetrics": artifacts.KubeStateMetricsImage(), "VictoriaMetrics": artifacts.VictoriaMetricsImage(), "VMAlert": artifacts.VMAlertImage(),
		// The programs read their files when they start.
		"Files": fmt.Sprintf("%x", sha256.Sum256(sum))[:16],
	}); err != nil {
		return nil, err
	}
	own, err := decodeManifests(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("cannot parse monitoring.yaml: %w", err)
	}
	examples, err := readManifests(filepath.Join(folder, "rbac.yaml"), filepath.Join(folder, "network.yaml"))
	if err != nil {
		return nil, err
	}
	configs := []*unstructured.Unstructured{configMap("files", files), configMap("dashboards", map[string]string{"fleet.json": page})}
	return slices.Concat(own[:1], configs, examples, own[1:]), nil
}

func unchanged(data []byte) (string, error) { return string(data), nil }

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
			job["series_limit"], job["max_scrape_size"] = 5000, "8MB"
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

// A page of VictoriaMetrics' web interface, which draws graphs alone.
type page struct {
	Title string    `json:"title"`
	Rows  []pageRow `json:"rows"`
}

type pageRow struct {
	Title  string       `json:"title,omitempty"`
	Panels []pageGraphs `json:"panels"`
}

type pageGraphs struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Expr        []string `json:"expr"`
	Alias       []string `json:"alias,omitempty"`
	ShowLegend  bool     `json:"showLegend"`
	Width       int      `json:"width"`
}

// chosen puts what the page shows in place of what people choose in Grafana.
var chosen = strings.NewReplacer("$plan", ".*", "$channel", ".*", "$__rate_interval", "5m", "$__range_s", "86400", "$__range", "1d")

// pageOf makes a page of a dashboard for Grafana, for those who have none.
func pageOf(dashboard []byte) (string, error) {
	var d struct {
		Title  string `json:"title"`
		Panels []struct {
			Type, Title, Description string
			GridPos                  struct{ W int }
			Targets                  []struct{ Expr, LegendFormat string }
		} `json:"panels"`
	}
	if err := json.Unmarshal(dashboard, &d); err != nil {
		return "", err
	}
	p := page{Title: d.Title}
	for _, panel := range d.Panels {
		if panel.Type == "row" {
			p.Rows = append(p.Rows, pageRow{Title: panel.Title})
			continue
		}
		if panel.Type == "table" || len(panel.Targets) == 0 {
			continue
		}
		if len(p.Rows) == 0 {
			p.Rows = append(p.Rows, pageRow{})
		}
		g := pageGraphs{Title: panel.Title, Description: panel.Description, Width: max(3, panel.GridPos.W/2)}
		for _, target := range panel.Targets {
			legend := target.LegendFormat
			// Grafana's name for a query with one line.
			if legend == "__auto" {
				legend = ""
			}
			g.Expr, g.Alias, g.ShowLegend = append(g.Expr, chosen.Replace(target.Expr)), append(g.Alias, legend), g.ShowLegend || legend != ""
		}
		last := &p.Rows[len(p.Rows)-1]
		last.Panels = append(last.Panels, g)
	}
	// A row of tables alone would be empty.
	p.Rows = slices.DeleteFunc(p.Rows, func(r pageRow) bool { return len(r.Panels) == 0 })
	out, err := json.Marshal(p)
	return string(out), err
}
