package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// Bounds are what a tenant may use of the host, and reach there: objects of its
// namespace that outlive its pods. They aren't values of the vcluster chart, because
// Helm would delete them before the pods, and because each change of a value restarts
// the virtual API.
type Bounds struct {
	Quota           corev1.ResourceList
	Limits          corev1.LimitRangeItem
	NetworkPolicies []networkingv1.NetworkPolicy
}

// pathOfPolicies is the path in the values of the vcluster chart at which plans and
// the input write quota and limits. The chart doesn't get them.
const pathOfPolicies = "policies"

// setBounds moves the bounds out of the values of the vcluster chart into p.Bounds. A
// value that isn't an amount is an error that names its field: whose says which.
func (p *Plan) setBounds(in v1alpha1.Input, whose func(path []string) string) error {
	amounts := func(path ...string) (corev1.ResourceList, error) {
		path = append([]string{pathOfPolicies}, path...)
		of, there := lookup(p.VCluster.Values, path...)
		list, ok := of.(Values)
		if there && !ok {
			return nil, fmt.Errorf("%s: %.80q is not an object: write amounts by name of the resource", whose(path), fmt.Sprint(of))
		}
		out := corev1.ResourceList{}
		for _, name := range slices.Sorted(maps.Keys(list)) {
			// As with Helm, null takes a default away.
			if list[name] == nil {
				continue
			}
			q, ok := parseAmount(amountText(list[name]))
			if !ok {
				return nil, fmt.Errorf("%s: %.80q is not an amount: write one such as 500m or 2Gi", whose(append(slices.Clone(path), name)), amountText(list[name]))
			}
			out[corev1.ResourceName(name)] = q
		}
		return out, nil
	}
	p.Bounds = Bounds{Limits: corev1.LimitRangeItem{Type: corev1.LimitTypeContainer}}
	for _, b := range []struct {
		into *corev1.ResourceList
		path []string
	}{
		{&p.Bounds.Quota, []string{"resourceQuota", "quota"}},
		{&p.Bounds.Limits.Default, []string{"limitRange", "default"}},
		{&p.Bounds.Limits.DefaultRequest, []string{"limitRange", "defaultRequest"}},
		{&p.Bounds.Limits.Min, []string{"limitRange", "min"}},
		{&p.Bounds.Limits.Max, []string{"limitRange", "max"}},
	} {
		var err error
		if *b.into, err = amounts(b.path...); err != nil {
			return err
		}
	}
	delete(p.VCluster.Values, pathOfPolicies)
	var err error
	p.Bounds.NetworkPolicies, err = networkPolicies(p, in)
	return err
}

// amountText returns an amount of chart values, which may be a number there, as text.
func amountText(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
