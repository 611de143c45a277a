//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	// awayFor is how long Crossplane, its providers and the function don't run.
	awayFor = 30 * time.Minute
	// syncedWithin is longer than Argo CD takes by default to look at a Git repository again, which is three minutes at most.
	syncedWithin = 6 * time.Minute
	// backFor is long enough for Crossplane and its providers to look at everything once they run again.
	backFor = 5 * time.Minute

	awayNamespace = "e2e-away"
	awaySecret    = "away-password"
	// awayChannel is the channel of one of the tenants, which has a record there.
	awayChannel = "e2e-away"
)

// away are two tenants whose Argo CDs deploy from Git while nothing of the platform's control plane runs.
type away struct {
	lives   []*claim.Live
	git     *gitserver.Private
	secrets ownSecrets

	// deployments are those of the control plane, as they were.
	deployments []appsv1.Deployment
	// running are the pods and composed resources of each tenant.
	running map[*claim.Live]map[string]types.UID
	// written is each tenant's claim and what the control plane has of it, as it was left.
	written map[*claim.Live]map[string]string
	// tenants is who wrote what in the tenants while the control plane was away: none of them is the control plane.
	tenants sets.Set[string]
	stopped time.Time
}

// TestControlPlaneAway runs on an embedded cluster of its own: it stops what is everybody's, and takes three quarters of an hour.
func TestControlPlaneAway(t *testing.T) {
	onlyOn(t, "away", "THIS STOPS CROSSPLANE FOR HALF AN HOUR")
	a := &away{running: map[*claim.Live]map[string]types.UID{}, written: map[*claim.Live]map[string]string{}}
	testenv.Test(t, features.New("control plane away").
		Setup(a.create).
		Assess("ListingsHaveAllOfAVirtualCluster", a.lists).
		Assess("CommitsAreSyncedMeanwhile", a.syncs).
		Assess("ItsReturnWritesNothing", a.returns).
		Assess("ChangesReachTenantsAgain", a.changes).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			a.start(ctx, t)
			cleanUp(ctx, t, a.lives...)
			if !t.Failed() || !keep {
				if err := all(t, channels).Delete(ctx, awayChannel, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
					t.Error(err)
				}
			}
			a.secrets.deleteAll(ctx, t)
			deleteNamespace(ctx, t, awayNamespace)
			return ctx
		}).Feature())
}

func (a *away) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(awayNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	a.git = gitserver.RunPrivate(ctx, t, host, awayNamespace, func(string) map[string]string { return map[string]string{"deployment.yaml": webManifest} })
	a.secrets.write(ctx, t, awaySecret, map[string]string{"username": gitserver.Username, "password": a.git.Password()})
	repositories := []any{map[string]any{"name": "web", "url": a.git.HTTPS(), "secretRef": map[string]any{"name": awaySecret}}}
	certificates := map[string]any{a.git.Host(): string(a.git.CA)}
	emptyChannel(ctx, t, awayChannel)
	of := func(name string) *claim.Claim {
		return newClaim(name).Set(repositories, "spec", "repositories").Set(certificates, "spec", "argocd", "values", "configs", "tls", "certificates")
	}
	for _, c := range []*claim.Claim{of("away1"), of("away2").Set(awayChannel, "spec", "channel")} {
		a.lives = append(a.lives, claim.Create(ctx, t, host, c))
	}
	for _, l := range a.lives {
		l.AwaitReady(ctx, t, readyWithin)
		api := loggedIn(ctx, t, l)
		createApp(ctx, t, api, "web", wholeOf(a.git.HTTPS()), argocd.InCluster)
		awaitHealthy(ctx, t, api, "web")
	}
	// What follows on Ready, such as the Usage, comes before the control plane goes.
	time.Sleep(settled)
	for _, l := range a.lives {
		a.running[l] = identities(ctx, t, l)
	}
	return ctx
}

