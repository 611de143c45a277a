//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// rolledOutWithin is the promise for a change of a plan.
const rolledOutWithin = 2 * time.Minute

// sandbox is the RuntimeClass of the plan, and otherSandbox another one of the host. Their runtime is the ordinary one: the
// embedded cluster has no other.
const (
	sandbox      = "e2e-sandbox"
	otherSandbox = "e2e-other-sandbox"
)

// planned is a customer of the plan small, as it is in examples/plans but for a RuntimeClass and a LoadBalancer.
type planned struct {
	tenant
	// plan is small; shrunk has a smaller volume, and resized everything else of another size; others is for other claims.
	plan, shrunk, resized, others *installedPlan
}

func TestPlans(t *testing.T) {
	t.Parallel()
	p := &planned{}
	t.Cleanup(func() { p.remove(context.Background(), t) })
	testenv.Test(t, features.New("small").
		Setup(p.install).
		Assess("ClaimHasItsSize", p.sized).
		Assess("PodsHaveItsRuntimeClass", p.sandboxed).
		Assess("LoadBalancersAreAsManyAsItHas", p.balanced).
		Assess("ChangeIsRolledOut", p.changed).
		Assess("MistakeIsNamedAndHarmless", p.mistaken).
		Assess("UnknownPlanIsNamedWithThoseThereAre", p.unknown).
		Assess("PlanOfOthersIsRefused", p.othersPlan).
		Assess("SmallerVolumeIsRefused", p.smallerVolume).
		Assess("ChangeOfPlanResizesInPlace", p.changedPlan).
		Feature())
}

func (p *planned) remove(ctx context.Context, t *testing.T) {
	cleanUp(ctx, t, p.live)
	for _, plan := range []*installedPlan{p.plan, p.shrunk, p.resized, p.others} {
		plan.remove(ctx, t)
	}
	if t.Failed() && keep {
		return
	}
	for _, name := range []string{sandbox, otherSandbox} {
		if err := host.Typed.NodeV1().RuntimeClasses().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Error(err)
		}
	}
}

// installedPlan is one of examples/plans in the cluster.
type installedPlan struct {
	name   string
	client dynamic.ResourceInterface
}

