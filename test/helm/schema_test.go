package helm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// TestValuesFitTheVClusterChart holds the values, and each path a tenant may
// set, against the schema of the real chart, which refuses unknown keys.
func TestValuesFitTheVClusterChart(t *testing.T) {
	schema := vclusterSchema(t, tenant.DefaultVClusterVersion)
	cases := map[string]v1alpha1.Input{
		"Defaults": {},
		"All": {
			Host:    v1alpha1.Host{ClusterDomain: "cluster.local"},
			Images:  v1alpha1.Images{Registry: "mirror.test/m"},
			Storage: v1alpha1.Storage{Size: "2Gi", StorageClass: "fast"},
		},
		"Ephemeral": {Storage: v1alpha1.Storage{Ephemeral: true}},
	}
	cases["Ingress"] = v1alpha1.Input{Ingress: apiv1alpha1.PlatformIngress{Domain: "example.org"}}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := resolve.Tenant(tenant.Given{XRName: "a", Input: in, Hostnames: held})
			if err != nil {
				t.Fatal(err)
			}
			validate(t, schema, p.VirtualCluster.Values)
		})
	}
	for name, data := range map[string]apiv1alpha1.PlanSpec{
		"PlanWithEtcd":    {VCluster: apiv1alpha1.PlanVCluster{Replicas: 3, BackingStore: plan.StoreEtcd, Storage: apiv1alpha1.PlanStorage{Size: "5Gi", StorageClass: "fast"}}},
		"PlanWithOneEtcd": {VCluster: apiv1alpha1.PlanVCluster{BackingStore: plan.StoreEtcd}},
		"PlanWithAll": {
			VCluster:      apiv1alpha1.PlanVCluster{Resources: apiv1alpha1.PlanResources{Requests: map[string]apiv1alpha1.Quantity{"cpu": "1"}, Limits: map[string]apiv1alpha1.Quantity{"memory": "4Gi"}}},
			Quota:         map[string]apiv1alpha1.Quantity{"count/pods": "50"},
			Limits:        apiv1alpha1.PlanLimits{Default: map[string]apiv1alpha1.Quantity{"cpu": "2"}, DefaultRequest: map[string]apiv1alpha1.Quantity{"cpu": "1"}, Max: map[string]apiv1alpha1.Quantity{"cpu": "4"}},
			PodSecurity:   tenant.PodSecurityRestricted,
			LoadBalancers: 1,
			RuntimeClass:  "gvisor",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := resolve.Tenant(tenant.Given{XRName: "a", Plan: plan.Plan{Name: "p", Spec: data}})
			if err != nil {
				t.Fatal(err)
			}
			validate(t, schema, p.VirtualCluster.Values)
		})
	}
	for _, row := range values.VCluster.Rows {
		path := row.Path
		if row.Class != values.OfTenant {
			continue
		}
		t.Run(path, func(t *testing.T) {
			v := values.Values{}
			var to any = true
			switch {
			case strings.HasSuffix(path, "resources"):
				to = values.Values{"limits": values.Values{"memory": "1Gi"}}
			case strings.Contains(path, ".limits."), strings.Contains(path, ".requests."):
				to = "1"
			case strings.HasSuffix(path, "replicas"):
				to = 2.
			case strings.HasSuffix(path, "encoding"):
				to = "json"
			}
			values.Insert(v, to, strings.Split(path, ".")...)
			p, err := resolve.Tenant(tenant.Given{XRName: "a", Spec: tenant.Ask{VClusterValues: v}})
			if err != nil {
				t.Fatal(err)
			}
			validate(t, schema, p.VirtualCluster.Values)
		})
	}
	if chartutil.ValidateAgainstSingleSchema(chartutil.Values{"controlPlane": map[string]any{"misspelt": true}}, schema) == nil {
		t.Error("the schema lets unknown keys pass: it proves nothing")
	}
}

// TestValuesFitOlderCharts: the oldest vcluster, and those around which its values
// have changed, take what the function sets, too.
func TestValuesFitOlderCharts(t *testing.T) {
	for version, kubernetes := range map[string]string{"0.34.0": "v1.34.0", "0.35.1": "v1.35.0"} {
		t.Run(version, func(t *testing.T) {
			schema := vclusterSchema(t, version)
			for _, data := range []apiv1alpha1.PlanSpec{{}, {VCluster: apiv1alpha1.PlanVCluster{Replicas: 3, BackingStore: plan.StoreEtcd}, RuntimeClass: "gvisor", LoadBalancers: 1}} {
				data.Versions = apiv1alpha1.PlanVersions{VClusterCharts: []string{version}, Kubernetes: []string{kubernetes}}
				p, err := resolve.Tenant(tenant.Given{XRName: "a", Plan: plan.Plan{Name: "p", Spec: data}, Spec: tenant.Ask{VClusterChartVersion: version, KubernetesVersion: kubernetes},
					Input: v1alpha1.Input{Ingress: apiv1alpha1.PlatformIngress{Domain: "example.org"}}, Hostnames: held})
				if err != nil {
					t.Fatal(err)
				}
				validate(t, schema, p.VirtualCluster.Values)
			}
		})
	}
}

// held says that a hostname is the tenant's.
var held = tenant.Hostnames{Held: []string{"a.example.org"}}

// vclusterSchema returns the schema of a version of the vcluster chart, from its Go module.
func vclusterSchema(t *testing.T, version string) []byte {
	t.Helper()
	dir, err := toolchain.Download(t.Context(), "github.com/loft-sh/vcluster", "v"+version)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile(filepath.Join(dir, "chart", "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate holds values against a chart's schema, as Helm does.
func validate(t *testing.T, schema []byte, v values.Values) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := chartutil.ReadValues(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := chartutil.ValidateAgainstSingleSchema(plain, schema); err != nil {
		t.Errorf("the chart refuses the values: %v\n%s", err, raw)
	}
}