// lists writes objects outside Argo CD's namespace into a virtual cluster, and expects the listings to have them. The objects aren't empty:
// API servers don't note who has written an object without fields.
func (a *away) lists(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const name = "e2e-listed"
	l, before, began := a.lives[0], a.objects(ctx, t), time.Now()
	virtual, meta, create := open(ctx, t, l).Typed, metav1.ObjectMeta{Name: name}, metav1.CreateOptions{FieldManager: name}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}}
	if _, err := virtual.RbacV1().ClusterRoles().Create(ctx, role, create); err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"key": "value"}}
	if _, err := virtual.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, config, create); err != nil {
		t.Fatal(err)
	}
	var written []string
	for _, w := range writesSince(before, a.objects(ctx, t), began) {
		if slices.Contains(w.who, name) {
			written = append(written, w.what)
		}
	}
	slices.Sort(written)
	created := "created " + l.Name + ": "
	if want := []string{created + "clusterroles.rbac.authorization.k8s.io /" + name, created + "configmaps default/" + name}; !slices.Equal(written, want) {
		t.Errorf("want %v, got %v", want, written)
	}
	err := errors.Join(virtual.RbacV1().ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}),
		virtual.CoreV1().ConfigMaps(metav1.NamespaceDefault).Delete(ctx, name, metav1.DeleteOptions{}))
	if err != nil {
		t.Error(err)
	}
	return ctx
}

// stop takes the whole control plane away. Crossplane goes first: it restores its packages' Deployments.
func (a *away) stop(ctx context.Context, t *testing.T) {
	t.Helper()
	list, err := host.Typed.AppsV1().Deployments(crossplane).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) < 5 {
		t.Fatalf("namespace %s has %d Deployments: want Crossplane, its RBAC manager, two providers and the function", crossplane, len(list.Items))
	}
	slices.SortFunc(list.Items, func(x, y appsv1.Deployment) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	a.deployments = list.Items
	for _, d := range a.deployments {
		scale(ctx, t, host.Typed.AppsV1().Deployments(crossplane), d.Name, 0)
		awaitPods(ctx, t, d, func(n int) bool { return n == 0 })
	}
	// API servers note the second of a write: the next one has none of the control plane's.
	time.Sleep(time.Second)
	a.stopped = time.Now()
}

// start gives each Deployment the replicas that it had.
func (a *away) start(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, d := range a.deployments {
		scale(ctx, t, host.Typed.AppsV1().Deployments(crossplane), d.Name, *d.Spec.Replicas)
	}
	for _, d := range a.deployments {
		awaitPods(ctx, t, d, func(n int) bool { return n > 0 })
	}
}

// awaitPods waits until as many pods of a Deployment are ready as wanted.
func awaitPods(ctx context.Context, t *testing.T, d appsv1.Deployment, wanted func(ready int) bool) {
	t.Helper()
	selector := metav1.FormatLabelSelector(d.Spec.Selector)
	eventually.True(ctx, t, 3*time.Minute, "the pods of Deployment "+d.Name+" come or go", func(ctx context.Context) (bool, string) {
		pods, err := host.Typed.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return false, err.Error()
		}
		n := 0
		for _, p := range pods.Items {
			if ready(p) {
				n++
			}
		}
		return wanted(n), fmt.Sprintf("%d pods of %d are ready", n, len(pods.Items))
	})
}

// syncs commits soon after the control plane is gone, and again shortly before it comes back.
func (a *away) syncs(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	a.stop(ctx, t)
	for _, l := range a.lives {
		a.written[l] = allWrittenFor(ctx, t, l)
	}
	before := a.objects(ctx, t)
	a.commit(ctx, t, "early")
	time.Sleep(time.Until(a.stopped.Add(awayFor - syncedWithin)))
	a.commit(ctx, t, "late")
	time.Sleep(time.Until(a.stopped.Add(awayFor)))

	a.tenants = sets.New[string]()
	for _, w := range writesSince(before, a.objects(ctx, t), a.stopped) {
		a.tenants.Insert(w.who...)
	}
	t.Log("While the control plane was away, these wrote in the tenants: ", strings.Join(sets.List(a.tenants), ", "))
	for who := range a.tenants {
		if strings.HasPrefix(who, "provider-") || strings.Contains(who, "crossplane") {
			t.Errorf("While the control plane was away, %s wrote in a tenant", who)
		}
	}
	return ctx
}

// commit changes what is deployed, and waits until every tenant has it.
func (a *away) commit(ctx context.Context, t *testing.T, what string) {
	t.Helper()
	hash := a.git.Commit(ctx, t, map[string]string{"what.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: what\ndata:\n  what: %s\n", what)})
	start := time.Now()
	for _, l := range a.lives {
		api, configs := loggedIn(ctx, t, l), open(ctx, t, l).Typed.CoreV1().ConfigMaps("web")
		eventually.True(ctx, t, syncedWithin, "Argo CD of "+l.Name+" syncs the "+what+" commit by itself", func(ctx context.Context) (bool, string) {
			app, err := api.Get(ctx, "web")
			if err != nil {
				return false, err.Error()
			}
			made, err := configs.Get(ctx, "what", metav1.GetOptions{})
			return app.Status.Sync.Revision == hash && err == nil && made.Data["what"] == what, fmt.Sprint(app, err)
		})
		measured.add(fmt.Sprintf("control plane away: %s commit to synced by %s", what, l.Name), time.Since(start))
	}
}

