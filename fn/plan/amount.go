package plan

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Bounds of the text of an amount. Kubernetes reads 1e99999999, too, which takes
// minutes and gigabytes to compare with another or to add to one.
const (
	maxAmount   = 40
	maxExponent = len("e+99")
)

// parseAmount reads an amount of a resource, and tells whether it is one.
func parseAmount(text string) (resource.Quantity, bool) {
	if e := strings.IndexAny(text, "eE"); len(text) > maxAmount || e >= 0 && len(text)-e > maxExponent {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
