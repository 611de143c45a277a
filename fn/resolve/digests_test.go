package resolve

import (
	"strings"
	"testing"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestChartsByDigest: a version of a chart has its digest, whoever names it.
func TestChartsByDigest(t *testing.T) {
	a, b := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	const repository = "oci://registry.example.org/charts"
	in := v1alpha1.Input{Charts: v1alpha1.Charts{
		VCluster: v1alpha1.Chart{Repository: repository, Version: "0.36.1", Digests: map[string]string{"0.36.1": a}},
		ArgoCD:   v1alpha1.Chart{Repository: repository, Version: "10.1.1", Digests: map[string]string{"10.1.1": a, "9.3.7": b}},
	}}
	cases := map[string]struct {
		reason   string
		spec     tenant.Ask
		revision tenant.Offered
		running  tenant.Running
		argocd   string
	}{
		"Platforms": {reason: "The version of the input.", argocd: a},
		"Channels":  {reason: "A channel offers another.", revision: tenant.Offered{Channel: "stable", ChannelOffer: apiv1alpha1.ChannelOffer{ArgoCD: apiv1alpha1.ChannelChart{ChartVersion: "9.3.7"}}}, argocd: b},
		"Claims":    {reason: "The claim names one, in its own form.", spec: tenant.Ask{ArgoCDChartVersion: "v9.3.7"}, argocd: b},
		"Running":   {reason: "The platform's is lower.", running: tenant.Running{VCluster: "0.36.1", Kubernetes: "v1.36.0", ArgoCD: "10.2.0"}, argocd: ""},
		"Without":   {reason: "Nobody wrote a digest of that version.", spec: tenant.Ask{ArgoCDChartVersion: "9.3.6"}, argocd: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := Tenant(tenant.Given{XRName: "a", Spec: tc.spec, Plan: plan.Plan{Name: "p"}, Input: in, Offered: tc.revision, Running: tc.running})
			if err != nil {
				t.Fatal(err)
			}
			if d.VirtualCluster.Digest != a || d.ArgoCD.Digest != tc.argocd {
				t.Errorf("\n%s\nwant digests %q and %q of vcluster and argo-cd %s, got %q and %q", tc.reason, a, tc.argocd, d.ArgoCD.Version, d.VirtualCluster.Digest, d.ArgoCD.Digest)
			}
		})
	}
}
