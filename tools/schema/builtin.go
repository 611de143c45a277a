package schema

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	kresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// builtIn writes what a tenant has where no plan sets something else.
func builtIn(b *bytes.Buffer) error {
	d, err := decide(nil)
	if err != nil {
		return err
	}
	b.WriteString("\n### Built-in plan\n\nWhere a plan doesn't set a field, and for claims without a plan, these apply:\n\n" +
		"| field | built-in |\n| --- | --- |\n")
	quantity := func(q kresource.Quantity) string { return q.String() }
	resources := func(kind string) values.Values {
		v, _ := values.Lookup(d.VirtualCluster.Values, "controlPlane", "statefulSet", "resources", kind)
		of, _ := v.(values.Values)
		return of
	}
	amounts(b, "spec.limits.default", d.Bounds.Limits.Default, quantity)
	amounts(b, "spec.limits.defaultRequest", d.Bounds.Limits.DefaultRequest, quantity)
	amounts(b, "spec.quota", d.Bounds.Quota, quantity)
	amounts(b, "spec.vcluster.resources.limits", resources("limits"), values.AmountText)
	amounts(b, "spec.vcluster.resources.requests", resources("requests"), values.AmountText)
	return nil
}

// amounts writes a row with the amounts of a field, by name.
func amounts[K ~string, V any](b *bytes.Buffer, field string, of map[K]V, text func(V) string) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("`%s: %s`", name, text(of[name])))
	}
	fmt.Fprintf(b, "| `%s` | %s |\n", field, strings.Join(all, ", "))
}
