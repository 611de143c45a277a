package artifacts

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// OlderArgoCDChart is a version of the argo-cd chart to upgrade from, with an older minor version of Argo CD.
const OlderArgoCDChart = "9.3.7"

// PackageCharts writes the archives of all charts and their index.yaml into a
// folder: vcluster, crossplane and argo-cd, two of them also under another name, and those of components where their programs are built.
// argocdChart is as in Config.
func PackageCharts(ctx context.Context, c toolchain.Cache, argocdChart, dir string) error {
	all, err := loadCharts(ctx, c, argocdChart)
	if err != nil {
		return err
	}
	return packageCharts(all, dir)
}

func packageCharts(all []*chart.Chart, dir string) error {
	index := chartIndex{APIVersion: "v1", Entries: map[string][]chartEntry{}}
	for _, ch := range all {
		entry, err := packageChart(ch, dir)
		if err != nil {
			return fmt.Errorf("cannot package chart %s: %w", ch.Name(), err)
		}
		index.Entries[ch.Name()] = append(index.Entries[ch.Name()], entry)
	}
	b, err := yaml.Marshal(index)
	if err != nil {
		return fmt.Errorf("cannot make the chart repository's index: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.yaml"), b, 0o644); err != nil {
		return fmt.Errorf("cannot write the chart repository's index: %w", err)
	}
	return nil
}

// chartIndex is a chart repository's index.yaml. Helm's own package for it
// would bring all of kubectl into the build.
type chartIndex struct {
	APIVersion string                  `json:"apiVersion"`
	Entries    map[string][]chartEntry `json:"entries"`
}

// chartEntry is one version of a chart. Its URL is relative to the index, so
// it holds wherever the repository is served.
type chartEntry struct {
	chart.Metadata `json:",inline"`

	URLs   []string `json:"urls"`
	Digest string   `json:"digest"`
}

func packageChart(ch *chart.Chart, dir string) (chartEntry, error) {
	file, err := chartutil.Save(ch, dir)
	if err != nil {
		return chartEntry{}, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return chartEntry{}, err
	}
	return chartEntry{
		Metadata: *ch.Metadata,
		URLs:     []string{filepath.Base(file)},
		Digest:   fmt.Sprintf("%x", sha256.Sum256(b)),
	}, nil
}

func loadCharts(ctx context.Context, c toolchain.Cache, argocdChart string) ([]*chart.Chart, error) {
	vcluster, err := charts.VCluster(ctx, c)
	if err != nil {
		return nil, err
	}
	crossplane, err := charts.OfModule(ctx, c, toolchain.Crossplane, "cluster/charts/crossplane")
	if err != nil {
		return nil, err
	}
	argocd, err := loadArgoCD(ctx, c, argocdChart)
	if err != nil {
		return nil, err
	}
	all := []*chart.Chart{vcluster, crossplane, argocd, mirrored(vcluster), mirrored(argocd)}
	if previous, ok := previousPatch(argocd); ok {
		all = append(all, previous)
	}
	// Only make e2e-full builds it.
	if _, err := c.Binary(toolchain.ArgoCDOlder); err == nil && argocdChart == "" {
		older, err := olderArgoCD(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, older)
	}
	ofComponents, err := componentCharts(ctx, c)
	return append(all, ofComponents...), err
}

// componentTools are the tools whose Go modules the test charts of components come from.
var componentTools = map[string]string{"argo-rollouts": toolchain.Rollouts, "argo-workflows": toolchain.Workflows, "argo-events": toolchain.Events}

// componentCharts are the test charts of components, in two versions each. Only make e2e-full builds their programs.
func componentCharts(ctx context.Context, c toolchain.Cache) ([]*chart.Chart, error) {
	var all []*chart.Chart
	for _, name := range slices.Sorted(maps.Keys(componentTools)) {
		tool := componentTools[name]
		if _, err := c.Binary(tool); err != nil {
			continue
		}
		dir, err := c.ModuleDir(ctx, tool)
		if err != nil {
			return nil, err
		}
		ch, err := charts.Component(name, toolchain.Version(tool), os.DirFS(dir))
		if err != nil {
			return nil, err
		}
		next, metadata := *ch, *ch.Metadata
		metadata.Version = charts.NextComponentVersion
		next.Metadata = &metadata
		all = append(all, ch, &next)
	}
	return all, nil
}

// olderArgoCD is the test chart under the version OlderArgoCDChart, with the manifests of that minor version of Argo CD.
func olderArgoCD(ctx context.Context, c toolchain.Cache) (*chart.Chart, error) {
	ch, err := testChart(ctx, c, toolchain.ArgoCDOlder)
	if err != nil {
		return nil, err
	}
	ch.Metadata.Version, ch.Metadata.AppVersion = OlderArgoCDChart, toolchain.Version(toolchain.ArgoCDOlder)
	return ch, nil
}

// testChart is the test chart with the manifests of a tool that is Argo CD.
func testChart(ctx context.Context, c toolchain.Cache, tool string) (*chart.Chart, error) {
	dir, err := c.ModuleDir(ctx, tool)
	if err != nil {
		return nil, err
	}
	return charts.ArgoCD(os.DirFS(dir))
}

// loadArgoCD loads the test chart, or the real chart in its place.
func loadArgoCD(ctx context.Context, c toolchain.Cache, path string) (*chart.Chart, error) {
	if path == "" {
		return testChart(ctx, c, toolchain.ArgoCD)
	}
	return charts.RealArgoCD(path)
}

// mirrored is the same chart under another name, as a platform's own repository may have it.
func mirrored(ch *chart.Chart) *chart.Chart {
	out, metadata := *ch, *ch.Metadata
	metadata.Name = "mirror-" + metadata.Name
	out.Metadata = &metadata
	return &out
}

// previousPatch is the same chart under the patch version before its own, so
// that there is another version to change to.
func previousPatch(ch *chart.Chart) (*chart.Chart, bool) {
	v, err := semver.NewVersion(ch.Metadata.Version)
	if err != nil || v.Patch() == 0 {
		return nil, false
	}
	previous, metadata := *ch, *ch.Metadata
	metadata.Version = semver.New(v.Major(), v.Minor(), v.Patch()-1, "", "").String()
	previous.Metadata = &metadata
	return &previous, true
}

// furtherNames are names of the images that charts ask for in their values and
// that cannot be known beforehand: each version of the argo-cd chart has another
// tag of redis.
func furtherNames(all []*chart.Chart) map[string]string {
	names := map[string]string{}
	for _, ch := range all {
		image, err := chartutil.Values(ch.Values).Table("redis.image")
		if err != nil {
			continue // Not a chart with a redis.
		}
		if name := fmt.Sprintf("%v:%v", image["repository"], image["tag"]); name != redisImage {
			names[name] = redisImage
		}
	}
	return names
}
