package plan

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// amountForm is what of the amounts that Kubernetes reads anybody needs. Sums and
// comparisons of one such as 1e99999999 take minutes and gigabytes.
var amountForm = regexp.MustCompile(`^[+-]?[0-9.]{1,32}([eE][+-]?[0-9]{1,2}|[A-Za-z]{0,2})$`)

// parseAmount reads an amount of a resource, and tells whether it is one.
func parseAmount(text string) (resource.Quantity, bool) {
	if !amountForm.MatchString(text) {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
