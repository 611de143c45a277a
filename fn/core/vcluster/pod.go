package vcluster

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
)

// vclusterStarts reports whether the virtual cluster is installed, and has not written
// its kubeconfig yet.
func vclusterStarts(t tenant.Tenant) bool {
	return resource.Exists(tenant.VClusterRelease)(t) && !resource.HasKubeconfig(t)
}

// HasControlPlanePod reports whether there is, or was once, need to look at the pod
// that the virtual cluster waits for. Without a volume Kubernetes makes up its name.
func HasControlPlanePod(t tenant.Tenant) bool {
	return resource.Exists(tenant.ControlPlanePod)(t) || vclusterStarts(t) && release.IsLate(t, tenant.VClusterRelease) && t.Store.Size != ""
}

// podOf is that pod: the first of those that keep the virtual cluster's state.
func podOf(t tenant.Tenant) string {
	if t.Store.Kind == plan.StoreEtcd {
		return tenant.HelmVCluster + "-etcd-0"
	}
	return tenant.HelmVCluster + "-0"
}

// ControlPlanePod composes an Object that observes the pod that the virtual cluster waits for.
func ControlPlanePod(t tenant.Tenant) (resource.Object, error) {
	return resource.Observer(t, tenant.ControlPlanePod, t.Names.HostProviderConfig, resource.ReadyBy("has(object.status.containerStatuses) && object.status.containerStatuses.all(c, c.ready)"), map[string]any{
		"apiVersion": "v1",
		"kind":       "Pod",
		"metadata":   map[string]any{"name": podOf(t), "namespace": t.Names.Namespace},
	}), nil
}

// controlPlaneTrouble says why the virtual cluster's control plane doesn't run, in the
// words of the scheduler and the kubelet; "" when it does, and when nobody has looked.
func controlPlaneTrouble(t tenant.Tenant) string {
	o := t.Composed(tenant.ControlPlanePod)
	if synced := o.Condition("Synced"); synced.False() {
		if quota := host.QuotaUsedUp(t); strings.Contains(synced.Message, "not found") && quota != "" {
			return fmt.Sprintf("the host has no pod %s: %s", podOf(t), quota)
		}
		return ""
	}
	var pod corev1.Pod
	if o.Get("status", "atProvider", "manifest").Into(&pod) != nil {
		return ""
	}
	if why := podtrouble.Of(pod); why != "" {
		return "pod " + pod.Name + ": " + why
	}
	return ""
}
