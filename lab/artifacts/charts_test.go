package artifacts

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

func TestPackageCharts(t *testing.T) {
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := PackageCharts(context.Background(), cache, "", dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var index chartIndex
	if err := yaml.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for name, entries := range index.Entries {
		for _, e := range entries {
			got[name] = append(got[name], e.Version+" "+e.AppVersion)
			ch, err := loader.Load(filepath.Join(dir, e.URLs[0]))
			if err != nil {
				t.Fatal(err)
			}
			if ch.Metadata.Version != e.Version || len(ch.Metadata.Dependencies) > 0 || ch.Validate() != nil {
				t.Errorf("%s: version %s with dependencies %v: %v", e.URLs[0], ch.Metadata.Version, ch.Metadata.Dependencies, ch.Validate())
			}
		}
	}
	want := map[string][]string{
		"argo-cd":    {"10.1.1 v3.4.13", "10.1.0 v3.4.13"},
		"crossplane": {"2.4.0 2.4.0"},
		"vcluster":   {"0.36.1 0.36.1"},

		"mirror-argo-cd":  {"10.1.1 v3.4.13"},
		"mirror-vcluster": {"0.36.1 0.36.1"},
	}
	// What only make e2e-full builds may be in the cache or not.
	if _, err := cache.Binary(toolchain.ArgoCDOlder); err == nil {
		want["argo-cd"] = append(want["argo-cd"], OlderArgoCDChart+" "+toolchain.Version(toolchain.ArgoCDOlder))
	}
	for name, tool := range componentTools {
		if _, err := cache.Binary(tool); err == nil {
			version := " " + toolchain.Version(tool)
			want[name] = []string{charts.ComponentVersion + version, charts.NextComponentVersion + version}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("index.yaml: -want, +got:\n%s", diff)
	}
}

// A chart taken from source lacks the chart it depends on; Helm would refuse it.
func TestRealChartFromSource(t *testing.T) {
	source := filepath.Join(t.TempDir(), "argo-cd")
	for name, content := range map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: argo-cd\nversion: 10.1.0\ndependencies: [{name: redis-ha, version: 4.38.0, repository: https://example.org, condition: redis-ha.enabled}]\n",
		"Chart.lock":        "dependencies: [{name: redis-ha, version: 4.38.0, repository: https://example.org}]\n",
		"values.yaml":       "redis-ha: {enabled: false}\n",
		"templates/cm.yaml": "kind: ConfigMap\n",
	} {
		file := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ch, err := loadArgoCD(context.Background(), toolchain.Cache{}, source)
	if err != nil {
		t.Fatal(err)
	}
	if len(ch.Metadata.Dependencies) > 0 || ch.Lock != nil {
		t.Errorf("want no dependencies left, got %v", ch.Metadata.Dependencies)
	}
	if _, ok := previousPatch(ch); ok {
		t.Error("there is no patch version before 10.1.0")
	}
	if _, err := loadArgoCD(context.Background(), toolchain.Cache{}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "ARGOCD_CHART=") {
		t.Errorf("an empty folder: want an error that names ARGOCD_CHART, got %v", err)
	}
}

// contents is the text of an image's one file.
func contents(t *testing.T, img v1.Image) string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	// Compressed is what the registry sends; these layers are plain archives.
	r, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // Only read.
	tr := tar.NewReader(r)
	if _, err := tr.Next(); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(tr)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return string(b)
}

// The node finds an image by the name that a chart has for it.
func TestEtcdHasTheChartsName(t *testing.T) {
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	ch, err := charts.VCluster(context.Background(), cache)
	if err != nil {
		t.Fatal(err)
	}
	image, err := chartutil.Values(ch.Values).Table("controlPlane.backingStore.etcd.deploy.statefulSet.image")
	if err != nil {
		t.Fatal(err)
	}
	if name := fmt.Sprintf("%v/%v:%v", image["registry"], image["repository"], image["tag"]); name != EtcdImage {
		t.Errorf("the vcluster chart wants %s: have images_vcluster.go make that, not %s", name, EtcdImage)
	}
}
