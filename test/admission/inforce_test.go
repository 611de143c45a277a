package admission

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
)

// required are the policies without which the function installs nothing.
var required = []string{
	"virtual-argocd-accounts", "virtual-argocd-backups", "virtual-argocd-chart", "virtual-argocd-claims", "virtual-argocd-control-plane",
	"virtual-argocd-control-plane-pods", "virtual-argocd-endpoints", "virtual-argocd-front", "virtual-argocd-front-secrets", "virtual-argocd-front-tenants", "virtual-argocd-front-usages", "virtual-argocd-grace", "virtual-argocd-ingresses",
	"virtual-argocd-installer", "virtual-argocd-objects", "virtual-argocd-pods", "virtual-argocd-pool", "virtual-argocd-priorities", "virtual-argocd-providers", "virtual-argocd-routes", "virtual-argocd-secrets", "virtual-argocd-services",
	"virtual-argocd-spares", "virtual-argocd-suspensions", "virtual-argocd-volumes",
}

// everywhere are the policies that are for more than tenants' namespaces.
var everywhere = []string{"virtual-argocd-accounts", "virtual-argocd-backups", "virtual-argocd-claims", "virtual-argocd-front", "virtual-argocd-front-secrets", "virtual-argocd-front-tenants", "virtual-argocd-front-usages", "virtual-argocd-pool", "virtual-argocd-priorities", "virtual-argocd-providers", "virtual-argocd-secrets", "virtual-argocd-spares", "virtual-argocd-suspensions"}

// identifier and reserved are what names of CEL's are, and aren't.
var (
	identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)
	reserved   = []string{"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while"}
)

// tables are all verdicts.
func tables() map[string]map[string]verdict {
	return map[string]map[string]verdict{
		"accounts": accounts(), "amounts": amounts(), "againstItself": againstItself(), "backups": backups(), "charted": charted(), "claims": claims(),
		"confined": confined(), "fronts": fronts(), "grace": grace(), "ingresses": ingresses(), "installs": installs(), "objects": objects(), "pods": pods(), "pools": pools(), "quotas": quotas(),
		"podsOfControlPlanes": podsOfControlPlanes(), "priorities": priorities(), "routes": routes(), "secretsOfClaims": secretsOfClaims(), "secretsOfFronts": secretsOfFronts(), "services": services(), "updatesOfPods": updatesOfPods(), "volumes": volumes(),
	}
}

// TestPoliciesAreInForce: each policy is bound to refuse, fails closed, is for the
// tenants' namespaces alone, and says which version it is of.
func TestPoliciesAreInForce(t *testing.T) {
	policies, bindings := read(t)
	marked := func(m metav1.ObjectMeta) bool {
		version, err := strconv.Atoi(m.Annotations["virtualargocd.io/policies-version"])
		return m.Labels["app.kubernetes.io/part-of"] == "virtual-argocd" && err == nil && version >= 1
	}
	var names []string
	for _, p := range policies {
		names = append(names, p.Name)
		selector := p.Spec.MatchConstraints.NamespaceSelector
		if slices.Contains(everywhere, p.Name) {
			if selector != nil {
				t.Errorf("%s: want no selector, got %v", p.Name, selector)
			}
		} else if selector == nil || len(selector.MatchLabels) != 0 || len(selector.MatchExpressions) != 1 ||
			selector.MatchExpressions[0].Key != "virtualargocd.io/tenant" || selector.MatchExpressions[0].Operator != metav1.LabelSelectorOpExists {
			t.Errorf("%s: want the tenants' namespaces, got %v", p.Name, selector)
		}
		if p.Spec.FailurePolicy == nil || *p.Spec.FailurePolicy != admissionv1.Fail || !marked(p.ObjectMeta) {
			t.Errorf("%s: want it marked, and to fail closed: %v, %v", p.Name, p.Spec.FailurePolicy, p.ObjectMeta)
		}
		// A namespaceSelector doesn't keep out what is in no namespace: a rule for kinds that it doesn't name, of groups other than Kubernetes' own
		// apps, says so itself.
		for _, rule := range p.Spec.MatchConstraints.ResourceRules {
			all := slices.ContainsFunc(rule.Resources, func(resource string) bool { return strings.HasPrefix(resource, "*") })
			if selector != nil && all && !slices.Equal(rule.APIGroups, []string{"apps"}) && (rule.Scope == nil || *rule.Scope != admissionv1.NamespacedScope) {
				t.Errorf("%s: want scope Namespaced for resources %v of %v", p.Name, rule.Resources, rule.APIGroups)
			}
		}
		// What is left out of a policy is left out here, too.
		var excluded []string
		for _, rule := range p.Spec.MatchConstraints.ExcludeResourceRules {
			excluded = append(excluded, rule.Resources...)
		}
		if p.Spec.MatchConstraints.ObjectSelector != nil || excluded != nil &&
			(p.Name != "virtual-argocd-objects" || !slices.Equal(excluded, []string{"endpoints", "endpointslices"})) {
			t.Errorf("%s: want everything that its rules name, got all but %v, %v", p.Name, excluded, p.Spec.MatchConstraints.ObjectSelector)
		}
		for _, v := range p.Spec.Variables {
			if !identifier.MatchString(v.Name) || slices.Contains(reserved, v.Name) {
				t.Errorf("%s: the API server doesn't take %s for the name of a variable", p.Name, v.Name)
			}
		}
		bound := slices.ContainsFunc(bindings, func(b *admissionv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Name == p.Name && b.Spec.PolicyName == p.Name && b.Spec.MatchResources == nil && b.Spec.ParamRef == nil && marked(b.ObjectMeta) &&
				slices.Equal(b.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny})
		})
		if !bound {
			t.Errorf("policy %s is bound to nothing, to less than it is for, or refuses nothing", p.Name)
		}
	}
	if slices.Sort(names); !slices.Equal(names, required) {
		t.Errorf("want policies %v, got %v", required, names)
	}
	if len(bindings) != len(policies) {
		t.Errorf("want %d bindings, got %d", len(policies), len(bindings))
	}
}

