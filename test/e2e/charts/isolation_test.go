package charts

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// TestChartMakesTheControlPlaneAlone renders the vcluster chart with the function's
// values: nothing that bounds the tenant is among what Helm installs, and could be
// uninstalled, and no right.
func TestChartMakesTheControlPlaneAlone(t *testing.T) {
	chart := vclusterChart(t)
	cases := map[string]struct {
		request plan.Request
		want    []string
	}{
		"Plain": {plan.Request{}, []string{
			"Secret/vc-config-vcluster", "Service/vcluster", "Service/vcluster-headless", "ServiceAccount/vc-vcluster", "ServiceAccount/vc-workload-vcluster", "StatefulSet/vcluster",
		}},
		"HA": {plan.Request{Plan: highAvailability}, []string{
			"Deployment/vcluster", "Secret/vc-config-vcluster", "Service/vcluster", "Service/vcluster-etcd", "Service/vcluster-etcd-headless",
			"ServiceAccount/vc-vcluster", "ServiceAccount/vc-workload-vcluster", "StatefulSet/vcluster-etcd",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.request.XRName = "a"
			p, err := plan.New(tc.request)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.Sorted(maps.Keys(rendered(t, chart, plan.VClusterRelease, p.VCluster.Values)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
