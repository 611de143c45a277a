package plan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestExamplePlans takes a tenant of each plan that users copy to Ready.
func TestExamplePlans(t *testing.T) {
	want := map[string]map[string]any{
		"small":    {"limits.cpu": "20", "replicas": nil, "ha": nil, "etcd": nil, "services.loadbalancers": "0", "services.nodeports": "0"},
		"standard": {"limits.cpu": "80", "replicas": nil, "ha": nil, "etcd": nil, "services.loadbalancers": "0", "services.nodeports": "0"},
		"large":    {"limits.cpu": "120", "replicas": 3., "ha": true, "etcd": true, "services.loadbalancers": "2", "services.nodeports": "20"},
	}
	files, err := filepath.Glob("../../examples/plans/*.yaml")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"plan":"`+name+`"}`, "")
			e.AddPlanFile(file)
			// A namespace that all of them are for.
			e.SetClaimNamespace("premium-a")
			e.Install()
			got := map[string]any{
				"limits.cpu":             quotaOf(e, "limits.cpu"),
				"services.loadbalancers": quotaOf(e, "services.loadbalancers"),
				"services.nodeports":     quotaOf(e, "services.nodeports"),
				"replicas":               vclusterValues(e, "controlPlane", "statefulSet", "highAvailability", "replicas"),
				"etcd":                   vclusterValues(e, "controlPlane", "backingStore", "etcd", "deploy", "enabled"),
				"ha":                     e.ArgoCDValue("redis-ha", "enabled"),
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if e.Status("plan") != name {
				t.Errorf("status.plan: %s", e.Status("plan"))
			}
		})
	}
}

// TestExamplePlansRequestLittle: Kubernetes has a container that names a limit
// request as much, unless it says otherwise.
func TestExamplePlansRequestLittle(t *testing.T) {
	files, err := filepath.Glob("../../examples/plans/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var plan map[string]any
		if err := yaml.Unmarshal(raw, &plan); err != nil {
			t.Fatal(err)
		}
		limited := 0
		var walk func(path string, at map[string]any)
		walk = func(path string, at map[string]any) {
			for key, v := range at {
				m, ok := v.(map[string]any)
				if !ok {
					continue
				}
				if key != "resources" {
					walk(path+"."+key, m)
					continue
				}
				limits, _ := m["limits"].(map[string]any)
				requests, _ := m["requests"].(map[string]any)
				for name := range limits {
					if limited++; requests[name] == nil {
						t.Errorf("%s: %s.resources has a limit of %s and no request", file, path, name)
					}
				}
			}
		}
		walk("spec", plan["spec"].(map[string]any))
		if limited == 0 {
			t.Errorf("%s has no limits: this shows nothing", file)
		}
	}
}

// TestTolerationsOfPlans: the admission policies let a tenant's pods tolerate what its plan has them tolerate.
func TestTolerationsOfPlans(t *testing.T) {
	const annotation = "virtualargocd.io/tolerations"
	e := crossplanetest.New(t, `{"plan":"dedicated"}`, "")
	e.AddPlan("dedicated", `{"values":{"vcluster":{"sync":{"toHost":{"pods":{"enforceTolerations":["dedicated=acme:NoSchedule","gpu:NoExecute","spot","*"]}}}}}}`)
	e.Install()
	if got := e.NamespaceAnnotation(annotation); got != "dedicated,gpu,spot,*" {
		t.Errorf("want the keys of the plan's tolerations, got %q", got)
	}
	e.SetSpec(`{}`)
	e.Cycle(3)
	if got := e.NamespaceAnnotation(annotation); got != "" {
		t.Errorf("the plan has none, and yet there is %q", got)
	}
}
