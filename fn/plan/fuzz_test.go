package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// FuzzPlan: whatever a plan and a claim of it say, one that is accepted leaves the
// protected values as they are, and what the plan decides as it says.
func FuzzPlan(f *testing.F) {
	f.Add(`{"argocd":{"ha":true,"server":{"replicas":2}}}`, `{"server":{"replicas":3}}`, `{}`)
	f.Add(`{"vcluster":{"backingStore":"etcd","replicas":3,"storage":{"size":"5Gi"}}}`, `{}`, `{"controlPlane":{"statefulSet":{"resources":{"limits":{"memory":"3Gi"}}}}}`)
	f.Add(`{"quota":{"limits.cpu":40},"limits":{"max":{"cpu":"4"}},"runtimeClass":"gvisor"}`, `{}`, `{"policies":null}`)
	f.Add(`{"values":{"vcluster":{"sync":{"toHost":{"pods":{"priorityClassName":"a"}}}},"argocd":{"redis-ha":{"enabled":true}}}}`, `{"redis-ha":null}`, `{"sync":{"toHost":{"configMaps":{"all":true}}}}`)
	plain, err := New(Request{XRName: "a"})
	if err != nil {
		f.Fatal(err)
	}
	isolated, err := isolation(plain, withDefaults(Request{}.Input))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, plan, argocd, vcluster string) {
		c := Chosen{Name: "p"}
		var onArgoCD, onVCluster Values
		if json.Unmarshal([]byte(plan), &c.Data) != nil || json.Unmarshal([]byte(argocd), &onArgoCD) != nil || json.Unmarshal([]byte(vcluster), &onVCluster) != nil {
			t.Skip("not what decoding lets in")
		}
		p, err := New(Request{XRName: "a", Plan: c, Spec: Spec{ArgoCDValues: onArgoCD, VClusterValues: onVCluster}})
		if err != nil {
			if msg := err.Error(); !strings.HasPrefix(msg, "spec.") && !strings.HasPrefix(msg, "plan p: data.") && !strings.HasPrefix(msg, "input.") {
				t.Errorf("the error names no field: %v", err)
			}
			return
		}
		for _, path := range leaves(isolated) {
			switch {
			case slices.Equal(path, []string{"policies", "podSecurityStandard"}) && c.Data.PodSecurity != "",
				// One policy more.
				path[len(path)-1] == "manifests" && c.Data.LoadBalancers > 0:
				continue
			}
			want, _ := lookup(isolated, path...)
			if got, _ := lookup(p.VCluster.Values, path...); !reflect.DeepEqual(want, got) {
				t.Errorf("%v was changed: want %v, got %v", path, want, got)
			}
		}
		for _, d := range c.vclusterDecisions() {
			if got, _ := lookup(p.VCluster.Values, d.path...); got == nil {
				t.Errorf("%s of the plan is lost", d.field)
			}
		}
		for _, d := range c.argocdDecisions() {
			if got, _ := lookup(p.ArgoCD.Values, d.path...); !reflect.DeepEqual(got, d.value) {
				t.Errorf("%s of the plan: want %v, got %v", d.field, d.value, got)
			}
		}
	})
}

// TestFuzzTargets: `make fuzz` runs every fuzz target that there is.
func TestFuzzTargets(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(makefile), "\nFUZZ := ")
	line, _, _ = strings.Cut(line, "\n")
	run := strings.Fields(line)
	slices.Sort(run)
	var there []string
	for _, pattern := range []string{"../*_test.go", "../*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`).FindAllStringSubmatch(string(code), -1) {
				// From here, fn/plan.
				there = append(there, m[1]+":./"+filepath.Join("fn/plan", filepath.Dir(file)))
			}
		}
	}
	slices.Sort(there)
	if !slices.Equal(there, run) {
		t.Errorf("there are %v, `make fuzz` runs %v", there, run)
	}
}
