package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/network"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// BoundsRows are the rows of what bounds a tenant on the host: quota, limits, its level of
// priority at the API server, and NetworkPolicies. They must exist before the virtual cluster is
// installed, and are deleted with the namespace, of which Kubernetes (since 1.33) deletes the pods
// first.
func BoundsRows(t tenant.Tenant) []resource.Row {
	exists := func(name string) bool { return t.Composed(name).Exists() }
	waits := !NamespaceReady(t)
	rows := []resource.Row{
		{Name: tenant.Quota, Has: true, Waits: waits || !HasCredentials(t) || !exists(tenant.InstallerBinding),
			Ready: t.Composed(tenant.Quota).Healthy(), Build: quota},
		{Name: tenant.Limits, Has: true, Waits: waits, Ready: exists(tenant.Limits), Build: limits},
	}
	rows = append(rows, priorityRows(t)...)
	for _, p := range t.Bounds.NetworkPolicies {
		name := "network-policy-" + p.Name
		rows = append(rows, resource.Row{
			Name: name, Has: true, Waits: waits, Ready: exists(name),
			Build: func(t tenant.Tenant) (resource.Object, error) {
				p.ObjectMeta = inNamespace(t, p.Name)
				return resource.Object{Typed: &p}, nil
			},
		})
	}
	return rows
}

// quota composes an Object that makes the tenant's ResourceQuota. If the quota itself
// were composed, Crossplane would reconcile the tenant at each change of its status,
// which is at each change of what it counts.
func quota(t tenant.Tenant) (resource.Object, error) {
	o := resource.NewObject(t, "quota", t.Names.HostProviderConfig, resource.ReadyOnceCreated)
	o.Spec.ManagementPolicies = resource.WithoutDelete
	hard := map[string]any{}
	for name, q := range t.Bounds.Quota {
		hard[string(name)] = q.String()
	}
	return resource.Object{Typed: o, RawAt: resource.ManifestPath, Raw: map[string]any{
		"apiVersion": "v1",
		"kind":       "ResourceQuota",
		"metadata":   map[string]any{"namespace": t.Names.Namespace, "name": tenant.QuotaName},
		"spec":       map[string]any{"hard": hard},
	}}, nil
}

// limits composes the tenant's LimitRange.
func limits(t tenant.Tenant) (resource.Object, error) {
	return resource.Object{Typed: &corev1.LimitRange{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRange"},
		ObjectMeta: inNamespace(t, tenant.QuotaName),
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{t.Bounds.Limits}},
	}}, nil
}

// Bounded reports whether everything that bounds the tenant exists on the host.
func Bounded(t tenant.Tenant) bool {
	return !slices.ContainsFunc(BoundsRows(t), func(r resource.Row) bool { return !r.Ready })
}

// QuotaUsedUp names the resources of the tenant's quota of which nine tenths are used.
func QuotaUsedUp(t tenant.Tenant) string {
	status := t.Composed(tenant.Quota).Get("status", "atProvider", "manifest", "status")
	var quota corev1.ResourceQuotaStatus
	if status.Into(&quota) != nil {
		return ""
	}
	var out []string
	for name, hard := range quota.Hard {
		used := quota.Used[name]
		if most := kresource.NewMilliQuantity(hard.MilliValue()/10*9, hard.Format); !hard.IsZero() && used.Cmp(*most) >= 0 {
			out = append(out, fmt.Sprintf("%s: %s of %s", name, used.String(), hard.String()))
		}
	}
	if len(out) == 0 {
		return ""
	}
	slices.Sort(out)
	return "quota " + tenant.QuotaName + " is used up: " + strings.Join(out, ", ")
}

// PathOfPolicies is the path in the values of the vcluster chart at which plans and
// the input write quota and limits. The chart doesn't get them.
const PathOfPolicies = "policies"

// SetBounds moves the bounds out of the values of the vcluster chart into d.Bounds. A
// value that isn't an amount is an error that names its field.
func SetBounds(d *tenant.Decision, in v1alpha1.Input, of *values.Stack) error {
	amounts := func(path ...string) (corev1.ResourceList, error) {
		path = append([]string{PathOfPolicies}, path...)
		at, there := values.Lookup(d.VirtualCluster.Values, path...)
		list, ok := at.(values.Values)
		if there && !ok {
			return nil, of.Field(path...).Errorf("%.80q is not an object: write amounts by name of the resource", fmt.Sprint(at))
		}
		out := corev1.ResourceList{}
		var found []error
		for _, name := range slices.Sorted(maps.Keys(list)) {
			// As with Helm, null takes a default away.
			if list[name] == nil {
				continue
			}
			q, ok := values.ParseAmount(values.AmountText(list[name]))
			if !ok {
				found = append(found, of.Field(append(slices.Clone(path), name)...).Errorf("%.80q is not an amount: write one such as 500m or 2Gi", values.AmountText(list[name])))
				continue
			}
			out[corev1.ResourceName(name)] = q
		}
		return out, mistakes.Join(found...)
	}
	var found []error
	d.Bounds = tenant.Bounds{Limits: corev1.LimitRangeItem{Type: corev1.LimitTypeContainer}}
	for _, b := range []struct {
		into *corev1.ResourceList
		path []string
	}{
		{&d.Bounds.Quota, []string{"resourceQuota", "quota"}},
		{&d.Bounds.Limits.Default, []string{"limitRange", "default"}},
		{&d.Bounds.Limits.DefaultRequest, []string{"limitRange", "defaultRequest"}},
		{&d.Bounds.Limits.Min, []string{"limitRange", "min"}},
		{&d.Bounds.Limits.Max, []string{"limitRange", "max"}},
	} {
		var err error
		*b.into, err = amounts(b.path...)
		found = append(found, err)
	}
	if err := mistakes.Join(append(found, checkLimits(d.Bounds.Limits, of))...); err != nil {
		return err
	}
	delete(d.VirtualCluster.Values, PathOfPolicies)
	d.Bounds.NetworkPolicies = network.Policies(d, in)
	return nil
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
				lowField := of.Field(PathOfPolicies, "limitRange", less.kind, string(name))
				highField := of.Field(PathOfPolicies, "limitRange", more.kind, string(name))
				if lowField.Owner > highField.Owner {
					return lowField.Errorf("is %s, more than %s of %s: write at most that", low.String(), high.String(), highField)
				}
				return highField.Errorf("is %s, less than %s of %s: write at least that", high.String(), low.String(), lowField)
			}
		}
	}
	return nil
}
