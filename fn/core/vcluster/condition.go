package vcluster

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
)

// Condition returns VirtualClusterReady.
func Condition(t tenant.Tenant) condition.Condition {
	waits := release.Waits(t, tenant.VClusterRelease)
	composed := t.Composed(tenant.VClusterRelease)
	state := release.StateOf(composed)
	is := condition.Of(v1alpha1.ConditionVirtualClusterReady)
	chart := "chart " + t.VirtualCluster.Name + " " + t.VirtualCluster.Version
	switch {
	case t.Observed.PublishedProblem != nil:
		return is.No(v1alpha1.ReasonKubeconfigInvalid, "The kubeconfig that the virtual cluster has written is not used", t.Observed.PublishedProblem.Error())
	case Ready(t):
		return is.Yes("The virtual cluster runs")
	case state == release.Absent && t.HostProblem != "":
		return is.No(t.HostReason, t.HostProblem, "")
	case state == release.Absent:
		// The message stays the same until then: each change of the status counts as an event for
		// Crossplane's circuit breaker.
		return is.No(v1alpha1.ReasonWaitingForNamespace, "Waiting for namespace "+t.Names.Namespace+" on the host, with its account and its bounds",
			cmp.Or(condition.Problem(t.Composed(tenant.Namespace)), condition.Problem(t.Composed(tenant.Quota))))
	case waits != "":
		return is.No(v1alpha1.ReasonInstalling, "Installing "+chart+" with Kubernetes "+t.Kubernetes, waits)
	case condition.Problem(composed) != "":
		return is.No(v1alpha1.ReasonInstallFailed, "Cannot install "+chart, condition.Problem(composed))
	case !resource.HasKubeconfig(t) && controlPlaneTrouble(t) != "":
		return is.No(v1alpha1.ReasonPodsCannotStart, "Installing "+chart+" with Kubernetes "+t.Kubernetes, controlPlaneTrouble(t))
	case state.RollsOut() && resource.HasKubeconfig(t):
		told := is.Told(t.Observed.XR, rollingOut+chart)
		if t.Composed(tenant.ControlPlanePod).Condition("Ready").True() {
			told = ""
		}
		return is.No(v1alpha1.ReasonInstalling, rollingOut+chart, cmp.Or(told, controlPlaneTrouble(t)))
	}
	return is.No(v1alpha1.ReasonInstalling, "Installing "+chart+" with Kubernetes "+t.Kubernetes, "")
}

// HasControlPlanePod reports whether the pod that the virtual cluster waits for is observed: once
// the installation or a change is late. Without a volume the name of that pod is random.
func HasControlPlanePod(t tenant.Tenant) bool {
	late := changeIsLate(t)
	if !resource.HasKubeconfig(t) {
		late = release.IsLate(t, tenant.VClusterRelease)
	}
	return t.Composed(tenant.ControlPlanePod).Exists() || late && t.Store.Size != ""
}

const (
	// rollingOut begins the message while Helm waits for a change.
	rollingOut = "Rolling out a change of "
	// changesWithin is how long a change of the control plane takes if nothing is wrong.
	changesWithin = time.Minute
	// silentWithin is how long it takes from a pod that is ready to the kubeconfig, even on a busy
	// node.
	silentWithin = 5 * time.Minute
)

// changeIsLate reports whether a change of the control plane takes longer than changesWithin.
// Crossplane renews the time of a condition when its message changes.
func changeIsLate(t tenant.Tenant) bool {
	was := t.Observed.XR.Condition(v1alpha1.ConditionVirtualClusterReady)
	since, err := time.Parse(time.RFC3339, was.LastTransitionTime)
	return strings.HasPrefix(was.Message, rollingOut) && err == nil && t.Observed.Now.Sub(since) >= changesWithin
}

// podOf is that pod: the first of those that keep the virtual cluster's state.
func podOf(t tenant.Tenant) string {
	if t.Store.Kind == plan.StoreEtcd {
		return tenant.HelmVCluster + "-etcd-0"
	}
	return tenant.HelmVCluster + "-0"
}

// annotationLate holds the generation of the Release whose change was late last. The provider
// looks at a pod that is ready every 20 minutes, and at once when the Object has changed.
const annotationLate = "virtualargocd.io/late-change"

// ControlPlanePod composes an Object that observes the pod that the virtual cluster waits for.
func ControlPlanePod(t tenant.Tenant) (resource.Object, error) {
	ready := resource.ReadyBy("has(object.status.containerStatuses) && object.status.containerStatuses.all(c, c.ready)")
	o := resource.Observer(t, tenant.ControlPlanePod, t.Names.HostProviderConfig, ready,
		corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: t.Names.Namespace, Name: podOf(t)})
	late := t.Composed(tenant.ControlPlanePod).String("metadata", "annotations", annotationLate)
	if changeIsLate(t) {
		late = fmt.Sprint(t.Composed(tenant.VClusterRelease).Int(0, "metadata", "generation"))
	}
	if late != "" {
		o.Typed.(*objectv1alpha2.Object).Annotations[annotationLate] = late
	}
	return o, nil
}

// readyFor is how long the pod has been ready; where it doesn't say that, how long ago its Release was created.
func readyFor(t tenant.Tenant, pod corev1.Pod) time.Duration {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && !c.LastTransitionTime.IsZero() {
			return t.Observed.Now.Sub(c.LastTransitionTime.Time)
		}
	}
	return release.Age(t, tenant.VClusterRelease)
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
	if o.Condition("Ready").True() && !resource.HasKubeconfig(t) && readyFor(t, pod) >= silentWithin {
		return fmt.Sprintf("pod %s is ready, but the virtual cluster hasn't written its kubeconfig: see the pods with the label app=%s in namespace %s, and their logs", pod.Name, tenant.HelmVCluster, t.Names.Namespace)
	}
	return ""
}
