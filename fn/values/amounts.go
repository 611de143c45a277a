package values

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
)

// Bounds of the text of an amount. Kubernetes reads 1e99999999, too, which takes
// minutes and gigabytes to compare with another or to add to one.
const (
	maxAmount   = 40
	maxExponent = len("e+99")
)

// ParseAmount reads an amount of a resource, and reports whether it is one.
func ParseAmount(text string) (resource.Quantity, bool) {
	if e := strings.IndexAny(text, "eE"); len(text) > maxAmount || e >= 0 && len(text)-e > maxExponent {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// AmountText returns an amount of chart values, which may be a number there, as text.
func AmountText(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// costly matches text that is, or as YAML has, a number with an exponent of four digits or more,
// or one of more than maxAmount digits. Kubernetes reads such numbers as amounts, and then its API
// server or a kubelet computes with them. The digits before the exponent may be missing (see the
// grammar of resource.Quantity), which is zero and takes five digits to cost anything. What it lets pass costs less than a millisecond.
var costly = regexp.MustCompile(`(?:^|[\s"'{\[,]|["']:)([+-]?(?:[0-9.]+[eE][+-]?[0-9]{4,}|[eE][+-]?[0-9]{5,}|[0-9.]{` + strconv.Itoa(maxAmount+1) + `,}[A-Za-z]*[+-]?[0-9]*))(?:$|[\s"'}\],#])`)

// costlyNumber returns the number in a value that would be costly as an amount, and the path
// to it below the value; "" for none. Any leaf may become an amount: which ones do is known
// only to the templates of a chart, and charts change.
func costlyNumber(v any) (path, number string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if below, number := costlyNumber(v[key]); number != "" {
				return "." + key + below, number
			}
		}
	case []any:
		for i, item := range v {
			if below, number := costlyNumber(item); number != "" {
				return fmt.Sprintf("[%d]%s", i, below), number
			}
		}
	case string:
		if found := costly.FindStringSubmatch(v); found != nil {
			return "", found[1]
		}
	case float64:
		if text := AmountText(v); len(text) > maxAmount {
			return "", strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return "", ""
}

// CheckAmounts refuses such numbers in values at a field.
func CheckAmounts(field string, v Values) error {
	return checkNumbers(Layer{Field: mistakes.Field{Owner: Claim, Path: field}, Values: v})
}

// checkNumbers refuses numbers that would be costly as amounts, wherever they are in a layer.
func checkNumbers(l Layer) error {
	var found []error
	for _, path := range Leaves(l.Values) {
		value, _ := Lookup(l.Values, path...)
		// A tag may be the short hash of a commit, such as 1e12345, and is always part of an image's name.
		if IsSetting(path) || len(path) > 1 && slices.Equal(path[len(path)-2:], []string{"image", "tag"}) {
			continue
		}
		if below, number := costlyNumber(value); number != "" {
			found = append(found, fmt.Errorf("%s: %.40q is too large, too small or too long for an amount, which Kubernetes would take minutes to compute with: write one such as 500m or 2Gi",
				l.Field.Below(strings.Join(path, ".")).Path+below, number))
		}
	}
	return mistakes.Join(found...)
}

// IsSetting reports whether a value of the argo-cd chart is a setting of Argo CD, which is
// text in a ConfigMap or a Secret, and may be a template of Argo CD's. The chart never renders
// it as one of Helm's.
func IsSetting(path []string) bool {
	return path[0] == "configs" || path[0] == "notifications" && len(path) > 1 &&
		slices.Contains([]string{"context", "notifiers", "secret", "subscriptions", "templates", "triggers"}, path[1])
}
