//go:build e2e

package e2e

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/store"
)

const (
	storeNamespace = "e2e-store"
	// backedUpWithin is how long a backup may take, with the images that no other pod has.
	backedUpWithin = 3 * time.Minute
)

// backup is a customer whose Argo CD is backed up.
type backup struct {
	live  *claim.Live
	store *store.Store
	// good is the last good backup.
	good claim.BackupState
	// apps are the Applications that were backed up, by name, with their UIDs, and password the admin's.
	apps     map[string]string
	password string
	// copy is a copy of it, and shore a cluster that both know.
	copy, shore *claim.Live
	// had is what has to come back.
	had belongingsBefore
}

func TestBackup(t *testing.T) {
	needsEmbedded(t)
	t.Parallel()
	b := &backup{}
	testenv.Test(t, features.New("backup").
		Setup(b.create).
		Assess("OnDemand", b.onDemand).
		Assess("HasEverything", b.hasEverything).
		Assess("KeepsAsMany", b.keeps).
		Assess("WrongCredentialsAreTold", b.wrongCredentials).
		Assess("PlainRemoteIsRefused", b.plainRemote).
		Assess("KilledInTheMiddle", b.killed).
		Assess("KilledWhileStoring", b.killedWhileStoring).
		Assess("StoreIsGone", b.storeGone).
		Assess("StoreHangs", b.storeHangs).
		Assess("StoreIsFull", b.storeFull).
		Assess("WithoutEnd", b.withoutEnd).
		Assess("ComesBackWhole", b.comesBack).
		Assess("Activates", b.activates).
		Assess("ReportsAgain", b.reportsAgain).
		Assess("CopyHasItsObjects", b.copies).
		Assess("CopyActsOnceActivated", b.copyActs).
		Assess("NotOurs", b.notOurs).
		Assess("OfAnotherNamespace", b.ofAnother).
		Assess("InEtcd", b.inEtcd).
		Assess("Drill", b.drill).
		Assess("LostHost", b.lostHost).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, b.live, b.copy, b.shore)
			b.store.Close(ctx, t)
			deleteNamespace(ctx, t, storeNamespace)
			deleteNamespace(ctx, t, backupGit)
			return ctx
		}).Feature())
}

func (b *backup) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(storeNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	b.store = store.Run(ctx, t, host, storeNamespace)
	// No run of the schedule comes while this test runs.
	b.live = claim.Create(ctx, t, host, newClaim("backed-up").Set(map[string]any{"enabled": true, "schedule": "0 0 29 2 *", "keep": int64(2)}, "spec", "backup").
		Set(elsewhere, "spec", "argocd", "values", "configs", "params", "application.namespaces"))
	if full {
		b.shore = claim.Create(ctx, t, host, newClaim("shore"))
	}
	state := b.live.AwaitReady(ctx, t, readyWithin)
	if is := state.Condition(claim.BackedUp); is.Status != metav1.ConditionUnknown || is.Reason != v1alpha1.ReasonScheduled {
		t.Errorf("before the first backup: %+v", is)
	}
	return ctx
}

// askedEndsWithin is how long the Job of an earlier value of the annotation may still try.
const askedEndsWithin = 21 * time.Minute

// ask asks for a backup, once the Job of the value before has ended, also the attempts of one that fails: until then there is no other one.
func (b *backup) ask(ctx context.Context, t *testing.T, value string) {
	t.Helper()
	xr := b.live.XRName(ctx, t)
	eventually.True(ctx, t, askedEndsWithin, "earlier Jobs by the annotation have ended", func(ctx context.Context) (bool, string) {
		list, err := host.Typed.BatchV1().Jobs(crossplane).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, j := range list.Items {
			ended := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
				return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
			})
			if strings.HasPrefix(j.Name, xr+"-backup-now-") && !ended {
				return false, j.Name + " hasn't"
			}
		}
		return true, ""
	})
	b.live.Patch(ctx, t, value, "metadata", "annotations", v1alpha1.AnnotationBackup)
}

// succeeds asks for a backup and waits until there is another good one.
func (b *backup) succeeds(ctx context.Context, t *testing.T, value string) {
	t.Helper()
	was, start := b.good.Name, time.Now()
	b.ask(ctx, t, value)
	state := b.live.Await(ctx, t, backedUpWithin, "a good backup", func(s *claim.State) bool {
		return s.Backup.Name != "" && s.Backup.Name != was && s.True(claim.BackedUp)
	})
	measured.add("backup: annotation to the claim that tells", time.Since(start))
	if b.good = state.Backup; b.good.Message != "" || b.good.Size < 1<<10 || b.good.Objects < 100 {
		t.Errorf("the backup is %+v", b.good)
	}
}

