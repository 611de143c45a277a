//go:build e2e

package e2e

import (
	"context"
	"fmt"
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
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
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
		Assess("SettingsOfTheTakerFollow", p.ownSettings).
		Assess("EachIsTakenOnce", p.taken).
		Assess("PlansEditReplacesOneAfterTheOther", p.replaced).
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

// A running is what of a spare stays the same whoever takes it: its pods but those that have Argo CD's URL in their settings, and the revisions
// of its Helm releases.
type running struct {
	pods     map[string]string
	releases map[string]int64
}

// run returns what is running of the spares that were there first, by name.
func (p *pooled) run(ctx context.Context, t *testing.T) map[string]running {
	t.Helper()
	out := map[string]running{}
	for name := range p.spares {
		r := running{pods: podsBesideArgoCD(ctx, t, "vargo-"+name), releases: map[string]int64{}}
		for _, of := range []string{vclusterRelease, argocdRelease} {
			o, err := releases(t).Get(ctx, name+"-"+of, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if r.releases[of], _, _ = unstructured.NestedInt64(o.Object, "status", "atProvider", "revision"); r.releases[of] < 1 {
				t.Fatalf("Release %s of spare %s has no revision", of, name)
			}
		}
		out[name] = r
	}
	return out
}

// same fails for what of a spare isn't as it was. updates is how often Argo CD may have been updated.
func (r running) same(t *testing.T, now running, updates int64) {
	t.Helper()
	keepsPods(t, "a spare that is taken", r.pods, now.pods)
	if was, is := r.releases[vclusterRelease], now.releases[vclusterRelease]; is != was {
		t.Errorf("with a spare that is taken, the release of its virtual cluster goes from revision %d to %d", was, is)
	}
	if was, is := r.releases[argocdRelease], now.releases[argocdRelease]; is < was || is > was+updates {
		t.Errorf("with a spare that is taken, the release of its Argo CD goes from revision %d to %d, want %d more at most", was, is, updates)
	}
}

// ownSettings: what the taker of a spare asks for beside the plan is an update of the spare. Its virtual cluster goes on.
func (p *pooled) ownSettings(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before := p.run(ctx, t)
	c := newFront("pooled-own", claims).Set(poolName, "spec", "plan").ArgoCDValue("pool", "server", "deploymentAnnotations", "e2e")
	url := ""
	if ingress.Address != "" {
		c.Set("pooled-own."+ingress.Domain, "spec", "ingress", "host")
		url = "https://pooled-own." + ingress.Domain
	}
	start := time.Now()
	l := claim.Create(ctx, t, host, c)
	p.lives = append(p.lives, l)
	l.AwaitReady(ctx, t, readyWithin)
	measured.add("pool: created to Ready, with values and a hostname of its own", time.Since(start))
	name := l.XRName(ctx, t)
	if _, ok := p.spares[name]; !ok {
		t.Fatalf("it has %s, which is none of the spares %v", name, p.spares)
	}
	annotated(ctx, t, l, "pool")
	if url != "" {
		// It is Ready as what the spare was, and its own settings follow.
		l.Await(ctx, t, readyWithin, "is at its own URL", func(s *claim.State) bool { return s.ArgoCD.URL == url })
		awaitDetails(ctx, t, l, "has its own URL", func(details map[string]string) (bool, string) { return details["url"] == url, details["url"] })
		settings, err := open(ctx, t, l).Typed.CoreV1().ConfigMaps("argocd").Get(ctx, "argocd-cm", metav1.GetOptions{})
		if err != nil || settings.Data["url"] != url {
			t.Errorf("its Argo CD thinks that it is at %q, want %s: %v", settings.Data["url"], url, err)
		}
	}
	loggedIn(ctx, t, l)
	// The hostname may come after the values.
	before[name].same(t, p.run(ctx, t)[name], 2)
	p.offers(ctx, t, 2*readyWithin, 2, 0)
	p.spares = p.free(ctx, t)
	return ctx
}

func (p *pooled) taken(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before := p.run(ctx, t)
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
	for name, now := range p.run(ctx, t) {
		before[name].same(t, now, 1)
	}
	p.offers(ctx, t, 2*readyWithin, 2, 0)
	for name := range p.free(ctx, t) {
		if _, ok := p.spares[name]; ok {
			t.Errorf("spare %s is there again", name)
		}
	}
	return ctx
}

// replaced: spares that aren't what a new tenant of the plan would be are replaced, and never all at once.
func (p *pooled) replaced(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	was := p.free(ctx, t)
	if _, err := all(t, p.plan.GroupVersionKind()).Patch(ctx, poolName, types.MergePatchType, []byte(`{"spec":{"loadBalancers":1}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	fewest := len(was)
	took := eventually.True(ctx, t, 3*readyWithin, "both spares are others", func(ctx context.Context) (bool, string) {
		is := p.free(ctx, t)
		fewest = min(fewest, len(is))
		for name := range was {
			if _, ok := is[name]; ok {
				return false, fmt.Sprint(is)
			}
		}
		return true, ""
	})
	measured.add("pool: edit of the plan to two other spares", took)
	if fewest < 1 {
		t.Error("the edit of a plan left a pool of two without any")
	}
	p.offers(ctx, t, 2*readyWithin, 2, 0)
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
		// Its name doesn't say whose the tenant is.
		eventually.True(ctx, t, goneWithin, "everything of "+xr+" is gone", func(ctx context.Context) (bool, string) {
			left, err := inventory.Take(ctx, host)
			if err != nil {
				return false, err.Error()
			}
			of := left.About(xr)
			return len(of) == 0, "\n" + of.String()
		})
	}
	p.lives, p.pool = nil, nil
	return ctx
}
