package host

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/network"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// PathOfPolicies is the path in the values of the vcluster chart at which plans and
// the input write quota and limits. The chart doesn't get them.
const PathOfPolicies = "policies"

// SetBounds moves the bounds out of the values of the vcluster chart into p.Bounds. A
// value that isn't an amount is an error that names its field.
func SetBounds(p *tenant.Decision, in v1alpha1.Input, of *values.Stack) error {
	field := func(path ...string) string { at, _ := of.Field(path...); return at }
	amounts := func(path ...string) (corev1.ResourceList, error) {
		path = append([]string{PathOfPolicies}, path...)
		at, there := values.Lookup(p.VirtualCluster.Values, path...)
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
			q, ok := values.ParseAmount(values.AmountText(list[name]))
			if !ok {
				return nil, fmt.Errorf("%s: %.80q is not an amount: write one such as 500m or 2Gi", field(append(slices.Clone(path), name)...), values.AmountText(list[name]))
			}
			out[corev1.ResourceName(name)] = q
		}
		return out, nil
	}
	p.Bounds = tenant.Bounds{Limits: corev1.LimitRangeItem{Type: corev1.LimitTypeContainer}}
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
	delete(p.VirtualCluster.Values, PathOfPolicies)
	var err error
	p.Bounds.NetworkPolicies, err = network.Policies(p, in)
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
				lowField, ofLow := of.Field(PathOfPolicies, "limitRange", less.kind, string(name))
				highField, ofHigh := of.Field(PathOfPolicies, "limitRange", more.kind, string(name))
				if ofLow > ofHigh {
					return fmt.Errorf("%s: is %s, more than %s of %s: write at most that", lowField, low.String(), high.String(), highField)
				}
				return fmt.Errorf("%s: is %s, less than %s of %s: write at least that", highField, high.String(), low.String(), lowField)
			}
		}
	}
	return nil
}
