//go:build e2e

package fleet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/figures"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/provider"
)

const (
	// namespace is where the fleet's claims are, and plan the name of their plan.
	namespace = "fleet"
	plan      = "fleet"
	// crossplane is the namespace of Crossplane and what it runs.
	crossplane = "crossplane-system"
)

// How soon a claim has to report a broken workload and a virtual cluster that doesn't answer, and how soon a rotated Secret has to be in use.
const (
	brokenWithin  = 10 * time.Second
	lostWithin    = 2 * time.Minute
	rotatedWithin = time.Minute
)

// inVain is how long the test waits for something that should take less.
const inVain = 10 * time.Minute

// TestFleet measures what TENANTS tenants cost, and leaves them alone for QUIET. It fails if a tenant at rest costs too much, by the bounds of
// figures.Rest for that time.
func TestFleet(t *testing.T) {
	n := setting(t, "TENANTS", 30, strconv.Atoi)
	quiet := setting(t, "QUIET", time.Minute, time.ParseDuration)
	ctx := t.Context()
	createNamespace(ctx, t, namespace)
	createPlan(ctx, t)

	claims := watch(ctx, t, claimKind, namespace, "")
	composites := watch(ctx, t, compositeKind, "", "crossplane.io/claim-namespace="+namespace)
	releases := watch(ctx, t, releaseKind, "", "crossplane.io/claim-namespace="+namespace)
	namespaces := watch(ctx, t, namespaceKind, "", "virtualargocd.io/tenant")
	table := figures.NewTable(fmt.Sprintf("%d tenants", n))

	restarts := readRestarts(ctx, t)
	before, used := readAPIServer(ctx, t), readProcesses(t)
	began := time.Now()
	t.Cleanup(func() { deleteAll(context.WithoutCancel(ctx), t, namespace) })
	writeCredential(ctx, t, "the first password")
	createAll(ctx, t, namespace, n, func(c *claim.Claim) {
		c.Set(plan, "spec", "plan")
		if c.Name() == rotating {
			c.Set(repositories(), "spec", "repositories")
		}
	})
	table.Add("all claims created within", "%.1f s", time.Since(began).Seconds())
	table.AddTimes("from the first claim to Ready, median / 95 % / all", claims.await(ctx, t, began, each(n), n, "come up", isReady))
	spent := spentSince(ctx, t, before)
	table.Add("writes to etcd until all are Ready", "%.0f, %.0f a tenant", spent.EtcdWrites(), spent.EtcdWrites()/float64(n))
	table.Add("size of etcd", "%s", figures.MiB(spent.DBSize))
	addProcesses(table, "until all are Ready", used, readProcesses(t), time.Since(began))

	atRest(ctx, t, table, n, quiet)
	backsUp(ctx, t, table, claims, n)
	sleeps(ctx, t, table, claims, n, quiet)

	all := composites.store.List()
	tells(ctx, t, table, claims, all[n/2], "a break", brokenWithin, func(id string) {
		faults.Break(id, proxy.Workload{Name: "argocd-repo-server", Replicas: 1, Why: "container repo-server: OOMKilled: "})
	})
	tells(ctx, t, table, claims, all[n-1], "the end of a virtual cluster", lostWithin, func(id string) { faults.Give(provider.Silent, id) })
	rotates(ctx, t, table, claims, composites)

	before, began = readAPIServer(ctx, t), time.Now()
	isChanged := changed(releases)
	editPlan(ctx, t)
	table.AddTimes("from an edit of the plan to the next revision of Argo CD, median / 95 % / all", releases.await(ctx, t, began, each(n), n, "get the edit", isChanged))
	claims.await(ctx, t, began, each(n), n, "are Ready after the edit", isReady)
	table.Add("from an edit of the plan to all Ready", "%.1f s", time.Since(began).Seconds())
	table.Add("writes to etcd by an edit of the plan", "%.0f a tenant", spentSince(ctx, t, before).EtcdWrites()/float64(n))

	began = time.Now()
	deleteAll(ctx, t, namespace)
	claims.awaitNone(ctx, t)
	table.Add("from the deletion to the last claim gone", "%.1f s", time.Since(began).Seconds())
	composites.awaitNone(ctx, t)
	namespaces.awaitNone(ctx, t)
	table.Add("from the deletion to the last namespace gone", "%.1f s", time.Since(began).Seconds())

	processes := readProcesses(t)
	for _, name := range slices.Sorted(maps.Keys(processes)) {
		table.Add("most memory: "+name, "%s", figures.MiB(processes[name].Peak))
	}
	if now := readRestarts(ctx, t); !maps.Equal(restarts, now) {
		t.Errorf("containers of the platform were restarted: %v before, %v after", restarts, now)
	}
	show(t, table, fmt.Sprintf("TENANTS=%d QUIET=%s", n, quiet))
}

