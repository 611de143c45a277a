//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/e2e-framework/klient/wait"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/diagnose"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// newClaim is the smallest claim that publishes its connection details.
func newClaim(name string) *claim.Claim {
	c := claim.New(name).In(claims).Set(name+"-connection", "spec", "writeConnectionSecretToRef", "name")
	if os.Getenv("NAMESPACED") != "" {
		c.OfGroup(v1alpha1.FrontGroup)
	}
	return c
}

// calm is held for reading while a promise is measured, and for writing while the cluster is loaded on purpose. Who holds it
// must not ask for it again.
var calm sync.RWMutex

// reachable is the label of namespaces that every tenant reaches, by the embedded cluster's input: servers in them stand for
// a customer's own.
const reachable = "example.org/reachable-by-tenants"

// onlyInFull skips what is left to make e2e-full: the essential path of each feature runs always.
func onlyInFull(t *testing.T) {
	t.Helper()
	if !full {
		t.Skip("NOT TRIED HERE: THIS TAKES LONG, AND IS FOR make e2e-full")
	}
}

// onlyOn skips what needs an embedded cluster of its own, which make e2e-full starts under this name, and says why.
func onlyOn(t *testing.T, cluster, why string) {
	t.Helper()
	onlyInFull(t)
	if os.Getenv("VARGO_CLUSTER") != cluster {
		t.Skip("NOT TRIED HERE: " + why + ", AND IS FOR THE CLUSTER OF ITS OWN THAT make e2e-full STARTS")
	}
}

// createNamespace makes a namespace and waits for what Kubernetes puts in each, so that listings don't race with it.
func createNamespace(name string) env.Func {
	return func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
		core := host.Typed.CoreV1()
		_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{reachable: "true"}}}, metav1.CreateOptions{})
		if err != nil && !kerrors.IsAlreadyExists(err) {
			return ctx, fmt.Errorf("cannot create namespace %s: %w", name, err)
		}
		err = wait.For(func(ctx context.Context) (bool, error) {
			_, err1 := core.ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
			_, err2 := core.ConfigMaps(name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
			return err1 == nil && err2 == nil, nil
		}, wait.WithTimeout(3*time.Minute), wait.WithInterval(200*time.Millisecond), wait.WithImmediate())
		if err != nil {
			return ctx, fmt.Errorf("namespace %s does not become usable: %w", name, err)
		}
		return ctx, nil
	}
}

// openKubeconfig opens the virtual cluster of a kubeconfig that the product has made.
func openKubeconfig(data []byte) (*kube.Cluster, error) {
	config, err := reach(data)
	if err != nil {
		return nil, err
	}
	return kube.New(config)
}

// reach makes a client's configuration of a kubeconfig whose server is a Service's name.
func reach(data []byte) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig is unusable: %w", err)
	}
	config.Dial = dialer.DialContext
	config.Timeout = 30 * time.Second
	return config, nil
}

