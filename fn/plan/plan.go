package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
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
	Before func() values.Values
	// Token of the tenant's account on the host; empty while there is none.
	Token []byte
	// Hosts is what is known of hosts and whose they are.
	Hosts Hosts
	// Running are the versions that were seen running.
	Running Running
	// HostPolicies are the admission policies of the host.
	HostPolicies HostPolicies
}

// Spec is what the tenant asks for, with values decoded.
type Spec struct {
	Plan                 string                            `json:"plan,omitempty"`
	ArgoCDChartVersion   string                            `json:"argocdChartVersion,omitempty"`
	ArgoCDValues         values.Values                     `json:"argocdValues,omitempty"`
	KubernetesVersion    string                            `json:"kubernetesVersion,omitempty"`
	VClusterChartVersion string                            `json:"vclusterChartVersion,omitempty"`
	VClusterValues       values.Values                     `json:"vclusterValues,omitempty"`
	Clusters             []v1alpha1.ClusterSpec            `json:"clusters,omitempty"`
	Repositories         []v1alpha1.RepositorySpec         `json:"repositories,omitempty"`
	CredentialTemplates  []v1alpha1.CredentialTemplateSpec `json:"credentialTemplates,omitempty"`
	Bootstrap            *v1alpha1.BootstrapSpec           `json:"bootstrap,omitempty"`
	Ingress              *v1alpha1.IngressSpec             `json:"ingress,omitempty"`
	SSO                  *v1alpha1.SSOSpec                 `json:"sso,omitempty"`
	DeletionProtection   bool                              `json:"deletionProtection,omitempty"`
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
	Kubernetes string
	// VersionsHeld says which of the platform's versions the tenant doesn't have yet, and
	// why.
	VersionsHeld []string
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
	// HostProblem says which admission policies the host lacks, "" for none.
	HostProblem string
	// Bounds of the tenant on the host.
	Bounds Bounds
	// GeneratesPassword: Argo CD makes an initial admin password to publish.
	GeneratesPassword bool
	// AdminDisabled: nobody can log in as admin.
	AdminDisabled bool
	// Workloads of Argo CD to expect in the virtual cluster.
	Workloads []Workload
	// Sensitive are the values of the argo-cd chart that stand in a Secret alone: those
	// from Secrets that the spec names, and the password of redis. Nil for none.
	Sensitive values.Values
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
	// DeletionProtection: the XR can't be deleted, nor its claim and the claim's namespace.
	DeletionProtection bool
	// Application is the manifest of the first Application; nil for none.
	Application map[string]any
}

// Chart to install, and with which values.
type Chart struct {
	Repository string
	Name       string
	Version    string
	Values     values.Values
}

