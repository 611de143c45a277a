package decode

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/request"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
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
	// requiredPlan begins that of a plan's name. What Crossplane has from the last time
	// is for another name then, and not for this one.
	requiredPlan = "plan/"
	// requiredDefault is the plan of claims that name none.
	requiredDefault = "default-plan"
	// requiredPlans are all, for a claim that can't have the one it names.
	requiredPlans = "plans"
)

// ErrUnread says that Crossplane hasn't been asked yet for what decides about the
// tenant. It asks again with that: nothing can be said before.
var ErrUnread = errors.New("the plan is not read yet")

// LooksUp reports whether Crossplane says that it looks up what the function asks for,
// as it does since 2.2.
func LooksUp(req *fnv1.RunFunctionRequest) bool {
	return request.HasCapability(req, fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES)
}

// A choice is what decides about the plan of a tenant.
type choice struct {
	// name in spec.plan; "" for none.
	name string
	// namespace of the claim; "" for an XR without a claim.
	namespace string
	// running is the name of the plan that the tenant has; "" before it has one.
	running string
}

func choiceOf(r tenant.Given) choice {
	return choice{name: r.Spec.Plan, namespace: r.Claim.Namespace, running: r.Running.Plan}
}

// mayHave reports whether a plan is for the claim's namespace. One that the tenant
// has already stays its own.
func (c choice) mayHave(s wire.Struct) (bool, error) {
	// Nothing else is read yet: other mistakes in a plan aren't for whoever can't have it.
	p := plan.Plan{Name: s.String("metadata", "labels", labelPlan)}
	of := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	if v := s.Get("data").Fields()["namespaces"]; v != nil {
		of.Fields["namespaces"] = v
	}
	if err := wire.Strict("plan "+p.Name+": data", of, &p.Data); err != nil {
		return false, err
	}
	ok, err := p.IsFor(c.namespace)
	return err == nil && (ok || p.Name == c.running), err
}

// found are the EnvironmentConfigs with the plan: the one that the claim names; else
// the one with the label of the default, or with its name.
func (c choice) found(req *fnv1.RunFunctionRequest) ([]wire.Struct, bool) {
	if c.name == "" {
		if found, read := plansIn(req, requiredDefault, map[string]string{labelDefaultPlan: "true"}); !read || len(found) > 0 {
			return found, read
		}
	}
	name := cmp.Or(c.name, plan.Default)
	return plansIn(req, requiredPlan+name, map[string]string{labelPlan: name})
}

// refused reports whether the claim has to name another plan, and needs to be told
// which there are.
func (c choice) refused(req *fnv1.RunFunctionRequest) bool {
	found, read := c.found(req)
	switch {
	case !read || len(found) > 1:
		return false
	case len(found) == 0:
		return c.name != "" && c.name != plan.Default
	}
	ok, err := c.mayHave(found[0])
	return !ok && err == nil
}

// selectors are what to ask Crossplane for, by requirement.
func (c choice) selectors(req *fnv1.RunFunctionRequest) map[string]map[string]string {
	name := cmp.Or(c.name, plan.Default)
	selectors := map[string]map[string]string{requiredPlan + name: {labelPlan: name}}
	if c.name == "" {
		// The one with the label; else the one of that name.
		selectors[requiredDefault] = map[string]string{labelDefaultPlan: "true"}
	}
	if c.refused(req) {
		selectors[requiredPlans] = map[string]string{}
	}
	return selectors
}

