// Package components is the part of a claim with what it has beside Argo CD, such as Argo Workflows. Each component is a Helm Release in the
// virtual cluster, whose chart is in the platform's catalogue. Ready doesn't depend on any of them.
package components

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// Part is spec.components, with what the plan and the channel say of them.
var Part = part.Part{
	Field: "spec.components", Resolve: resolve, Rows: rows,
	Condition: v1alpha1.ConditionComponentsReady, Has: has, Observe: observe, Report: report,
}

func resolve(of part.Candidate) error {
	catalogue := of.Platform.Components
	found := []error{checkCatalogue(catalogue), checkOffer(of.Given), checkPlan(of.Given)}
	names := namesOf(catalogue)
	named := map[string]bool{}
	for i, asked := range of.Spec.Components {
		field := fmt.Sprintf("spec.components[%d]", i)
		if named[asked.Name] {
			found = append(found, fmt.Errorf("%s.name: %.40q is that of another entry, too: write its values into one", field, asked.Name))
			continue
		}
		named[asked.Name] = true
		if err := mayHave(of.Given, field+".name", asked.Name, names); err != nil {
			found = append(found, err)
			continue
		}
		found = append(found, checkValues(of.Given, field+".values", asked, catalogue[slices.Index(names, asked.Name)]))
	}
	for _, entry := range wanted(of.Given) {
		c, err := component(of.Given, entry)
		of.Decision.Components, found = append(of.Decision.Components, c), append(found, err)
	}
	for _, entry := range catalogue {
		if _, installed := of.Running.Components[entry.Name]; installed && !isWanted(of.Given, entry.Name) {
			if of.Decision.Leaving == nil {
				of.Decision.Leaving = map[string]tenant.Chart{}
			}
			of.Decision.Leaving[entry.Name] = chart(entry)
		}
	}
	return mistakes.Join(found...)
}

func namesOf(catalogue []inputv1alpha1.Component) []string {
	var out []string
	for _, c := range catalogue {
		out = append(out, c.Name)
	}
	return out
}

// isWanted reports whether a tenant is to have a component.
func isWanted(g tenant.Given, name string) bool {
	return slices.Contains(g.Plan.Spec.Components.Always, name) || askedOf(g.Spec, name) != nil
}

