package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

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
