package policy

import (
	"fmt"
	"regexp"
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
		// In maps and lists as they are printed no brace stands but in keys and texts.
		if value, _ := values.Lookup(v, path...); strings.Contains(fmt.Sprint(path, value), "{{") {
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

// plain is text that can't end what it is written into. The chart writes some values
// into its manifests as they are: a line break would begin another manifest, which
// Helm would install on the host.
var plain = regexp.MustCompile(`^[A-Za-z0-9._/+-]*$`)

// encodings of vcluster's log.
var encodings = []string{"console", "json"}

// plainValues refuses values of the vcluster chart that aren't plain, where a claim
// may set them.
func plainValues(field string, v values.Values) error {
	for _, path := range values.Leaves(v) {
		if values.VCluster.ClassOf(path).Class != values.OfTenant {
			continue
		}
		value, _ := values.Lookup(v, path...)
		if err := plainValue(field, path, value); err != nil {
			return err
		}
	}
	return nil
}

// plainValue refuses a value of a claim that the chart could take for more than
// text, or a key of its path.
func plainValue(field string, path []string, value any) error {
	const signs = "letters, digits and the signs . _ / + -"
	if at := slices.IndexFunc(path, func(key string) bool { return !plain.MatchString(key) }); at >= 0 {
		return fmt.Errorf("%s: key %.80q is not possible: write %s", strings.Join(append([]string{field}, path[:at]...), "."), path[at], signs)
	}
	field += "." + strings.Join(path, ".")
	switch text, is := value.(string); {
	case slices.Equal(path, []string{"logging", "encoding"}) && !slices.Contains(encodings, text):
		return fmt.Errorf("%s: %.80q is unknown: write one of %s", field, fmt.Sprint(value), strings.Join(encodings, ", "))
	case is && !plain.MatchString(text):
		return fmt.Errorf("%s: %.80q is not possible: write %s", field, text, signs)
	}
	if _, ok := values.ParseAmount(values.AmountText(value)); slices.Contains(path, "resources") && value != nil && !ok {
		return fmt.Errorf("%s: %.80q is not an amount: write one such as 500m or 2Gi", field, values.AmountText(value))
	}
	if _, list := value.([]any); list {
		return fmt.Errorf("%s: write one value, not a list", field)
	}
	return nil
}
