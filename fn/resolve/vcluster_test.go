package resolve

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	plans "github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestTableOfVClusterValues: each path is one of the chart's, and the function sets
// nothing that the table doesn't protect.
func TestTableOfVClusterValues(t *testing.T) {
	known := schemaPaths(t)
	seen := map[string]bool{}
	for _, row := range values.VCluster.Rows {
		if seen[row.Path] {
			t.Errorf("%s is there twice", row.Path)
		}
		seen[row.Path] = true
		if row.Why == "" {
			t.Errorf("%s doesn't say why", row.Path)
		}
		// In the chart's template, and in no schema up to 0.36.
		if row.Path != "controlPlane.statefulSet.runtimeClassName" && !known(strings.Split(row.Path, ".")) {
			t.Errorf("%s is no path of the chart's values", row.Path)
		}
	}
	if !slices.IsSortedFunc(values.VCluster.Rows, func(a, b values.Row) int {
		order := []values.Class{values.OfTenant, values.OfPlan, values.OfInput, values.Protected}
		if a.Class != b.Class {
			return slices.Index(order, a.Class) - slices.Index(order, b.Class)
		}
		return strings.Compare(a.Path, b.Path)
	}) {
		t.Error("the table isn't in order of class and path")
	}
	p, err := Tenant(tenant.Given{XRName: "a", Input: v1alpha1.Input{Images: v1alpha1.Images{Registry: "mirror.test"}, Storage: v1alpha1.Storage{StorageClass: "fast"}}})
	if err != nil {
		t.Fatal(err)
	}
	ours, err := vcluster.Protected(p, tenant.WithDefaults(v1alpha1.Input{Images: v1alpha1.Images{Registry: "mirror.test"}}), &values.Stack{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range values.Leaves(ours) {
		// TestRequestsLeaveThePlatformsOwn and TestEnvironment look at those that it adds to.
		if slices.Equal(path, vcluster.PathOfEnvironment) {
			continue
		}
		if row := values.VCluster.ClassOf(path); row.Class != values.OfInput && row.Class != values.Protected || row.Path == "" {
			t.Errorf("the function sets %s, which the table doesn't protect: the platform's would be lost in silence", strings.Join(path, "."))
		}
	}
}

// TestIsolation: these values, of which none may go, keep a tenant apart from others and from the host.
func TestIsolation(t *testing.T) {
	for plan, level := range map[string]string{"": "baseline", "baseline": "baseline", "restricted": "restricted"} {
		want := map[string]any{
			"policies.resourceQuota.enabled":         false,
			"policies.limitRange.enabled":            false,
			"policies.networkPolicy.enabled":         false,
			"policies.podSecurityStandard":           level,
			"rbac.role.enabled":                      false,
			"rbac.clusterRole.enabled":               false,
			"sync.toHost.pods.enabled":               true,
			"sync.toHost.pods.useSecretsForSATokens": true,
			"sync.toHost.secrets.all":                false,
			"sync.toHost.configMaps.all":             false,
			"sync.toHost.networkPolicies.enabled":    false,
			"sync.toHost.serviceAccounts.enabled":    false,
			"sync.toHost.endpoints.enabled":          false,
			"sync.toHost.endpointSlices.enabled":     false,
		}
		p, err := Tenant(tenant.Given{XRName: "a", Plan: plans.Plan{Spec: apiv1alpha1.PlanSpec{PodSecurity: plan}}})
		if err != nil {
			t.Fatal(err)
		}
		for path, to := range want {
			if got, set := values.Lookup(p.VirtualCluster.Values, strings.Split(path, ".")...); !set || got != to {
				t.Errorf("Pod Security %q: %s: want %v, got %v", plan, path, to, got)
			}
			if row := values.VCluster.ClassOf(strings.Split(path, ".")); row.Class != values.Protected {
				t.Errorf("%s is of class %s, want it protected", path, row.Class)
			}
		}
		for _, path := range values.Leaves(vcluster.Isolation(p)) {
			// Whether Ingresses reach the host depends on more than the plan.
			if path := strings.Join(path, "."); want[path] == nil && path != "sync.toHost.ingresses.enabled" {
				t.Errorf("%s is missing in the list of this test", path)
			}
		}
	}
}

// schemaPaths tells which paths the schema of the chart knows.
func schemaPaths(t *testing.T) func(path []string) bool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(vclusterModule(t), "chart", "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	root := map[string]any{}
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	return func(path []string) bool {
		at := root
		for _, key := range path {
			if ref, ok := at["$ref"].(string); ok {
				at = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			}
			properties, _ := at["properties"].(map[string]any)
			if properties == nil && at["type"] == "object" {
				// A map with any keys.
				return true
			}
			next, ok := properties[key].(map[string]any)
			if !ok {
				return false
			}
			at = next
		}
		return true
	}
}

// vclusterModule is the folder of the default vcluster's Go module.
func vclusterModule(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", "github.com/loft-sh/vcluster@v"+tenant.DefaultVClusterVersion).Output()
	if err != nil {
		t.Fatalf("cannot download the vcluster module: %v", err)
	}
	module := struct{ Dir string }{}
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	return module.Dir
}

// TestPathsOfTenants: a claim may set these values of the vcluster chart, with what is below them, and no others of the
// table; a plan may set those, and the ones of its class.
func TestPathsOfTenants(t *testing.T) {
	tenants := []string{
		"controlPlane.coredns.deployment.replicas", "controlPlane.coredns.deployment.resources",
		"controlPlane.statefulSet.resources.limits.cpu", "controlPlane.statefulSet.resources.limits.ephemeral-storage", "controlPlane.statefulSet.resources.limits.memory",
		"controlPlane.statefulSet.resources.requests.cpu", "controlPlane.statefulSet.resources.requests.ephemeral-storage", "controlPlane.statefulSet.resources.requests.memory",
		"logging.encoding", "sync.toHost.persistentVolumeClaims.enabled",
	}
	seen := 0
	for _, row := range values.VCluster.Rows {
		path := strings.Split(row.Path, ".")
		for _, path := range [][]string{path, append(path, "below")} {
			v := values.Values{}
			values.Insert(v, true, path...)
			for owner, may := range map[values.Owner]bool{values.Claim: slices.Contains(tenants, row.Path), values.Plan: row.Class == values.OfTenant || row.Class == values.OfPlan} {
				_, err := values.NewStack(values.VCluster, nil, []values.Layer{{Field: mistakes.Field{Owner: owner, Path: "f"}, Values: v}}, nil)
				if (err == nil) != may || err != nil && !strings.HasPrefix(err.Error(), "f."+row.Path) {
					t.Errorf("owner %d may set %s: want %t, got %v", owner, strings.Join(path, "."), may, err)
				}
			}
		}
		if slices.Contains(tenants, row.Path) {
			seen++
		}
	}
	if seen != len(tenants) {
		t.Errorf("%d of %d paths are in the table", seen, len(tenants))
	}
}

// TestWhoMaySetVClusterValues holds claims, plans and the platform's input against
// the table.
func TestWhoMaySetVClusterValues(t *testing.T) {
	cases := map[string]struct {
		path                string
		to                  any
		claim, plan, inputs bool
	}{
		"Tenants":                {"controlPlane.statefulSet.resources.limits.memory", "1Gi", true, true, true},
		"Devices":                {"controlPlane.statefulSet.resources.limits.hugepages-2Mi", "1Gi", false, true, true},
		"ResourcesReplaced":      {"controlPlane.statefulSet.resources.limits", "", false, true, true},
		"Plans":                  {"policies.resourceQuota.quota.limits_cpu", "1", false, true, true},
		"PlansAbove":             {"policies.resourceQuota", nil, false, false, false},
		"Protected":              {"policies.networkPolicy.enabled", true, false, false, false},
		"ProtectedBelow":         {"exportKubeConfig.additionalSecrets", []any{}, false, false, false},
		"ProtectedTakenAway":     {"policies", nil, false, false, false},
		"ProtectedReplaced":      {"experimental.deploy", "", false, false, false},
		"NetworkPoliciesSynced":  {"sync.toHost.networkPolicies.enabled", true, false, false, false},
		"IngressesSynced":        {"sync.toHost.ingresses.enabled", true, false, false, false},
		"Endpoints":              {"sync.toHost.endpoints.enabled", true, false, false, false},
		"Arguments":              {"controlPlane.distro.k8s.apiServer.extraArgs", []any{"--event-ttl=30m"}, false, false, true},
		"NoOneClassed":           {"controlPlane.statefulSet.labels.a", "b", false, false, true},
		"NoOneKnows":             {"a.b", true, false, false, true},
		"ManifestsOfThePlatform": {"experimental.deploy.host.manifestsTemplate", "", false, false, false},
		"EverySecretSynced":      {"sync.toHost.secrets.all", true, false, false, false},
		"RightsOnTheHost":        {"rbac.role.extraRules", []any{}, false, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := values.Values{}
			values.Insert(v, tc.to, strings.Split(tc.path, ".")...)
			add := func(of values.Owner) error {
				_, err := values.NewStack(values.VCluster, nil, []values.Layer{{Field: mistakes.Field{Owner: of, Path: "f"}, Values: v}}, nil)
				return err
			}
			for who, check := range map[string]struct {
				err error
				may bool
			}{
				"claim": {add(values.Claim), tc.claim},
				"plan":  {add(values.Plan), tc.plan},
				"input": {add(values.Input), tc.inputs},
			} {
				if (check.err == nil) != check.may {
					t.Errorf("%s may set %s: want %v, got %v", who, tc.path, check.may, check.err)
				}
				if check.err != nil && !strings.HasPrefix(check.err.Error(), "f."+tc.path[:strings.IndexAny(tc.path+".", ".")]) {
					t.Errorf("%s: the error doesn't begin with the path: %v", who, check.err)
				}
			}
		})
	}
}
