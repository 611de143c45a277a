//go:build e2e

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/figures"
)

// asleepWrites is how long one tenant that is asleep has to go without a write of its objects, on average.
const asleepWrites = 10 * time.Minute

// merge merges fields into a claim.
func merge(ctx context.Context, t *testing.T, namespace, name string, fields map[string]any) {
	t.Helper()
	patch, err := json.Marshal(fields)
	if err == nil {
		_, err = host.Dynamic.Resource(claimKind).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// mergeAll merges fields into the first n claims of the fleet.
func mergeAll(ctx context.Context, t *testing.T, n int, fields map[string]any) {
	t.Helper()
	for i := range n {
		merge(ctx, t, namespace, fmt.Sprintf("tenant%04d", i), fields)
	}
}

// knows reports whether claims can have fields: those of an earlier release may not.
func knows(ctx context.Context, t *testing.T, fields map[string]any) bool {
	t.Helper()
	patch, err := json.Marshal(fields)
	if err == nil {
		_, err = host.Dynamic.Resource(claimKind).Namespace(namespace).Patch(ctx, "tenant0000", types.MergePatchType, patch, metav1.PatchOptions{
			DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
		})
	}
	if err != nil && !strings.Contains(err.Error(), "unknown field") {
		t.Fatal(err)
	}
	return err == nil
}

// onlyWhenAsked is a schedule that doesn't come while a test runs.
const onlyWhenAsked = "0 0 29 2 *"

// isBackedUp reports whether a claim has a good backup.
func isBackedUp(o *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(o.Object, "status", "backup", "name")
	return name != ""
}

// backsUp has a fifth of all tenants backed up.
func backsUp(ctx context.Context, t *testing.T, table *figures.Table, claims crowd, n int) {
	t.Helper()
	some, fields := max(1, n/5), map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationBackup: "1"}},
		"spec":     map[string]any{"backup": map[string]any{"enabled": true, "schedule": onlyWhenAsked}},
	}
	if !knows(ctx, t, fields) {
		return
	}
	before, began := readAPIServer(ctx, t), time.Now()
	mergeAll(ctx, t, some, fields)
	table.AddTimes(fmt.Sprintf("from %d annotations to a backup, median / 95 %% / all", some), claims.await(ctx, t, began, each(some), some, "are backed up", isBackedUp))
	table.Add("writes to etcd by a backup", "%.0f a tenant", spentSince(ctx, t, before).EtcdWrites()/float64(some))
}

// sleeps has all tenants sleep, measures what they cost then, checks that it isn't too much, and wakes them.
func sleeps(ctx context.Context, t *testing.T, table *figures.Table, claims crowd, n int, quiet time.Duration) {
	t.Helper()
	fields := map[string]any{"spec": map[string]any{"hibernation": map[string]any{"enabled": true}}}
	if !knows(ctx, t, fields) {
		return
	}
	before, began := readAPIServer(ctx, t), time.Now()
	mergeAll(ctx, t, n, fields)
	table.AddTimes("from the first edit to asleep, median / 95 % / all", claims.await(ctx, t, began, each(n), n, "fall asleep", isAsleep))
	table.Add("writes to etcd until all are asleep", "%.0f a tenant", spentSince(ctx, t, before).EtcdWrites()/float64(n))

	time.Sleep(min(quiet, settled))
	writes := countWrites(ctx, t)
	used, reconciled, began := readProcesses(t), readReconciles(ctx, t), time.Now()
	time.Sleep(quiet)
	took, wrote := time.Since(began), writes()
	total := 0
	for _, of := range wrote {
		total += of
	}
	table.Add("asleep: writes of tenants' objects", "%d, %.3f a tenant in 10 minutes", total, float64(total)/float64(n)*float64(asleepWrites)/float64(took))
	table.Add("asleep: reconciles of composite resources", "%.3f a tenant in 10 minutes", (readReconciles(ctx, t)-reconciled)/float64(n)*float64(asleepWrites)/float64(took))
	addProcesses(table, "asleep", used, readProcesses(t), took)
	if most := float64(n) * max(1, float64(took)/float64(asleepWrites)); float64(total) > most {
		t.Errorf("%d objects of %d tenants that are asleep were written in %s, want at most %.0f: %v", total, n, took, most, wrote)
	}

	before, began = readAPIServer(ctx, t), time.Now()
	mergeAll(ctx, t, n, map[string]any{"spec": map[string]any{"hibernation": nil}})
	table.AddTimes("from the first edit to awake, median / 95 % / all", claims.await(ctx, t, began, each(n), n, "wake up", isReady))
	table.Add("writes to etcd until all are awake", "%.0f a tenant", spentSince(ctx, t, before).EtcdWrites()/float64(n))
}

func isAsleep(o *unstructured.Unstructured) bool {
	return phaseOf(o) == string(v1alpha1.PhaseHibernated)
}

// countWrites counts the writes of what belongs to tenants, by resource, until the function that it returns is called.
func countWrites(ctx context.Context, t *testing.T) func() map[string]int {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	mu, wrote := sync.Mutex{}, map[string]int{}
	count := func(resource string) {
		mu.Lock()
		defer mu.Unlock()
		wrote[resource]++
	}
	core := func(group, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	}
	inPlatform := []schema.GroupVersionResource{core("", "secrets"), core("", "configmaps"), core("", "serviceaccounts"), core("batch", "jobs"), core("batch", "cronjobs")}
	everywhere := []schema.GroupVersionResource{claimKind, compositeKind, releaseKind, objectKind, usageKind, namespaceKind}
	watches := func(kind schema.GroupVersionResource, in, selector string) {
		informer := dynamicinformer.NewFilteredDynamicInformer(host.Dynamic, kind, in, 0, nil, func(o *metav1.ListOptions) { o.LabelSelector = selector }).Informer()
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(_ any, isInInitialList bool) {
				if !isInInitialList {
					count(kind.Resource)
				}
			},
			UpdateFunc: func(was, is any) {
				//nolint:forcetypeassert // The informer is dynamic.
				if was.(*unstructured.Unstructured).GetResourceVersion() != is.(*unstructured.Unstructured).GetResourceVersion() {
					count(kind.Resource)
				}
			},
			DeleteFunc: func(any) { count(kind.Resource) },
		})
		if err != nil {
			t.Fatal(err)
		}
		go informer.RunWithContext(ctx)
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Fatalf("cannot watch %s", kind.Resource)
		}
	}
	for _, kind := range inPlatform {
		watches(kind, crossplane, tenant.LabelTenant)
	}
	for _, kind := range everywhere {
		selector := ""
		if kind == namespaceKind {
			selector = tenant.LabelTenant
		}
		watches(kind, "", selector)
	}
	return func() map[string]int {
		stop()
		mu.Lock()
		defer mu.Unlock()
		return wrote
	}
}
