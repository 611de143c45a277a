package resolve

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestChannelStandsBetweenInputAndPlan: what a channel offers is over the input and under
// the plan, and may be what the input may be.
func TestChannelStandsBetweenInputAndPlan(t *testing.T) {
	raw := func(json string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(json)} }
	g := tenant.Given{XRName: "a", Claim: tenant.Claim{Namespace: "n", Name: "a"}, Plan: plan.Plan{Name: "p"}}
	g.Input.Charts.ArgoCD.Version, g.Input.Charts.ArgoCD.Values = "10.0.0", raw(`{"notifications":{"a":"input","b":"input","c":"input"}}`)
	g.Input.Kubernetes.Version = "v1.35.0"
	g.Offered = tenant.Offered{Channel: "stable", ChannelOffer: v1alpha1.ChannelOffer{
		ArgoCD:   v1alpha1.ChannelChart{ChartVersion: "10.2.0", Values: raw(`{"notifications":{"b":"channel","c":"channel"}}`)},
		VCluster: v1alpha1.ChannelChart{Values: raw(`{"controlPlane":{"statefulSet":{"env":[{"name":"A","value":"b"}]},"distro":{"k8s":{"apiServer":{"extraArgs":["--event-ttl=30m"]}}}}}`)},
	}}
	g.Plan.Spec.Values.ArgoCD = raw(`{"notifications":{"c":"plan"}}`)
	d, err := Tenant(g)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a": "input", "b": "channel", "c": "plan"} {
		if got := values.At[string](d.ArgoCD.Values, "notifications", key); got != want {
			t.Errorf("want %s's value of notifications.%s, got %q", want, key, got)
		}
	}
	env, _ := values.Lookup(d.VirtualCluster.Values, vcluster.PathOfEnvironment...)
	arguments, _ := values.Lookup(d.VirtualCluster.Values, "controlPlane", "distro", "k8s", "apiServer", "extraArgs")
	if list, _ := env.([]any); len(list) != 2 {
		t.Errorf("want the channel's variable with the function's own, got %v", env)
	}
	if list, _ := arguments.([]any); len(list) < 2 || list[0] != "--event-ttl=30m" {
		t.Errorf("want the channel's argument with the function's own, got %v", arguments)
	}
	if d.ArgoCD.Version != "10.2.0" || d.Kubernetes != "v1.35.0" {
		t.Errorf("want the channel's chart and the input's Kubernetes, got %s and %s", d.ArgoCD.Version, d.Kubernetes)
	}
	if env := values.At[[]any](d.VirtualCluster.Values, "controlPlane", "statefulSet", "env"); len(env) != 2 || values.At[string](env[0].(values.Values), "value") != "b" {
		t.Errorf("want the channel's environment before the function's own, got %v", env)
	}
	g.Spec.ArgoCDChartVersion = "10.3.0"
	if d, err = Tenant(g); err != nil || d.ArgoCD.Version != "10.3.0" {
		t.Errorf("want the claim's version, got %v, %v", d, err)
	}
	g.Offered.VCluster.Values = raw(`{"controlPlane":{"statefulSet":{"env":"A=b"}}}`)
	if _, err = Tenant(g); err == nil || !strings.HasPrefix(err.Error(), "channel stable: spec.offer.vcluster.values.controlPlane.statefulSet.env: is not a list") {
		t.Errorf("a channel's mistake is taken for another's: %v", err)
	}
	g.Offered.VCluster.Values = raw(`{"policies":{"networkPolicy":{"enabled":true}}}`)
	if _, err = Tenant(g); err == nil || !strings.HasPrefix(err.Error(), "channel stable: spec.offer.vcluster.values.policies.networkPolicy is protected") {
		t.Errorf("a channel may set what is protected: %v", err)
	}
}
