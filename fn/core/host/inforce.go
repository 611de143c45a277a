package host

import (
	"strconv"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

const (
	policyAPIVersion = "admissionregistration.k8s.io/v1"
	policyKind       = "ValidatingAdmissionPolicy"
	bindingKind      = "ValidatingAdmissionPolicyBinding"

	requirementPolicies = "host-policies"
	requirementBindings = "host-policy-bindings"
)

// RequirePolicies asks Crossplane for the admission policies of the host.
func RequirePolicies(selectors map[string]*fnv1.ResourceSelector) {
	labels := &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: map[string]string{labelPartOf: partOf}}}
	selectors[requirementPolicies] = &fnv1.ResourceSelector{ApiVersion: policyAPIVersion, Kind: policyKind, Match: labels}
	selectors[requirementBindings] = &fnv1.ResourceSelector{ApiVersion: policyAPIVersion, Kind: bindingKind, Match: labels}
}

// InForce reads which admission policies are in force on the host: those that
// fail closed, and that a binding has refuse what they find everywhere.
func InForce(req *fnv1.RunFunctionRequest) tenant.HostPolicies {
	policies, read := wire.Required(req, requirementPolicies, policyAPIVersion, policyKind)
	bindings, bound := wire.Required(req, requirementBindings, policyAPIVersion, bindingKind)
	h := tenant.HostPolicies{Read: read && bound, Versions: map[string]int{}}
	inForce := map[string]int{}
	for _, b := range bindings {
		denies := false
		for _, action := range b.Value("spec", "validationActions").GetListValue().GetValues() {
			denies = denies || action.GetStringValue() == "Deny"
		}
		if denies && !b.Has("spec", "matchResources") && !b.Has("spec", "paramRef") {
			name := b.String("spec", "policyName")
			inForce[name] = max(inForce[name], policiesVersion(b))
		}
	}
	for _, p := range policies {
		name := p.String("metadata", "name")
		version, ok := inForce[name]
		if !ok || p.String("spec", "failurePolicy") == "Ignore" {
			continue
		}
		h.Versions[name] = min(version, policiesVersion(p))
	}
	return h
}

func policiesVersion(s wire.Struct) int {
	n, err := strconv.Atoi(s.String("metadata", "annotations", annotationPoliciesVersion))
	if err != nil {
		return 0
	}
	return n
}
