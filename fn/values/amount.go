package values

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
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
