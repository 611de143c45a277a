package charts

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// RealArgoCD loads a real argo-cd chart from a folder or an archive, made
// installable where it was taken from source.
func RealArgoCD(path string) (*chart.Chart, error) {
	ch, err := loader.Load(path)
	if err != nil {
		return nil, fmt.Errorf("cannot load ARGOCD_CHART=%s, want the folder or archive of an argo-cd chart: %w", path, err)
	}
	if ch.Name() != "argo-cd" {
		return nil, fmt.Errorf("ARGOCD_CHART=%s is chart %q, want argo-cd", path, ch.Name())
	}
	dropMissingDependencies(ch)
	return ch, nil
}

// dropMissingDependencies makes a chart installable without "helm dependency
// build". The one dependency of argo-cd, redis-ha, is off by default; a folder
// that has it in charts/ keeps it.
func dropMissingDependencies(ch *chart.Chart) {
	vendored := map[string]bool{}
	for _, d := range ch.Dependencies() {
		vendored[d.Name()] = true
	}
	var kept []*chart.Dependency
	for _, d := range ch.Metadata.Dependencies {
		if vendored[d.Name] {
			kept = append(kept, d)
		}
	}
	if len(kept) != len(ch.Metadata.Dependencies) {
		ch.Metadata.Dependencies, ch.Lock = kept, nil
	}
}

// HasRedisHA reports whether a chart has redis with high availability.
func HasRedisHA(ch *chart.Chart) bool {
	return slices.ContainsFunc(ch.Dependencies(), func(d *chart.Chart) bool { return d.Name() == "redis-ha" })
}
