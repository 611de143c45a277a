package policy

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// leaves returns the errors of a check of the values at and below a field.
func leaves(field string, v values.Values, check func(field string, path []string, value any) error) error {
	var found []error
	for _, path := range values.Leaves(v) {
		value, _ := values.Lookup(v, path...)
		found = append(found, check(field+"."+strings.Join(path, "."), path, value))
	}
	return mistakes.Join(found...)
}

// Templates refuses a claim's values with templates of Helm's, where the chart renders them: provider-helm does that for all tenants in
// one process, and a template can take all of its memory. version is nil for a chart that isn't recorded, of which nothing is known.
func Templates(g tenant.Given, version *known.Version) error {
	return leaves("spec.argocd.values", g.Spec.ArgoCDValues, func(field string, path []string, value any) error {
		// The braces of a printed map or list are single.
		if values.IsSetting(path) || !strings.Contains(fmt.Sprint(path, value), "{{") {
			return nil
		}
		if version != nil && (!version.Templated(path) || version.IsDefault(path, value)) {
			return nil
		}
		return fmt.Errorf("%s: templates ({{ }}) aren't rendered for claims: write what it is to be, or have spec.bootstrap bring the object", field)
	})
}

// maxReplicas is more than a tenant's quota has pods.
const maxReplicas = 200

// replicas refuses a claim's numbers of replicas that are too large, and switches
// that Helm and the function would read differently. Charts render an object for each
// replica of some workloads, in the one process that renders for all tenants.
func replicas(g tenant.Given) error {
	return leaves("spec.argocd.values", g.Spec.ArgoCDValues, func(field string, path []string, value any) error {
		key := path[len(path)-1]
		if _, isBool := value.(bool); path[0] == "redis-ha" && key == "enabled" && !isBool {
			return fmt.Errorf("%s: %.40q is neither true nor false: write one of them", field, fmt.Sprint(value))
		}
		if values.IsSetting(path) || value == nil || !strings.Contains(strings.ToLower(key), "replicas") {
			return nil
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(values.AmountText(value)), 64)
		if err != nil || math.IsNaN(n) || n < 0 || n > maxReplicas {
			return fmt.Errorf("%s: %.40q is not possible: write a number from 0 to %d", field, fmt.Sprint(value), maxReplicas)
		}
		return nil
	})
}

// plain matches text that can't end the value that it is written into. The chart writes some
// values into its manifests as they are: a line break would begin another manifest, which
// Helm would install on the host.
var plain = regexp.MustCompile(`^[A-Za-z0-9._/+-]*$`)

// plainValues refuses a value of a claim, or a key of its path, that the vcluster chart could
// render as more than text. It ignores values that claims may not set.
func plainValues(g tenant.Given) error {
	return leaves("spec.vcluster.values", g.Spec.VClusterValues, func(field string, path []string, value any) error {
		const signs = "letters, digits and the signs . _ / + -"
		if values.VCluster.ClassOf(path).Class != values.OfTenant {
			return nil
		}
		if at := slices.IndexFunc(path, func(key string) bool { return !plain.MatchString(key) }); at >= 0 {
			parent := strings.TrimSuffix(field, "."+strings.Join(path[at:], "."))
			return fmt.Errorf("%s: key %.80q is not possible: write %s", parent, path[at], signs)
		}
		amount := values.AmountText(value)
		_, isAmount := values.ParseAmount(amount)
		_, isList := value.([]any)
		switch text, isText := value.(string); {
		case slices.Equal(path, []string{"logging", "encoding"}) && text != "console" && text != "json":
			return fmt.Errorf("%s: %.80q is unknown: write one of console, json", field, fmt.Sprint(value))
		case isText && !plain.MatchString(text):
			return fmt.Errorf("%s: %.80q is not possible: write %s", field, text, signs)
		case slices.Contains(path, "resources") && value != nil && !isAmount:
			return fmt.Errorf("%s: %.80q is not an amount: write one such as 500m or 2Gi", field, amount)
		case isList:
			return fmt.Errorf("%s: write one value, not a list", field)
		}
		return nil
	})
}