// as is the host as somebody else sees it.
func as(t *testing.T, name string, groups ...string) *kube.Cluster {
	t.Helper()
	config := rest.CopyConfig(host.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	out, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// connectionConfig is how a claim's owner reaches the virtual cluster: with the kubeconfig of the connection Secret.
func connectionConfig(ctx context.Context, t testing.TB, l *claim.Live) *rest.Config {
	t.Helper()
	secret, err := l.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	config, err := reach(secret.Data["kubeconfig"])
	if err != nil {
		t.Fatalf("connection Secret %s: %v", secret.Name, err)
	}
	return config
}

// open is a claim's virtual cluster.
func open(ctx context.Context, t testing.TB, l *claim.Live) *kube.Cluster {
	t.Helper()
	c, err := kube.New(connectionConfig(ctx, t, l))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// loggedIn is a session of a claim's owner in its Argo CD.
func loggedIn(ctx context.Context, t *testing.T, l *claim.Live) *argocd.Client {
	t.Helper()
	secret, err := l.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	api := answering(ctx, t, argocd.New(dialer, string(secret.Data["url"])))
	if err := api.Login(ctx, string(secret.Data["username"]), string(secret.Data["password"])); err != nil {
		t.Fatalf("cannot log in to the Argo CD of %s: %v", l.Name, err)
	}
	return api
}

// answering waits for an Argo CD at its URL: an ingress controller takes a moment to serve an Ingress.
func answering(ctx context.Context, t *testing.T, api *argocd.Client) *argocd.Client {
	t.Helper()
	eventually.True(ctx, t, 2*time.Minute, "Argo CD answers at its URL", func(ctx context.Context) (bool, string) {
		_, err := api.Version(ctx)
		return err == nil, fmt.Sprint(err)
	})
	return api
}

// createApp creates an Application as soon as Argo CD accepts it: Argo CD refuses one whose repository or cluster it can't reach, such as
// a server whose network policy isn't in force yet.
func createApp(ctx context.Context, t *testing.T, api *argocd.Client, name string, from argocd.Source, cluster string) {
	t.Helper()
	eventually.True(ctx, t, 5*time.Minute, "Argo CD accepts Application "+name, func(ctx context.Context) (bool, string) {
		err := api.Create(ctx, name, from, cluster)
		return err == nil, fmt.Sprint(err)
	})
}

// createIdleApps creates Applications that nobody syncs, named app-0 and so on.
func createIdleApps(ctx context.Context, t *testing.T, l *claim.Live, n int) {
	t.Helper()
	apps, err := open(ctx, t, l).Resource(applications, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := apps.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": fmt.Sprintf("app-%d", i)},
			"spec": map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/a", "path": "."},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "default"},
			},
		}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// wholeOf returns the source that is all files of a Git repository.
func wholeOf(repo string) argocd.Source {
	return argocd.Source{RepoURL: repo, Path: "."}
}

// connectionDetails are what the connection Secret of a claim says.
func connectionDetails(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	details, err := detailsOf(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	return details
}

func detailsOf(ctx context.Context, l *claim.Live) (map[string]string, error) {
	secret, err := l.ConnectionSecret(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, v := range secret.Data {
		out[key] = string(v)
	}
	return out, nil
}

// awaitDetails waits until the connection Secret of a claim is as wanted, which looks at it and says what it sees.
func awaitDetails(ctx context.Context, t *testing.T, l *claim.Live, what string, wanted func(map[string]string) (bool, string)) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, "the connection Secret of "+l.Name+" "+what, func(ctx context.Context) (bool, string) {
		details, err := detailsOf(ctx, l)
		if err != nil {
			return false, err.Error()
		}
		return wanted(details)
	})
}

// workloads are Argo CD's Deployments and StatefulSets in a virtual cluster, with their available replicas, and what is
// wrong with those that are not fully available.
func workloads(ctx context.Context, virtual *kube.Cluster) (available map[string]int32, wrong []string, err error) {
	deployments, err := virtual.Typed.AppsV1().Deployments("argocd").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list Deployments: %w", err)
	}
	sets, err := virtual.Typed.AppsV1().StatefulSets("argocd").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list StatefulSets: %w", err)
	}
	available = map[string]int32{}
	see := func(name string, replicas int32, problem error) {
		available[name] = replicas
		if problem != nil {
			wrong = append(wrong, problem.Error())
		}
	}
	for _, d := range deployments.Items {
		see(d.Name, d.Status.AvailableReplicas, notAvailable(&d, d.Status.ObservedGeneration, d.Spec.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas))
	}
	for _, s := range sets.Items {
		see(s.Name, s.Status.AvailableReplicas, setNotAvailable(&s))
	}
	return available, wrong, nil
}

// notAvailable tells what a workload lacks to be fully available as it is wanted now.
func notAvailable(o metav1.Object, observed int64, want *int32, updated, available int32) error {
	if observed < o.GetGeneration() || want == nil || updated != *want || available != *want {
		return fmt.Errorf("%s: %d available, %d updated", o.GetName(), available, updated)
	}
	return nil
}

func setNotAvailable(s *appsv1.StatefulSet) error {
	return notAvailable(s, s.Status.ObservedGeneration, s.Spec.Replicas, s.Status.UpdatedReplicas, s.Status.AvailableReplicas)
}

func ready(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// deployment reads one of Argo CD's Deployments.
func deployment(ctx context.Context, t testing.TB, virtual *kube.Cluster, name string) *appsv1.Deployment {
	t.Helper()
	d, err := virtual.Typed.AppsV1().Deployments("argocd").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("cannot get Deployment %s in the virtual cluster: %v", name, err)
	}
	return d
}

// releaseOf is the Release of Argo CD that a claim has composed.
func releaseOf(ctx context.Context, t testing.TB, l *claim.Live) *unstructured.Unstructured {
	t.Helper()
	composed, err := l.Composed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range composed {
		if o.GetAnnotations()["crossplane.io/composition-resource-name"] == "argocd" {
			return o
		}
	}
	t.Fatalf("claim %s has composed no Release of Argo CD", l.Name)
	return nil
}

// podsOf returns the pods of a namespace on the host cluster that are wanted, all of them for nil: each by its name, with its
// UID and how often it was restarted. ending are the names of those that are being deleted.
func podsOf(ctx context.Context, t *testing.T, namespace string, wanted func(corev1.Pod) bool) (pods map[string]string, ending []string) {
	t.Helper()
	list, err := host.Typed.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods = map[string]string{}
	for _, p := range list.Items {
		if wanted != nil && !wanted(p) {
			continue
		}
		pods[p.Name] = fmt.Sprintf("%s, restarted %d times", p.UID, restarts(p))
		if p.DeletionTimestamp != nil {
			ending = append(ending, p.Name)
		}
	}
	return pods, ending
}

// keepsPods fails the test if a pod of before, from podsOf, is another one in after, or was restarted.
func keepsPods(t *testing.T, change string, before, after map[string]string) {
	t.Helper()
	for name, was := range before {
		if after[name] != was {
			t.Errorf("with %s, pod %s is another or was restarted: it was %s, and is %q", change, name, was, after[name])
		}
	}
}

// deleteAndAwait deletes a claim, waits until no object of any kind is about its tenant, and returns how long that
// took. Whatever a tenant has carries the name of the claim, followed by a dash, in its name or its namespace's; that
// nothing under another name stays behind is what the listings before and after the tests show.
func deleteAndAwait(ctx context.Context, t testing.TB, l *claim.Live, within time.Duration) time.Duration {
	t.Helper()
	l.Delete(ctx, t)
	return awaitGone(ctx, t, l, within)
}

// awaitGone waits until nothing of a deleted claim is left.
func awaitGone(ctx context.Context, t testing.TB, l *claim.Live, within time.Duration) time.Duration {
	t.Helper()
	return eventually.True(ctx, t, within, "everything of "+l.Name+" is gone", func(ctx context.Context) (bool, string) {
		if s, err := l.State(ctx); err == nil {
			return false, "the claim is there: " + s.String()
		} else if !kerrors.IsNotFound(err) {
			return false, err.Error()
		}
		all, err := inventory.Take(ctx, host)
		if err != nil {
			return false, err.Error()
		}
		left := all.About(l.Name + "-")
		// Other claims of that name, such as that of make demo, were there before the tests.
		maps.DeleteFunc(left, func(o inventory.Object, uid types.UID) bool { return before[o] == uid })
		return len(left) == 0, "\n" + left.String()
	})
}

// cleanUp is the teardown of every test: it writes the cluster's state down when the test failed, and deletes what
// claims the test has left.
func cleanUp(ctx context.Context, t *testing.T, lives ...*claim.Live) {
	t.Helper()
	if t.Failed() {
		dir := filepath.Join(dumps, strings.ReplaceAll(t.Name(), "/", "_"))
		err := diagnose.Dump(ctx, host, dir, func(namespace string) bool {
			return namespace == crossplane || strings.HasPrefix(namespace, "vargo-")
		})
		t.Logf("the state of the cluster is in %s (errors: %v)", dir, err)
		if keep {
			t.Logf("E2E_KEEP is set: the test's claims in namespace %s stay", claims)
			return
		}
	}
	for _, l := range lives {
		if l == nil {
			continue
		}
		if _, err := l.State(ctx); kerrors.IsNotFound(err) {
			continue
		}
		deleteAndAwait(ctx, t, l, readyWithin)
	}
}

// deletePromptly is deleteAndAwait for a tenant that the product's promise is held to.
func deletePromptly(ctx context.Context, t testing.TB, l *claim.Live) time.Duration {
	t.Helper()
	calm.RLock()
	defer calm.RUnlock()
	return deleteAndAwait(ctx, t, l, promptly)
}

func lines(s []string) string { return "  " + strings.Join(s, "\n  ") }

// measurements are times taken by the tests, printed together at the end.
type measurements struct {
	mu   sync.Mutex
	rows []string
}

var measured measurements

func (m *measurements) add(what string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = append(m.rows, fmt.Sprintf("%-70s %7.1f s", what, d.Seconds()))
}

func (m *measurements) print(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.rows) == 0 {
		return
	}
	slices.Sort(m.rows)
	_, _ = fmt.Fprintf(w, "\nMeasured:\n%s\n", lines(m.rows))
}