// New plans a tenant.
func New(r Request) (*Plan, error) {
	if err := r.Plan.check(); err != nil {
		return nil, err
	}
	in := r.platform()
	if labels := []string{CredentialsLabelRequired, CredentialsLabelIgnored}; !slices.Contains(labels, in.Credentials.Label) {
		return nil, fmt.Errorf("input.credentials.label: %q is unknown: write one of %v", in.Credentials.Label, labels)
	}
	p := &Plan{
		Names:     NewNames(r.XRName, in.Host.ClusterDomain),
		Host:      in.Host,
		SecretsIn: in.ConnectionSecretNamespace,
		Claim:     r.Claim,

		HostProblem:   r.HostPolicies.problem(),
		PlanName:      r.Plan.Name,
		LoadBalancers: r.Plan.Data.LoadBalancers,
		PodSecurity:   cmp.Or(r.Plan.Data.PodSecurity, PodSecurityBaseline),
		ControlPlanes: r.Plan.Data.VCluster.Replicas,

		DeletionProtection: r.Spec.DeletionProtection,
	}
	if err := p.setVersions(r, in); err != nil {
		return nil, err
	}
	if err := p.setStore(r, in); err != nil {
		return nil, err
	}
	for _, check := range claimChecks {
		if err := check(r.Spec); err != nil {
			return nil, err
		}
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

	var w versions
	for _, v := range []struct {
		version
		into *wanted
	}{
		{version{check: chartVersion, claim: "spec.vcluster.chartVersion", claims: r.Spec.VClusterChartVersion, input: "input.charts.vcluster.version", platforms: in.Charts.VCluster.Version,
			list: "vclusterCharts", listed: r.Plan.Data.Versions.VClusterCharts, running: r.Running.VCluster}, &w.vcluster},
		{version{check: chartVersion, claim: "spec.argocd.chartVersion", claims: r.Spec.ArgoCDChartVersion, input: "input.charts.argocd.version", platforms: in.Charts.ArgoCD.Version,
			list: "argocdCharts", listed: r.Plan.Data.Versions.ArgoCDCharts, running: r.Running.ArgoCD, free: true}, &w.argocd},
		{version{check: kubernetesVersion, claim: "spec.kubernetes.version", claims: r.Spec.KubernetesVersion, input: "input.kubernetes.version", platforms: in.Kubernetes.Version,
			list: "kubernetes", listed: r.Plan.Data.Versions.Kubernetes, running: r.Running.Kubernetes}, &w.kubernetes},
	} {
		var err error
		if *v.into, err = r.Plan.choose(v.version); err != nil {
			return err
		}
	}
	w, p.VersionsHeld = w.resolve(r.Running, r.Plan.Data.Versions.Kubernetes)
	p.VCluster.Version, p.ArgoCD.Version, p.Kubernetes = w.vcluster.version, w.argocd.version, w.kubernetes.version
	return checkVersions(w.vcluster, w.kubernetes, r.Running)
}

// setValues merges: built-in defaults < input < plan < claim < settings of the plan < protected.
func (p *Plan) setValues(r Request, in inputv1alpha1.Input) error {
	vcluster, err := stack(values.VCluster, vclusterDefaults(), "vcluster", in.Charts.VCluster.Values, r.Plan, r.Plan.Data.Values.VCluster, r.Spec.VClusterValues)
	if err != nil {
		return err
	}
	argocd, err := stack(values.ArgoCD, argocdDefaults(p, in), "argocd", in.Charts.ArgoCD.Values, r.Plan, r.Plan.Data.Values.ArgoCD, r.Spec.ArgoCDValues)
	if err != nil {
		return err
	}
	if err := vcluster.Set(r.Plan.vclusterSettings()...); err != nil {
		return err
	}
	if err := argocd.Set(r.Plan.argocdSettings()...); err != nil {
		return err
	}
	p.VCluster.Values = vcluster.Merged()
	p.ArgoCD.Values = withRedisHA(values.Merge(argocd.Merged(), argocdProtectedValues()))
	if err := p.setParts(r, in, argocd); err != nil {
		return err
	}
	p.setRedis(r)
	if err := p.setBounds(in, vcluster); err != nil {
		return err
	}
	// Last, since some of it depends on the parts.
	protected, err := vclusterProtected(p, in)
	if err != nil {
		return err
	}
	p.VCluster.Values = values.Merge(p.VCluster.Values, protected)
	return nil
}

// stack returns the values of a chart in the order in which they merge.
func stack(table values.Table, builtIn values.Values, chart string, input *runtime.RawExtension, c Chosen, plan *runtime.RawExtension, claim values.Values) (*values.Stack, error) {
	s := values.NewStack(table)
	layers := []values.Layer{
		{Owner: values.BuiltIn, Values: builtIn}, {Owner: values.Input, Field: "input.charts." + chart + ".values"},
		{Owner: values.Plan, Field: c.at("values." + chart)}, {Owner: values.Claim, Field: "spec." + chart + ".values", Values: claim},
	}
	for i, raw := range map[int]*runtime.RawExtension{1: input, 2: plan} {
		var err error
		if layers[i].Values, err = values.Decode(layers[i].Field, raw); err != nil {
			return nil, err
		}
	}
	for _, l := range layers {
		if err := s.Add(l); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// setParts sets the values of the parts of the spec: those that come from Secrets
// apart from the others.
func (p *Plan) setParts(r Request, in inputv1alpha1.Input, argocd *values.Stack) error {
	names := r.Spec.SecretNames()
	if len(names) > 0 && r.Claim.Namespace == "" {
		return fmt.Errorf("spec: Secret %s is looked for in the namespace of the claim, and this composite resource has no claim: claim it, or leave the reference out", names[0])
	}
	s := &sensitive{values: values.Values{}, before: r.Before}
	if err := p.setClusters(r, s, argocd); err != nil {
		return err
	}
	if err := p.setRepositories(r, s, argocd); err != nil {
		return err
	}
	if err := p.setIngress(r, in, s, argocd); err != nil {
		return err
	}
	if err := p.setSSO(r, s, argocd); err != nil {
		return err
	}
	if len(names) > 0 || len(r.Spec.Repositories) > 0 {
		p.Sensitive = s.values
	}
	return nil
}
