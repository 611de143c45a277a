package compose

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// boundsName is the name of the tenant's ResourceQuota and of its LimitRange.
const boundsName = plan.QuotaName

// boundsRows are the rows of what bounds a tenant on the host: quota, limits and
// NetworkPolicies. They must exist before the virtual cluster is installed, and are
// deleted with the namespace, of which Kubernetes (since 1.33) deletes the pods
// first.
func boundsRows(t Tenant) []row {
	rows := []row{
		{name: Quota, wanted: always, waits: quotaWaits, ready: isReady(Quota), build: quota},
		{name: Limits, wanted: always, waits: not(namespaceReady), ready: exists(Limits), build: limits},
	}
	for _, p := range t.Bounds.NetworkPolicies {
		name := NetworkPolicyName(p.Name)
		rows = append(rows, row{
			name: name, wanted: always, waits: not(namespaceReady), ready: exists(name),
			build: func(t Tenant) (Object, error) { return networkPolicy(t, p), nil },
		})
	}
	return rows
}

// NetworkPolicyName is the name in the composition of the NetworkPolicy with that
// name.
func NetworkPolicyName(name string) string { return "network-policy-" + name }

func quotaWaits(t Tenant) bool {
	return !namespaceReady(t) || !hasCredentials(t) || !exists(InstallerBinding)(t)
}

// quota composes an Object that makes the tenant's ResourceQuota. If the quota itself
// were composed, Crossplane would reconcile the tenant at each change of its status,
// which is at each change of what it counts.
func quota(t Tenant) (Object, error) {
	o := object(t, "quota", t.Names.HostProviderConfig, readyOnceCreated)
	o.Spec.ManagementPolicies = withoutDelete
	hard := map[string]any{}
	for name, q := range t.Bounds.Quota {
		hard[string(name)] = q.String()
	}
	return Object{Typed: o, RawAt: manifestPath, Raw: map[string]any{
		"apiVersion": "v1",
		"kind":       "ResourceQuota",
		"metadata":   map[string]any{"namespace": t.Names.Namespace, "name": boundsName},
		"spec":       map[string]any{"hard": hard},
	}}, nil
}

// limits composes the tenant's LimitRange.
func limits(t Tenant) (Object, error) {
	return Object{Typed: &corev1.LimitRange{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRange"},
		ObjectMeta: inNamespace(t, boundsName),
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{t.Bounds.Limits}},
	}}, nil
}

func networkPolicy(t Tenant, p networkingv1.NetworkPolicy) Object {
	p.ObjectMeta = inNamespace(t, p.Name)
	return Object{Typed: &p}
}

// bounded reports whether everything that bounds the tenant exists on the host.
func bounded(t Tenant) bool {
	for _, r := range boundsRows(t) {
		if !r.ready(t) {
			return false
		}
	}
	return true
}
