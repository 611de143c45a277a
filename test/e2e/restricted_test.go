//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// confined is a customer of a plan that is small and holds pods to the level restricted, who changes to one of another
// size, and of the level baseline.
type confined struct {
	tenant
	small, medium *installedPlan
}

func TestRestricted(t *testing.T) {
	onlyInFull(t)
	needsEmbedded(t)
	t.Parallel()
	c := &confined{}
	t.Cleanup(func() { c.remove(context.Background(), t) })
	testenv.Test(t, features.New("confined").
		Setup(c.install).
		Assess("ArgoCDAndDNSFit", c.fit).
		Assess("RootIsRefused", c.rootRefused).
		Assess("FittingPodRuns", c.fittingRuns).
		Assess("ChangeOfPlanResizesInPlace", c.resized).
		Assess("LevelIsThePlans", c.rootAllowed).
		Feature())
}

func (c *confined) remove(ctx context.Context, t *testing.T) {
	cleanUp(ctx, t, c.live)
	c.small.remove(ctx, t)
	c.medium.remove(ctx, t)
}

func (c *confined) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.small = installPlan(ctx, t, "small", "restricted", with(t, "restricted", "podSecurity"))
	// The plan standard, under a name that makes it nobody else's.
	c.medium = installPlan(ctx, t, "standard", "medium")
	c.live = claim.Create(ctx, t, host, newClaim("confined").Set("restricted", "spec", "plan"))
	c.namespace = c.live.AwaitReady(ctx, t, readyWithin).Namespace
	measured.add("confined: claim of a restricted plan to Ready", time.Since(c.live.Created))
	c.cluster = open(ctx, t, c.live)
	return ctx
}

// fit makes each pod that the virtual cluster runs by itself once more: a pod can be older than the level of its namespace.
func (c *confined) fit(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for namespace, least := range map[string]int{"kube-system": 1, "argocd": 5} {
		c.awaitLevel(ctx, t, namespace, "restricted")
		list, err := c.cluster.Typed.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil || len(list.Items) < least {
			t.Fatalf("want at least %d pods in namespace %s, got %d, %v", least, namespace, len(list.Items), err)
		}
		for _, pod := range list.Items {
			again := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name + "-again", Labels: pod.Labels}, Spec: pod.Spec}
			if err := dryRun(ctx, c.cluster, namespace, again); err != nil {
				t.Errorf("pod %s of namespace %s is none that the plan allows: %v", pod.Name, namespace, err)
			}
		}
	}
	loggedIn(ctx, t, c.live)
	return ctx
}

// awaitLevel waits for the label that vcluster puts on each namespace.
func (c *confined) awaitLevel(ctx context.Context, t *testing.T, namespace, level string) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, "namespace "+namespace+" is "+level, func(ctx context.Context) (bool, string) {
		n, err := c.cluster.Typed.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return n.Labels["pod-security.kubernetes.io/enforce"] == level, fmt.Sprint(n.Labels)
	})
}

// rootRefused tries a pod that the host would take.
func (c *confined) rootRefused(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if err := dryRun(ctx, c.asSyncer(t), c.namespace, hostPod("root")); err != nil {
		t.Fatalf("the host refuses the pod, too, so that this shows nothing: %v", err)
	}
	c.awaitLevel(ctx, t, metav1.NamespaceDefault, "restricted")
	_, err := c.cluster.Typed.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, probePod("root"), metav1.CreateOptions{})
	if !says(err, `violates PodSecurity "restricted`, "runAsNonRoot != true", "allowPrivilegeEscalation != false", "unrestricted capabilities", "seccompProfile") {
		t.Errorf("a pod that may run as root is not refused for it: %v", err)
	}
	return ctx
}

func (c *confined) fittingRuns(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	pod := probePod("fitting")
	no := false
	*security(&pod.Spec) = corev1.SecurityContext{
		RunAsNonRoot: yes(), AllowPrivilegeEscalation: &no,
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	c.probe = runProbe(ctx, t, c.cluster, metav1.NamespaceDefault, pod)
	return ctx
}

// resized changes the claim's plan: everything is the same after that, but for its size.
func (c *confined) resized(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before, pod := c.same(ctx, t), c.fitting(ctx, t)
	c.awaitSizes(ctx, t, time.Minute, sizes{"30", "1536Mi", "512Mi"})
	url := connectionDetails(ctx, t, c.live)["url"]
	calm.RLock()
	defer calm.RUnlock()
	silence := listen(ctx, url+"/api/version", anyCertificate, 200*time.Millisecond, 3*time.Second)
	c.live.Patch(ctx, t, "medium", "spec", "plan")
	measured.add("confined: claim's plan changed to resized and Ready", c.awaitResized(ctx, t, "medium", sizes{"60", "2Gi", "1Gi"}))
	silence.atMost(t, answersWithin, "confined: Argo CD's longest silence while it is resized")
	if after, podAfter := c.same(ctx, t), c.fitting(ctx, t); before != after || pod != podAfter {
		t.Errorf("resized in place, but\nbefore: %+v, %+v\nafter:  %+v, %+v", before, pod, after, podAfter)
	}
	loggedIn(ctx, t, c.live)
	return ctx
}

// fitting is the pod of the tenant's, which a change of sizes leaves as it is, too.
type fitting struct {
	inside, onHost types.UID
	restarts       int32
}

func (c *confined) fitting(ctx context.Context, t *testing.T) fitting {
	t.Helper()
	inside, err := c.cluster.Typed.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, c.probe.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	onTheHost, err := host.Typed.CoreV1().Pods(c.namespace).Get(ctx, onHost(c.probe.name, metav1.NamespaceDefault), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return fitting{inside.UID, onTheHost.UID, restarts(*onTheHost)}
}

// rootAllowed tries the pod again, in a virtual cluster of the level baseline.
func (c *confined) rootAllowed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.awaitLevel(ctx, t, metav1.NamespaceDefault, "baseline")
	runProbe(ctx, t, c.cluster, metav1.NamespaceDefault, probePod("root"))
	return ctx
}
