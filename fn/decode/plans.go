package decode

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// Labels of EnvironmentConfigs that are plans.
const (
	labelPlan        = "virtualargocd.io/plan"
	labelDefaultPlan = "virtualargocd.io/default-plan"

	planAPIVersion = "apiextensions.crossplane.io/v1beta1"
	planKind       = "EnvironmentConfig"
)

// Names of the requirements for plans.
const (
	// requiredPlan is the prefix for a plan with a name. The name is in it so that what
	// Crossplane has found for another name isn't taken for this one.
	requiredPlan = "plan/"
	// requiredDefault is for the plan of claims that name none.
	requiredDefault = "default-plan"
	// requiredPlans is for all plans, when a claim can't have the one that it names.
	requiredPlans = "plans"
)

// ErrUnread means that the plan must be required from Crossplane first, which then calls the
// function again.
var ErrUnread = errors.New("the plan is not read yet")

// chosenPlan returns the plan of the tenant: the one that the claim names, the platform's
// default, or the built-in one.
func chosenPlan(req *fnv1.RunFunctionRequest, r tenant.Given) (plan.Plan, error) {
	found, _, err := findPlan(req, r)
	if err != nil {
		return plan.Plan{}, err
	}
	return planOf(found)
}

// planOf decodes the plan in an EnvironmentConfig. Without one, it returns the built-in plan.
func planOf(s wire.Struct) (plan.Plan, error) {
	p := plan.Plan{Name: cmp.Or(nameOf(s), plan.Default)}
	field := "plan " + p.Name + ": data"
	data, err := wire.Object(field, s.Value("data"))
	if err != nil {
		return p, err
	}
	if err := wire.Bound(field, data, 0); err != nil {
		return p, err
	}
	if err := wire.Strict(field, pages.PlanFields, data, &p.Data); err != nil {
		return p, err
	}
	// Once decoded, 0 replicas are the same as none that are set.
	for _, path := range values.Leaves(data) {
		if value, _ := values.Lookup(data, path...); path[0] != "values" && path[len(path)-1] == "replicas" && value == 0. {
			return p, fmt.Errorf("%s.%s: 0 is not possible: write 1 or more, or leave it out", field, strings.Join(path, "."))
		}
	}
	return p, nil
}

// findPlan returns the EnvironmentConfig with the plan of the tenant: the one that the claim
// names; else the one with the label of the default, or with its name; none for the built-in
// plan. selectors are the resources to require from Crossplane, by requirement.
func findPlan(req *fnv1.RunFunctionRequest, r tenant.Given) (_ wire.Struct, selectors map[string]*fnv1.ResourceSelector, _ error) {
	selectors = map[string]*fnv1.ResourceSelector{}
	read := true
	// Without a label, it finds all.
	find := func(requirement string, label, value string) []wire.Struct {
		labels := map[string]string{}
		if label != "" {
			labels[label] = value
		}
		selectors[requirement] = labelled(labels)
		found, looked := wire.Required(req, requirement, planAPIVersion, planKind)
		read = read && looked
		return slices.DeleteFunc(found, func(s wire.Struct) bool {
			return label != "" && s.String("metadata", "labels", label) != value
		})
	}
	asked := r.Spec.Plan
	name := cmp.Or(asked, plan.Default)
	found := find(requiredPlan+name, labelPlan, name)
	isDefault := false
	if asked == "" {
		if defaults := find(requiredDefault, labelDefaultPlan, "true"); len(defaults) > 0 {
			found, isDefault = defaults, true
		}
	}
	if len(validation.IsValidLabelValue(name)) > 0 {
		return wire.Struct{}, selectors, fmt.Errorf("spec.plan: %.80q is not the name of a plan: write one such as %s", name, plan.Default)
	}
	if !read {
		return wire.Struct{}, selectors, ErrUnread
	}
	what := fmt.Sprintf("%q is unknown", asked)
	switch {
	case len(found) == 0 && name == plan.Default:
		return wire.Struct{}, selectors, nil
	case len(found) > 1 && isDefault:
		return wire.Struct{}, selectors, fmt.Errorf("plan: EnvironmentConfigs %s all have the label %s: leave it on one of them", names(found), labelDefaultPlan)
	case len(found) > 1:
		return wire.Struct{}, selectors, fmt.Errorf("plan %s: EnvironmentConfigs %s all have that name: change the label %s of all but one", name, names(found), labelPlan)
	case len(found) == 1 && nameOf(found[0]) == "":
		return wire.Struct{}, selectors, fmt.Errorf("plan: EnvironmentConfig %s has the label %s and no name: give it the label %s", names(found), labelDefaultPlan, labelPlan)
	case len(found) == 1:
		if ok, err := mayHave(r, found[0]); ok || err != nil {
			return found[0], selectors, err
		}
		what = fmt.Sprintf("%q is not for claims of namespace %s", asked, r.Claim.Namespace)
		if asked == "" {
			what = "is missing, and the platform's default plan is not for claims of namespace " + r.Claim.Namespace
		}
	}
	// The error lists only the plans that the claim may have.
	all := find(requiredPlans, "", "")
	if !read {
		return wire.Struct{}, selectors, ErrUnread
	}
	there := plansFor(r, all)
	if len(there) == 0 {
		return wire.Struct{}, selectors, fmt.Errorf("spec.plan: %s: there is no plan for claims of namespace %s: ask whoever runs the platform for one", what, r.Claim.Namespace)
	}
	return wire.Struct{}, selectors, fmt.Errorf("spec.plan: %s: write one of %s", what, strings.Join(there, ", "))
}