// appsIn is how many Applications the customer has: fewer in make e2e, which nobody syncs. One more is in another namespace.
func appsIn() int64 {
	if full {
		return keptApps + 1
	}
	return 3 + 1
}

// elsewhere is another namespace with an Application of its own, which Argo CD only looks at if its settings name it.
const elsewhere = "team-elsewhere"

// elsewhereOf are the customer's Applications in the other namespace.
func elsewhereOf(ctx context.Context, t *testing.T, l *claim.Live) dynamic.ResourceInterface {
	t.Helper()
	apps, err := open(ctx, t, l).Resource(applications, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	return apps
}

// ownWorkload is a Deployment of the customer's own, beside Argo CD.
const ownWorkload = "own-workload"

// createBeside creates the Deployment, which has no pods.
func createBeside(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	labels := map[string]string{"app": ownWorkload}
	if _, err := open(ctx, t, l).Typed.AppsV1().Deployments("argocd").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: ownWorkload},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "own", Image: "registry.example.org/own:1"}}},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// createElsewhere creates the Application in the other namespace. It is synced to nowhere.
func createElsewhere(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	if _, err := open(ctx, t, l).Typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := elsewhereOf(ctx, t, l).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "apart"},
		"spec": map[string]any{
			"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/a", "path": "."},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "default"},
		},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (b *backup) onDemand(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if full {
		b.furnish(ctx, t)
	} else {
		createIdleApps(ctx, t, b.live, 3)
	}
	createElsewhere(ctx, t, b.live)
	createBeside(ctx, t, b.live)
	b.succeeds(ctx, t, "1")
	if b.good.Applications != appsIn() {
		t.Errorf("there are %d Applications, and %d in the backup", appsIn(), b.good.Applications)
	}
	return ctx
}

// folder is where the claim's backups are.
func (b *backup) folder() string { return store.Remote + claims + "/backed-up" }

// hasEverything opens the backup as its owner would: both layers, and what the platform keeps.
func (b *backup) hasEverything(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	archive := tar.NewReader(strings.NewReader(b.store.Rclone(ctx, t, "cat", b.folder()+"/"+b.good.Name+".tar")))
	has := map[string]int64{}
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		has[h.Name] = h.Size
		if content, err := io.ReadAll(archive); h.Name == "argocd.yaml" && (err != nil || !strings.Contains(string(content), "name: app-2")) {
			t.Errorf("%s lacks an Application: %v", h.Name, err)
		}
	}
	for _, name := range []string{"argocd.yaml", "snapshot.tar.gz", "tenant/accepted.json"} {
		if has[name] == 0 {
			t.Errorf("the backup has no %s: %v", name, has)
		}
	}
	// What is stored is encrypted.
	if plain := b.store.Rclone(ctx, t, "lsf", "-R", "plain:backups"); strings.Contains(plain, "backed-up") || strings.Contains(plain, ".tar") {
		t.Errorf("the store can read names of backups: %s", plain)
	}
	return ctx
}

func (b *backup) keeps(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	first := b.good.Name
	b.succeeds(ctx, t, "2")
	b.succeeds(ctx, t, "3")
	if files := strings.Fields(b.store.Rclone(ctx, t, "lsf", b.folder())); len(files) != 2 || files[0] == first+".tar" || files[1] != b.good.Name+".tar" {
		t.Errorf("of three backups, two are kept, the newest ones: %v", files)
	}
	return ctx
}

// fails asks for a backup and waits until the claim tells why it failed. The good one stays, and so does the condition.
func (b *backup) fails(ctx context.Context, t *testing.T, value, why string) {
	t.Helper()
	b.ask(ctx, t, value)
	state := b.live.Await(ctx, t, backedUpWithin, "a message with "+why, func(s *claim.State) bool {
		return strings.Contains(s.Backup.Message, why) && strings.Contains(s.Condition(claim.BackedUp).Message, why)
	})
	if is := state.Condition(claim.BackedUp); is.Status != metav1.ConditionTrue || state.Backup.Name != b.good.Name {
		t.Errorf("after one attempt that failed: %+v, %+v", is, state.Backup)
	}
}

func (b *backup) wrongCredentials(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	b.store.Configure(ctx, t, b.store.Config("wrong"))
	b.fails(ctx, t, "4", "SignatureDoesNotMatch")
	return ctx
}

func (b *backup) plainRemote(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	b.store.Configure(ctx, t, "[backup]\ntype = alias\nremote = /tmp\n")
	b.fails(ctx, t, "5", "isn't one of type crypt")
	return ctx
}