// show prints the figures of a test. variables has the environment variables with which it was started.
func show(t *testing.T, table *figures.Table, variables string) {
	t.Helper()
	fmt.Println()
	if err := table.Print(os.Stdout); err != nil {
		t.Error(err)
	}
	if project := os.Getenv("PROJECT"); project != "" {
		variables += " PROJECT=" + project
	}
	fmt.Println("\n" + conditions(variables))
}

// settled is longer than what follows on Ready takes: the last writes of the installations, and a last reconcile of everything.
const settled = 3 * time.Minute

// atRest measures what tenants cost while nothing about them changes, and checks that it isn't too much.
func atRest(ctx context.Context, t *testing.T, table *figures.Table, n int, quiet time.Duration) {
	t.Helper()
	time.Sleep(min(quiet, settled))
	before, used, reconciled, began := readAPIServer(ctx, t), readProcesses(t), readReconciles(ctx, t), time.Now()
	time.Sleep(quiet)
	spent, after, took := spentSince(ctx, t, before), readProcesses(t), time.Since(began)
	rest := figures.Rest{Tenants: n, Took: took, Writes: spent.Writes, Reconciles: readReconciles(ctx, t) - reconciled}
	tenantMinutes := float64(n) * took.Minutes()
	for _, verb := range slices.Sorted(maps.Keys(spent.Requests)) {
		table.Add("at rest: "+verb+" requests", "%.1f a second, %.2f a tenant and minute", spent.Requests[verb]/took.Seconds(), spent.Requests[verb]/tenantMinutes)
	}
	table.Add("at rest: requests that write, without leases and events", "%.1f a second, %.2f a tenant and minute", rest.Writing()*float64(n)/60, rest.Writing())
	table.Add("at rest: writes to etcd", "%.1f a second, %.2f a tenant and minute", spent.EtcdWrites()/took.Seconds(), spent.EtcdWrites()/tenantMinutes)
	table.Add("at rest: lists from etcd", "%.2f a second", spent.Etcd["list"]/took.Seconds())
	table.Add("at rest: size of etcd", "%s", figures.MiB(spent.DBSize))
	table.Add("at rest: reconciles of composite resources", "%.1f a second, %.2f a tenant in 10 minutes", rest.Reconciles/took.Seconds(), rest.Reconciled())
	addProcesses(table, "at rest", used, after, took)
	for _, p := range rest.Problems() {
		t.Error(p)
	}
}

// tells makes something happen to a tenant, measures when its claim says Degraded, checks that this isn't too late, and heals the tenant.
func tells(ctx context.Context, t *testing.T, table *figures.Table, claims crowd, tenant any, what string, want time.Duration, happen func(id string)) {
	t.Helper()
	xr := tenant.(*unstructured.Unstructured) //nolint:forcetypeassert // The informer is dynamic.
	name, _, _ := unstructured.NestedString(xr.Object, "spec", "claimRef", "name")
	began := time.Now()
	happen(xr.GetName())
	degraded := claims.await(ctx, t, began, inVain, 1, "tell of "+what, func(o *unstructured.Unstructured) bool {
		return o.GetName() == name && phaseOf(o) == "Degraded"
	})
	promised(t, table, "from "+what+" to its claim", degraded[0], want)
	faults.Heal(xr.GetName())
	claims.awaitReady(ctx, t, name)
}

