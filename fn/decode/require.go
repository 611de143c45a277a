package decode

import (
	"cmp"
	"errors"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/parts"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/ingress"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Names of the requirements of a tenant. Where an object's name is at the end, what Crossplane has found
// for another name isn't taken for this one.
const (
	// RequiredKubeconfig is the requirement for the Secret that the virtual cluster writes its
	// kubeconfig to.
	RequiredKubeconfig = "virtual-cluster-kubeconfig"
	// requiredSecret is the prefix of requirements for Secrets.
	requiredSecret = "secret/"
	// requiredPlan is the prefix for the plan that a claim names.
	requiredPlan = "plan/"
	// requiredDefault is for the plan of claims that name none.
	requiredDefault = "default-plan"
	// requiredPlans is for all plans, when a claim can't have the one that it names.
	requiredPlans = "plans"
	// requiredChannels is for all EnvironmentConfigs, when a claim can't have the channel that
	// it names.
	requiredChannels = "channels"
	// requiredChannel is the prefix for what a channel publishes for all of its tenants.
	requiredChannel = "channel/"
	// requiredAssignment is the prefix for the assignment of this tenant. It is required by name,
	// so that a change of it has only this tenant reconciled: Crossplane 2.4 looks up the
	// composite resources that require an object by name, and tries all label selectors
	// (composite/dependency/tracker.go).
	requiredAssignment = "assignment/"
	// requiredOriginal is the prefix for the tenant of the claim whose backup is restored.
	requiredOriginal = "original/"
	// requiredFront is for the namespaced VirtualArgoCD that a tenant belongs to.
	requiredFront = "front"
	// requiredRevision is the prefix for a revision of a channel.
	requiredRevision = "revision/"
)

// Require requires from Crossplane what is needed to decide about a tenant of which something is asked,
// with the error of Request, and something else may be in use: the virtual cluster's kubeconfig, the
// plan that is asked for, the channels, the Secrets that the spec in use names, and the records of the
// hostnames that are decided on; d is nil where nothing is. Crossplane then calls the function again.
// It reports whether the spec names Secrets.
func Require(rsp *fnv1.RunFunctionResponse, asked tenant.Given, err error, used tenant.Given, d *tenant.Decision) bool {
	s := wire.Selectors{}
	rsp.Requirements = &fnv1.Requirements{Resources: s}
	s.Named(RequiredKubeconfig, "v1", "Secret", tenant.NewNames(asked.XRName, "").Namespace, tenant.KubeconfigSource)
	host.RequirePolicies(s)
	host.RequireResolver(s)
	requirePlan(s, asked, err)
	requireChannel(s, asked)
	requireChannel(s, used)
	requireOriginal(s, asked)
	requireOriginal(s, used)
	if of := asked.Claim; isFront(of) {
		s.Named(requiredFront, of.APIVersion, of.Kind, of.Namespace, of.Name)
	}
	// Nothing is decided without a plan.
	if used.Plan.Name == "" {
		return false
	}
	names := requireSecrets(s, used)
	if d != nil {
		ingress.RequireGateway(s, d.Ingress.Gateway)
		for _, hostname := range d.Ingress.Asked {
			s.Named(tenant.HostnameResource(hostname.Name), "v1", ingress.HostnameKind, d.SecretsIn, tenant.HostnameRecord(hostname.Name))
		}
	}
	return len(names) > 0
}

// requirePlan requires the plan that is asked for, and all plans if the claim can't have that; and the plan of the accepted spec, with which a
// tenant goes on whose claim is refused.
func requirePlan(s wire.Selectors, asked tenant.Given, err error) {
	if asked.Was != nil {
		RequirePlan(s, asked.Was.Spec.Plan)
	}
	if RequirePlan(s, asked.Spec.Plan) && errors.As(err, &unknownPlan{}) {
		s.Labelled(requiredPlans, v1alpha1.APIVersion, v1alpha1.PlanKind, "", nil)
	}
}

// RequirePlan requires what PlanOf reads, and reports whether what is asked for may be the name of a plan.
func RequirePlan(s wire.Selectors, asked string) bool {
	name := cmp.Or(asked, plan.Default)
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return false
	}
	s.Named(requiredPlan+name, v1alpha1.APIVersion, v1alpha1.PlanKind, "", name)
	if asked == "" {
		s.Labelled(requiredDefault, v1alpha1.APIVersion, v1alpha1.PlanKind, "", map[string]string{v1alpha1.LabelDefaultPlan: "true"})
	}
	return true
}

// requireChannel requires a tenant's channel and its revisions, the tenant's assignment, and all channels
// if there is no such one.
func requireChannel(s wire.Selectors, g tenant.Given) {
	c, in := g.Channel, secretsIn(g.Input)
	if c.Name == "" || len(validation.IsValidLabelValue(c.Name)) > 0 {
		return
	}
	s.Labelled(requiredChannel+c.Name, tenant.EnvironmentAPIVersion, tenant.EnvironmentKind, "", map[string]string{tenant.LabelChannel: c.Name})
	s.Named(requiredAssignment+c.Name, "v1", "ConfigMap", in, tenant.AssignmentName(c.Name, g.XRName))
	for _, number := range []int64{c.Revision, c.Begin} {
		if number > 0 {
			name := tenant.RevisionName(c.Name, number)
			s.Named(requiredRevision+name, "v1", "ConfigMap", in, name)
		}
	}
	if c.Missing {
		s.Labelled(requiredChannels, tenant.EnvironmentAPIVersion, tenant.EnvironmentKind, "", nil)
	}
}

// requireOriginal requires the tenant whose backup another one is to get, which may still exist.
func requireOriginal(s wire.Selectors, g tenant.Given) {
	if name := originalOf(g); name != "" {
		s.Labelled(requiredOriginal+name, g.APIVersion, v1alpha1.Kind, "", map[string]string{tenant.LabelClaimName: name, tenant.LabelClaimNamespace: g.Claim.Namespace})
	}
}

// isFront reports whether a tenant belongs to a namespaced VirtualArgoCD.
func isFront(of tenant.Claim) bool { return strings.HasPrefix(of.APIVersion, v1alpha1.FrontPrefix) }

// originalOf returns the name of that tenant's claim; "" where nothing of a backup is to be fetched any more, so that nothing is required then.
func originalOf(g tenant.Given) string {
	if g.Claim.Namespace == "" || !g.Fetches() {
		return ""
	}
	name := cmp.Or(g.Spec.RestoreFrom.Tenant, g.Claim.Name)
	if len(validation.IsValidLabelValue(name)) > 0 {
		// No claim has such a name.
		return ""
	}
	return name
}

// requireSecrets requires the Secrets that a spec names, and returns their names.
func requireSecrets(s wire.Selectors, g tenant.Given) []string {
	// More may have been accepted by an earlier version.
	names := parts.SecretNames(g.Spec)
	names = names[:min(len(names), tenant.MaxSecrets)]
	// Without a claim, references to Secrets are refused.
	if g.Claim.Namespace == "" {
		return names
	}
	for _, name := range names {
		switch {
		case !tenant.ByLabel(len(names)):
			s.Named(requiredSecret+name, "v1", "Secret", g.Claim.Namespace, name)
		case len(validation.IsValidLabelValue(name)) == 0:
			labels := map[string]string{tenant.LabelSecretName: name}
			if g.Input.Credentials.Label != tenant.CredentialsLabelIgnored {
				labels[tenant.LabelCredentials] = "true"
			}
			s.Labelled(requiredSecret+name, "v1", "Secret", g.Claim.Namespace, labels)
		}
	}
	return names
}