// returns starts the control plane. Whoever writes in a tenant then has written there before, without it. And nobody writes what the control
// plane has of a tenant.
func (a *away) returns(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before, began := a.objects(ctx, t), time.Now()
	a.start(ctx, t)
	time.Sleep(backFor)
	for _, l := range a.lives {
		l.AwaitReady(ctx, t, readyWithin)
	}
	for _, w := range writesSince(before, a.objects(ctx, t), began) {
		if who := sets.New(w.who...).Difference(a.tenants); len(who) > 0 || len(w.who) == 0 {
			t.Errorf("the return of the control plane has %s, by %v", w.what, sets.List(who))
		}
	}
	for _, l := range a.lives {
		for name, uid := range identities(ctx, t, l) {
			if had := a.running[l][name]; had != uid && !strings.HasPrefix(name, "Pod web-") {
				t.Errorf("claim %s: %s was %q and is %q", l.Name, name, had, uid)
			}
		}
		if diff := cmp.Diff(a.written[l], allWrittenFor(ctx, t, l)); diff != "" {
			t.Errorf("the return of the control plane has written what it has of claim %s: -before, +now:\n%s", l.Name, diff)
		}
	}
	return ctx
}

// changes shows that the control plane is at work again.
func (a *away) changes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	l := a.lives[0]
	l.Patch(ctx, t, "true", "spec", "argocd", "values", "configs", "cm", "statusbadge.enabled")
	api := loggedIn(ctx, t, l)
	eventually.True(ctx, t, 3*time.Minute, "a change of the claim reaches Argo CD", func(ctx context.Context) (bool, string) {
		settings, err := api.Settings(ctx)
		return settings["statusBadgeEnabled"] == true, fmt.Sprint(settings["statusBadgeEnabled"], err)
	})
	return ctx
}

// known are objects of the tenants by where they are, with what the API server knows of their writers.
type known map[string]metav1.PartialObjectMetadata

// objects of both tenants: everything in their namespaces on the host, and everything in their virtual clusters.
func (a *away) objects(ctx context.Context, t *testing.T) known {
	t.Helper()
	out := known{}
	for _, l := range a.lives {
		out.add(ctx, t, host, tenantNamespace(ctx, l), "")
		out.add(ctx, t, open(ctx, t, l), metav1.NamespaceAll, l.Name+": ")
	}
	return out
}

// add adds the objects of a namespace, or those of the whole cluster.
func (k known) add(ctx context.Context, t *testing.T, c *kube.Cluster, namespace, where string) {
	t.Helper()
	kinds, err := inventory.Kinds(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		if inventory.Ignored[kind.GroupResource()] {
			continue
		}
		list, err := c.Metadata.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if kerrors.IsNotFound(err) || kerrors.IsMethodNotSupported(err) {
			continue // A kind without namespaces, or without objects.
		}
		if err != nil {
			t.Fatalf("cannot list %s: %v", kind, err)
		}
		for _, o := range list.Items {
			k[fmt.Sprintf("%s%s %s/%s", where, kind.GroupResource(), o.Namespace, o.Name)] = o
		}
	}
}

// A write is what became of an object, and who wrote it.
type write struct {
	what string
	who  []string
}

// writesSince are the writes between two looks, the first of which was at a time.
func writesSince(before, after known, since time.Time) (out []write) {
	for name, now := range after {
		then, was := before[name]
		switch {
		case !was || then.UID != now.UID:
			out = append(out, write{"created " + name, writers(now, since)})
		case then.ResourceVersion != now.ResourceVersion:
			out = append(out, write{"changed " + name, writers(now, since)})
		}
	}
	for name, then := range before {
		if _, is := after[name]; !is {
			// Nobody knows who has deleted it. Its last writer is who keeps it, such as Argo CD's controller a cache.
			out = append(out, write{"deleted " + name, writers(then, time.Time{})})
		}
	}
	return out
}

// writers are the field managers that have written an object since a time. API servers note seconds.
func writers(o metav1.PartialObjectMetadata, since time.Time) (out []string) {
	for _, f := range o.ManagedFields {
		if f.Time != nil && !f.Time.Time.Before(since.Truncate(time.Second)) {
			out = append(out, f.Manager)
		}
	}
	return out
}