// installPlan installs a plan of examples/plans under a name, changed. It isn't the default one.
func installPlan(ctx context.Context, t *testing.T, example, name string, changes ...func(plan *unstructured.Unstructured)) *installedPlan {
	t.Helper()
	data, err := os.ReadFile("../../examples/plans/" + example + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	plan := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &plan.Object); err != nil {
		t.Fatal(err)
	}
	plan.SetName(name)
	plan.SetLabels(nil)
	for _, change := range changes {
		change(plan)
	}
	client, err := host.Resource(plan.GroupVersionKind(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(ctx, plan, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return &installedPlan{plan.GetName(), client}
}

// with is a field of a plan's spec.
func with(t *testing.T, value any, path ...string) func(*unstructured.Unstructured) {
	return func(plan *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(plan.Object, value, append([]string{"spec"}, path...)...); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitAccepted waits until the plan itself says whether it can be used, and why not.
func (p *installedPlan) awaitAccepted(ctx context.Context, t *testing.T, status, message string) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, "plan "+p.name+" says "+message, func(ctx context.Context) (bool, string) {
		plan, err := p.client.Get(ctx, p.name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		is := condition(plan, v1alpha1.ConditionSpecAccepted)
		return string(is.Status) == status && strings.HasPrefix(is.Message, message), string(is.Status) + ": " + is.Message
	})
}

// awaitProviders waits until the plan says that the installed providers are those that these tests run.
func (p *installedPlan) awaitProviders(ctx context.Context, t *testing.T) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, "plan "+p.name+" says which providers are installed", func(ctx context.Context) (bool, string) {
		plan, err := p.client.Get(ctx, p.name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		is := condition(plan, v1alpha1.ConditionProvidersTested)
		return is.Status == "True" && is.Reason == v1alpha1.ReasonTested, string(is.Status) + ": " + is.Message
	})
}

// remove takes the plan away, unless its claims stay, too.
func (p *installedPlan) remove(ctx context.Context, t *testing.T) {
	t.Helper()
	if t.Failed() && keep || p == nil {
		return
	}
	if err := p.client.Delete(ctx, p.name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Error(err)
	}
}

// patch merges fields into the plan.
func (p *installedPlan) patch(ctx context.Context, t *testing.T, patch string) {
	t.Helper()
	if _, err := p.client.Patch(ctx, p.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (p *planned) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	runtimeClass(ctx, t, host, sandbox)
	runtimeClass(ctx, t, host, otherSandbox)
	own := []func(*unstructured.Unstructured){with(t, sandbox, "runtimeClass"), with(t, int64(1), "loadBalancers")}
	p.plan = installPlan(ctx, t, "small", "small", own...)
	p.shrunk = installPlan(ctx, t, "small", "shrunk", append(own, with(t, "512Mi", "vcluster", "storage", "size"))...)
	p.resized = installPlan(ctx, t, "small", "resized", append(own,
		with(t, "40", "quota", "count/pods"),
		with(t, "1792Mi", "vcluster", "resources", "limits", "memory"),
		with(t, "768Mi", "argocd", "repoServer", "resources", "limits", "memory"))...)
	p.others = installPlan(ctx, t, "small", "others", append(own, with(t, []any{"nobodys-*"}, "namespaces"))...)
	p.plan.awaitProviders(ctx, t)
	p.live = claim.Create(ctx, t, host, newClaim("planned").Set("small", "spec", "plan"))
	p.namespace = p.live.AwaitReady(ctx, t, readyWithin).Namespace
	p.cluster = open(ctx, t, p.live)
	measured.add("planned: claim of the plan small to Ready", time.Since(p.live.Created))
	return ctx
}

// runtimeClass makes a RuntimeClass, or finds it there.
func runtimeClass(ctx context.Context, t *testing.T, c *kube.Cluster, name string) {
	t.Helper()
	_, err := c.Typed.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "runc"}, metav1.CreateOptions{})
	if err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// sandboxed looks at all pods of the tenant: one that asks for another RuntimeClass of the host, and those that ask for
// none. The control plane runs nothing of the tenant's.
func (p *planned) sandboxed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	// A virtual cluster takes a pod with a RuntimeClass that it has itself.
	runtimeClass(ctx, t, p.cluster, otherSandbox)
	chooser, other := probePod("chooser"), otherSandbox
	chooser.Spec.RuntimeClassName = &other
	made, err := p.cluster.Typed.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, chooser, metav1.CreateOptions{})
	if err != nil || made.Spec.RuntimeClassName == nil || *made.Spec.RuntimeClassName != other {
		t.Fatalf("the virtual cluster has no pod of another RuntimeClass, so that this would show nothing: %v", err)
	}
	eventually.True(ctx, t, time.Minute, "the pod of another RuntimeClass is on the host", func(ctx context.Context) (bool, string) {
		_, err := host.Typed.CoreV1().Pods(p.namespace).Get(ctx, onHost(chooser.Name, metav1.NamespaceDefault), metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	pods, err := host.Typed.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) < 5 {
		t.Fatalf("want the pods of a whole tenant, got %d, %v", len(pods.Items), err)
	}
	for _, pod := range pods.Items {
		want := ""
		if _, ofTenant := pod.Labels["vcluster.loft.sh/managed-by"]; ofTenant {
			want = sandbox
		}
		got := ""
		if class := pod.Spec.RuntimeClassName; class != nil {
			got = *class
		}
		if got != want {
			t.Errorf("pod %s: want RuntimeClass %q, got %q", pod.Name, want, got)
		}
	}
	return ctx
}

// sizes are what a tenant has of its plan: pods of its quota, and the memory of its control plane and of Argo CD's
// repository server.
type sizes struct{ pods, controlPlane, repoServer string }

// rolledOut are the sizes of a tenant of one control plane, where nothing of it still has others.
func (n *tenant) rolledOut(ctx context.Context) (sizes, error) {
	quota, err := quotaOf(ctx, n.namespace)
	if err != nil {
		return sizes{}, err
	}
	controlPlane, err := host.Typed.AppsV1().StatefulSets(n.namespace).Get(ctx, "vcluster", metav1.GetOptions{})
	if err == nil {
		err = setNotAvailable(controlPlane)
	}
	if err != nil {
		return sizes{}, err
	}
	repoServer, err := n.cluster.Typed.AppsV1().Deployments("argocd").Get(ctx, "argocd-repo-server", metav1.GetOptions{})
	if err != nil {
		return sizes{}, err
	}
	_, wrong, err := workloads(ctx, n.cluster)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("not all of Argo CD is available: %v", wrong)
	}
	if err != nil {
		return sizes{}, err
	}
	count := quota.Spec.Hard["count/pods"]
	memory := func(pod corev1.PodTemplateSpec) string {
		return pod.Spec.Containers[0].Resources.Limits.Memory().String()
	}
	return sizes{count.String(), memory(controlPlane.Spec.Template), memory(repoServer.Spec.Template)}, nil
}

// awaitSizes waits until the tenant has sizes, and returns how long that took.
func (n *tenant) awaitSizes(ctx context.Context, t *testing.T, within time.Duration, want sizes) time.Duration {
	t.Helper()
	return eventually.True(ctx, t, within, fmt.Sprintf("all of %s has sizes %v", n.live.Name, want), func(ctx context.Context) (bool, string) {
		got, err := n.rolledOut(ctx)
		return err == nil && got == want, fmt.Sprint(got, err)
	})
}

// planOf is the plan that a claim has by its status.
func planOf(s *claim.State) string {
	name, _, _ := unstructured.NestedString(s.Object.Object, "status", "plan")
	return name
}

func (p *planned) sized(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s, err := p.live.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if planOf(s) != "small" {
		t.Errorf("the claim has plan %q", planOf(s))
	}
	p.awaitSizes(ctx, t, 2*time.Minute, sizes{"30", "1536Mi", "512Mi"})
	loggedIn(ctx, t, p.live)
	return ctx
}

// balanced makes as many LoadBalancers as the plan has, and one more.
func (p *planned) balanced(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	quota, err := quotaOf(ctx, p.namespace)
	if err != nil {
		t.Fatal(err)
	}
	if ports := quota.Spec.Hard[corev1.ResourceServicesNodePorts]; ports.Value() != 10 {
		t.Errorf("want node ports for a LoadBalancer, got %s", ports.String())
	}
	balanced := func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeLoadBalancer }
	first := plainService("first")
	balanced(&first.Spec)
	if on := p.awaitSynced(ctx, t, first); on.Spec.Type != corev1.ServiceTypeLoadBalancer {
		t.Errorf("the first LoadBalancer is on the host as %s", on.Spec.Type)
	}
	p.serviceRefused(ctx, t, "second", "requested: services.loadbalancers=1, used: services.loadbalancers=1", balanced)
	p.serviceRefused(ctx, t, "node-port", "not of type NodePort", func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeNodePort })
	return ctx
}