// labelled selects EnvironmentConfigs by labels. Without labels, it selects all.
func labelled(labels map[string]string) *fnv1.ResourceSelector {
	return &fnv1.ResourceSelector{
		ApiVersion: planAPIVersion, Kind: planKind,
		Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: labels}},
	}
}

// mayHave reports whether the tenant may have a plan: one for the claim's namespace, or the one
// that it has already.
func mayHave(r tenant.Given, s wire.Struct) (bool, error) {
	p := plan.Plan{Name: nameOf(s)}
	// Other mistakes in the plan are no error for a tenant that can't have it.
	data := map[string]any{"namespaces": s.Value("data", "namespaces").AsInterface()}
	if err := wire.Strict("plan "+p.Name+": data", pages.PlanFields, data, &p.Data); err != nil {
		return false, err
	}
	ok, err := p.IsFor(r.Claim.Namespace)
	return err == nil && (ok || p.Name == r.Running.Plan), err
}

// plansFor returns the names of the plans that the claim may have.
func plansFor(r tenant.Given, all []wire.Struct) []string {
	names := sets.New[string]()
	if !slices.ContainsFunc(all, func(s wire.Struct) bool { return nameOf(s) == plan.Default }) {
		names.Insert(plan.Default)
	}
	for _, s := range all {
		if ok, err := mayHave(r, s); ok && err == nil && nameOf(s) != "" {
			names.Insert(nameOf(s))
		}
	}
	return sets.List(names)
}

// Plans returns the plans in EnvironmentConfigs by name, the names of plans that can't be used,
// and the name of the default plan; "" if several plans have the label of the default plan.
func Plans(all []wire.Struct) (usable map[string]plan.Plan, bad []string, byDefault string) {
	usable = map[string]plan.Plan{}
	defaults := sets.New[string]()
	for _, s := range all {
		name := nameOf(s)
		if name == "" {
			continue
		}
		if s.String("metadata", "labels", labelDefaultPlan) == "true" {
			defaults.Insert(name)
		}
		p, err := planOf(s)
		if _, twice := usable[name]; twice || err != nil {
			bad = append(bad, name)
			continue
		}
		usable[name] = p
	}
	for _, name := range bad {
		delete(usable, name)
	}
	switch defaults.Len() {
	case 0:
		byDefault = plan.Default
	case 1:
		byDefault, _ = defaults.PopAny()
	}
	return usable, bad, byDefault
}

func nameOf(s wire.Struct) string { return s.String("metadata", "labels", labelPlan) }

func names(of []wire.Struct) string {
	var out []string
	for _, s := range of {
		out = append(out, s.String("metadata", "name"))
	}
	slices.Sort(out)
	return strings.Join(out, " and ")
}
