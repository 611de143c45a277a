package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// Request is what a plan is made from.
type Request struct {
	// XRName is the name of the composite resource.
	XRName string
	// Spec is what the tenant asks for.
	Spec Spec
	// Plan is the plan of the tenant.
	Plan Chosen
	// Input is the platform's part.
	Input inputv1alpha1.Input
	// Claim that the tenant belongs to.
	Claim Claim
	// Secrets that the spec names, by name.
	Secrets map[string]Secret
	// Before reads the values from Secrets that are in use now. It is called only
	// when there is need of them.
	Before func() Values
	// Hosts is what is known of hosts and whose they are.
	Hosts Hosts
	// Running are the versions that were seen running.
	Running Running
}

// Spec is what the tenant asks for, with values decoded.
type Spec struct {
	Plan                 string
	ArgoCDChartVersion   string
	ArgoCDValues         Values
	KubernetesVersion    string
	VClusterChartVersion string
	VClusterValues       Values
	Clusters             []v1alpha1.ClusterSpec
	Repositories         []v1alpha1.RepositorySpec
	CredentialTemplates  []v1alpha1.CredentialTemplateSpec
	Bootstrap            *v1alpha1.BootstrapSpec
	Ingress              *v1alpha1.IngressSpec
	SSO                  *v1alpha1.SSOSpec
	DeletionProtection   bool
}

