package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
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
// value that isn't an amount is an error that names its field.
func (p *Plan) setBounds(in v1alpha1.Input, of *values.Stack) error {
	field := func(path ...string) string { at, _ := of.Field(path...); return at }
	amounts := func(path ...string) (corev1.ResourceList, error) {
		path = append([]string{pathOfPolicies}, path...)
		at, there := values.Lookup(p.VCluster.Values, path...)
		list, ok := at.(values.Values)
		if there && !ok {
			return nil, fmt.Errorf("%s: %.80q is not an object: write amounts by name of the resource", field(path...), fmt.Sprint(at))
		}
		out := corev1.ResourceList{}
		for _, name := range slices.Sorted(maps.Keys(list)) {
			// As with Helm, null takes a default away.
			if list[name] == nil {
				continue
			}
			q, ok := parseAmount(amountText(list[name]))
			if !ok {
				return nil, fmt.Errorf("%s: %.80q is not an amount: write one such as 500m or 2Gi", field(append(slices.Clone(path), name)...), amountText(list[name]))
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
	if err := checkLimits(p.Bounds.Limits, of); err != nil {
		return err
	}
	delete(p.VCluster.Values, pathOfPolicies)
	var err error
	p.Bounds.NetworkPolicies, err = networkPolicies(p, in)
	return err
}

// checkLimits refuses a LimitRange that Kubernetes refuses: Crossplane applies nothing of
// a tenant then. Of two limits that contradict each other, the error names the one that
// the later owner has written.
func checkLimits(l corev1.LimitRangeItem, of *values.Stack) error {
	order := []struct {
		kind string
		list corev1.ResourceList
	}{{"min", l.Min}, {"defaultRequest", l.DefaultRequest}, {"default", l.Default}, {"max", l.Max}}
	for i, more := range order {
		for _, less := range order[:i] {
			for _, name := range slices.Sorted(maps.Keys(less.list)) {
				low, high := less.list[name], more.list[name]
				if _, there := more.list[name]; !there || low.Cmp(high) <= 0 {
					continue
				}
				lowField, ofLow := of.Field(pathOfPolicies, "limitRange", less.kind, string(name))
				highField, ofHigh := of.Field(pathOfPolicies, "limitRange", more.kind, string(name))
				if ofLow > ofHigh {
					return fmt.Errorf("%s: is %s, more than %s of %s: write at most that", lowField, low.String(), high.String(), highField)
				}
				return fmt.Errorf("%s: is %s, less than %s of %s: write at least that", highField, high.String(), low.String(), lowField)
			}
		}
	}
	return nil
}

// amountText returns an amount of chart values, which may be a number there, as text.
func amountText(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
