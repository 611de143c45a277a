package admission

import (
	"maps"
	"os"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// resources of kinds that charts have.
var resources = map[string]string{
	"ConfigMap": "configmaps", "Deployment": "apps/deployments", "Ingress": "networking.k8s.io/ingresses", "Job": "batch/jobs",
	"PodDisruptionBudget": "policy/poddisruptionbudgets", "Secret": "secrets", "Service": "services", "ServiceAccount": "serviceaccounts",
	"StatefulSet": "apps/statefulsets",
}

// TestChartIsLetIn: the installer gets the vcluster chart in, and the host's
// controllers its pods, with one control plane and with several.
func TestChartIsLetIn(t *testing.T) {
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	ch, err := charts.VCluster(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]v1alpha1.PlanSpec{
		"One":     {},
		"Devices": {VCluster: v1alpha1.PlanVCluster{Resources: v1alpha1.PlanResources{Limits: map[string]v1alpha1.Quantity{"cpu": "2", "memory": "2Gi", "example.org/tpm": "1"}}}},
		"Several": {VCluster: v1alpha1.PlanVCluster{Replicas: 3, BackingStore: plan.StoreEtcd}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := resolve.Tenant(given.Given{XRName: "a", Plan: plan.Plan{Name: "p", Spec: data}})
			if err != nil {
				t.Fatal(err)
			}
			objects := render(t, ch, "vcluster", "vargo-chart", p.VirtualCluster.Values)
			s := newAPIServer(t)
			if err := s.namespaces.Add(tenant("vargo-chart", host.NamespaceAnnotations(p))); err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				r := request{by: "system:serviceaccount:crossplane-system:vargo-chart", resource: resources[o.GetKind()], namespace: "vargo-chart", name: o.GetName(), object: text(t, o.Object)}
				if got := s.decide(t, r); got != "" {
					t.Errorf("%s %s: %s", o.GetKind(), o.GetName(), got)
				}
				if template, found, _ := unstructured.NestedMap(o.Object, "spec", "template"); found {
					r.by, r.resource, r.object = controller, "pods", text(t, template)
					if got := s.decide(t, r); got != "" {
						t.Errorf("pod of %s %s: %s", o.GetKind(), o.GetName(), got)
					}
				}
			}
			if len(objects) < 6 {
				t.Errorf("%d objects: the chart isn't rendered as it is installed", len(objects))
			}
		})
	}
}

// TestArgoCDIsLetIn: what vcluster copies of Argo CD's chart comes to the host.
func TestArgoCDIsLetIn(t *testing.T) {
	for name, ch := range argoCDCharts(t) {
		t.Run(name, func(t *testing.T) { checkLetIn(t, ch) })
	}
}

// argoCDCharts are the test chart and, with ARGOCD_CHART, a real one.
func argoCDCharts(t *testing.T) map[string]*chart.Chart {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := cache.ModuleDir(t.Context(), "argocd")
	if err != nil {
		t.Fatal(err)
	}
	ch, err := charts.ArgoCD(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*chart.Chart{"test": ch}
	if path := os.Getenv("ARGOCD_CHART"); path != "" {
		if all["real"], err = charts.RealArgoCD(path); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// checkLetIn checks that the policies let in what a chart installs.
func checkLetIn(t *testing.T, ch *chart.Chart) {
	t.Helper()
	p, err := resolve.Tenant(given.Given{XRName: "a"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	s := newAPIServer(t)
	for _, o := range render(t, ch, "argocd", "argocd", p.ArgoCD.Values) {
		if template, found, _ := unstructured.NestedMap(o.Object, "spec", "template"); found {
			o = &unstructured.Unstructured{Object: template}
			o.SetKind("Pod")
			o.SetName("argocd-pod")
			spec := template["spec"].(map[string]any)
			spec["serviceAccountName"], spec["automountServiceAccountToken"] = "vc-workload-vcluster", false
		}
		resource := resources[o.GetKind()]
		if o.GetKind() == "Pod" {
			resource = "pods"
		}
		if !slices.Contains([]string{"configmaps", "secrets", "services", "pods"}, resource) {
			continue
		}
		seen[resource]++
		r := request{by: syncer, resource: resource, namespace: "vargo-a", name: o.GetName() + "-x-argocd-x-vcluster", object: text(t, copyOf(o))}
		if got := s.decide(t, r); got != "" {
			t.Errorf("%s %s: %s", o.GetKind(), o.GetName(), got)
		}
	}
	if seen["pods"] < 4 || seen["configmaps"] < 3 || seen["services"] < 3 {
		t.Errorf("want all of Argo CD, saw %v", seen)
	}
}

// copyOf is what vcluster makes of an object's metadata on the host.
func copyOf(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(labels, "release")
	maps.Copy(labels, map[string]string{
		"vcluster.loft.sh/managed-by": "vcluster", "vcluster.loft.sh/namespace": "argocd", "vcluster.loft.sh/ns-label-vcluster-x-0123456789": "argocd",
	})
	for _, name := range []string{"object-name", "object-namespace", "object-uid", "object-kind", "object-host-name", "object-host-namespace", "name", "namespace", "uid", "labels", "service-account-name", "owner-references", "owner-set-kind"} {
		annotations["vcluster.loft.sh/"+name] = "x"
	}
	annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true"
	metadata := map[string]any{"labels": labels, "annotations": annotations, "ownerReferences": []any{map[string]any{"kind": "Service", "name": "vcluster"}}}
	o.Object["metadata"] = metadata
	return o.Object
}

// render renders a chart as Helm installs it, without what it would install for the
// whole cluster.
func render(t *testing.T, ch *chart.Chart, release, namespace string, values values.Values) []*unstructured.Unstructured {
	t.Helper()
	rendered, err := charts.Render(ch, release, namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, o := range rendered {
		if resources[o.GetKind()] != "" {
			out = append(out, o)
		} else {
			t.Logf("not asked about: %s %s", o.GetKind(), o.GetName())
		}
	}
	return out
}

func text(t *testing.T, o map[string]any) string {
	t.Helper()
	data, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