// plansIn are the EnvironmentConfigs that Crossplane has found for a requirement,
// and whether it has looked.
func plansIn(req *fnv1.RunFunctionRequest, requirement string, labels map[string]string) ([]wire.Struct, bool) {
	found, read := wire.Required(req, requirement, planAPIVersion, planKind)
	var out []wire.Struct
	for _, s := range found {
		matches := true
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
func chosenPlan(req *fnv1.RunFunctionRequest, c choice) (plan.Plan, error) {
	if c.name != "" && len(validation.IsValidLabelValue(c.name)) > 0 {
		return plan.Plan{}, fmt.Errorf("spec.plan: %.80q is not the name of a plan: write one such as %s", c.name, plan.Default)
	}
	for requirement := range c.selectors(req) {
		if _, read := plansIn(req, requirement, nil); !read {
			return plan.Plan{}, ErrUnread
		}
	}
	found, _ := c.found(req)
	if err := one(found, c.name); err != nil {
		return plan.Plan{}, err
	}
	if c.refused(req) {
		return plan.Plan{}, c.refusal(req, len(found) == 0)
	}
	if len(found) == 0 {
		return plan.Plan{Name: plan.Default}, nil
	}
	if _, err := c.mayHave(found[0]); err != nil {
		return plan.Plan{}, err
	}
	return planOf(found[0])
}

// one refuses several EnvironmentConfigs with the same plan, and a default without
// a name.
func one(found []wire.Struct, name string) error {
	if len(found) == 0 {
		return nil
	}
	isDefault := name == "" && found[0].String("metadata", "labels", labelDefaultPlan) == "true"
	switch {
	case len(found) > 1 && isDefault:
		return fmt.Errorf("plan: EnvironmentConfigs %s all have the label %s: leave it on one of them", names(found), labelDefaultPlan)
	case len(found) > 1:
		return fmt.Errorf("plan %s: EnvironmentConfigs %s all have that name: change the label %s of all but one", cmp.Or(name, plan.Default), names(found), labelPlan)
	case found[0].String("metadata", "labels", labelPlan) == "":
		return fmt.Errorf("plan: EnvironmentConfig %s has the label %s and no name: give it the label %s", names(found), labelDefaultPlan, labelPlan)
	}
	return nil
}

// refusal says that the plan is not for the claim, and names those that are. Others
// are none of its author's business.
func (c choice) refusal(req *fnv1.RunFunctionRequest, unknown bool) error {
	what := fmt.Sprintf("%q is not for claims of namespace %s", c.name, c.namespace)
	switch {
	case unknown:
		what = fmt.Sprintf("%q is unknown", c.name)
	case c.name == "":
		what = "is missing, and the platform's default plan is not for claims of namespace " + c.namespace
	}
	there := c.plansThere(req)
	if len(there) == 0 {
		return fmt.Errorf("spec.plan: %s: there is no plan for claims of namespace %s: ask whoever runs the platform for one", what, c.namespace)
	}
	return fmt.Errorf("spec.plan: %s: write one of %s", what, strings.Join(there, ", "))
}

// plansThere are the names of the plans that the claim may have.
func (c choice) plansThere(req *fnv1.RunFunctionRequest) []string {
	all, _ := plansIn(req, requiredPlans, nil)
	var names []string
	builtIn := true
	for _, s := range all {
		name := s.String("metadata", "labels", labelPlan)
		builtIn = builtIn && name != plan.Default
		if ok, err := c.mayHave(s); ok && err == nil && name != "" {
			names = append(names, name)
		}
	}
	if builtIn {
		names = append(names, plan.Default)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func names(of []wire.Struct) string {
	var out []string
	for _, s := range of {
		out = append(out, s.String("metadata", "name"))
	}
	slices.Sort(out)
	return strings.Join(out, " and ")
}

func planOf(s wire.Struct) (plan.Plan, error) {
	c := plan.Plan{Name: s.String("metadata", "labels", labelPlan)}
	field := "plan " + c.Name + ": data"
	data, err := wire.Object(field, s.Value("data"))
	if err != nil {
		return c, err
	}
	if err := wire.Bound(field, s.Value("data")); err != nil {
		return c, err
	}
	if err := wire.Strict(field, data, &c.Data); err != nil {
		return c, err
	}
	return c, noReplicas(field, wire.Of(data))
}

// noReplicas refuses a plan that asks for none of something, which would pass for one
// that doesn't say.
func noReplicas(field string, data wire.Struct) error {
	workloads := [][]string{{"vcluster"}}
	for _, key := range slices.Sorted(maps.Keys(data.Get("argocd").Fields())) {
		workloads = append(workloads, []string{"argocd", key})
	}
	for _, at := range workloads {
		if of := data.Get(at...); of.Has("replicas") && of.Int(0, "replicas") == 0 {
			return fmt.Errorf("%s.%s.replicas: 0 is not possible: write 1 or more, or leave it out", field, strings.Join(at, "."))
		}
	}
	return nil
}