// changed changes the quota and the limits, which restart nothing, and the memory of Argo CD's repository server.
func (p *planned) changed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	calm.RLock()
	defer calm.RUnlock()
	before := podsBesideArgoCD(ctx, t, p.namespace)
	p.plan.patch(ctx, t, `{"spec":{"quota":{"count/pods":"31"},"limits":{"max":{"memory":"3Gi"}},"argocd":{"repoServer":{"resources":{"limits":{"memory":"640Mi"}}}}}}`)
	measured.add("planned: plan changed to rolled out", p.awaitSizes(ctx, t, rolledOutWithin, sizes{"31", "1536Mi", "640Mi"}))
	p.live.AwaitReady(ctx, t, 3*time.Minute)
	keepsPods(t, "another quota and other limits", before, podsBesideArgoCD(ctx, t, p.namespace))
	return ctx
}

func (p *planned) mistaken(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	calm.RLock()
	defer calm.RUnlock()
	// What a schema can tell is refused at once.
	_, err := p.plan.client.Patch(ctx, p.plan.name, types.MergePatchType, []byte(`{"spec":{"argocd":{"server":{"replicas":"two"}}}}`), metav1.PatchOptions{})
	if !kerrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.argocd.server.replicas") {
		t.Errorf("the API server doesn't refuse the plan: %v", err)
	}
	p.plan.patch(ctx, t, `{"spec":{"quota":{"limit.cpu":"2","count/pods":"32"}}}`)
	p.plan.awaitAccepted(ctx, t, "False", "spec.quota.limit.cpu: is no resource")
	tells(ctx, t, p.live, "plan small: spec.quota.limit.cpu")
	// It has changed nothing.
	p.awaitSizes(ctx, t, time.Minute, sizes{"31", "1536Mi", "640Mi"})
	loggedIn(ctx, t, p.live)
	p.plan.patch(ctx, t, `{"spec":{"quota":{"limit.cpu":null}}}`)
	p.plan.awaitAccepted(ctx, t, "True", "Claims can use the plan")
	p.live.Await(ctx, t, rolledOutWithin, "has a plan without mistakes, rolled out", func(s *claim.State) bool {
		got, err := p.rolledOut(ctx)
		return err == nil && got.pods == "32" && s.IsReady() && !mentions(s, "plan small: spec")
	})
	return ctx
}