// promised adds a time to the table, and fails the test if it is longer than want.
func promised(t *testing.T, table *figures.Table, what string, took, want time.Duration) {
	t.Helper()
	table.Add(what, "%.1f s", took.Seconds())
	if took > want {
		t.Errorf("%s: %s, want %s", what, took, want)
	}
}

// addProcesses adds what programs have used within some time, and the memory that they have after it.
func addProcesses(table *figures.Table, when string, before, after map[string]figures.Process, within time.Duration) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		table.Add(when+": "+name, "%.2f CPU, %s", (after[name].CPU-before[name].CPU)/within.Seconds(), figures.MiB(after[name].Memory))
	}
}

func readProcesses(t *testing.T) map[string]figures.Process {
	t.Helper()
	out, err := figures.ReadProcesses("vargo-" + cluster)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readRestarts returns how often containers of the platform were restarted, such as for lack of memory.
func readRestarts(ctx context.Context, t *testing.T) map[string]int32 {
	t.Helper()
	pods, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int32{}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			out[pod.Name+"/"+c.Name] = c.RestartCount
		}
	}
	return out
}

func readAPIServer(ctx context.Context, t *testing.T) figures.APIServer {
	t.Helper()
	out, err := figures.ReadAPIServer(ctx, host.Typed.CoreV1().RESTClient())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func spentSince(ctx context.Context, t *testing.T, before figures.APIServer) figures.APIServer {
	t.Helper()
	out, err := readAPIServer(ctx, t).Since(before)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readReconciles(ctx context.Context, t *testing.T) float64 {
	t.Helper()
	n, err := figures.ReadReconciles(ctx, host.Typed, crossplane)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// conditions returns a line that says where, when and how the figures were measured.
func conditions(variables string) string {
	memory := "memory of unknown size"
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if info, err := fs.Meminfo(); err == nil && info.MemTotal != nil {
			memory = figures.MiB(float64(*info.MemTotal)*1024) + " of memory"
		}
	}
	return fmt.Sprintf("Measured on a machine with %d cores and %s, %s, by `make fleet %s`.",
		runtime.NumCPU(), memory, time.Now().Format(time.DateOnly), variables)
}

// changed returns a function that reports whether a Release is one of Argo CD and has a later revision than now.
func changed(releases crowd) func(*unstructured.Unstructured) bool {
	revision := func(o *unstructured.Unstructured) (of int64, state string) {
		is, _, _ := unstructured.NestedMap(o.Object, "status", "atProvider")
		of, _ = is["revision"].(int64)
		state, _ = is["state"].(string)
		return of, state
	}
	before := map[string]int64{}
	for _, o := range releases.store.List() {
		o := o.(*unstructured.Unstructured) //nolint:forcetypeassert // The informer is dynamic.
		before[o.GetName()], _ = revision(o)
	}
	return func(o *unstructured.Unstructured) bool {
		is, state := revision(o)
		return o.GetAnnotations()["crossplane.io/external-name"] == "argocd" && is > before[o.GetName()] && state == "deployed"
	}
}

// createAll creates the claims of n tenants.
func createAll(ctx context.Context, t *testing.T, namespace string, n int, with func(*claim.Claim)) {
	t.Helper()
	for i := range n {
		c := claim.New(fmt.Sprintf("tenant%04d", i)).In(namespace)
		with(c)
		claim.Create(ctx, t, host, c)
	}
}

// deleteAll deletes the claims of a namespace one by one, as kubectl does: the API server gives one request for all of them a minute.
func deleteAll(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	claims := host.Dynamic.Resource(claimKind).Namespace(namespace)
	all, err := claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Items {
		if err := client.IgnoreNotFound(claims.Delete(ctx, c.GetName(), metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	}
}

// editPlan changes a value of Argo CD's chart.
func editPlan(ctx context.Context, t *testing.T) {
	t.Helper()
	const patch = `{"spec":{"values":{"argocd":{"configs":{"params":{"controller.status.processors":"21"}}}}}}`
	if _, err := host.Dynamic.Resource(planKind).Patch(ctx, plan, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
