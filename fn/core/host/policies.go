package host

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// HostPoliciesVersion is the oldest version of the admission policies that this
// function accepts. Each policy and each binding of examples/install has its version
// in the annotation virtualargocd.io/policies-version.
const HostPoliciesVersion = 2

// RequiredPolicies are the names of the ValidatingAdmissionPolicies of examples/install
// without which no new tenant comes up, sorted. Each has a binding of the same name.
var RequiredPolicies = []string{
	"virtual-argocd-accounts", "virtual-argocd-backups", "virtual-argocd-chart", "virtual-argocd-claims", "virtual-argocd-control-plane",
	"virtual-argocd-control-plane-pods", "virtual-argocd-endpoints", "virtual-argocd-front", "virtual-argocd-front-secrets", "virtual-argocd-front-tenants", "virtual-argocd-front-usages", "virtual-argocd-grace", "virtual-argocd-ingresses",
	"virtual-argocd-installer", "virtual-argocd-objects", "virtual-argocd-pods", "virtual-argocd-pool", "virtual-argocd-priorities", "virtual-argocd-providers", "virtual-argocd-routes", "virtual-argocd-secrets", "virtual-argocd-services",
	"virtual-argocd-spares", "virtual-argocd-suspensions", "virtual-argocd-volumes",
}

// Policies that list which labels and annotations tenants may have: an Ingress, and any other object.
const (
	IngressPolicy = "virtual-argocd-ingresses"
	objectPolicy  = "virtual-argocd-objects"
)

// Keys without a domain that objectPolicy allows.
var (
	plainLabel      = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)
	plainAnnotation = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// Problem returns which policies are missing or too old and what to apply, "" when
// none is.
func Problem(h tenant.HostPolicies) string {
	if !h.Read {
		return "The admission policies of the host have not been read yet"
	}
	var missing, old []string
	for _, name := range RequiredPolicies {
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
	return "Admission policies of the host are " + strings.Join(is, "; and ") + ". No new tenant comes up without them: " +
		"apply tenants.yaml, confinement.yaml and claims.yaml of this release: see " + pages.Of(v1alpha1.ReasonPoliciesMissing)
}

// Condition returns HostProtected, the condition of the host's admission policies.
func Condition(t tenant.Tenant) condition.Condition {
	is := condition.Of(v1alpha1.ConditionHostProtected)
	if t.HostProblem != "" {
		return is.No(t.HostReason, t.HostProblem, "")
	}
	return is.Yes("The host has the admission policies and the DNS resolver that this function needs")
}

const (
	policyAPIVersion = "admissionregistration.k8s.io/v1"
	policyKind       = "ValidatingAdmissionPolicy"
	bindingKind      = "ValidatingAdmissionPolicyBinding"

	requirementPolicies = "host-policies"
	requirementBindings = "host-policy-bindings"
)

// RequirePolicies asks Crossplane for the admission policies of the host.
func RequirePolicies(s wire.Selectors) {
	labels := map[string]string{"app.kubernetes.io/part-of": "virtual-argocd"}
	s.Labelled(requirementPolicies, policyAPIVersion, policyKind, "", labels)
	s.Labelled(requirementBindings, policyAPIVersion, bindingKind, "", labels)
}

// InForce reads which admission policies are in force on the host: those that
// fail closed, and that a binding has refuse what they find everywhere.
func InForce(req *fnv1.RunFunctionRequest) tenant.HostPolicies {
	policies, read := wire.Required(req, requirementPolicies, policyAPIVersion, policyKind)
	bindings, bound := wire.Required(req, requirementBindings, policyAPIVersion, bindingKind)
	h := tenant.HostPolicies{Read: read && bound, Versions: map[string]int{}}
	inForce := map[string]int{}
	for _, b := range bindings {
		if slices.Contains(b.Strings("spec", "validationActions"), "Deny") && !b.Has("spec", "matchResources") && !b.Has("spec", "paramRef") {
			name := b.String("spec", "policyName")
			inForce[name] = max(inForce[name], policiesVersion(b))
		}
	}
	for _, p := range policies {
		name := p.String("metadata", "name")
		if version, ok := inForce[name]; ok && p.String("spec", "failurePolicy") != "Ignore" {
			h.Versions[name] = min(version, policiesVersion(p))
			switch name {
			case IngressPolicy:
				h.IngressAnnotations = keys(p, "annotations", "prefixes", nil, "")
			case objectPolicy:
				h.Annotations = keys(p, "annotationNames", "annotationPrefixes", plainAnnotation, "")
				h.Labels = keys(p, "labelNames", "labelPrefixes", plainLabel, "notLabels")
			}
		}
	}
	return h
}

// keys returns the keys that a policy allows: those in its variables names and prefixes, and those that plain matches, but for those in
// the variable not, where there is one; nil if that isn't known, because a variable is no list.
func keys(policy wire.Struct, names, prefixes string, plain *regexp.Regexp, not string) *tenant.Keys {
	k := &tenant.Keys{Policy: policy.String("metadata", "name"), Names: list(policy, names), Prefixes: list(policy, prefixes), Plain: plain}
	if k.Names == nil || k.Prefixes == nil {
		return nil
	}
	if not == "" {
		return k
	}
	// vcluster renames the labels of tenants that select pods of the control plane.
	if k.Not = slices.DeleteFunc(list(policy, not), func(key string) bool { return key == "release" }); k.Not == nil {
		return nil
	}
	return k
}

// list returns the texts in a variable of a policy that is a list of them, as JSON has them, too; nil for another expression.
func list(policy wire.Struct, variable string) []string {
	for _, v := range policy.List("spec", "variables") {
		if v.String("name") == variable {
			var out []string
			if json.Unmarshal([]byte(v.String("expression")), &out) == nil {
				return out
			}
		}
	}
	return nil
}

func policiesVersion(s wire.Struct) int {
	n, err := strconv.Atoi(s.String("metadata", "annotations", "virtualargocd.io/policies-version"))
	if err != nil {
		return 0
	}
	return n
}