func (p *planned) unknown(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	p.live.Patch(ctx, t, "smal", "spec", "plan")
	s := tells(ctx, t, p.live, `spec.plan: "smal" is unknown: write one of `)
	// Other tests install plans, too.
	if !mentions(s, "small, standard") || mentions(s, "others") {
		t.Errorf("the claim doesn't list the plans that it may have, and no other: %s", s)
	}
	p.live.Patch(ctx, t, "small", "spec", "plan")
	p.live.Await(ctx, t, rolledOutWithin, "has a plan that there is", func(s *claim.State) bool { return s.True(claim.Ready) && !mentions(s, "is unknown") })
	return ctx
}

// othersPlan asks for a plan that is for claims of other namespaces.
func (p *planned) othersPlan(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	planRefused(ctx, t, p.live, "others", `spec.plan: "others" is not for claims of namespace `+claims+`: write one of `)
	return ctx
}

// smallerVolume asks for a plan whose volume is smaller.
func (p *planned) smallerVolume(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	planRefused(ctx, t, p.live, "shrunk", "spec.plan: shrunk has sqlite on a volume of 512Mi, and this virtual cluster was made with sqlite on a volume of 1Gi: Kubernetes can't change that in place")
	return ctx
}

// planRefused asks for a plan that the tenant can't have, and takes that back: nothing of the tenant changes.
func planRefused(ctx context.Context, t *testing.T, l *claim.Live, plan, words string) {
	t.Helper()
	s, err := l.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	has, before := planOf(s), generations(ctx, t, l)
	l.Patch(ctx, t, plan, "spec", "plan")
	if s = tells(ctx, t, l, words); planOf(s) != has {
		t.Errorf("the claim has plan %q by its status", planOf(s))
	}
	loggedIn(ctx, t, l)
	l.Patch(ctx, t, has, "spec", "plan")
	l.Await(ctx, t, rolledOutWithin, "has its plan", func(s *claim.State) bool { return s.True(claim.Ready) && !mentions(s, "spec.plan") })
	unchangedSince(ctx, t, l, before, "a plan that was refused")
}

// changedPlan changes the claim to a plan of another size: what is resized, and what keeps the state, stays what it was.
func (p *planned) changedPlan(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	before := p.same(ctx, t)
	p.live.Patch(ctx, t, "resized", "spec", "plan")
	measured.add("planned: claim's plan changed to resized and Ready", p.awaitResized(ctx, t, "resized", sizes{"40", "1792Mi", "768Mi"}))
	if after := p.same(ctx, t); before != after {
		t.Errorf("resized in place, but\nbefore: %+v\nafter:  %+v", before, after)
	}
	return ctx
}

// awaitResized waits until a claim whose plan has changed has its sizes and is Ready, and returns how long that took.
func (n *tenant) awaitResized(ctx context.Context, t *testing.T, plan string, want sizes) time.Duration {
	t.Helper()
	start := time.Now()
	n.awaitSizes(ctx, t, 5*time.Minute, want)
	n.live.Await(ctx, t, 3*time.Minute, "is Ready with plan "+plan, func(s *claim.State) bool {
		return s.IsReady() && planOf(s) == plan
	})
	return time.Since(start)
}

// sameness is what a change of sizes leaves as it is.
type sameness struct{ namespace, set, volume, server types.UID }

func (n *tenant) same(ctx context.Context, t *testing.T) sameness {
	t.Helper()
	uid := func(o metav1.Object, err error) types.UID {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return o.GetUID()
	}
	return sameness{
		namespace: uid(host.Typed.CoreV1().Namespaces().Get(ctx, n.namespace, metav1.GetOptions{})),
		set:       uid(host.Typed.AppsV1().StatefulSets(n.namespace).Get(ctx, "vcluster", metav1.GetOptions{})),
		volume:    uid(host.Typed.CoreV1().PersistentVolumeClaims(n.namespace).Get(ctx, "data-vcluster-0", metav1.GetOptions{})),
		server:    uid(n.cluster.Typed.AppsV1().Deployments("argocd").Get(ctx, "argocd-server", metav1.GetOptions{})),
	}
}

// tells waits until a claim says what is wrong, in a condition and an event. What runs stays Ready.
func tells(ctx context.Context, t *testing.T, l *claim.Live, words string) *claim.State {
	t.Helper()
	s := l.Await(ctx, t, rolledOutWithin, "has a condition that says "+words, func(s *claim.State) bool {
		return s.True(claim.Ready) && mentions(s, words)
	})
	eventually.True(ctx, t, time.Minute, "the claim has an event that says "+words, func(ctx context.Context) (bool, string) {
		return warned(ctx, l, words)
	})
	return s
}

// mentions looks for words in all conditions.
func mentions(s *claim.State, words string) bool {
	return slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool { return strings.Contains(c.Message, words) })
}
