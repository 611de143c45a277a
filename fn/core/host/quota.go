package host

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// boundsName is the name of the tenant's ResourceQuota and of its LimitRange.
const boundsName = tenant.QuotaName

// BoundsRows are the rows of what bounds a tenant on the host: quota, limits and
// NetworkPolicies. They must exist before the virtual cluster is installed, and are
// deleted with the namespace, of which Kubernetes (since 1.33) deletes the pods
// first.
func BoundsRows(t tenant.Tenant) []resource.Row {
	rows := []resource.Row{
		{Name: tenant.Quota, Has: resource.Always, Waits: quotaWaits, Ready: resource.IsReady(tenant.Quota), Build: quota},
		{Name: tenant.Limits, Has: resource.Always, Waits: resource.Not(NamespaceReady), Ready: resource.Exists(tenant.Limits), Build: limits},
	}
	for _, p := range t.Bounds.NetworkPolicies {
		name := networkPolicyName(p.Name)
		rows = append(rows, resource.Row{
			Name: name, Has: resource.Always, Waits: resource.Not(NamespaceReady), Ready: resource.Exists(name),
			Build: func(t tenant.Tenant) (resource.Object, error) { return composeNetworkPolicy(t, p), nil },
		})
	}
	return rows
}

// networkPolicyName is the name in the composition of the NetworkPolicy with that
// name.
func networkPolicyName(name string) string { return "network-policy-" + name }

func quotaWaits(t tenant.Tenant) bool {
	return !NamespaceReady(t) || !HasCredentials(t) || !resource.Exists(tenant.InstallerBinding)(t)
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
		"metadata":   map[string]any{"namespace": t.Names.Namespace, "name": boundsName},
		"spec":       map[string]any{"hard": hard},
	}}, nil
}

// limits composes the tenant's LimitRange.
func limits(t tenant.Tenant) (resource.Object, error) {
	return resource.Object{Typed: &corev1.LimitRange{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRange"},
		ObjectMeta: inNamespace(t, boundsName),
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{t.Bounds.Limits}},
	}}, nil
}

func composeNetworkPolicy(t tenant.Tenant, p networkingv1.NetworkPolicy) resource.Object {
	p.ObjectMeta = inNamespace(t, p.Name)
	return resource.Object{Typed: &p}
}

// Bounded reports whether everything that bounds the tenant exists on the host.
func Bounded(t tenant.Tenant) bool {
	for _, r := range BoundsRows(t) {
		if !r.Ready(t) {
			return false
		}
	}
	return true
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
	return "quota " + boundsName + " is used up: " + strings.Join(out, ", ")
}
