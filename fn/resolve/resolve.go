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
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
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
	g.Platform = tenant.WithDefaults(g.Plan.Over(g.Input))
	in := g.Platform
	if err := policy.Refuse(g); err != nil {
		return nil, err
	}
	d := &tenant.Decision{
		Names:     tenant.NewNames(g.XRName, in.Host.ClusterDomain),
		Host:      in.Host,
		SecretsIn: in.ConnectionSecretNamespace,
		Claim:     g.Claim,

		HostProblem:   host.Problem(g.HostPolicies),
		PlanName:      g.Plan.Name,
		LoadBalancers: g.Plan.Data.LoadBalancers,
		PodSecurity:   cmp.Or(g.Plan.Data.PodSecurity, tenant.PodSecurityBaseline),
		ControlPlanes: g.Plan.Data.VCluster.Replicas,
	}
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

// setValues merges: built-in defaults < input < plan < claim < settings of the plan <
// parts < protected.
func setValues(c part.Candidate) error {
	d, g, in := c.Decision, c.Given, c.Platform
	ofVCluster, err := stack(values.VCluster, vcluster.Defaults(), "vcluster", in.Charts.VCluster.Values, g.Plan.Data.Values.VCluster, g.Spec.VClusterValues, g.Plan, g.Plan.VClusterSettings())
	if err != nil {
		return err
	}
	c.ArgoCD, err = stack(values.ArgoCD, argocd.Defaults(d, in), "argocd", in.Charts.ArgoCD.Values, g.Plan.Data.Values.ArgoCD, g.Spec.ArgoCDValues, g.Plan, g.Plan.ArgoCDSettings())
	if err != nil {
		return err
	}
	d.VirtualCluster.Values = ofVCluster.Merged()
	d.ArgoCD.Values = argocd.WithRedisHA(values.Merge(c.ArgoCD.Merged(), argocd.Protected()))
	if err := parts.Resolve(c); err != nil {
		return err
	}
	if len(g.SecretNames) > 0 || len(g.Spec.Repositories) > 0 {
		d.Sensitive = c.Sensitive.Values
	}
	argocd.SetRedis(d, g)
	if err := host.SetBounds(d, in, ofVCluster); err != nil {
		return err
	}
	// Last, because the protected values disable the chart's own bounds.
	protected, err := vcluster.Protected(d, in)
	if err != nil {
		return err
	}
	d.VirtualCluster.Values = values.Merge(d.VirtualCluster.Values, protected)
	return nil
}

// stack returns the values of a chart in the order in which they merge.
func stack(table values.Table, builtIn values.Values, chart string, ofInput, ofPlan *runtime.RawExtension, ofClaim values.Values, p plan.Plan, settings []values.Setting) (*values.Stack, error) {
	inputField, planField := "input.charts."+chart+".values", p.At("values."+chart)
	input, err := values.Decode(inputField, ofInput)
	if err != nil {
		return nil, err
	}
	plans, err := values.Decode(planField, ofPlan)
	if err != nil {
		return nil, err
	}
	return values.NewStack(table, []values.Layer{
		{Owner: values.BuiltIn, Values: builtIn},
		{Owner: values.Input, Field: inputField, Values: input},
		{Owner: values.Plan, Field: planField, Values: plans},
		{Owner: values.Claim, Field: "spec." + chart + ".values", Values: ofClaim},
	}, settings)
}
