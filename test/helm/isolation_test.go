package helm

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestChartMakesTheControlPlaneAlone renders the vcluster chart with the function's
// values: nothing that bounds the tenant is among what Helm installs, and could be
// uninstalled, and no right.
func TestChartMakesTheControlPlaneAlone(t *testing.T) {
	chart := vclusterChart(t)
	cases := map[string]struct {
		request tenant.Given
		want    []string
	}{
		"Plain": {tenant.Given{}, []string{
			"Secret/vc-config-vcluster", "Service/vcluster", "Service/vcluster-headless", "ServiceAccount/vc-vcluster", "ServiceAccount/vc-workload-vcluster", "StatefulSet/vcluster",
		}},
		"HA": {tenant.Given{Plan: highAvailability}, []string{
			"Deployment/vcluster", "Secret/vc-config-vcluster", "Service/vcluster", "Service/vcluster-etcd", "Service/vcluster-etcd-headless",
			"ServiceAccount/vc-vcluster", "ServiceAccount/vc-workload-vcluster", "StatefulSet/vcluster-etcd",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.request.XRName = "a"
			p, err := resolve.Tenant(tc.request)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.Sorted(maps.Keys(rendered(t, chart, tenant.HelmVCluster, p.VirtualCluster.Values)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
