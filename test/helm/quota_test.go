package helm

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// share is how much of the quota a tenant's own parts may take: the rest is for
// what Argo CD does in between, such as Jobs of Applications.
const share = 0.8

// TestQuotaIsEnough adds up what a tenant's parts take of the quota while every
// one of them is rolled over at once: requests and limits as the charts have them,
// and the defaults of the LimitRange where they have none.
func TestQuotaIsEnough(t *testing.T) {
	cases := map[string]struct {
		plan plan.Plan
		// beside are containers of pods that no chart at hand renders.
		beside int
	}{
		"BuiltIn":                 {beside: coreDNS},
		"BuiltInHighAvailability": {highAvailability, coreDNS + redisHA},
		"small":                   {examplePlan(t, "small"), coreDNS},
		"standard":                {examplePlan(t, "standard"), coreDNS},
		"large":                   {examplePlan(t, "large"), 2*coreDNS + redisHA},
	}
	vcluster := vclusterChart(t)
	for of, ch := range subjects(t) {
		for name, tc := range cases {
			t.Run(of+"/"+name, func(t *testing.T) {
				p, err := resolve.Tenant(tenant.Given{XRName: "a", Plan: tc.plan})
				if err != nil {
					t.Fatal(err)
				}
				host := rendered(t, vcluster, tenant.HelmVCluster, p.VirtualCluster.Values)
				limits := limitRange(t, p.Bounds.Limits)
				used := corev1.ResourceList{}
				add := func(os objects) {
					for _, key := range slices.Sorted(maps.Keys(os)) {
						takes(t, used, os[key], limits)
					}
				}
				add(host)
				// Its subchart has to be fetched: see redisHA.
				without := maps.Clone(p.ArgoCD.Values)
				without["redis-ha"] = values.Values{"enabled": false}
				add(rendered(t, ch, tenant.HelmArgoCD, without))
				plain := map[string]any{"kind": "Job", "spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{}}}}}}
				for range tc.beside {
					takes(t, used, plain, limits)
				}
				// vcluster makes a Service for each node that a pod of the tenant runs on.
				pods := used["count/pods"]
				sum(t, used, "count/services", "1", pods.AsApproximateFloat64())
				used["count/endpoints"] = used["count/services"]
				for _, name := range slices.Sorted(maps.Keys(used)) {
					quota, ok := p.Bounds.Quota[name]
					if !ok {
						t.Errorf("the quota says nothing about %s", name)
						continue
					}
					took := used[name]
					t.Logf("%s: %s of %s", name, took.String(), quota.String())
					if took.AsApproximateFloat64() > share*quota.AsApproximateFloat64() {
						t.Errorf("%s: a tenant takes %s of %s by itself: want at most %v of it", name, took.String(), quota.String(), share)
					}
				}
			})
		}
	}
}

// limitRange is a LimitRange as the API server has it.
func limitRange(t *testing.T, item corev1.LimitRangeItem) map[string]any {
	t.Helper()
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Containers of pods that are in no chart at hand, twice: one that goes while
// another comes.
const (
	// coreDNS comes with vcluster's program.
	coreDNS = 2
	// redisHA: three pods of three containers, one after the other, and three proxies.
	redisHA = 3*3 + 3*2
)

// highAvailability is a plan that says no more than that.
var highAvailability = plan.Plan{Name: "ha", Spec: apiv1alpha1.PlanSpec{
	VCluster: apiv1alpha1.PlanVCluster{Replicas: 3, BackingStore: plan.StoreEtcd},
	ArgoCD:   apiv1alpha1.PlanArgoCD{HA: true},
}}

// examplePlan is a plan that users copy.
func examplePlan(t *testing.T, name string) plan.Plan {
	t.Helper()
	raw, err := os.ReadFile("../../examples/plans/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := apiv1alpha1.XArgoCDPlan{}
	if err := yaml.UnmarshalStrict(raw, &p); err != nil {
		t.Fatal(err)
	}
	return plan.Plan{Name: name, Spec: p.Spec}
}

// takes adds what the pods of a workload take while it is rolled over.
func takes(t *testing.T, used corev1.ResourceList, o, limitRange map[string]any) {
	t.Helper()
	var pods float64
	replicas, _ := at(o, "spec|replicas").(float64)
	switch o["kind"] {
	case "Deployment":
		// A quarter more, rounded up.
		pods = max(replicas, 1) + float64(int(max(replicas, 1)+3)/4)
	case "StatefulSet":
		pods = max(replicas, 1)
		for _, claim := range list(at(o, "spec|volumeClaimTemplates")) {
			sum(t, used, "requests.storage", at(claim.(map[string]any), "spec|resources|requests|storage"), pods)
			sum(t, used, "count/persistentvolumeclaims", "1", pods)
		}
	case "Job":
		pods = 1
	case "Service", "Secret", "ConfigMap":
		sum(t, used, "count/"+strings.ToLower(o["kind"].(string))+"s", "1", 1)
		return
	default:
		return
	}
	sum(t, used, "count/pods", "1", pods)
	spec := at(o, "spec|template|spec").(map[string]any)
	for _, kind := range []string{"requests", "limits"} {
		defaults := "defaultRequest"
		if kind == "limits" {
			defaults = "default"
		}
		for _, name := range []string{"cpu", "memory", "ephemeral-storage"} {
			one := resource.Quantity{}
			for _, c := range list(spec["containers"]) {
				one.Add(quantity(t, c, kind, name, limitRange, defaults))
			}
			for _, c := range list(spec["initContainers"]) {
				if q := quantity(t, c, kind, name, limitRange, defaults); q.Cmp(one) > 0 {
					one = q
				}
			}
			sum(t, used, kind+"."+name, one.String(), pods)
		}
	}
}

// quantity is what a container has of a resource, as Kubernetes completes requests
// by limits, and the host's LimitRange both.
func quantity(t *testing.T, container any, kind, name string, limitRange map[string]any, defaults string) resource.Quantity {
	t.Helper()
	c, _ := container.(map[string]any)
	has := at(c, "resources|"+kind+"|"+name)
	if has == nil && kind == "requests" {
		has = at(c, "resources|limits|"+name)
	}
	if has == nil {
		rows := list(at(limitRange, "spec|limits"))
		has = at(rows[0].(map[string]any), defaults+"|"+name)
	}
	q, err := resource.ParseQuantity(fmt.Sprint(has))
	if err != nil {
		t.Fatalf("%s %s of %v: %v", kind, name, c["name"], err)
	}
	if most, ok := at(list(at(limitRange, "spec|limits"))[0].(map[string]any), "max|"+name).(string); ok && q.Cmp(resource.MustParse(most)) > 0 {
		t.Errorf("%s.%s of container %v is %s, and no container may have more than %s", kind, name, c["name"], q.String(), most)
	}
	return q
}

func sum(t *testing.T, used corev1.ResourceList, name string, of any, times float64) {
	t.Helper()
	q := used[corev1.ResourceName(name)]
	for range int(times) {
		q.Add(resource.MustParse(fmt.Sprint(of)))
	}
	used[corev1.ResourceName(name)] = q
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func rendered(t *testing.T, ch *chart.Chart, release string, values values.Values) objects {
	t.Helper()
	text, err := yaml.Marshal(runtime.DeepCopyJSON(values))
	if err != nil {
		t.Fatal(err)
	}
	os, err := render(ch, release, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return os
}

// vclusterChart is the chart in the module of the toolchain's vcluster.
func vclusterChart(t *testing.T) *chart.Chart {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	ch, err := charts.VCluster(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}
