// Package resolve decides about a tenant: names, versions, chart values and the workloads that
// they result in. Its errors name the field, the value and what to write instead.
package resolve

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/parts"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/components"
	"github.com/virtual-argocd/virtual-argocd/fn/policy"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
	"github.com/virtual-argocd/virtual-argocd/fn/versions"
)

// fields of a claim's spec, in the order in which mistakes are named.
var fields = mistakes.Fields("spec", reflect.TypeFor[v1alpha1.Spec]())

// Tenant decides about a tenant. Its error has all mistakes of the claim that can be found at once.
func Tenant(g tenant.Given) (*tenant.Decision, error) {
	g.SecretNames = parts.SecretNames(g.Spec)
	g.Platform = tenant.WithDefaults(g.Plan.Over(g.Offered.Over(g.Input)))
	if err := policy.RefusePlatform(g); err != nil {
		return nil, err
	}
	d, err := decide(g)
	if err != nil {
		return nil, Sorted(err)
	}
	return d, nil
}

// Sorted returns all mistakes of a claim as one error, in the order of the API's fields.
func Sorted(errs ...error) error { return mistakes.Sorted(mistakes.Join(errs...), fields) }

// decide decides about a tenant whose platform has no mistake.
func decide(g tenant.Given) (*tenant.Decision, error) {
	in := g.Platform
	d := &tenant.Decision{
		Names:     tenant.NewNames(g.XRName, in.Host.ClusterDomain),
		Host:      in.Host,
		SecretsIn: in.ConnectionSecretNamespace,
		Claim:     g.Claim,

		PlanName:      g.Plan.Name,
		LoadBalancers: g.Plan.Spec.LoadBalancers,
		PodSecurity:   cmp.Or(g.Plan.Spec.PodSecurity, tenant.PodSecurityBaseline),
		ControlPlanes: g.Plan.Spec.VCluster.Replicas,
	}
	host.SetProblem(d, g)
	c := part.Candidate{Given: g, Decision: d, Sensitive: &credentials.Sensitive{Values: values.Values{}, Before: g.Before}}
	if err := setValues(c, mistakes.Join(policy.RefuseClaim(g), versions.Resolve(d, g), vcluster.SetStore(d, g))); err != nil {
		return nil, err
	}
	d.GeneratesPassword = argocd.GeneratesPassword(d.ArgoCD.Values) && d.Accounts.Kept.Admin == nil
	d.AdminDisabled = argocd.AdminDisabled(d.ArgoCD.Values)
	d.Workloads = argocd.ExpectedWorkloads(d.ArgoCD.Values)
	if len(d.Tunnels.Agents) > 0 {
		d.Workloads = append(d.Workloads, argocd.TunnelServer)
	}
	return d, nil
}

// setValues merges: built-in defaults < input < components < channel < plan < claim < settings of the plan <
// parts < protected. Its error has the mistakes found before, too.
func setValues(c part.Candidate, before error) error {
	d, g, in := c.Decision, c.Given, c.Platform
	was := g.WasAsked()
	ofVCluster, err := stack(values.VCluster, d.VirtualCluster, vcluster.Defaults(), "vcluster",
		layers{in.Charts.VCluster.Values, g.Offered.VCluster.Values, g.Plan.Spec.Values.VCluster, g.Spec.VClusterValues, was.VClusterValues, nil}, g, g.Plan.VClusterSettings())
	before = mistakes.Join(before, err)
	ofComponents, err2 := components.ArgoCDValues(g)
	c.ArgoCD, err = stack(values.ArgoCD, d.ArgoCD, argocd.Defaults(d, in), "argocd",
		layers{in.Charts.ArgoCD.Values, g.Offered.ArgoCD.Values, g.Plan.Spec.Values.ArgoCD, g.Spec.ArgoCDValues, was.ArgoCDValues, ofComponents}, g, g.Plan.ArgoCDSettings())
	before = mistakes.Join(before, err2)
	// Argo CD's URL follows from it, and the chart's own is an example.
	c.ArgoCD.DropDefault("global", "domain")
	d.ArgoCD.Values = argocd.WithHA(values.Merge(c.ArgoCD.Merged(), argocd.Protected()))
	c.Given.ArgoCD = argoCDOf(d.ArgoCD, c.ArgoCD)
	virtual := ofVCluster.Merged()
	quota := values.At[values.Values](virtual, "policies", "resourceQuota", "quota")
	err = mistakes.Join(before, err, policy.Templates(g, chartVersion(d.ArgoCD)), policy.Services(g, quota), policy.Dex(g), policy.Settings(c.Given, c.ArgoCD, d.ArgoCD.Version), policy.Values(g, c.ArgoCD, chartVersion(d.ArgoCD), virtual), argocd.SetRootPath(d, g, c.ArgoCD), parts.Resolve(c))
	d.ArgoCD.Values = c.ArgoCD.WithoutDropped(d.ArgoCD.Values)
	c.ArgoCD.NameSwitchedOff(d.ArgoCD.Values)
	d.NoEffect = slices.Concat(c.ArgoCD.NoEffect(), ofVCluster.NoEffect(), d.NoEffect)
	if len(g.SecretNames) > 0 || len(g.Spec.Repositories)+len(g.Spec.Clusters) > 0 {
		d.Sensitive = c.Sensitive.Values
	}
	argocd.SetObjects(d, g, c.Sensitive.Objects)
	if before == nil && !g.Unassigned {
		err = mistakes.Join(err, setVirtualCluster(c, ofVCluster))
	}
	return err
}

