// Package resolve decides about a tenant: names, versions, chart values and what to expect
// of them, from what is given. It is pure, and every error it returns names the field, the
// value seen and what to write instead.
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

// setValues merges: built-in defaults < input < channel < plan < claim < settings of the plan <
// parts < protected.
func setValues(c part.Candidate) error {
	d, g, in := c.Decision, c.Given, c.Platform
	ofVCluster, err := stack(values.VCluster, vcluster.Defaults(), "vcluster", layers{in.Charts.VCluster.Values, g.Offer.VCluster.Values, g.Plan.Data.Values.VCluster, g.Spec.VClusterValues}, g, g.Plan.VClusterSettings())
	if err != nil {
		return err
	}
	ofArgoCD, err := stack(values.ArgoCD, argocd.Defaults(d, in), "argocd", layers{in.Charts.ArgoCD.Values, g.Offer.ArgoCD.Values, g.Plan.Data.Values.ArgoCD, g.Spec.ArgoCDValues}, g, g.Plan.ArgoCDSettings())
	if err != nil {
		return err
	}
	d.VirtualCluster.Values = ofVCluster.Merged()
	d.ArgoCD.Values = argocd.WithRedisHA(values.Merge(ofArgoCD.Merged(), argocd.Protected()))
	c.ArgoCD = ofArgoCD
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
	// After the bounds, which are written where the protected values switch the chart's off.
	protected, err := vcluster.Protected(d, in)
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
	s := values.NewStack(table)
	if err := s.Add(values.Layer{Owner: values.BuiltIn, Values: builtIn}); err != nil {
		return nil, err
	}
	for _, platforms := range []struct {
		owner values.Owner
		field string
		raw   *runtime.RawExtension
	}{
		{values.Input, "input.charts." + chart + ".values", of.ofInput},
		{values.Channel, g.Offer.At(chart + ".values"), of.ofChannel},
		{values.Plan, g.Plan.At("values." + chart), of.ofPlan},
	} {
		v, err := values.Decode(platforms.field, platforms.raw)
		if err != nil {
			return nil, err
		}
		if err := s.Add(values.Layer{Owner: platforms.owner, Field: platforms.field, Values: v}); err != nil {
			return nil, err
		}
	}
	if err := s.Add(values.Layer{Owner: values.Claim, Field: "spec." + chart + ".values", Values: of.ofClaim}); err != nil {
		return nil, err
	}
	return s, s.Set(settings...)
}
