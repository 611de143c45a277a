package resolve

import (
	"encoding/json"
	"flag"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// FuzzPlan: whatever a plan and a claim of it say, one that is accepted leaves the
// protected values as they are, and what the plan decides as it says.
func FuzzPlan(f *testing.F) {
	f.Add(`{"argocd":{"ha":true,"server":{"replicas":2}}}`, `{"server":{"replicas":3}}`, `{}`)
	f.Add(`{"vcluster":{"backingStore":"etcd","replicas":3,"storage":{"size":"5Gi"}}}`, `{}`, `{"controlPlane":{"statefulSet":{"resources":{"limits":{"memory":"3Gi"}}}}}`)
	f.Add(`{"quota":{"limits.cpu":40},"limits":{"max":{"cpu":"4"}},"runtimeClass":"gvisor"}`, `{}`, `{"policies":null}`)
	f.Add(`{"values":{"vcluster":{"sync":{"toHost":{"pods":{"priorityClassName":"a"}}}},"argocd":{"redis-ha":{"enabled":true}}}}`, `{"redis-ha":null}`, `{"sync":{"toHost":{"configMaps":{"all":true}}}}`)
	f.Add(`{"argocd":{"ha":true,"controller":{"resources":{"limits":{"cpu":"1"}}}}}`, `{"redis-ha":{"labels":{"a":1}},"controller":{"env":[{"name":"a"}]}}`, `{}`)
	f.Add(`{"quota":{"limits.cpu":40},"limits":{"max":{"cpu":"4"}},"runtimeClass":"gvisor"}`, `{"server":null}`, `{"logging":{"encoding":"json"}}`)
	f.Add(`{"podSecurity":"restricted","loadBalancers":2,"values":{"argocd":{"a":1}}}`, `{"configs":{"cm":{"b":3}}}`, `{"sync":{"toHost":{"persistentVolumeClaims":{"enabled":false}}}}`)
	plain, err := Tenant(tenant.Given{XRName: "a"})
	if err != nil {
		f.Fatal(err)
	}
	isolated := vcluster.Isolation(plain)
	seeds, accepted := 0, 0
	f.Fuzz(func(t *testing.T, planData, argocd, vcluster string) {
		seeds++
		c := plan.Plan{Name: "p"}
		var onArgoCD, onVCluster values.Values
		if json.Unmarshal([]byte(planData), &c.Spec) != nil || json.Unmarshal([]byte(argocd), &onArgoCD) != nil || json.Unmarshal([]byte(vcluster), &onVCluster) != nil {
			t.Skip("not what decoding lets in")
		}
		p, err := Tenant(tenant.Given{XRName: "a", Plan: c, Spec: tenant.Ask{ArgoCDValues: onArgoCD, VClusterValues: onVCluster}})
		if err != nil {
			if msg := err.Error(); !strings.HasPrefix(msg, "spec.") && !strings.HasPrefix(msg, "plan p: spec.") && !strings.HasPrefix(msg, "input.") {
				t.Errorf("the error names no field: %v", err)
			}
			return
		}
		accepted++
		for _, path := range values.Leaves(isolated) {
			if slices.Equal(path, []string{"policies", "podSecurityStandard"}) && c.Spec.PodSecurity != "" {
				continue
			}
			want, _ := values.Lookup(isolated, path...)
			if got, _ := values.Lookup(p.VirtualCluster.Values, path...); !reflect.DeepEqual(want, got) {
				t.Errorf("%v was changed: want %v, got %v", path, want, got)
			}
		}
		for _, d := range c.VClusterSettings() {
			got, _ := values.Lookup(p.VirtualCluster.Values, d.Path...)
			if d.Path[0] == host.PathOfPolicies {
				got = at(p.Bounds, d.Path[1:])
			}
			if got == nil {
				t.Errorf("%s of the plan is lost", d.Field)
			}
		}
		for _, d := range c.ArgoCDSettings() {
			if got, _ := values.Lookup(p.ArgoCD.Values, d.Path...); !reflect.DeepEqual(got, d.Value) {
				t.Errorf("%s of the plan: want %v, got %v", d.Field, d.Value, got)
			}
		}
	})
	// See FuzzRunFunction.
	if fuzzing := flag.Lookup("test.fuzz").Value.String() != ""; !fuzzing && seeds >= 7 && accepted*2 < seeds {
		f.Errorf("%d of %d seeds are accepted, want half of them: too little is tested", accepted, seeds)
	}
}

// at is the amount at a path below policies in the values of the vcluster chart; nil
// for none.
func at(b tenant.Bounds, path []string) any {
	lists := map[string]corev1.ResourceList{
		"quota": b.Quota, "default": b.Limits.Default, "defaultRequest": b.Limits.DefaultRequest, "min": b.Limits.Min, "max": b.Limits.Max,
	}
	if q, ok := lists[path[1]][corev1.ResourceName(path[2])]; ok {
		return q.String()
	}
	return nil
}