// setVirtualCluster decides on the values of the vcluster chart, and on what bounds the tenant on the host.
func setVirtualCluster(c part.Candidate, of *values.Stack) error {
	d, in := c.Decision, c.Platform
	d.VirtualCluster.Values = of.Merged()
	vcluster.SetDNS(d, c.Given, of)
	if err := host.SetBounds(d, in, of); err != nil {
		return err
	}
	// Last, because the protected values disable the chart's own bounds.
	protected, err := vcluster.Protected(d, in, of)
	d.VirtualCluster.Values = values.Merge(d.VirtualCluster.Values, protected)
	return err
}

// argoCDOf returns the minor version of Argo CD that a chart installs; nil where it isn't known, as with an image of somebody's own.
func argoCDOf(is tenant.Chart, of *values.Stack) *semver.Version {
	for _, component := range []string{"global", "controller", "server", "repoServer"} {
		if tag := of.Last(component, "image", "tag").Value; tag != nil && tag != "" {
			return nil
		}
	}
	if known.Named(is.Name) == nil {
		return nil
	}
	return versions.ArgoCD(is.Version)
}

// chartVersion returns what is known of the version of a chart, or of all of its versions where none could be chosen; nil where nothing is.
func chartVersion(of tenant.Chart) *known.Version {
	chart := known.Named(of.Name)
	if chart == nil {
		return nil
	}
	v := chart.Any()
	if of.Version != "" {
		v = chart.At(of.Version)
	}
	return &v
}

// layers of the values of a chart, by who has written them.
type layers struct {
	ofInput, ofChannel, ofPlan *runtime.RawExtension
	ofClaim, accepted          values.Values
	// ofComponents are those that come with components, above those of the input.
	ofComponents []values.Layer
}

// stack returns the values of a chart in the order in which they merge.
func stack(table values.Table, is tenant.Chart, builtIn values.Values, chart string, of layers, g tenant.Given, settings []values.Setting) (*values.Stack, error) {
	all := []values.Layer{
		{Values: builtIn},
		{Field: mistakes.Field{Owner: values.Input, Path: "input.charts." + chart + ".values"}},
		{Field: g.Offered.At(chart + ".values")},
		{Field: g.Plan.At("values." + chart)},
		{Field: mistakes.Field{Owner: values.Claim, Path: "spec." + chart + ".values"}, Values: of.ofClaim, Accepted: of.accepted},
	}
	var found []error
	for i, raw := range []*runtime.RawExtension{of.ofInput, of.ofChannel, of.ofPlan} {
		var err error
		all[i+1].Values, err = values.Decode(all[i+1].Field.Path, raw)
		found = append(found, mistakes.By(all[i+1].Field.Owner, err))
	}
	all = slices.Insert(all, 2, of.ofComponents...)
	out, err := values.NewStack(table, chartVersion(is), all, settings)
	return out, mistakes.Join(append(found, err)...)
}
