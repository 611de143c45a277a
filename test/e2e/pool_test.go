//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const poolName = "e2e-pool"

var (
	poolKind      = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.PoolKind}
	compositeKind = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.Kind}
)

// pooled is a pool, and those who take from it.
type pooled struct {
	pool, plan *unstructured.Unstructured
	lives      []*claim.Live
	// spares are the UIDs of the spares that were there first, by name.
	spares map[string]types.UID
}

// TestPool: new VirtualArgoCDs take the spares of a pool, each another one, and nothing is left over of any of them.
func TestPool(t *testing.T) {
	onlyInFull(t)
	p := &pooled{}
	testenv.Test(t, features.New("pool").
		Setup(p.create).
		Assess("SparesAreMade", p.fills).
		Assess("EachIsTakenOnce", p.taken).
		Assess("SpareSleepsAndIsTaken", p.asleep).
		Assess("TenantsOutliveThePool", p.deleted).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			p.remove(ctx, t)
			return ctx
		}).Feature())
}

// remove deletes all that is left.
func (p *pooled) remove(ctx context.Context, t *testing.T) {
	t.Helper()
	cleanUp(ctx, t, p.lives...)
	if t.Failed() && keep {
		return
	}
	for _, o := range []*unstructured.Unstructured{p.pool, p.plan} {
		if o != nil {
			_ = all(t, o.GroupVersionKind()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
		}
	}
}

func (p *pooled) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, o := range examplesOf(t, "plans/small.yaml") {
		if o.GetKind() == v1alpha1.PlanKind {
			p.plan = o
		}
	}
	p.plan.SetName(poolName)
	p.plan.SetLabels(nil)
	unstructured.RemoveNestedField(p.plan.Object, "spec", "namespaces")
	p.pool = examplesOf(t, "pools/small.yaml")[0]
	p.pool.SetName(poolName)
	p.pool.Object["spec"] = map[string]any{"plan": poolName, "size": int64(2)}
	for _, o := range []*unstructured.Unstructured{p.plan, p.pool} {
		if _, err := all(t, o.GroupVersionKind()).Create(ctx, o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Fatal(err)
		}
	}
	return ctx
}

func (p *pooled) set(ctx context.Context, t *testing.T, spec string) {
	t.Helper()
	if _, err := all(t, poolKind).Patch(ctx, poolName, types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// offers waits until the pool offers a number of spares, of which some are asleep.
func (p *pooled) offers(ctx context.Context, t *testing.T, within time.Duration, offered, asleep int64) {
	t.Helper()
	eventually.True(ctx, t, within, fmt.Sprintf("%d spares are offered, and %d are asleep", offered, asleep), func(ctx context.Context) (bool, string) {
		o, err := all(t, poolKind).Get(ctx, poolName, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		is, _, _ := unstructured.NestedInt64(o.Object, "status", "offered")
		sleeps, _, _ := unstructured.NestedInt64(o.Object, "status", "asleep")
		return is == offered && sleeps == asleep, fmt.Sprint(o.Object["status"])
	})
}

// free are the UIDs of the spares that nobody has, by name.
func (p *pooled) free(ctx context.Context, t *testing.T) map[string]types.UID {
	t.Helper()
	list, err := all(t, compositeKind).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPool + "=" + poolName})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]types.UID{}
	for _, o := range list.Items {
		out[o.GetName()] = o.GetUID()
	}
	return out
}

func (p *pooled) fills(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	p.offers(ctx, t, 2*readyWithin, 2, 0)
	if p.spares = p.free(ctx, t); len(p.spares) != 2 {
		t.Fatalf("spares %v", p.spares)
	}
	return ctx
}

// take creates VirtualArgoCDs at once.
func (p *pooled) take(ctx context.Context, t *testing.T, names ...string) []*claim.Live {
	t.Helper()
	var out []*claim.Live
	for _, name := range names {
		out = append(out, claim.Create(ctx, t, host, newFront(name, claims).Set(poolName, "spec", "plan")))
	}
	p.lives = append(p.lives, out...)
	return out
}

func (p *pooled) taken(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	controlPlanes := func() map[string]string {
		out := map[string]string{}
		for name := range p.spares {
			of, _ := podsOf(ctx, t, "vargo-"+name, nil)
			out[name] = of["vcluster-0"]
		}
		return out
	}
	before := controlPlanes()
	start := time.Now()
	lives := p.take(ctx, t, "pooled-a", "pooled-b", "pooled-c")
	took := map[string]bool{}
	for _, l := range lives {
		l.AwaitReady(ctx, t, readyWithin)
		measured.add("pool: created to Ready, three at once on two spares", time.Since(start))
		xr, err := l.XR(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if uid, ok := p.spares[xr.GetName()]; ok {
			if uid != xr.GetUID() || took[xr.GetName()] {
				t.Errorf("spare %s is another, or is taken twice", xr.GetName())
			}
			took[xr.GetName()] = true
		}
		if len(xr.GetOwnerReferences()) > 0 || xr.GetLabels()[v1alpha1.LabelSpare] != "" {
			t.Errorf("%s is still a spare: %v, %v", xr.GetName(), xr.GetOwnerReferences(), xr.GetLabels())
		}
		loggedIn(ctx, t, l)
	}
	if len(took) != 2 {
		t.Errorf("of two spares, %d were taken", len(took))
	}
	keepsPods(t, "a spare that is taken", before, controlPlanes())
	p.offers(ctx, t, 2*readyWithin, 2, 0)
	for name := range p.free(ctx, t) {
		if _, ok := p.spares[name]; ok {
			t.Errorf("spare %s is there again", name)
		}
	}
	return ctx
}

func (p *pooled) asleep(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	p.set(ctx, t, `{"size":1,"asleep":true}`)
	p.offers(ctx, t, 3*time.Minute, 1, 1)
	start := time.Now()
	l := p.take(ctx, t, "pooled-d")[0]
	l.AwaitReady(ctx, t, readyWithin)
	measured.add("pool: created to Ready, from a spare that slept", time.Since(start))
	loggedIn(ctx, t, l)
	return ctx
}

func (p *pooled) deleted(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if err := all(t, poolKind).Delete(ctx, poolName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, goneWithin, "the spares are gone with their pool", func(ctx context.Context) (bool, string) {
		left := p.free(ctx, t)
		return len(left) == 0, fmt.Sprint(left)
	})
	for _, l := range p.lives {
		if s, err := l.State(ctx); err != nil || !s.IsReady() {
			t.Errorf("%s has suffered: %v, %v", l.Name, s, err)
		}
	}
	for _, l := range p.lives {
		xr := l.XRName(ctx, t)
		deleteAndAwait(ctx, t, l, goneWithin)
		list, err := all(t, compositeKind).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if strings.HasPrefix(o.GetName(), xr) {
				t.Errorf("%s of %s is left", o.GetName(), l.Name)
			}
		}
	}
	p.lives, p.pool = nil, nil
	return ctx
}
