package helm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestAttemptsMeanTheSame: what the next attempt of a first installation adds to the values changes nothing that templates see. The vcluster
// chart writes a digest of all values on the control plane's pod, so that any change would replace it.
func TestAttemptsMeanTheSame(t *testing.T) {
	type subject struct {
		what, release string
		chart         *chart.Chart
	}
	all := []subject{{"vcluster", tenant.VClusterRelease, vclusterChart(t)}}
	for what, ch := range subjects(t) {
		all = append(all, subject{"argo-cd of " + what, tenant.ArgoCDRelease, ch})
	}
	for _, is := range all {
		name, ch := is.release, is.chart
		if len(release.Emptied[name]) == 0 {
			t.Errorf("chart of Release %s has no value that an attempt may add", name)
		}
		for _, path := range release.Emptied[name] {
			key := path[0]
			t.Run(is.what+"/"+key, func(t *testing.T) {
				values := func(given map[string]any) chartutil.Values {
					t.Helper()
					out, err := chartutil.ToRenderValues(ch, given, chartutil.ReleaseOptions{Name: name}, nil)
					if err != nil {
						t.Fatal(err)
					}
					return out["Values"].(chartutil.Values)
				}
				if diff := cmp.Diff(values(map[string]any{}), values(map[string]any{key: map[string]any{}})); diff != "" {
					t.Errorf("an empty map is another value to the chart: %s", diff)
				}
			})
		}
	}
}
