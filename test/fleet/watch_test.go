//go:build e2e

package fleet

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

var (
	claimKind     = schema.GroupVersionResource{Group: "virtualargocd.io", Version: "v1alpha1", Resource: "virtualargocds"}
	compositeKind = schema.GroupVersionResource{Group: "virtualargocd.io", Version: "v1alpha1", Resource: "xvirtualargocds"}
	releaseKind   = schema.GroupVersionResource{Group: "helm.crossplane.io", Version: "v1beta1", Resource: "releases"}
	usageKind     = schema.GroupVersionResource{Group: "protection.crossplane.io", Version: "v1beta1", Resource: "clusterusages"}
	objectKind    = schema.GroupVersionResource{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Resource: "objects"}
	namespaceKind = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// A crowd is a watched set of objects of a kind.
type crowd struct {
	kind  schema.GroupVersionResource
	store cache.Store
}

// watch watches the objects of a kind that a label selector matches, in a namespace or everywhere.
func watch(ctx context.Context, t *testing.T, kind schema.GroupVersionResource, namespace, selector string) crowd {
	t.Helper()
	informer := dynamicinformer.NewFilteredDynamicInformer(host.Dynamic, kind, namespace, 0, nil,
		func(o *metav1.ListOptions) { o.LabelSelector = selector }).Informer()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatalf("cannot watch %s", kind.Resource)
	}
	return crowd{kind: kind, store: informer.GetStore()}
}

// await waits until n objects are as wanted, and returns how long after a time each of them was.
func (c crowd) await(ctx context.Context, t *testing.T, since time.Time, within time.Duration, n int, what string, wanted func(*unstructured.Unstructured) bool) []time.Duration {
	t.Helper()
	seen := map[string]time.Duration{}
	last, left := "", time.Now().Add(within)
	for len(seen) < n {
		for _, o := range c.store.List() {
			o := o.(*unstructured.Unstructured) //nolint:forcetypeassert // The informer is dynamic.
			if _, ok := seen[o.GetName()]; ok {
				continue
			}
			if wanted(o) {
				seen[o.GetName()] = time.Since(since)
			} else {
				last = fmt.Sprint(o.GetName(), ": ", o.Object["status"])
			}
		}
		if time.Now().After(left) || ctx.Err() != nil {
			t.Fatalf("%s: not %d %s within %s, but %d; one of the others is %s", what, n, c.kind.Resource, within, len(seen), last)
		}
		time.Sleep(100 * time.Millisecond)
	}
	out := make([]time.Duration, 0, n)
	for _, d := range seen {
		out = append(out, d)
	}
	return out
}

// awaitReady waits until a claim is Ready.
func (c crowd) awaitReady(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	c.await(ctx, t, time.Now(), inVain, 1, "become Ready", func(o *unstructured.Unstructured) bool { return o.GetName() == name && isReady(o) })
}

// awaitNone waits until there is none.
func (c crowd) awaitNone(ctx context.Context, t *testing.T) {
	t.Helper()
	c.awaitGone(ctx, t, func(string) bool { return true })
}

// awaitGone waits until there is none for which meant returns true.
func (c crowd) awaitGone(ctx context.Context, t *testing.T, meant func(name string) bool) {
	t.Helper()
	for end := time.Now().Add(deletedWithin); ; time.Sleep(100 * time.Millisecond) {
		left := slices.DeleteFunc(c.store.ListKeys(), func(name string) bool { return !meant(name) })
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) || ctx.Err() != nil {
			t.Fatalf("%d %s are left after %s, such as %s", len(left), c.kind.Resource, deletedWithin, left[0])
		}
	}
}

// isReady reports whether a claim is Ready.
func isReady(o *unstructured.Unstructured) bool { return phaseOf(o) == "Ready" }

func phaseOf(o *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}
