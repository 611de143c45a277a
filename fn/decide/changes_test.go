package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestChanges: what a tenant would get is named, and nothing of what stands there is told.
func TestChanges(t *testing.T) {
	of := func(changes ...func(*tenant.Decision)) *tenant.Decision {
		d := &tenant.Decision{
			Kubernetes: "v1.35.0", PlanName: "small", PodSecurity: "baseline",
			ArgoCD: tenant.Chart{Version: "1.0.0", Values: values.Values{"a": values.Values{"b": "secret-a", "list": []any{"secret-b"}, "n": int64(1)}}},
			Bounds: tenant.Bounds{Quota: corev1.ResourceList{"count/pods": resource.MustParse("60")}},
		}
		for _, change := range changes {
			change(d)
		}
		return d
	}
	policy := func(name, kind string) networkingv1.NetworkPolicy {
		return networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyType(kind)}}}
	}
	long := strings.Repeat("x", 200)
	for name, tc := range map[string]struct {
		now, then *tenant.Decision
		want      string
	}{
		"Unknown": {nil, of(), ""},
		"Nothing": {of(), of(), ""},
		"Versions": {of(), of(func(d *tenant.Decision) {
			d.ArgoCD.Version, d.VirtualCluster.Version, d.Kubernetes = "2.0.0", "0.1.0", "v1.36.0"
		}),
			"; would change: chart argo-cd 1.0.0 to 2.0.0, chart vcluster none to 0.1.0, Kubernetes v1.35.0 to v1.36.0"},
		"Value": {of(), of(func(d *tenant.Decision) { d.ArgoCD.Values["a"].(values.Values)["b"] = "secret-c" }), "; would change: values of argo-cd (a.b)"},
		"List":  {of(), of(func(d *tenant.Decision) { d.ArgoCD.Values["a"].(values.Values)["list"] = []any{} }), "; would change: values of argo-cd (a.list)"},
		"Added": {of(), of(func(d *tenant.Decision) { d.ArgoCD.Values["c"] = values.Values{"d": values.Values{"e": "secret-d"}} }), "; would change: values of argo-cd (c.d.e)"},
		"Gone":  {of(), of(func(d *tenant.Decision) { d.ArgoCD.Values = nil }), "; would change: values of argo-cd (a.b, a.list, a.n)"},
		"Many": {of(), of(func(d *tenant.Decision) {
			d.VirtualCluster.Values = values.Values{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7}
		}), "; would change: values of vcluster (a, b, c, d, e and 2 more)"},
		"Long": {of(), of(func(d *tenant.Decision) { d.ArgoCD.Values[long] = 1 }), "; would change: values of argo-cd (" + long[:100] + "...)"},
		"Bounds": {of(), of(func(d *tenant.Decision) {
			d.Bounds.Quota = corev1.ResourceList{"count/pods": resource.MustParse("60"), "limits.cpu": resource.MustParse("1")}
			d.Bounds.Limits.Max = corev1.ResourceList{"cpu": resource.MustParse("1")}
			d.Bounds.NetworkPolicies = []networkingv1.NetworkPolicy{policy("egress", "Egress")}
		}), "; would change: quota (limits.cpu), limits (max.cpu), network policies (egress)"},
		"Policy": {of(func(d *tenant.Decision) {
			d.Bounds.NetworkPolicies = []networkingv1.NetworkPolicy{policy("a", "Egress"), policy("b", "Egress")}
		}), of(func(d *tenant.Decision) {
			d.Bounds.NetworkPolicies = []networkingv1.NetworkPolicy{policy("a", "Egress"), policy("b", "Ingress")}
		}), "; would change: network policies (b)"},
		"Plan": {of(), of(func(d *tenant.Decision) {
			d.PlanName, d.PodSecurity, d.LoadBalancers, d.Ingress.Hostname = "large", "restricted", 3, "a.example.org"
		}),
			"; would change: plan small to large, Pod Security baseline to restricted, LoadBalancers 0 to 3, hostname none to a.example.org"},
		"Other":   {of(), of(func(d *tenant.Decision) { d.Host.ClusterDomain = "a" }), "; would change: other settings"},
		"Message": {of(), of(func(d *tenant.Decision) { d.VersionsHeld = []string{"stays"} }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, changes(tc.now, tc.then)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
