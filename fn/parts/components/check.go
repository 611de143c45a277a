package components

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/policy"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	yamltext "github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Bounds of the catalogue, which its schema has, too. All workloads of a tenant's components have to fit into one summary of the proxy.
const (
	maxComponents = 16
	maxWorkloads  = 4
)

// Bounds of a claim's values of a component. Any chart may be in the catalogue, and many write one value for each item of another: a list of
// namespaces, say, and a text for each. Helm renders that for all tenants in one process. So these bound the product.
const (
	MaxValues = 300
	MaxSigns  = 3000
	MaxBytes  = 32 << 10
)

// CheckSize refuses more values than that, or larger ones.
func CheckSize(field string, v values.Values) error {
	number, signs, bytes := 0, 0, 0
	count := func(text string) {
		signs, bytes = signs+yamltext.Signs(text), bytes+len(text)
	}
	var walk func(v any)
	walk = func(v any) {
		number++
		switch v := v.(type) {
		case string:
			count(v)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case values.Values:
			for key, below := range v {
				count(key)
				walk(below)
			}
		}
	}
	walk(v)
	const instead = "write less, and have spec.bootstrap bring what the chart would make of it"
	switch {
	case number > MaxValues:
		return fmt.Errorf("%s: has %d values, and a component %d at most: %s", field, number, MaxValues, instead)
	case bytes > MaxBytes:
		return fmt.Errorf("%s: its texts have %d bytes, and those of a component %d at most: %s", field, bytes, MaxBytes, instead)
	case signs > MaxSigns:
		return fmt.Errorf("%s: its texts have %d lines and signs of YAML, such as commas and colons, and those of a component %d at most: %s", field, signs, MaxSigns, instead)
	}
	return nil
}

// checkCatalogue refuses entries of the catalogue of which no Release can be made.
func checkCatalogue(catalogue []inputv1alpha1.Component) error {
	if n := len(catalogue); n > maxComponents {
		return mistakes.Field{Owner: mistakes.Input, Path: "input.components"}.Errorf("has %d entries: write %d at most", n, maxComponents)
	}
	var found []error
	seen := map[string]bool{}
	for i, c := range catalogue {
		field := mistakes.Field{Owner: mistakes.Input, Path: fmt.Sprintf("input.components[%d]", i)}
		refuse := func(below, format string, args ...any) {
			found = append(found, field.Below(below).Errorf(format, args...))
		}
		if len(validation.IsDNS1123Label(c.Name)) > 0 || len(c.Name) > tenant.MaxComponentName {
			refuse("name", "%.80q is not a name: write a DNS label of at most %d characters, such as workflows", c.Name, tenant.MaxComponentName)
		}
		if seen[c.Name] {
			refuse("name", "%q is that of an entry before, too: leave one of them out", c.Name)
		}
		seen[c.Name] = true
		namespace := namespaceOf(c)
		if c.Namespace != "" && len(validation.IsDNS1123Label(c.Namespace)) > 0 {
			refuse("namespace", "%.80q is not a namespace: write a DNS label, such as argo", c.Namespace)
		}
		if namespace == tenant.ArgoCDNamespace && c.Name == tenant.HelmArgoCD {
			refuse("name", "%q is the name of Argo CD's own Helm release in namespace %s: write another one", c.Name, namespace)
		}
		if namespace == tenant.ArgoCDNamespace && c.Webhooks {
			refuse("webhooks", "is not possible in namespace %s, whose pods trust whoever reaches them: leave it out, or write another namespace", namespace)
		}
		for _, place := range []struct{ below, is string }{{"chart.repository", c.Chart.Repository}, {"chart.name", c.Chart.Name}} {
			if place.is == "" {
				refuse(place.below, "is missing: write where the chart is, such as repository https://argoproj.github.io/argo-helm and name argo-workflows")
			}
		}
		if _, err := semver.StrictNewVersion(strings.TrimPrefix(c.Chart.Version, "v")); err != nil {
			refuse("chart.version", "%.64q is not a version: write an exact version of the chart, such as 1.0.18", c.Chart.Version)
		}
		found = append(found, mistakes.By(mistakes.Input, policy.CheckDigests(field.Path+".chart", c.Chart)))
		if n := len(c.Workloads); n > maxWorkloads {
			refuse("workloads", "has %d entries: write %d at most", n, maxWorkloads)
		}
		for j, w := range c.Workloads {
			at := fmt.Sprintf("workloads[%d]", j)
			if !slices.Contains([]string{"Deployment", "StatefulSet"}, w.Kind) {
				refuse(at+".kind", "%.40q is unknown: write Deployment or StatefulSet", w.Kind)
			}
			if len(validation.IsDNS1123Label(w.Name)) > 0 {
				refuse(at+".name", "%.80q is not the name of a workload: write a DNS label, such as argo-workflows-server", w.Name)
			}
		}
	}
	return mistakes.Join(found...)
}

// checkPlan refuses names in a plan that aren't in the catalogue.
func checkPlan(g tenant.Given) error {
	names := namesOf(g.Platform.Components)
	var found []error
	check := func(field, name string) {
		if !slices.Contains(names, name) {
			found = append(found, g.Plan.At(field).Errorf("%.40q is unknown: %s", name, ofCatalogue(name, names)))
		}
	}
	for i, name := range g.Plan.Spec.Components.Allowed {
		check(fmt.Sprintf("components.allowed[%d]", i), name)
	}
	for i, name := range g.Plan.Spec.Components.Always {
		check(fmt.Sprintf("components.always[%d]", i), name)
	}
	for i, c := range g.Plan.Spec.Values.Components {
		check(fmt.Sprintf("values.components[%d].name", i), c.Name)
	}
	return mistakes.Join(found...)
}

// checkOffer refuses names in a channel's offer that aren't in the catalogue, and versions that no chart has.
func checkOffer(g tenant.Given) error {
	names := namesOf(g.Platform.Components)
	var found []error
	for i, c := range g.Offered.Components {
		field := g.Offered.At(fmt.Sprintf("components[%d]", i))
		if !slices.Contains(names, c.Name) {
			found = append(found, field.Below("name").Errorf("%.40q is unknown: %s", c.Name, ofCatalogue(c.Name, names)))
		}
		if _, err := semver.StrictNewVersion(strings.TrimPrefix(c.ChartVersion, "v")); c.ChartVersion != "" && err != nil {
			found = append(found, field.Below("chartVersion").Errorf("%.64q is not a version: write an exact version of the chart, such as 1.0.18", c.ChartVersion))
		}
	}
	return mistakes.Join(found...)
}

func ofCatalogue(name string, names []string) string {
	if len(names) == 0 {
		return "the function's input has no components"
	}
	names = slices.Sorted(slices.Values(names))
	return instead(name, names)
}