// TestBrokenPoliciesAreNoticed changes what each policy is for, in the ways in which
// a slip would, and wants a verdict of the tables above to be wrong then.
func TestBrokenPoliciesAreNoticed(t *testing.T) {
	s := newAPIServer(t)
	// Each policy decides by itself, so that the others say of a request what they said before.
	type said struct {
		verdict
		attributes admission.Attributes
		by         []string
	}
	var all []*said
	for table, cases := range tables() {
		for name, v := range cases {
			one := &said{verdict: v, attributes: attributes(t, v.request)}
			for _, p := range s.policies {
				one.by = append(one.by, s.ask(t, one.attributes, p.hook()))
			}
			if wrong := v.wrong(strings.Join(one.by, "")); wrong != "" {
				t.Fatalf("%s/%s: %s", table, name, wrong)
			}
			all = append(all, one)
		}
	}
	for i, p := range s.policies {
		// What the policy refuses comes first: that is where a change shows.
		slices.SortStableFunc(all, func(a, b *said) int { return cmp.Compare(min(len(b.by[i]), 1), min(len(a.by[i]), 1)) })
		for name, change := range slips(p) {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				broken := *p
				broken.ValidatingAdmissionPolicy = p.DeepCopy()
				change(&broken)
				hook := broken.hook()
				for _, one := range all {
					by := slices.Clone(one.by)
					if by[i] = s.ask(t, one.attributes, hook); one.wrong(strings.Join(by, "")) != "" {
						return
					}
				}
				t.Error("no verdict is wrong")
			})
		}
	}
}

// allowing is the validations of a policy, of which one has the expression "true".
type allowing struct {
	cel.ConditionEvaluator
	index int
}

// ForInput evaluates the validations.
func (a allowing) ForInput(ctx context.Context, attributes *admission.VersionedAttributes, request *admissionapi.AdmissionRequest, vars cel.OptionalVariableBindings, namespace *corev1.Namespace, budget int64) ([]cel.EvaluationResult, int64, error) {
	results, budget, err := a.ConditionEvaluator.ForInput(ctx, attributes, request, vars, namespace, budget)
	if err == nil {
		results[a.index].EvalResult, results[a.index].Error = types.True, nil
	}
	return results, budget, err
}

// slips are changes of a policy that leave it valid, and less than it was.
func slips(p *policy) map[string]func(*policy) {
	all := map[string]func(*policy){}
	if p.Spec.MatchConstraints.NamespaceSelector != nil && len(p.Spec.MatchConstraints.NamespaceSelector.MatchExpressions) > 0 {
		all["DoesNotExist"] = func(p *policy) {
			p.Spec.MatchConstraints.NamespaceSelector.MatchExpressions[0].Operator = metav1.LabelSelectorOpDoesNotExist
		}
	}
	for i, validation := range p.Spec.Validations {
		all["AllowsAll/"+validation.Message+strconv.Itoa(i)] = func(p *policy) { p.validations = allowing{p.validations, i} }
	}
	for i, rule := range p.Spec.MatchConstraints.ResourceRules {
		of := func(p *policy) *admissionv1.NamedRuleWithOperations {
			return &p.Spec.MatchConstraints.ResourceRules[i]
		}
		for j, operation := range rule.Operations {
			all["No"+string(operation)+strconv.Itoa(i)] = func(p *policy) {
				of(p).Operations = slices.Delete(of(p).Operations, j, j+1)
			}
		}
		for j, resource := range rule.Resources {
			if resource == "*/*" {
				all["NoSubresources"+strconv.Itoa(i)] = func(p *policy) { of(p).Resources[j] = "*" }
				continue
			}
			all["Misspelt/"+resource] = func(p *policy) { of(p).Resources[j] += "x" }
			all["Status/"+resource] = func(p *policy) { of(p).Resources[j] = resource + "/status" }
		}
	}
	return all
}