// wanted returns the entries of the catalogue that a tenant is to have, sorted by name.
func wanted(g tenant.Given) []inputv1alpha1.Component {
	out := slices.DeleteFunc(slices.Clone(g.Platform.Components), func(c inputv1alpha1.Component) bool { return !isWanted(g, c.Name) })
	slices.SortStableFunc(out, func(a, b inputv1alpha1.Component) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// askedOf returns what a claim asks for of a component; nil where it doesn't name it.
func askedOf(s tenant.Ask, name string) *tenant.AskedComponent {
	if i := slices.IndexFunc(s.Components, func(c tenant.AskedComponent) bool { return c.Name == name }); i >= 0 {
		return &s.Components[i]
	}
	return nil
}

// component decides on one component. Its values merge in the order of those of other charts.
func component(g tenant.Given, entry inputv1alpha1.Component) (tenant.Component, error) {
	// Helm moves no release to another namespace: it would install a second one beside it, and that fails for what has no namespace. So a tenant
	// keeps a component where it is until it is uninstalled.
	namespace := cmp.Or(g.Running.Components[entry.Name], namespaceOf(entry))
	c := tenant.Component{
		Name: entry.Name, Namespace: namespace, Chart: chart(entry),
		// Pods in Argo CD's namespace trust whoever reaches them.
		Webhooks: entry.Webhooks && namespace != tenant.ArgoCDNamespace,
	}
	for _, w := range entry.Workloads {
		c.Workloads = append(c.Workloads, tenant.Workload{Component: entry.Name, Kind: w.Kind, Name: w.Name})
	}
	ofInput, err := values.Decode(inInput(g.Platform.Components, entry.Name).Path+".chart.values", entry.Chart.Values)
	layers, found := []values.Values{ofInput}, []error{mistakes.By(mistakes.Input, err)}
	for i, o := range g.Offered.Components {
		if o.Name == entry.Name {
			v, err := values.Decode(g.Offered.At(fmt.Sprintf("components[%d].values", i)).Path, o.Values)
			layers, found = append(layers, v), append(found, mistakes.By(mistakes.Channel, err))
		}
	}
	for i, p := range g.Plan.Spec.Values.Components {
		if p.Name == entry.Name {
			v, err := values.Decode(g.Plan.At(fmt.Sprintf("values.components[%d].values", i)).Path, p.Values)
			layers, found = append(layers, v), append(found, mistakes.By(mistakes.Plan, err))
		}
	}
	if asked := askedOf(g.Spec, entry.Name); asked != nil {
		layers = append(layers, asked.Values)
	}
	c.Values = values.Merge(layers...)
	return c, mistakes.Join(found...)
}

// chart returns the chart of an entry, without values.
func chart(entry inputv1alpha1.Component) tenant.Chart {
	return tenant.Chart{Repository: entry.Chart.Repository, Name: entry.Chart.Name, Version: entry.Chart.Version, Digest: entry.Chart.Digests[entry.Chart.Version]}
}

func namespaceOf(entry inputv1alpha1.Component) string {
	if entry.Namespace != "" {
		return entry.Namespace
	}
	return entry.Name
}

// inInput returns the field of an entry of the catalogue.
func inInput(catalogue []inputv1alpha1.Component, name string) mistakes.Field {
	return mistakes.Field{Owner: mistakes.Input, Path: fmt.Sprintf("input.components[%d]", slices.Index(namesOf(catalogue), name))}
}

// ArgoCDValues returns the values of the argo-cd chart that come with the components of a tenant, as layers above those of the input.
func ArgoCDValues(g tenant.Given) ([]values.Layer, error) {
	var out []values.Layer
	var found []error
	for _, entry := range wanted(g) {
		if entry.ArgoCDValues == nil {
			continue
		}
		field := inInput(g.Platform.Components, entry.Name).Below("argocdValues")
		v, err := values.Decode(field.Path, entry.ArgoCDValues)
		out, found = append(out, values.Layer{Field: field, Values: v}), append(found, mistakes.By(mistakes.Input, err))
	}
	return out, mistakes.Join(found...)
}

// mayHave refuses the name of a component that there isn't, or that the plan doesn't allow. A tenant keeps what it has.
func mayHave(g tenant.Given, field, name string, names []string) error {
	plan := g.Plan.Spec.Components
	may := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return plan.Allowed != nil && !slices.Contains(plan.Allowed, name) && !slices.Contains(plan.Always, name)
	})
	slices.Sort(may)
	had := askedOf(g.WasAsked(), name) != nil && g.Was != nil && g.Was.Plan.Name == g.Plan.Name
	switch {
	case len(names) == 0:
		return fmt.Errorf("%s: %.40q is unknown, because the platform has no components: leave it out, or ask whoever runs the platform for it", field, name)
	case !slices.Contains(names, name) && len(may) == 0:
		return fmt.Errorf("%s: %.40q is unknown, and plan %s allows no components: leave it out, or choose another plan", field, name, g.Plan.Name)
	case !slices.Contains(names, name):
		return fmt.Errorf("%s: %.40q is unknown: %s", field, name, instead(name, may))
	case slices.Contains(may, name), had:
		return nil
	case len(may) == 0:
		return fmt.Errorf("%s: plan %s allows no components: leave %s out, or choose another plan", field, g.Plan.Name, name)
	}
	return fmt.Errorf("%s: plan %s doesn't allow %s: write one of %s, or choose another plan", field, g.Plan.Name, name, strings.Join(may, ", "))
}

