package resolve

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestBounds: no tenant is unbounded by a mistake, and each mistake is told with its
// field.
func TestBounds(t *testing.T) {
	for name, tc := range map[string]struct{ values, want string }{
		"Amount":       {`{"resourceQuota":{"quota":{"count/pods":70,"requests.example.org/gpu":"2"}}}`, ""},
		"TakenAway":    {`{"resourceQuota":{"quota":{"count/pods":null}}}`, ""},
		"NoAmount":     {`{"resourceQuota":{"quota":{"count/foos":"many"}}}`, `input.charts.vcluster.values.policies.resourceQuota.quota.count/foos: "many" is not an amount`},
		"NoAmountMin":  {`{"limitRange":{"min":{"cpu":"x"}}}`, "input.charts.vcluster.values.policies.limitRange.min.cpu"},
		"NoObject":     {`{"resourceQuota":{"quota":5}}`, "input.charts.vcluster.values.policies.resourceQuota.quota: \"5\" is not an object"},
		"NullOfAll":    {`{"resourceQuota":{"quota":null}}`, "input.charts.vcluster.values.policies.resourceQuota.quota: "},
		"TextOfLimits": {`{"limitRange":{"default":"none"}}`, "input.charts.vcluster.values.policies.limitRange.default: "},
	} {
		t.Run(name, func(t *testing.T) {
			in := v1alpha1.Input{}
			in.Charts.VCluster.Values = &runtime.RawExtension{Raw: []byte(`{"policies":` + tc.values + `}`)}
			p, err := Tenant(tenant.Given{XRName: "a", Input: in})
			if tc.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
					t.Errorf("want %q, got %v", tc.want, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, there := p.VirtualCluster.Values["policies"].(values.Values)["resourceQuota"].(values.Values)["quota"]; there || len(p.Bounds.Quota) < 10 || len(p.Bounds.Limits.Default) != 3 {
				t.Errorf("the chart's values: %v; bounds: %v", p.VirtualCluster.Values["policies"], p.Bounds)
			}
		})
	}
}