// SecretNames are the names of the Secrets that the spec names, sorted.
func (s Spec) SecretNames() []string {
	var names []string
	for _, c := range s.Clusters {
		names = append(names, c.SecretRef.Name)
	}
	for _, r := range s.Repositories {
		if r.SecretRef != nil {
			names = append(names, r.SecretRef.Name)
		}
	}
	for _, c := range s.CredentialTemplates {
		names = append(names, c.SecretRef.Name)
	}
	if i := s.Ingress; i != nil && i.TLS != nil && i.TLS.SecretName != "" {
		names = append(names, i.TLS.SecretName)
	}
	if s.SSO != nil && s.SSO.OIDC != nil {
		names = append(names, s.SSO.OIDC.ClientSecretRef.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Plan is everything decided about a tenant.
type Plan struct {
	Names      Names
	Host       inputv1alpha1.Host
	SecretsIn  string
	UsageAPI   string
	Kubernetes string
	// PlanName is the name of the plan in use.
	PlanName string
	// PodSecurity is the level that the tenant's pods are held to.
	PodSecurity string
	// LoadBalancers is how many Services of that type the tenant may have.
	LoadBalancers int64
	// Store of the virtual cluster's state, and how many control planes it has.
	Store         Store
	ControlPlanes int64
	VCluster      Chart
	ArgoCD        Chart
	// GeneratesPassword: Argo CD makes an initial admin password to publish.
	GeneratesPassword bool
	// AdminDisabled: nobody can log in as admin.
	AdminDisabled bool
	// Workloads of Argo CD to expect in the virtual cluster.
	Workloads []Workload
	// Sensitive are the values of the argo-cd chart that come from Secrets; nil
	// when the spec names none.
	Sensitive Values
	// Clusters of the spec, in its order.
	Clusters []Connection
	// Repositories are the repositories and credential templates of the spec.
	Repositories []Connection
	// Ingress is how Argo CD is reached from outside.
	Ingress Ingress
	// SSO is how people sign on.
	SSO SSO
	// Claim that the tenant belongs to.
	Claim Claim
	// DeletionProtection: the claim, or an XR without one, can't be deleted.
	DeletionProtection bool
	// Application is the manifest of the first Application; nil for none.
	Application map[string]any
}

// Chart to install, and with which values.
type Chart struct {
	Repository string
	Name       string
	Version    string
	Values     Values
}

// New plans a tenant.
func New(r Request) (*Plan, error) {
	if err := r.Plan.check(); err != nil {
		return nil, err
	}
	in := r.platform()
	if groups := []string{UsageProtection, UsageAPIExtensions, UsageNone}; !slices.Contains(groups, in.UsageAPI) {
		return nil, fmt.Errorf("input.usageAPI: %q is unknown: write one of %v", in.UsageAPI, groups)
	}
	p := &Plan{
		Names:     NewNames(r.XRName, in.Host.ClusterDomain),
		Host:      in.Host,
		SecretsIn: in.ConnectionSecretNamespace,
		UsageAPI:  in.UsageAPI,
		Claim:     r.Claim,

		PlanName:      r.Plan.Name,
		LoadBalancers: r.Plan.Data.LoadBalancers,
		PodSecurity:   cmp.Or(r.Plan.Data.PodSecurity, PodSecurityBaseline),
		ControlPlanes: r.Plan.Data.VCluster.Replicas,
	}
	if p.DeletionProtection = r.Spec.DeletionProtection; p.DeletionProtection && p.UsageAPI != UsageProtection {
		return nil, fmt.Errorf("spec.deletionProtection: is not possible on this platform, whose Crossplane has no Usage of a claim (input.usageAPI is %s, not %s): leave it out", p.UsageAPI, UsageProtection)
	}
	if err := p.setVersions(r, in); err != nil {
		return nil, err
	}
	if err := p.setStore(r, in); err != nil {
		return nil, err
	}
	if err := checkClaimValues("spec.vcluster.values", r.Spec.VClusterValues); err != nil {
		return nil, err
	}
	if err := checkArgoCDValues("spec.argocd.values", r.Spec.ArgoCDValues); err != nil {
		return nil, err
	}
	if err := checkTemplates("spec.argocd.values", r.Spec.ArgoCDValues); err != nil {
		return nil, err
	}
	if err := p.setValues(r, in); err != nil {
		return nil, err
	}
	var err error
	if p.Application, err = application(r.Spec.Bootstrap); err != nil {
		return nil, err
	}
	p.GeneratesPassword = generatesPassword(p.ArgoCD.Values)
	p.AdminDisabled = adminDisabled(p.ArgoCD.Values)
	p.Workloads = workloads(p.ArgoCD.Values)
	return p, nil
}

// platform is the platform's input, with the plan over it and completed.
func (r Request) platform() inputv1alpha1.Input { return withDefaults(r.Plan.over(r.Input)) }

func (p *Plan) setVersions(r Request, in inputv1alpha1.Input) error {
	p.VCluster = Chart{Repository: in.Charts.VCluster.Repository, Name: in.Charts.VCluster.Name}
	p.ArgoCD = Chart{Repository: in.Charts.ArgoCD.Repository, Name: in.Charts.ArgoCD.Name}

	fields := map[*string]string{}
	for _, v := range []struct {
		into                    *string
		check                   func(field, version string) (string, error)
		claimed, claim, ofInput string
		input                   string
		list                    string
		allowed                 []string
	}{
		{&p.VCluster.Version, chartVersion, r.Spec.VClusterChartVersion, "spec.vcluster.chartVersion", in.Charts.VCluster.Version, "input.charts.vcluster.version", "vclusterCharts", r.Plan.Data.Versions.VClusterCharts},
		{&p.ArgoCD.Version, chartVersion, r.Spec.ArgoCDChartVersion, "spec.argocd.chartVersion", in.Charts.ArgoCD.Version, "input.charts.argocd.version", "argocdCharts", r.Plan.Data.Versions.ArgoCDCharts},
		{&p.Kubernetes, kubernetesVersion, r.Spec.KubernetesVersion, "spec.kubernetes.version", in.Kubernetes.Version, "input.kubernetes.version", "kubernetes", r.Plan.Data.Versions.Kubernetes},
	} {
		fields[v.into] = v.input
		if v.claimed != "" {
			fields[v.into] = v.claim
		}
		var err error
		if *v.into, err = v.check(fields[v.into], cmp.Or(v.claimed, v.ofInput)); err != nil {
			return err
		}
		chosen := *v.into
		if v.claimed == "" {
			chosen = ""
		}
		if err := r.Plan.checkAllowed(v.list, v.allowed, v.claim, chosen); err != nil {
			return err
		}
	}
	return checkVersions(wanted{fields[&p.VCluster.Version], p.VCluster.Version}, wanted{fields[&p.Kubernetes], p.Kubernetes}, r.Running)
}

// setValues merges: built-in defaults < input < plan < claim < protected.
func (p *Plan) setValues(r Request, in inputv1alpha1.Input) error {
	ofVCluster, err := rawValues("input.charts.vcluster.values", in.Charts.VCluster.Values)
	if err != nil {
		return err
	}
	ofArgoCD, err := rawValues("input.charts.argocd.values", in.Charts.ArgoCD.Values)
	if err != nil {
		return err
	}
	if err := checkInputValues("input.charts.vcluster.values", ofVCluster); err != nil {
		return err
	}
	vclusterOfPlan, argocdOfPlan, err := r.Plan.values()
	if err != nil {
		return err
	}
	onVCluster, onArgoCD := r.Plan.vclusterDecisions(), r.Plan.argocdDecisions()
	if err := r.Plan.checkDecisions("spec.vcluster.values", r.Spec.VClusterValues, onVCluster); err != nil {
		return err
	}
	if err := r.Plan.checkDecisions("spec.argocd.values", r.Spec.ArgoCDValues, onArgoCD); err != nil {
		return err
	}
	vcluster := source{vclusterDefaults(), ofVCluster, vclusterOfPlan, r.Spec.VClusterValues, onVCluster, nil}.merge()
	argocd := source{argocdDefaults(p, in), ofArgoCD, argocdOfPlan, r.Spec.ArgoCDValues, onArgoCD, nil}.merge()
	if err := p.checkFits(r, vcluster, argocd); err != nil {
		return err
	}
	p.VCluster.Values = vcluster.all
	p.ArgoCD.Values = withRedisHA(Merge(argocd.all, argocdProtectedValues()))
	layers := []layer{{"spec.argocd.values", r.Spec.ArgoCDValues}, {r.Plan.at("values.argocd"), argocdOfPlan}, {"input.charts.argocd.values", ofArgoCD}}
	if err := p.setParts(r, in, layers); err != nil {
		return err
	}
	// Last, since some of it depends on the parts.
	protected, err := vclusterProtected(p, in)
	if err != nil {
		return err
	}
	p.VCluster.Values = Merge(p.VCluster.Values, protected)
	return nil
}

// setParts sets the values of the parts of the spec: those that come from Secrets
// apart from the others.
func (p *Plan) setParts(r Request, in inputv1alpha1.Input, layers []layer) error {
	names := r.Spec.SecretNames()
	if len(names) > 0 && r.Claim.Namespace == "" {
		return fmt.Errorf("spec: Secret %s is looked for in the namespace of the claim, and this composite resource has no claim: claim it, or leave the reference out", names[0])
	}
	s := &sensitive{values: Values{}, before: r.Before}
	if err := p.setClusters(r, s, layers); err != nil {
		return err
	}
	if err := p.setRepositories(r, s, layers); err != nil {
		return err
	}
	if err := p.setIngress(r, in, s, layers); err != nil {
		return err
	}
	if err := p.setSSO(r, s, layers); err != nil {
		return err
	}
	if len(names) > 0 || len(r.Spec.Repositories) > 0 {
		p.Sensitive = s.values
	}
	return nil
}

// rawValues are the values in a field of the platform's.
func rawValues(field string, raw *runtime.RawExtension) (Values, error) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, nil
	}
	v := Values{}
	if err := json.Unmarshal(raw.Raw, &v); err != nil {
		return nil, fmt.Errorf("%s: write an object of chart values: %w", field, err)
	}
	return v, nil
}
