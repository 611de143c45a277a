package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/request"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// Labels of EnvironmentConfigs that are plans.
const (
	LabelPlan        = "virtualargocd.io/plan"
	LabelDefaultPlan = "virtualargocd.io/default-plan"

	planAPIVersion = "apiextensions.crossplane.io/v1beta1"
	planKind       = "EnvironmentConfig"
)

// Names of the requirements for plans.
const (
	// requiredPlan begins that of a plan's name. What Crossplane has from the last time
	// is for another name then, and not for this one.
	requiredPlan = "plan/"
	// requiredDefault is the plan of claims that name none.
	requiredDefault = "default-plan"
	// requiredPlans are all, for a claim that names one there isn't.
	requiredPlans = "plans"
)

// ErrUnread says that Crossplane hasn't been asked yet for what decides about the
// tenant. It asks again with that: nothing can be said before.
var ErrUnread = errors.New("the plan is not read yet")

// looksUp tells whether Crossplane says that it looks up what the function asks for,
// as it does since 2.2. Before, it can't be told from one that never answers: a plan
// that is waited for might not come, and one that isn't would come too late.
func looksUp(req *fnv1.RunFunctionRequest) bool {
	return request.HasCapability(req, fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES)
}

// planSelectors are what to ask Crossplane for, by requirement.
func planSelectors(req *fnv1.RunFunctionRequest, name string) map[string]map[string]string {
	if name == "" {
		// The one with the label; else the one of that name.
		return map[string]map[string]string{requiredDefault: {LabelDefaultPlan: "true"}, requiredPlan + plan.DefaultPlan: {LabelPlan: plan.DefaultPlan}}
	}
	selectors := map[string]map[string]string{requiredPlan + name: {LabelPlan: name}}
	if found, read := plansIn(req, requiredPlan+name, selectors[requiredPlan+name]); read && len(found) == 0 && name != plan.DefaultPlan {
		selectors[requiredPlans] = map[string]string{}
	}
	return selectors
}

// plansIn are the EnvironmentConfigs that Crossplane has found for a requirement,
// and whether it has looked.
func plansIn(req *fnv1.RunFunctionRequest, requirement string, labels map[string]string) ([]Struct, bool) {
	resources, read := req.GetRequiredResources()[requirement]
	var out []Struct
	for _, r := range resources.GetItems() {
		s := Struct{r.GetResource()}
		// A Composition may hand over resources under any name it likes.
		matches := s.String("apiVersion") == planAPIVersion && s.String("kind") == planKind
		for key, value := range labels {
			matches = matches && s.String("metadata", "labels", key) == value
		}
		if matches {
			out = append(out, s)
		}
	}
	return out, read
}

// chosenPlan is the plan of the tenant: the one that the claim names, the platform's
// default, or the built-in one.
func chosenPlan(req *fnv1.RunFunctionRequest, name string) (plan.Chosen, error) {
	if name != "" && len(validation.IsValidLabelValue(name)) > 0 {
		return plan.Chosen{}, fmt.Errorf("spec.plan: %.80q is not the name of a plan: write one such as %s", name, plan.DefaultPlan)
	}
	selectors := planSelectors(req, name)
	for requirement := range selectors {
		if _, read := plansIn(req, requirement, nil); read {
			continue
		}
		switch {
		case looksUp(req):
			return plan.Chosen{}, ErrUnread
		case name == "" || name == plan.DefaultPlan:
			return plan.Chosen{Name: plan.DefaultPlan}, nil
		}
		return plan.Chosen{}, errors.New("spec.plan: needs Crossplane 2.2 or later, and this platform's is older: leave it out")
	}
	if name == "" {
		found, _ := plansIn(req, requiredDefault, selectors[requiredDefault])
		if len(found) > 1 {
			return plan.Chosen{}, fmt.Errorf("plan: EnvironmentConfigs %s all have the label %s: leave it on one of them", names(found), LabelDefaultPlan)
		}
		if len(found) == 1 {
			if found[0].String("metadata", "labels", LabelPlan) == "" {
				return plan.Chosen{}, fmt.Errorf("plan: EnvironmentConfig %s has the label %s and no name: give it the label %s", names(found), LabelDefaultPlan, LabelPlan)
			}
			return planOf(found[0])
		}
		name = plan.DefaultPlan
	}
	found, _ := plansIn(req, requiredPlan+name, map[string]string{LabelPlan: name})
	switch {
	case len(found) > 1:
		return plan.Chosen{}, fmt.Errorf("plan %s: EnvironmentConfigs %s all have that name: change the label %s of all but one", name, names(found), LabelPlan)
	case len(found) == 1:
		return planOf(found[0])
	case name == plan.DefaultPlan:
		return plan.Chosen{Name: name}, nil
	}
	return plan.Chosen{}, fmt.Errorf("spec.plan: %q is unknown: write one of %s", name, strings.Join(plansThere(req), ", "))
}