// applications are those of a customer, by name, with their UIDs.
func applicationUIDs(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	apps, err := open(ctx, t, l).Resource(applications, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	list, err := apps.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, a := range list.Items {
		out[a.GetName()] = string(a.GetUID())
	}
	return out
}

// comesBack destroys the customer's tenant, and restores it with the same claim: everything is there, and nothing acts.
func (b *backup) comesBack(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	b.store.Configure(ctx, t, b.store.Config(b.store.Secret()))
	b.apps, b.password = applicationUIDs(ctx, t, b.live), connectionDetails(ctx, t, b.live)["password"]
	if full {
		b.remember(ctx, t)
	}
	deleteAndAwait(ctx, t, b.live, goneWithin)
	if full {
		volumeGone(ctx, t, b.had.volume)
	}
	start := time.Now()
	b.live = claim.Create(ctx, t, host, newClaim("backed-up").Set(map[string]any{"backup": "latest"}, "spec", "restoreFrom").
		Set(elsewhere, "spec", "argocd", "values", "configs", "params", "application.namespaces"))
	if full {
		// The next attempt has to find out what this one has done.
		killOne(ctx, t, b.live, "restore-")
		// Its next pod comes ten seconds later, and the control plane waits for it.
		killRestoring(ctx, t, b.live)
	}
	b.live.Await(ctx, t, readyWithin, "the backup is restored, and Argo CD doesn't act", func(s *claim.State) bool {
		return s.Condition(claim.Restored).Reason == v1alpha1.ReasonInactive && s.IsReady()
	})
	measured.add("backup: claim to restored and inactive", time.Since(start))
	if diff := cmp.Diff(b.apps, applicationUIDs(ctx, t, b.live)); diff != "" {
		t.Errorf("Applications and their UIDs: -before, +restored:\n%s", diff)
	}
	if _, err := open(ctx, t, b.live).Typed.AppsV1().Deployments("argocd").Get(ctx, ownWorkload, metav1.GetOptions{}); err != nil {
		t.Errorf("what the customer runs beside Argo CD doesn't come back: %v", err)
	}
	if is := connectionDetails(ctx, t, b.live)["password"]; is != b.password {
		t.Error("the admin has another password")
	}
	if set, err := open(ctx, t, b.live).Typed.AppsV1().StatefulSets("argocd").Get(ctx, "argocd-application-controller", metav1.GetOptions{}); err != nil || *set.Spec.Replicas != 0 {
		t.Errorf("the application controller runs: %v, %v", set, err)
	}
	if full {
		doesNotAct(ctx, t, b.live)
		b.isBack(ctx, t, "restored")
		letIn(ctx, t, tenantNamespace(ctx, b.shore), "restored", tenantNamespace(ctx, b.live))
	}
	return ctx
}

func (b *backup) activates(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	start := time.Now()
	b.live.Patch(ctx, t, true, "spec", "restoreFrom", "activate")
	b.live.Await(ctx, t, readyWithin, "Argo CD acts", func(s *claim.State) bool { return s.True(claim.Restored) && s.IsReady() })
	if full {
		// It has compared everything, and had nothing to do.
		b.awaitSynced(ctx, t, b.live, start)
		b.isBack(ctx, t, "activated")
	}
	return ctx
}

// copies makes a copy of the customer beside it.
func (b *backup) copies(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	start := time.Now()
	b.copy = claim.Create(ctx, t, host, newClaim("copied").Set(map[string]any{"tenant": "backed-up"}, "spec", "restoreFrom"))
	b.copy.Await(ctx, t, readyWithin, "the copy has the objects, and doesn't act", func(s *claim.State) bool {
		return s.Condition(claim.Restored).Reason == v1alpha1.ReasonInactive && s.IsReady()
	})
	measured.add("backup: claim to copied and inactive", time.Since(start))
	is := applicationUIDs(ctx, t, b.copy)
	for name, uid := range b.apps {
		if is[name] == "" || is[name] == uid {
			t.Errorf("Application %s of the copy has UID %q, the original %q", name, is[name], uid)
		}
	}
	// Its own settings don't name the namespace, which it hasn't, either.
	if _, err := elsewhereOf(ctx, t, b.copy).Get(ctx, "apart", metav1.GetOptions{}); err != nil {
		t.Errorf("the Application of another namespace doesn't come back: %v", err)
	}
	if url := connectionDetails(ctx, t, b.copy)["url"]; !strings.Contains(url, "copied") {
		t.Errorf("the copy is at %s", url)
	}
	if full {
		b.copyIsHarmless(ctx, t)
	}
	return ctx
}
