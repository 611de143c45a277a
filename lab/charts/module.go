package charts

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// OfModule loads a chart that is part of a tool's Go module. Its version is
// written by upstream's release process, to the version of the module.
func OfModule(ctx context.Context, c toolchain.Cache, tool, folder string) (*chart.Chart, error) {
	dir, err := c.ModuleDir(ctx, tool)
	if err != nil {
		return nil, err
	}
	ch, err := loader.LoadDir(filepath.Join(dir, filepath.FromSlash(folder)))
	if err != nil {
		return nil, fmt.Errorf("cannot load the chart of %s: %w", tool, err)
	}
	version := strings.TrimPrefix(toolchain.Version(tool), "v")
	ch.Metadata.Version, ch.Metadata.AppVersion = version, version
	return ch, nil
}

// VCluster is the vcluster chart of the toolchain's vcluster.
func VCluster(ctx context.Context, c toolchain.Cache) (*chart.Chart, error) {
	return OfModule(ctx, c, "vcluster", "chart")
}