// instead returns the nearest name and the list of all.
func instead(wrong string, names []string) string {
	list := "write one of " + strings.Join(names, ", ")
	if near := known.Nearest(wrong, names); near != "" {
		return "did you mean " + near + "? Otherwise " + list
	}
	return list
}

// all is the entry of claimValues that lets claims set all values.
const all = "*"

// checkValues refuses values of a claim that the catalogue doesn't let it set, those that the chart doesn't have, as far as that is known, and
// templates, unless it is known that the chart doesn't render them: provider-helm does that for all tenants in one process. What was accepted before stays accepted.
func checkValues(g tenant.Given, field string, asked tenant.AskedComponent, entry inputv1alpha1.Component) error {
	var before values.Values
	if was := askedOf(g.WasAsked(), asked.Name); was != nil {
		before = was.Values
	}
	if err := CheckSize(field, asked.Values); err != nil {
		return err
	}
	found := []error{values.CheckAmounts(field, asked.Values)}
	if !values.Same(before, asked.Values) {
		found = append(found, values.CheckResources(field, asked.Values))
	}
	is := chartOf(entry)
	var without []known.Unknown
	if is != nil {
		without = slices.DeleteFunc(slices.Concat(is.Unknown(asked.Values), is.Misshapen(asked.Values, func([]string) bool { return false })), func(u known.Unknown) bool {
			value, _ := values.Lookup(asked.Values, u.Path...)
			return accepted(before, u.Path, value)
		})
	}
	for _, u := range without {
		found = append(found, fmt.Errorf("%s.%s: %s", field, known.Join(u.Path), u.Message))
	}
	for _, path := range values.Leaves(asked.Values) {
		value, _ := values.Lookup(asked.Values, path...)
		if accepted(before, path, value) || slices.ContainsFunc(without, func(u known.Unknown) bool { return values.Below(path, u.Path) }) {
			continue
		}
		at := field + "." + known.Join(path)
		switch {
		case !maySet(entry, is, path):
			found = append(found, fmt.Errorf("%s is the platform's to set: %s", at, possible(entry, is)))
		case strings.Contains(fmt.Sprint(path, value), "{{") && (is == nil || is.Templated(path)):
			found = append(found, fmt.Errorf("%s: templates ({{ }}) aren't rendered for claims: write what it is to be", at))
		}
	}
	return mistakes.Join(found...)
}

// accepted reports whether a value is as it was accepted before.
func accepted(before values.Values, path []string, value any) bool {
	is, ok := values.Lookup(before, path...)
	return ok && values.Same(is, value)
}

// chartOf returns what is known of the values of an entry's chart; nil for a version that isn't recorded.
func chartOf(entry inputv1alpha1.Component) *known.Version {
	chart := known.Named(entry.Chart.Name)
	if chart == nil {
		return nil
	}
	if is := chart.At(entry.Chart.Version); is.Exact {
		return &is
	}
	return nil
}

// maySet reports whether claims may set a value. Where nothing is known of the chart, a dot in a key of the claim is one between two keys.
func maySet(entry inputv1alpha1.Component, is *known.Version, path []string) bool {
	return slices.ContainsFunc(entry.ClaimValues, func(may string) bool {
		if may == all {
			return true
		}
		if is != nil {
			if keys := is.Path(may); keys != nil {
				return values.Below(path, keys)
			}
		}
		joined := strings.Join(path, ".")
		return joined == may || strings.HasPrefix(joined, may+".")
	})
}

func possible(entry inputv1alpha1.Component, is *known.Version) string {
	if len(entry.ClaimValues) == 0 {
		return "leave it out; claims may set no values of " + entry.Name
	}
	var may []string
	for _, path := range entry.ClaimValues {
		if is != nil && is.Path(path) != nil {
			path = known.Join(is.Path(path))
		}
		may = append(may, path)
	}
	return "leave it out; claims may set values of " + entry.Name + " at and below " + strings.Join(slices.Compact(slices.Sorted(slices.Values(may))), ", ")
}