// scalable are Deployments or StatefulSets of a namespace.
type scalable interface {
	GetScale(ctx context.Context, name string, o metav1.GetOptions) (*autoscalingv1.Scale, error)
	UpdateScale(ctx context.Context, name string, s *autoscalingv1.Scale, o metav1.UpdateOptions) (*autoscalingv1.Scale, error)
}

// scale says how many replicas a workload is to have.
func scale(ctx context.Context, t *testing.T, of scalable, name string, replicas int32) {
	t.Helper()
	// Its controller may write it at the same time.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		s, err := of.GetScale(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.Spec.Replicas = replicas
		_, err = of.UpdateScale(ctx, name, s, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("cannot scale %s: %v", name, err)
	}
}

// patchable are Deployments of a namespace.
type patchable interface {
	Patch(ctx context.Context, name string, typ types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*appsv1.Deployment, error)
}

// stopped is a patch after which no pod of a Deployment runs, and runs one that undoes it. Nobody brings back what can't run: it isn't gone, or
// scaled down.
const (
	stopped = `{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"},"template":{"spec":{"nodeSelector":{"e2e/no-node":"true"}}}}}`
	runs    = `{"spec":{"template":{"spec":{"nodeSelector":{"e2e/no-node":null}}}}}`
)

// patchDeployment patches a Deployment of Argo CD, with stopped or runs.
func patchDeployment(ctx context.Context, t *testing.T, of patchable, name, patch string) {
	t.Helper()
	if _, err := of.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatalf("cannot patch %s: %v", name, err)
	}
}

// patchXR merges fields into a tenant's composite resource.
func patchXR(ctx context.Context, t *testing.T, l *claim.Live, patch []byte) {
	t.Helper()
	xr, err := l.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all(t, xr.GroupVersionKind()).Patch(ctx, xr.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatalf("cannot change the composite resource of %s: %v", l.Name, err)
	}
}

// look has Crossplane look at a tenant now: it leaves those at rest alone for 20 minutes, whatever function there is.
func look(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	patchXR(ctx, t, l, fmt.Appendf(nil, `{"metadata":{"annotations":{"crossplane.io/reconcile-requested-at":%q}}}`, time.Now().Format(time.RFC3339)))
}
