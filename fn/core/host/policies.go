package host

import (
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// HostPoliciesVersion is the oldest version of the admission policies that this
// function accepts. Each policy and each binding of examples/install has its version
// in the annotation AnnotationPoliciesVersion.
const HostPoliciesVersion = 1

// Annotation and label of the admission policies and their bindings.
const (
	annotationPoliciesVersion = "virtualargocd.io/policies-version"
	labelPartOf               = "app.kubernetes.io/part-of"
	partOf                    = "virtual-argocd"
)

// applyPolicies is how the platform installs the admission policies.
const applyPolicies = "kubectl apply -f examples/install/tenants.yaml -f examples/install/confinement.yaml -f examples/install/claims.yaml, of this release"

// requiredPolicies are the names of the ValidatingAdmissionPolicies of
// examples/install. Each has a binding of the same name.
var requiredPolicies = []string{
	"virtual-argocd-accounts", "virtual-argocd-chart", "virtual-argocd-claims", "virtual-argocd-control-plane",
	"virtual-argocd-control-plane-pods", "virtual-argocd-endpoints", "virtual-argocd-grace", "virtual-argocd-ingresses",
	"virtual-argocd-installer", "virtual-argocd-objects", "virtual-argocd-pods", "virtual-argocd-providers", "virtual-argocd-services",
	"virtual-argocd-volumes",
}

// RequiredPolicies returns the names of the admission policies without which no new
// tenant comes up, sorted.
func RequiredPolicies() []string { return slices.Clone(requiredPolicies) }

// Problem returns which policies are missing or too old and what to apply, "" when
// none is.
func Problem(h tenant.HostPolicies) string {
	if !h.Read {
		return "The admission policies of the host have not been read yet"
	}
	var missing, old []string
	for _, name := range requiredPolicies {
		switch version, ok := h.Versions[name]; {
		case !ok:
			missing = append(missing, name)
		case version < HostPoliciesVersion:
			old = append(old, name)
		}
	}
	var is []string
	if len(missing) > 0 {
		is = append(is, "missing or not in force: "+strings.Join(missing, ", "))
	}
	if len(old) > 0 {
		is = append(is, "older than this function needs: "+strings.Join(old, ", "))
	}
	if len(is) == 0 {
		return ""
	}
	return "Admission policies of the host are " + strings.Join(is, "; and ") + ". No new tenant comes up without them: " + applyPolicies
}

// PoliciesInForce reports whether the host has the admission policies that no new
// tenant comes up without.
func PoliciesInForce(t tenant.Tenant) bool { return t.HostProblem == "" }

// Condition returns HostProtected, the condition of the host's admission policies.
func Condition(t tenant.Tenant) condition.Condition {
	is := condition.Of(v1alpha1.ConditionHostProtected)
	if t.HostProblem != "" {
		return is.No(v1alpha1.ReasonPoliciesMissing, t.HostProblem, "")
	}
	return is.Yes("The host has the admission policies that this function needs")
}
