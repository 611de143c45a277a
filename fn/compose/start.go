package compose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
)

// startsWithin is how long the installation of a Release's chart takes where nothing is
// missing. After that the function looks for what keeps its pods from running: sooner
// would cost every tenant some more of Crossplane's attention.
var startsWithin = map[string]time.Duration{VCluster: 20 * time.Second, ArgoCD: 25 * time.Second}

// looksAgain is how often the function looks at a tenant that is being installed,
// looksAgainSoon at one whose namespace is being prepared, and looksAgainLater at one for
// which something has been missing for stuckAfter: there may be hundreds. Only Crossplane
// 2.4 watches the Secret that the virtual cluster writes its kubeconfig to.
const (
	looksAgain      = 10 * time.Second
	looksAgainSoon  = 4 * time.Second
	looksAgainLater = 30 * time.Second
	stuckAfter      = 2 * time.Minute
)

// LooksAgainIn returns when to look again at a tenant that comes up for the first time,
// whether anything changes or not. It reports false for other tenants. Crossplane's
// circuit breaker may keep changes from it, and then nothing else goes on.
func LooksAgainIn(t Tenant) (time.Duration, bool) {
	if WasReady(t.Observed) {
		return 0, false
	}
	since := ageOf(t, t.Observed.XR)
	for _, release := range []string{VCluster, ArgoCD} {
		if exists(release)(t) {
			since = age(t, release)
		}
	}
	in := looksAgain
	switch {
	case since > stuckAfter:
		return looksAgainLater, true
	case !exists(VCluster)(t):
		return looksAgainSoon, true
	}
	for release, within := range startsWithin {
		if left := within - age(t, release); left > 0 {
			in = min(in, left+time.Second)
		}
	}
	return in, true
}

// vclusterStarts reports whether the virtual cluster is installed, and has not written
// its kubeconfig yet.
func vclusterStarts(t Tenant) bool { return exists(VCluster)(t) && !HasKubeconfig(t) }

// isLate reports whether a Release has been there for longer than an installation takes.
func isLate(t Tenant, release string) bool {
	return exists(release)(t) && age(t, release) >= startsWithin[release]
}

// age is how long ago a composed resource was created, 0 where nobody knows.
func age(t Tenant, name string) time.Duration { return ageOf(t, t.observed(name).Struct) }

func ageOf(t Tenant, o decode.Struct) time.Duration {
	created, err := time.Parse(time.RFC3339, o.String("metadata", "creationTimestamp"))
	if err != nil {
		return 0
	}
	return t.Observed.Now.Sub(created)
}

// controlPlanePodWanted reports whether there is, or was once, need to look at the pod
// that the virtual cluster waits for. Without a volume Kubernetes makes up its name.
func controlPlanePodWanted(t Tenant) bool {
	return exists(ControlPlanePod)(t) || vclusterStarts(t) && isLate(t, VCluster) && t.Store.Size != ""
}

// podOf is that pod: the first of those that keep the virtual cluster's state.
func podOf(t Tenant) string {
	if t.Store.Kind == plan.StoreEtcd {
		return plan.VClusterRelease + "-etcd-0"
	}
	return plan.VClusterRelease + "-0"
}

func controlPlanePod(t Tenant) (Object, error) {
	return observer(t, ControlPlanePod, t.Names.HostProviderConfig, readyBy("has(object.status.containerStatuses) && object.status.containerStatuses.all(c, c.ready)"), map[string]any{
		"apiVersion": "v1",
		"kind":       "Pod",
		"metadata":   map[string]any{"name": podOf(t), "namespace": t.Names.Namespace},
	}), nil
}

// ControlPlaneTrouble says why the virtual cluster's control plane doesn't run, in the
// words of the scheduler and the kubelet; "" when it does, and when nobody has looked.
func ControlPlaneTrouble(t Tenant) string {
	o := t.observed(ControlPlanePod)
	if synced := o.Condition("Synced"); synced.False() {
		if quota := quotaUsedUp(t); strings.Contains(synced.Message, "not found") && quota != "" {
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

// quotaUsedUp names the resources of the tenant's quota of which nine tenths are used.
func quotaUsedUp(t Tenant) string {
	status := t.observed(Quota).Get("status", "atProvider", "manifest", "status")
	var quota corev1.ResourceQuotaStatus
	if status.Into(&quota) != nil {
		return ""
	}
	var out []string
	for name, hard := range quota.Hard {
		used := quota.Used[name]
		if most := resource.NewMilliQuantity(hard.MilliValue()/10*9, hard.Format); !hard.IsZero() && used.Cmp(*most) >= 0 {
			out = append(out, fmt.Sprintf("%s: %s of %s", name, used.String(), hard.String()))
		}
	}
	if len(out) == 0 {
		return ""
	}
	slices.Sort(out)
	return "quota " + boundsName + " is used up: " + strings.Join(out, ", ")
}
