package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// argocdUntemplated are the values of the argo-cd chart that it never takes for
// templates: those with Argo CD's own settings, which may be templates of Argo CD's.
var argocdUntemplated = [][]string{
	{"configs"}, {"notifications", "context"}, {"notifications", "notifiers"},
	{"notifications", "secret"}, {"notifications", "subscriptions"}, {"notifications", "templates"}, {"notifications", "triggers"},
}

// templates refuses a claim's values with templates of Helm's. provider-helm
// renders them for all tenants in one process: a template can take all of its memory.
func templates(field string, v values.Values) error {
	for _, path := range values.Leaves(v) {
		if slices.ContainsFunc(argocdUntemplated, func(free []string) bool { return values.Below(path, free) }) {
			continue
		}
		value, _ := values.Lookup(v, path...)
		if slices.ContainsFunc(path, isTemplate) || hasTemplate(value) {
			return fmt.Errorf("%s.%s: templates ({{ }}) aren't rendered for claims: write what it is to be, or have spec.bootstrap bring the object", field, strings.Join(path, "."))
		}
	}
	return nil
}

// maxReplicas is more than a tenant's quota has pods.
const maxReplicas = 200

// replicas refuses a claim's numbers of replicas that are too large, and switches
// that Helm and the function would read differently. Charts render an object for each
// replica of some workloads, in the one process that renders for all tenants.
func replicas(field string, v values.Values) error {
	for _, path := range values.Leaves(v) {
		if slices.ContainsFunc(argocdUntemplated, func(free []string) bool { return values.Below(path, free) }) {
			continue
		}
		value, _ := values.Lookup(v, path...)
		at := field + "." + strings.Join(path, ".")
		if path[0] == "redis-ha" && path[len(path)-1] == "enabled" {
			if _, is := value.(bool); !is {
				return fmt.Errorf("%s: %.40q is neither true nor false: write one of them", at, fmt.Sprint(value))
			}
		}
		if !strings.Contains(strings.ToLower(path[len(path)-1]), "replicas") {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(values.AmountText(value)), 64)
		if value != nil && (err != nil || n < 0 || n > maxReplicas) {
			return fmt.Errorf("%s: %.40q is not possible: write a number from 0 to %d", at, fmt.Sprint(value), maxReplicas)
		}
	}
	return nil
}

func isTemplate(s string) bool { return strings.Contains(s, "{{") }

// hasTemplate looks for a template in a value that isn't a map of the chart's own.
func hasTemplate(value any) bool {
	switch value := value.(type) {
	case string:
		return isTemplate(value)
	case []any:
		return slices.ContainsFunc(value, hasTemplate)
	case values.Values:
		for key, at := range value {
			if isTemplate(key) || hasTemplate(at) {
				return true
			}
		}
	}
	return false
}
