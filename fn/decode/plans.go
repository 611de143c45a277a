package decode

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// ErrUnread means that the plan or the channel must be required from Crossplane first, which then
// calls the function again.
var ErrUnread = errors.New("the plan or the channel is not read yet")

// unknownPlan is the error of a claim whose plan there isn't, or that it can't have. It lists the plans
// that the claim may have, so that Crossplane has to read them all.
type unknownPlan struct{ error }

func (u unknownPlan) Unwrap() error { return u.error }

// chosenPlan returns the plan of the tenant: the one that the claim names, the platform's
// default, or the built-in one.
func chosenPlan(req *fnv1.RunFunctionRequest, g tenant.Given) (plan.Plan, error) {
	found, err := findPlan(req, g)
	if err != nil {
		return plan.Plan{}, err
	}
	return Plan(found)
}

// PlanOf returns the plan that a new claim of a namespace gets which asks for a plan; "" for none. The error is that of a claim that can't have
// it. See RequirePlan.
func PlanOf(req *fnv1.RunFunctionRequest, namespace, asked string) (plan.Plan, error) {
	g := tenant.Given{Claim: tenant.Claim{Namespace: namespace}}
	g.Spec.Plan = asked
	return chosenPlan(req, g)
}

// Plan decodes a plan, whose mistakes are named in its error. Without one, it returns the
// built-in plan.
func Plan(s wire.Struct) (plan.Plan, error) {
	p := plan.Plan{Name: cmp.Or(nameOf(s), plan.Default)}
	field := "plan " + p.Name + ": spec"
	spec, err := wire.Object(field, s.Value("spec"))
	wire.DropCrossplanes(spec)
	if err == nil {
		err = wire.Bound(field, spec, 0)
	}
	if err == nil {
		err = wire.Strict(field, pages.PlanFields, spec, &p.Spec)
	}
	return p, mistakes.By(mistakes.Plan, err)
}

// findPlan returns the plan of the tenant: the one that the claim names; else the one with the
// label of the default, or with its name; none for the built-in plan.
func findPlan(req *fnv1.RunFunctionRequest, g tenant.Given) (wire.Struct, error) {
	asked := g.Spec.Plan
	name := cmp.Or(asked, plan.Default)
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return wire.Struct{}, fmt.Errorf("spec.plan: %.80q is not the name of a plan: write one such as %s", name, plan.Default)
	}
	found, read := wire.Required(req, requiredPlan+name, v1alpha1.APIVersion, v1alpha1.PlanKind)
	found = slices.DeleteFunc(found, func(s wire.Struct) bool { return nameOf(s) != name })
	if asked == "" {
		defaults, looked := wire.Required(req, requiredDefault, v1alpha1.APIVersion, v1alpha1.PlanKind)
		read = read && looked
		if defaults = slices.DeleteFunc(defaults, func(s wire.Struct) bool { return !isDefault(s) }); len(defaults) > 0 {
			found = defaults
		}
	}
	if !read {
		return wire.Struct{}, ErrUnread
	}
	what, had := fmt.Sprintf("%q is unknown", asked), lost(g)
	switch {
	case len(found) == 0 && had != "":
		return wire.Struct{}, ofPlans(had).Errorf("this XArgoCDPlan doesn't exist any more: create it, with spec: {} for the built-in settings, or name another plan in the claim")
	case len(found) == 0 && name == plan.Default:
		return wire.Struct{}, nil
	case len(found) > 1:
		return wire.Struct{}, ofPlans(names(found)).Errorf("all have the label %s: leave it on one of them", v1alpha1.LabelDefaultPlan)
	case len(found) == 1:
		if ok, err := mayHave(g, found[0]); ok || err != nil {
			return found[0], err
		}
		what = fmt.Sprintf("%q is not for claims of namespace %s", asked, g.Claim.Namespace)
		if asked == "" {
			what = "is missing, and the platform's default plan is not for claims of namespace " + g.Claim.Namespace
		}
	}
	// The error lists only the plans that the claim may have.
	all, looked := wire.Required(req, requiredPlans, v1alpha1.APIVersion, v1alpha1.PlanKind)
	if !looked {
		return wire.Struct{}, unknownPlan{ErrUnread}
	}
	there := plansFor(g, all)
	if len(there) == 0 {
		return wire.Struct{}, unknownPlan{fmt.Errorf("spec.plan: %s: there is no plan for claims of namespace %s: ask whoever runs the platform for one", what, g.Claim.Namespace)}
	}
	return wire.Struct{}, unknownPlan{fmt.Errorf("spec.plan: %s: write one of %s", what, strings.Join(there, ", "))}
}

// ofPlans is what errors of plans begin with.
func ofPlans(names string) mistakes.Field {
	return mistakes.Field{Owner: mistakes.Plan, Path: "plan " + names}
}

// lost returns the name of the plan that a tenant has, if its claim asks for the same plan as
// before, and that isn't the built-in one; "" otherwise. Where there is no such plan any more, the
// tenant mustn't get the built-in settings by surprise.
func lost(g tenant.Given) string {
	was := g.Was
	if was == nil || was.Spec.Plan != g.Spec.Plan || was.Plan.Name == plan.Default && reflect.ValueOf(was.Plan.Spec).IsZero() {
		return ""
	}
	return was.Plan.Name
}

// mayHave reports whether the tenant may have a plan: one for the claim's namespace, or the one
// that it has already.
func mayHave(g tenant.Given, s wire.Struct) (bool, error) {
	p := plan.Plan{Name: nameOf(s)}
	// Other mistakes in the plan are no error for a tenant that can't have it.
	spec := map[string]any{"namespaces": s.Value("spec", "namespaces").AsInterface()}
	if err := wire.Strict("plan "+p.Name+": spec", pages.PlanFields, spec, &p.Spec); err != nil {
		return false, mistakes.By(mistakes.Plan, err)
	}
	ok, err := p.IsFor(g.Claim.Namespace)
	return err == nil && (ok || p.Name == g.Running.Plan), err
}

// plansFor returns the names of the plans that the claim may have.
func plansFor(g tenant.Given, all []wire.Struct) []string {
	names := sets.New[string]()
	if !slices.ContainsFunc(all, func(s wire.Struct) bool { return nameOf(s) == plan.Default }) {
		names.Insert(plan.Default)
	}
	for _, s := range all {
		if ok, err := mayHave(g, s); ok && err == nil && nameOf(s) != "" {
			names.Insert(nameOf(s))
		}
	}
	return sets.List(names)
}

// Plans returns plans by name, the names of those that can't be used, and the name of the
// default plan; "" if several have its label.
func Plans(all []wire.Struct) (usable map[string]plan.Plan, bad []string, byDefault string) {
	usable = map[string]plan.Plan{}
	defaults := sets.New[string]()
	for _, s := range all {
		name := nameOf(s)
		if isDefault(s) {
			defaults.Insert(name)
		}
		p, err := Plan(s)
		if err != nil {
			bad = append(bad, name)
			continue
		}
		usable[name] = p
	}
	switch defaults.Len() {
	case 0:
		byDefault = plan.Default
	case 1:
		byDefault, _ = defaults.PopAny()
	}
	return usable, bad, byDefault
}

func nameOf(s wire.Struct) string { return s.String("metadata", "name") }

func isDefault(s wire.Struct) bool {
	return s.String("metadata", "labels", v1alpha1.LabelDefaultPlan) == "true"
}

func names(of []wire.Struct) string {
	var out []string
	for _, s := range of {
		out = append(out, s.String("metadata", "name"))
	}
	slices.Sort(out)
	return strings.Join(out, " and ")
}