// plansThere are the names of the plans that there are.
func plansThere(req *fnv1.RunFunctionRequest) []string {
	all, _ := plansIn(req, requiredPlans, nil)
	names := []string{plan.DefaultPlan}
	for _, s := range all {
		if name := s.String("metadata", "labels", LabelPlan); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func names(of []Struct) string {
	var out []string
	for _, s := range of {
		out = append(out, s.String("metadata", "name"))
	}
	slices.Sort(out)
	return strings.Join(out, " and ")
}

// planOf decodes a plan strictly: a misspelt field must not pass for one that was
// left out.
func planOf(s Struct) (plan.Chosen, error) {
	c := plan.Chosen{Name: s.String("metadata", "labels", LabelPlan)}
	data := s.Value("data")
	field := "plan " + c.Name + ": data"
	r := reader{}
	if r.object(s, field, "data"); r.err != nil {
		return c, r.err
	}
	if err := bound(field, data.GetStructValue()); err != nil {
		return c, err
	}
	m, err := goMap(data.GetStructValue())
	if err != nil {
		return c, fmt.Errorf("%s.%w", field, err)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return c, fmt.Errorf("%s: cannot be written as JSON: %w", field, err)
	}
	strict, err := kjson.UnmarshalStrict(raw, &c.Data)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		at := strings.Split(wrong.Field, ".")
		return c, fmt.Errorf("%s.%s: %s is not %s", field, wrong.Field, show(Struct{data.GetStructValue()}.Value(at...)), wanted(wrong))
	case err != nil:
		return c, fmt.Errorf("%s: %w", field, err)
	}
	if err := unknown(field, strict); err != nil {
		return c, err
	}
	return c, noReplicas(field, Struct{data.GetStructValue()})
}

// noReplicas refuses a plan that asks for none of something, which would pass for one
// that doesn't say.
func noReplicas(field string, data Struct) error {
	workloads := [][]string{{"vcluster"}}
	for _, key := range slices.Sorted(maps.Keys(data.Get("argocd").s.GetFields())) {
		workloads = append(workloads, []string{"argocd", key})
	}
	for _, at := range workloads {
		if of := data.Get(at...); of.Has("replicas") && of.Int(0, "replicas") == 0 {
			return fmt.Errorf("%s.%s.replicas: 0 is not possible: write 1 or more, or leave it out", field, strings.Join(at, "."))
		}
	}
	return nil
}

// unknown names the first field that a plan doesn't have.
func unknown(field string, strict []error) error {
	var paths []string
	for _, err := range strict {
		if at, ok := err.(kjson.FieldError); ok { //nolint:errorlint // Errors in that list aren't wrapped.
			paths = append(paths, at.FieldPath())
		}
	}
	if len(paths) == 0 {
		return errors.Join(strict...)
	}
	return fmt.Errorf("%s.%s: there is no such field: see the reference of plans for those there are", field, slices.Min(paths))
}

// wanted is what a field takes.
func wanted(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); {
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case kind == "bool":
		return "true or false"
	case kind == "string":
		return "text"
	case kind == "slice":
		return "a list"
	}
	return "an object"
}
