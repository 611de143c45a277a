//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/external"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

const (
	// backupGit is the namespace of the Git server whose repository the Applications are of.
	backupGit = "e2e-backup-git"
	// keptApps is how many Applications the customer has in make e2e-full: one in a cluster outside, shoreApp, one that is out of sync and
	// that nobody syncs, manualApp, and the rest in the virtual cluster.
	keptApps            = 50
	shoreApp, manualApp = "on-shore", "by-hand"
	// shop is the namespace of shoreApp in the cluster outside, and settings what each Application has.
	shop, settings = "shop", "settings"
	// keptProject is the customer's own project.
	keptProject = "team"
)

const settingsManifest = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  is: kept
`

var projects = schema.GroupVersionKind{Group: applications.Group, Version: applications.Version, Kind: "AppProject"}

// furnish gives the customer fifty Applications that are synced, a project and credentials of its own, and a cluster outside.
func (b *backup) furnish(ctx context.Context, t *testing.T) {
	t.Helper()
	if _, err := createNamespace(backupGit)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	virtual := open(ctx, t, b.live)
	image := deployment(ctx, t, virtual, "argocd-repo-server").Spec.Template.Spec.Containers[0].Image
	repo := gitserver.RunPublic(ctx, t, host, backupGit, image, map[string]string{"config/settings.yaml": settingsManifest})

	shore := b.shore.AwaitReady(ctx, t, readyWithin)
	service, err := host.Typed.CoreV1().Services(shore.Namespace).Get(ctx, "vcluster", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	letIn(ctx, t, shore.Namespace, "original", tenantNamespace(ctx, b.live))
	cluster, err := external.Prepare(ctx, t, open(ctx, t, b.shore), "https://"+service.Spec.ClusterIP).Declarative()
	if err != nil {
		t.Fatal(err)
	}
	cluster["name"] = "shore"
	for kind, data := range map[string]map[string]string{
		"cluster":    cluster,
		"repository": {"type": "git", "url": "https://git.example.org/private.git", "username": "team", "password": "kept"},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "own-" + kind, Labels: map[string]string{"argocd.argoproj.io/secret-type": kind}}, StringData: data}
		if _, err := virtual.Typed.CoreV1().Secrets("argocd").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create := func(gvk schema.GroupVersionKind, name string, spec map[string]any) {
		t.Helper()
		of, err := virtual.Resource(gvk, "argocd")
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetGroupVersionKind(gvk)
		o.SetName(name)
		if _, err := of.Create(ctx, o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(projects, keptProject, map[string]any{
		"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "*"}},
		"clusterResourceWhitelist": []any{map[string]any{"group": "", "kind": "Namespace"}},
		"roles":                    []any{map[string]any{"name": "reader", "policies": []any{"p, proj:team:reader, applications, get, team/*, allow"}}},
	})
	app := func(name string, to map[string]any, automated bool) {
		t.Helper()
		spec := map[string]any{"project": keptProject, "source": map[string]any{"repoURL": repo, "path": "config", "targetRevision": "HEAD"}, "destination": to}
		if automated {
			spec["syncPolicy"] = map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}, "syncOptions": []any{"CreateNamespace=true"}}
		}
		create(applications, name, spec)
	}
	const here = "https://kubernetes.default.svc"
	for i := range keptApps - 2 {
		app(fmt.Sprintf("app-%d", i), map[string]any{"server": here, "namespace": fmt.Sprintf("app-%d", i)}, true)
	}
	app(manualApp, map[string]any{"server": here, "namespace": "default"}, false)
	app(shoreApp, map[string]any{"name": "shore", "namespace": shop}, true)
	b.awaitSynced(ctx, t, b.live, time.Time{})
	// Snapshots are taken in the control plane, and in no pod that poses as one.
	runImpostor(ctx, t, b.live)
}

// eachApp calls see with the Applications of a customer.
func eachApp(ctx context.Context, l *claim.Live, t *testing.T, see func(name string, o *unstructured.Unstructured)) error {
	t.Helper()
	apps, err := open(ctx, t, l).Resource(applications, "argocd")
	if err != nil {
		return err
	}
	list, err := apps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		see(list.Items[i].GetName(), &list.Items[i])
	}
	return nil
}

func statusOf(o *unstructured.Unstructured, path ...string) string {
	out, _, _ := unstructured.NestedString(o.Object, append([]string{"status"}, path...)...)
	return out
}

// awaitSynced waits until Argo CD has looked at all Applications after a time, and found that they are as they should be.
func (b *backup) awaitSynced(ctx context.Context, t *testing.T, l *claim.Live, after time.Time) {
	t.Helper()
	took := eventually.True(ctx, t, 10*time.Minute, fmt.Sprintf("%d Applications are compared, and synced but for one", keptApps), func(ctx context.Context) (bool, string) {
		n, wrong := 0, ""
		err := eachApp(ctx, l, t, func(name string, o *unstructured.Unstructured) {
			n++
			want := "Synced"
			if name == manualApp {
				want = "OutOfSync"
			}
			at, _ := time.Parse(time.RFC3339, statusOf(o, "reconciledAt"))
			if is := statusOf(o, "sync", "status"); is != want || !at.After(after) || name != manualApp && statusOf(o, "health", "status") != "Healthy" {
				wrong = fmt.Sprintf("%s is %s, %s, and was compared at %s", name, is, statusOf(o, "health", "status"), at)
			}
		})
		return err == nil && n == keptApps && wrong == "", fmt.Sprint(n, " Applications; ", wrong, err)
	})
	measured.add(fmt.Sprintf("backup: %d Applications compared and synced, %s", keptApps, l.Name), took)
}

// syncs are what Applications tell of their syncs, by name.
func syncs(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := eachApp(ctx, l, t, func(name string, o *unstructured.Unstructured) {
		history, _, _ := unstructured.NestedSlice(o.Object, "status", "history")
		operation, _, _ := unstructured.NestedMap(o.Object, "status", "operationState")
		raw, err := json.Marshal(map[string]any{"history": history, "operation": operation, "asked": o.Object["operation"]})
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(raw)
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// compared are when Argo CD has compared Applications, by name.
func compared(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := eachApp(ctx, l, t, func(name string, o *unstructured.Unstructured) { out[name] = statusOf(o, "reconciledAt") }); err != nil {
		t.Fatal(err)
	}
	return out
}

// still is longer than an application controller that runs needs until it compares what it has last compared minutes ago.
const still = 45 * time.Second

// doesNotAct fails the test where Argo CD compares an Application.
func doesNotAct(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	was := compared(ctx, t, l)
	time.Sleep(still)
	if diff := cmp.Diff(was, compared(ctx, t, l)); diff != "" {
		t.Errorf("claim %s: Argo CD has compared Applications, though it must not act: -before, +after:\n%s", l.Name, diff)
	}
}

// belongings are what has to come back: UIDs of Applications, the project and what Applications have deployed, with the times of the last
// writes, and the credentials.
func belongings(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	out := map[string]string{}
	virtual := open(ctx, t, l)
	for name, uid := range applicationUIDs(ctx, t, l) {
		out["Application/"+name] = uid
	}
	of, err := virtual.Resource(projects, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	project, err := of.Get(ctx, keptProject, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out["AppProject/"+keptProject] = fmt.Sprint(project.GetUID(), project.Object["spec"])
	secrets, err := virtual.Typed.CoreV1().Secrets("argocd").List(ctx, metav1.ListOptions{LabelSelector: "argocd.argoproj.io/secret-type"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets.Items {
		out["Secret/"+s.Name] = fmt.Sprint(s.UID, len(s.Data), string(s.Data["server"]), string(s.Data["url"]), string(s.Data["password"]) == "kept")
	}
	configs, err := virtual.Typed.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + settings})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs.Items {
		text := string(c.UID)
		for _, f := range c.ManagedFields {
			text += fmt.Sprint(" ", f.Manager, " ", f.Operation, " ", f.Time)
		}
		out["ConfigMap/"+c.Namespace] = text
	}
	return out
}

// onShore is what the customer's cluster outside has, as it was last written.
func (b *backup) onShore(ctx context.Context, t *testing.T) string {
	t.Helper()
	is, err := open(ctx, t, b.shore).Typed.CoreV1().ConfigMaps(shop).Get(ctx, settings, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(is.UID) + "/" + is.ResourceVersion
}

// belongingsBefore is what the customer had before its tenant was destroyed.
type belongingsBefore struct {
	syncs, belongings map[string]string
	shore, volume     string
}

// remember notes what has to come back.
func (b *backup) remember(ctx context.Context, t *testing.T) {
	t.Helper()
	claims, err := host.Typed.CoreV1().PersistentVolumeClaims(tenantNamespace(ctx, b.live)).Get(ctx, "data-vcluster-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.had = belongingsBefore{syncs: syncs(ctx, t, b.live), belongings: belongings(ctx, t, b.live), shore: b.onShore(ctx, t), volume: claims.Spec.VolumeName}
	if len(b.had.syncs) != keptApps || len(b.had.belongings) < 2*keptApps {
		t.Fatalf("the customer has %d Applications, and %d belongings", len(b.had.syncs), len(b.had.belongings))
	}
}

// volumeGone waits until the volume of a deleted tenant is gone.
func volumeGone(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, "the volume is gone", func(ctx context.Context) (bool, string) {
		v, err := host.Typed.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
		return kerrors.IsNotFound(err), fmt.Sprint(v.Status, err)
	})
}

// isBack fails the test where something of the customer's didn't come back, or a sync has run.
func (b *backup) isBack(ctx context.Context, t *testing.T, when string) {
	t.Helper()
	if diff := cmp.Diff(b.had.belongings, belongings(ctx, t, b.live)); diff != "" {
		t.Errorf("%s, the customer's objects: -before, +now:\n%s", when, diff)
	}
	if diff := cmp.Diff(b.had.syncs, syncs(ctx, t, b.live)); diff != "" {
		t.Errorf("%s, what Applications tell of their syncs: -before, +now:\n%s", when, diff)
	}
	if is := b.onShore(ctx, t); is != b.had.shore {
		t.Errorf("%s, the cluster outside was written to: %s, then %s", when, b.had.shore, is)
	}
}

// copyIsHarmless: a copy that isn't activated knows no cluster, compares nothing, and touches nothing outside.
func (b *backup) copyIsHarmless(ctx context.Context, t *testing.T) {
	t.Helper()
	shore := b.onShore(ctx, t)
	letIn(ctx, t, tenantNamespace(ctx, b.shore), "copy", tenantNamespace(ctx, b.copy))
	virtual := open(ctx, t, b.copy)
	if of := clustersOf(ctx, t, b.copy); len(of) != 0 {
		t.Errorf("before it is activated, the copy has the clusters %v", of)
	}
	if _, err := virtual.Typed.CoreV1().Secrets("argocd").Get(ctx, "own-repository", metav1.GetOptions{}); err != nil {
		t.Errorf("the copy hasn't got the repository: %v", err)
	}
	of, err := virtual.Resource(projects, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := of.Get(ctx, keptProject, metav1.GetOptions{}); err != nil {
		t.Errorf("the copy hasn't got the project: %v", err)
	}
	doesNotAct(ctx, t, b.copy)
	original := syncs(ctx, t, b.live)
	const none = `{"asked":null,"history":null,"operation":null}`
	for name, is := range syncs(ctx, t, b.copy) {
		// An Application of a copy may have the history of its original.
		if is != none && is != original[name] {
			t.Errorf("Application %s of the copy tells %s of its syncs, the original %s", name, is, original[name])
		}
	}
	if is := b.onShore(ctx, t); is != shore {
		t.Errorf("the copy has written to the cluster of the original: %s, then %s", shore, is)
	}
}

// clustersOf are the servers of the clusters that a customer has registered.
func clustersOf(ctx context.Context, t *testing.T, l *claim.Live) (out []string) {
	t.Helper()
	list, err := open(ctx, t, l).Typed.CoreV1().Secrets("argocd").List(ctx, metav1.ListOptions{LabelSelector: "argocd.argoproj.io/secret-type=cluster"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		out = append(out, string(s.Data["server"]))
	}
	return out
}

// copyActs activates the copy once the original is asleep: it has the clusters then, takes over what the original has deployed without a
// sync, and heals it.
func (b *backup) copyActs(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	shore, clusters := b.onShore(ctx, t), clustersOf(ctx, t, b.live)
	b.live.Patch(ctx, t, true, "spec", "hibernation", "enabled")
	sleeps(ctx, t, b.live, "spec.hibernation.enabled says so")
	apps, err := open(ctx, t, b.copy).Resource(applications, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apps.Patch(ctx, manualApp, types.MergePatchType, []byte(`{"metadata":{"labels":{"example.org/changed":"true"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	b.copy.Patch(ctx, t, true, "spec", "restoreFrom", "activate")
	state := b.copy.Await(ctx, t, readyWithin, "the copy acts", func(s *claim.State) bool { return s.True(claim.Restored) && s.IsReady() })
	measured.add("backup: a copy's activation to Ready", time.Since(start))
	if is, err := apps.Get(ctx, manualApp, metav1.GetOptions{}); err != nil || is.GetLabels()["example.org/changed"] != "true" || state.Restore.Applications != appsIn() {
		t.Errorf("what was changed before the copy was activated is lost, or what came back isn't counted any more: %v, %+v", err, state.Restore)
	}
	if diff := cmp.Diff(clusters, clustersOf(ctx, t, b.copy)); diff != "" {
		t.Errorf("once it is activated, the clusters of the copy: -original, +copy:\n%s", diff)
	}
	b.awaitSynced(ctx, t, b.copy, start)
	if is := b.onShore(ctx, t); is != shore {
		t.Errorf("the copy has synced what was as it should be: %s, then %s", shore, is)
	}
	configs := open(ctx, t, b.shore).Typed.CoreV1().ConfigMaps(shop)
	if err := configs.Delete(ctx, settings, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, 3*time.Minute, "the copy heals what it has taken over", func(ctx context.Context) (bool, string) {
		_, err := configs.Get(ctx, settings, metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	// Both at once would be what nobody should do.
	deleteAndAwait(ctx, t, b.copy, goneWithin)
	b.live.Patch(ctx, t, nil, "spec", "hibernation")
	wakes(ctx, t, b.live)
	return ctx
}

// ofAnother: a claim can't name a claim of another namespace, and one of that name in its own namespace has no backup.
func (b *backup) ofAnother(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	const namespace = "e2e-restore-thief"
	if _, err := createNamespace(namespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{claims + "/backed-up", "../" + claims + "/backed-up"} {
		if _, err := claim.Submit(ctx, host, newClaim("thief").In(namespace).Set(tenant, "spec", "restoreFrom", "tenant")); !kerrors.IsInvalid(err) {
			t.Errorf("restoreFrom.tenant %q: want it refused, got %v", tenant, err)
		}
	}
	for _, backup := range []string{"../../" + claims + "/backed-up/" + b.good.Name, b.good.Name + ".tar"} {
		if _, err := claim.Submit(ctx, host, newClaim("thief").In(namespace).Set(backup, "spec", "restoreFrom", "backup")); !kerrors.IsInvalid(err) {
			t.Errorf("restoreFrom.backup %q: want it refused, got %v", backup, err)
		}
	}
	l := claim.Create(ctx, t, host, newClaim("thief").In(namespace).Set(map[string]any{"tenant": "backed-up", "backup": b.good.Name}, "spec", "restoreFrom"))
	state := l.Await(ctx, t, readyWithin, "it says that there is no such backup", func(s *claim.State) bool {
		return s.Condition(claim.Restored).Reason == v1alpha1.ReasonRestoreFailed
	})
	if is := state.Condition(claim.Restored).Message; !strings.Contains(is, b.good.Name) {
		t.Errorf("it says: %s", is)
	}
	if apps := applicationUIDs(ctx, t, l); len(apps) != 0 {
		t.Errorf("a claim of another namespace has got %v", apps)
	}
	deleteAndAwait(ctx, t, l, goneWithin)
	deleteNamespace(ctx, t, namespace)
	return ctx
}
