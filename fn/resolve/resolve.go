// Package resolve decides about a tenant: names, versions, chart values and the workloads that
// they result in. Its errors name the field, the value and what to write instead.
package resolve

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/parts"
	"github.com/virtual-argocd/virtual-argocd/fn/policy"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/versions"
)

// Tenant decides about a tenant.
func Tenant(g tenant.Given) (*tenant.Decision, error) {
	g.SecretNames = parts.SecretNames(g.Spec)
	if g.Before == nil {
		g.Before = func() values.Values { return nil }
	}
	g.Platform = tenant.WithDefaults(g.Plan.Over(g.Offer.Over(g.Input)))
	in := g.Platform
	if err := policy.Refuse(g); err != nil {
		return nil, err
	}
	d := &tenant.Decision{
		Names:     tenant.NewNames(g.XRName, in.Host.ClusterDomain),
		Host:      in.Host,
		SecretsIn: in.ConnectionSecretNamespace,
		Claim:     g.Claim,

		PlanName:      g.Plan.Name,
		LoadBalancers: g.Plan.Data.LoadBalancers,
		PodSecurity:   cmp.Or(g.Plan.Data.PodSecurity, tenant.PodSecurityBaseline),
		ControlPlanes: g.Plan.Data.VCluster.Replicas,
	}
	host.SetProblem(d, g)
	c := part.Candidate{Given: g, Decision: d, Sensitive: &credentials.Sensitive{Values: values.Values{}, Before: g.Before}}
	if err := versions.Resolve(d, g); err != nil {
		return nil, err
	}
	if err := vcluster.SetStore(d, g); err != nil {
		return nil, err
	}
	if err := setValues(c); err != nil {
		return nil, err
	}
	d.GeneratesPassword = argocd.GeneratesPassword(d.ArgoCD.Values)
	d.AdminDisabled = argocd.AdminDisabled(d.ArgoCD.Values)
	d.Workloads = argocd.ExpectedWorkloads(d.ArgoCD.Values)
	return d, nil
}

// setValues merges: built-in defaults < input < channel < plan < claim < settings of the plan <
// parts < protected.
func setValues(c part.Candidate) error {
	d, g, in := c.Decision, c.Given, c.Platform
	ofVCluster, err := stack(values.VCluster, vcluster.Defaults(), "vcluster", layers{in.Charts.VCluster.Values, g.Offer.VCluster.Values, g.Plan.Data.Values.VCluster, g.Spec.VClusterValues}, g, g.Plan.VClusterSettings())
	if err != nil {
		return err
	}
	c.ArgoCD, err = stack(values.ArgoCD, argocd.Defaults(d, in), "argocd", layers{in.Charts.ArgoCD.Values, g.Offer.ArgoCD.Values, g.Plan.Data.Values.ArgoCD, g.Spec.ArgoCDValues}, g, g.Plan.ArgoCDSettings())
	if err != nil {
		return err
	}
	d.VirtualCluster.Values = ofVCluster.Merged()
	d.ArgoCD.Values = argocd.WithRedisHA(values.Merge(c.ArgoCD.Merged(), argocd.Protected()))
	if err := parts.Resolve(c); err != nil {
		return err
	}
	if len(g.SecretNames) > 0 || len(g.Spec.Repositories)+len(g.Spec.Clusters) > 0 {
		d.Sensitive = c.Sensitive.Values
	}
	argocd.SetObjects(d, g, c.Sensitive.Objects)
	vcluster.SetDNS(d, g, ofVCluster)
	if err := host.SetBounds(d, in, ofVCluster); err != nil {
		return err
	}
	// Last, because the protected values disable the chart's own bounds.
	protected, err := vcluster.Protected(d, in, ofVCluster)
	if err != nil {
		return err
	}
	d.VirtualCluster.Values = values.Merge(d.VirtualCluster.Values, protected)
	return nil
}

// layers of the values of a chart, by who has written them.
type layers struct {
	ofInput, ofChannel, ofPlan *runtime.RawExtension
	ofClaim                    values.Values
}

// stack returns the values of a chart in the order in which they merge.
func stack(table values.Table, builtIn values.Values, chart string, of layers, g tenant.Given, settings []values.Setting) (*values.Stack, error) {
	all := []values.Layer{
		{Owner: values.BuiltIn, Values: builtIn},
		{Owner: values.Input, Field: "input.charts." + chart + ".values"},
		{Owner: values.Channel, Field: g.Offer.At(chart + ".values")},
		{Owner: values.Plan, Field: g.Plan.At("values." + chart)},
		{Owner: values.Claim, Field: "spec." + chart + ".values", Values: of.ofClaim},
	}
	for i, raw := range []*runtime.RawExtension{of.ofInput, of.ofChannel, of.ofPlan} {
		var err error
		if all[i+1].Values, err = values.Decode(all[i+1].Field, raw); err != nil {
			return nil, err
		}
	}
	return values.NewStack(table, all, settings)
}
