//go:build e2e

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/figures"
)

const (
	// lost is the namespace of the claims of a host that is lost.
	lost = "fleet-lost"
	// atOnce is how many come back at a time.
	atOnce = 5
	// withoutBackup is the claim that has none.
	withoutBackup = "never"
	// priorityAnnotation is what examples/backup/restore.sh orders them by.
	priorityAnnotation = "virtualargocd.io/restore-priority"
)

// lostClaim is the claim of a tenant of the lost host. A fifth of them is asleep, and what is said first comes back last.
func lostClaim(i int) *claim.Claim {
	c := claim.New(fmt.Sprintf("lost%04d", i)).In(lost).Set(strconv.Itoa(i), "metadata", "annotations", priorityAnnotation).
		Set(map[string]any{"enabled": true, "schedule": onlyWhenAsked}, "spec", "backup")
	if i%5 == 0 {
		c.Set(true, "spec", "hibernation", "enabled")
	}
	return c
}

// TestLostHost: with examples/backup/restore.sh, all claims of a lost host come back from their backups, in the order of their priorities and a
// bounded number at a time, and one without a backup is told. TENANTS=300 measures as many as docs/scale.md has.
func TestLostHost(t *testing.T) {
	if os.Getenv("PROJECT") != "" {
		t.Skip("NOT TRIED HERE: EARLIER RELEASES HAVE NO BACKUPS")
	}
	n := setting(t, "TENANTS", 10, strconv.Atoi)
	ctx := t.Context()
	createNamespace(ctx, t, lost)
	t.Cleanup(func() { deleteAll(context.WithoutCancel(ctx), t, lost) })
	claims := watch(ctx, t, claimKind, lost, "")
	composites := watch(ctx, t, compositeKind, "", "crossplane.io/claim-namespace="+lost)
	table := figures.NewTable(fmt.Sprintf("%d tenants", n))

	dir := t.TempDir()
	began := time.Now()
	for i := range n {
		c := lostClaim(i)
		write(t, dir, c)
		// It is awake until it is backed up.
		claim.Create(ctx, t, host, c.Set(map[string]any{}, "spec", "hibernation").Set("1", "metadata", "annotations", v1alpha1.AnnotationBackup))
	}
	write(t, dir, claim.New(withoutBackup).In(lost).Set("-1", "metadata", "annotations", priorityAnnotation))
	claims.await(ctx, t, began, each(n), n, "are backed up", isBackedUp)
	table.Add("from the first claim to all backed up", "%.0f s", time.Since(began).Seconds())
	deleteAll(ctx, t, lost)
	claims.awaitNone(ctx, t)
	composites.awaitNone(ctx, t)

	seen := follow(ctx, t)
	before, used, began := readAPIServer(ctx, t), readProcesses(t), time.Now()
	out, err := kube.Script(ctx, t, kubeconfig, "../../examples/backup/restore.sh", "--parallel", strconv.Itoa(atOnce), dir)
	took := time.Since(began)
	if want := fmt.Sprintf("%d of %d claims are restored", n, n+1); err == nil || !strings.Contains(out, want) || !strings.Contains(out, lost+"/"+withoutBackup) {
		t.Errorf("want %q, and %s reported as failed, got %v: %s", want, withoutBackup, err, out)
	}
	order, most := seen()
	if len(order) != n+1 || most > atOnce {
		t.Errorf("%d claims were created, %d at once, want %d and at most %d", len(order), most, n+1, atOnce)
	}
	for i, name := range order {
		// Those that are created at once come in any order.
		if late := slices.DeleteFunc(slices.Clone(order[:i]), func(earlier string) bool { return priority(earlier) > priority(name) }); len(late) >= atOnce {
			t.Errorf("%s is created after %v, which have lower priorities", name, late)
		}
	}
	claims.await(ctx, t, began, time.Minute, n, "are restored", isRestored)
	table.AddTimes("from the beginning to restored, median / 95 % / all", restoredAfter(t, claims, began))
	table.Add("the lost host comes back within", "%.0f s", took.Seconds())
	table.Add("writes to etcd meanwhile", "%.0f a tenant", spentSince(ctx, t, before).EtcdWrites()/float64(n))
	addProcesses(table, "meanwhile", used, readProcesses(t), took)
	for _, o := range claims.store.List() {
		o := o.(*unstructured.Unstructured) //nolint:forcetypeassert // The informer is dynamic.
		if phase := phaseOf(o); o.GetName() != withoutBackup && phase != "Ready" && !strings.HasPrefix(phase, "Hibernat") {
			t.Errorf("claim %s is %s", o.GetName(), phase)
		}
	}
	show(t, table, fmt.Sprintf("TENANTS=%d RUN=TestLostHost", n))
}

func isRestored(o *unstructured.Unstructured) bool {
	at, _, _ := unstructured.NestedString(o.Object, "status", "restore", "restoredAt")
	return at != ""
}

// restoredAfter returns how long after a time each claim was restored, in whole seconds.
func restoredAfter(t *testing.T, claims crowd, began time.Time) (out []time.Duration) {
	t.Helper()
	for _, o := range claims.store.List() {
		o := o.(*unstructured.Unstructured) //nolint:forcetypeassert // The informer is dynamic.
		if !isRestored(o) {
			continue
		}
		text, _, _ := unstructured.NestedString(o.Object, "status", "restore", "restoredAt")
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Errorf("claim %s was restored at %q: %v", o.GetName(), text, err)
		}
		out = append(out, at.Sub(began))
	}
	return out
}

// isComing reports whether a claim that is to be restored isn't, and can be.
func isComing(o *unstructured.Unstructured) bool {
	message, _, _ := unstructured.NestedString(o.Object, "status", "restore", "message")
	return !isRestored(o) && message == ""
}

// priority is the priority of a claim.
func priority(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "lost"))
	if err != nil {
		return -1
	}
	return n
}

// write writes a claim to a folder, as a Git repository has it.
func write(t *testing.T, dir string, c *claim.Claim) {
	t.Helper()
	raw, err := json.Marshal(c.Object())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, c.Name()+".json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// follow follows the claims of the lost host until the function that it returns is called. That returns their names in the order in which they
// were created, and how many were coming back at a time at most.
func follow(ctx context.Context, t *testing.T) func() (order []string, most int) {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	mu, order, coming, most := sync.Mutex{}, []string{}, map[string]bool{}, 0
	see := func(o any, created bool) {
		is := o.(*unstructured.Unstructured) //nolint:forcetypeassert // The informer is dynamic.
		mu.Lock()
		defer mu.Unlock()
		if created {
			order = append(order, is.GetName())
		}
		if coming[is.GetName()] = isComing(is); !coming[is.GetName()] {
			delete(coming, is.GetName())
		}
		most = max(most, len(coming))
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(host.Dynamic, claimKind, lost, 0, nil, func(*metav1.ListOptions) {}).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { see(o, true) },
		UpdateFunc: func(_, o any) { see(o, false) },
	}); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("cannot watch claims")
	}
	return func() ([]string, int) {
		stop()
		mu.Lock()
		defer mu.Unlock()
		return order, most
	}
}
