//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/store"
)

// killOne ends the first pod of a Job of a claim's once it has begun.
func killOne(ctx context.Context, t *testing.T, l *claim.Live, job string) {
	t.Helper()
	xr, none := l.XRName(ctx, t), int64(0)
	pods := host.Typed.CoreV1().Pods(crossplane)
	begun := func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodPending && slices.ContainsFunc(p.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool { return s.State.Waiting == nil })
	}
	eventually.True(ctx, t, backedUpWithin, "a pod of Job "+job+" has begun", func(ctx context.Context) (bool, string) {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "virtualargocd.io/package=backup"})
		if err != nil {
			return false, err.Error()
		}
		for _, p := range list.Items {
			if strings.HasPrefix(p.Name, xr+"-"+job) && begun(p) {
				return pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &none}) == nil, ""
			}
		}
		return false, "none has"
	})
}

// killed: a backup whose pod is ended in the middle is made anew, and leaves nothing.
func (b *backup) killed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	b.store.Configure(ctx, t, b.store.Config(b.store.Secret()))
	was := b.good.Name
	b.ask(ctx, t, "killed")
	killOne(ctx, t, b.live, "backup-now-")
	b.good = b.live.Await(ctx, t, backedUpWithin, "a good backup", func(s *claim.State) bool { return s.Backup.Name != was && s.True(claim.BackedUp) }).Backup
	if files := strings.Fields(b.store.Rclone(ctx, t, "lsf", b.folder())); len(files) != 2 || files[1] != b.good.Name+".tar" {
		t.Errorf("after a backup that was ended, the folder has %v", files)
	}
	return ctx
}

// killedWhileStoring: a backup whose pod is ended when all of it is in the store, but wasn't read back yet, is made anew. What it has left is no
// backup, and is deleted by a later one.
func (b *backup) killedWhileStoring(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	was := b.good.Name
	// It is read back for half a minute.
	undo := b.store.Slow(ctx, t, max(b.good.Size/30, 1<<10))
	b.ask(ctx, t, "killed while storing")
	part := ""
	eventually.True(ctx, t, backedUpWithin, "a part is in the store", func(ctx context.Context) (bool, string) {
		files := strings.Fields(b.store.Rclone(ctx, t, "lsf", b.folder()))
		if i := slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, ".part") }); i >= 0 {
			part = files[i]
		}
		return part != "", fmt.Sprint(files)
	})
	xr, none, killed := b.live.XRName(ctx, t), int64(0), false
	pods := host.Typed.CoreV1().Pods(crossplane)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "virtualargocd.io/package=backup"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		running := slices.ContainsFunc(p.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == "store" && s.State.Running != nil })
		if strings.HasPrefix(p.Name, xr+"-backup-now-") && running {
			killed = true
			if err := pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !killed {
		t.Fatal("no pod stores anything")
	}
	undo()
	b.good = b.live.Await(ctx, t, backedUpWithin, "a good backup", func(s *claim.State) bool { return s.Backup.Name != was && s.True(claim.BackedUp) }).Backup
	files := strings.Fields(b.store.Rclone(ctx, t, "lsf", b.folder()))
	if len(files) != 3 || !slices.Contains(files, part) || !slices.Contains(files, b.good.Name+".tar") || part == b.good.Name+".tar.part" {
		t.Errorf("after a backup that was ended when %s was stored, the folder has %v", part, files)
	}
	// As one that is an hour older.
	b.store.Rclone(ctx, t, "moveto", b.folder()+"/"+part, b.folder()+"/2026-01-01T000000Z-1.tar.part")
	b.succeeds(ctx, t, "after a part")
	if files := strings.Fields(b.store.Rclone(ctx, t, "lsf", b.folder())); len(files) != 2 {
		t.Errorf("what is left of an earlier backup isn't deleted: %v", files)
	}
	return ctx
}

// killRestoring ends a tenant's control plane while it waits for its backup, or gets it.
func killRestoring(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	namespace, none := tenantNamespace(ctx, l), int64(0)
	pods := host.Typed.CoreV1().Pods(namespace)
	eventually.True(ctx, t, readyWithin, "the control plane's container restore runs", func(ctx context.Context) (bool, string) {
		p, err := pods.Get(ctx, "vcluster-0", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, s := range p.Status.InitContainerStatuses {
			switch {
			case s.Name == "restore" && s.State.Terminated != nil:
				t.Error("the control plane had got its backup before it was ended")
				return true, ""
			case s.Name == "restore" && s.State.Running != nil:
				return pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &none, Preconditions: metav1.NewUIDPreconditions(string(p.UID))}) == nil, "it runs"
			}
		}
		return false, "it hasn't begun"
	})
}

// reportsAgain: a Job that finds the snapshot handed over, by one that could not report that, reports it.
func (b *backup) reportsAgain(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	// Times are in whole seconds.
	time.Sleep(time.Second)
	was, err := b.live.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	background := metav1.DeletePropagationBackground
	if err := host.Typed.BatchV1().Jobs(crossplane).Delete(ctx, b.live.XRName(ctx, t)+"-restore-snapshot", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	b.live.Await(ctx, t, time.Minute, "another report", func(s *claim.State) bool {
		return s.Restore.RestoredAt > was.Restore.RestoredAt && s.IsReady() && s.True(claim.Restored)
	})
	return ctx
}

// storeGone: the claim says that the store can't be reached, and the backups stay.
func (b *backup) storeGone(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	b.store.Connect(ctx, t, false)
	b.fails(ctx, t, "gone", "connect")
	b.store.Connect(ctx, t, true)
	b.succeeds(ctx, t, "back")
	return ctx
}

// storeHangs: of a store that accepts connections and never answers, the claim says so within a minute or two, and the backups stay.
func (b *backup) storeHangs(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	pods := host.Typed.CoreV1().Pods(storeNamespace)
	silent := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "silent", Labels: map[string]string{"app": store.Nowhere}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64),
			Containers:                    []corev1.Container{{Name: "silent", Image: artifacts.BackupKubectlImage, Command: []string{"nc", "-ll", "-p", "7070", "-e", "sleep", "600"}}},
		},
	}
	if _, err := pods.Create(ctx, silent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Minute, "the silent server runs", func(ctx context.Context) (bool, string) {
		is, err := pods.Get(ctx, silent.Name, metav1.GetOptions{})
		return err == nil && ready(*is), fmt.Sprint(err)
	})
	b.store.Connect(ctx, t, false)
	b.fails(ctx, t, "silent", "it took longer than 60 seconds")
	b.store.Connect(ctx, t, true)
	if err := pods.Delete(ctx, silent.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	b.succeeds(ctx, t, "answers")
	return ctx
}

// storeFull: the claim says it in the store's words, the good backups stay, and the next attempt succeeds once there is room.
func (b *backup) storeFull(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	n := b.store.Fill(ctx, t)
	b.fails(ctx, t, "full", "storing")
	if files := strings.Fields(b.store.Rclone(ctx, t, "lsf", b.folder())); !slices.Contains(files, b.good.Name+".tar") {
		t.Errorf("after an attempt without room, the folder has %v", files)
	}
	b.store.Empty(ctx, t, n)
	b.succeeds(ctx, t, "emptied")
	return ctx
}

// withoutEnd: a customer with more than fits into a backup has no more of it than a message, and a good backup again once there is less.
func (b *backup) withoutEnd(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	configs := open(ctx, t, b.live).Typed.CoreV1().ConfigMaps("large")
	if _, err := open(ctx, t, b.live).Typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "large"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 70 {
		large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("large-", i)}, Data: map[string]string{"x": strings.Repeat("x", 1<<20-1<<10)}}
		if _, err := configs.Create(ctx, large, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	b.fails(ctx, t, "large", "the backup is larger than 64Mi, which is input.backup.maxSize")
	if files := strings.Fields(b.store.Rclone(ctx, t, "lsf", b.folder())); !slices.Contains(files, b.good.Name+".tar") {
		t.Errorf("after an attempt without an end, the folder has %v", files)
	}
	if err := configs.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	b.succeeds(ctx, t, "small again")
	return ctx
}

// refused creates a claim that is to be restored, and waits until it says why it can't be.
func (b *backup) refused(ctx context.Context, t *testing.T, name, tenant, why string) {
	t.Helper()
	from := map[string]any{"backup": "latest"}
	if tenant != "" {
		from["tenant"] = tenant
	}
	l := claim.Create(ctx, t, host, newClaim(name).Set(from, "spec", "restoreFrom"))
	l.Await(ctx, t, readyWithin, "a message with "+why, func(s *claim.State) bool {
		is := s.Condition(claim.Restored)
		return is.Reason == v1alpha1.ReasonRestoreFailed && strings.Contains(is.Message, why)
	})
	deleteAndAwait(ctx, t, l, goneWithin)
}

// notOurs: a backup in the folder of another claim, and one that was cut off, are restored by nobody.
func (b *backup) notOurs(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	file := filepath.Join(t.TempDir(), "backup.tar")
	b.store.Rclone(ctx, t, "copyto", b.folder()+"/"+b.good.Name+".tar", store.Remote+claims+"/thief/"+b.good.Name+".tar")
	b.refused(ctx, t, "thief", "", "it isn't a backup of "+claims+"/thief, but of "+claims+"/backed-up")
	b.store.Rclone(ctx, t, "copyto", b.folder()+"/"+b.good.Name+".tar", file)
	if err := os.Truncate(file, b.good.Size/2); err != nil {
		t.Fatal(err)
	}
	b.store.Rclone(ctx, t, "copyto", file, store.Remote+claims+"/broken/"+b.good.Name+".tar")
	b.refused(ctx, t, "broken", "", "reading "+b.good.Name)
	b.refused(ctx, t, "nothing", "", "there is none in")
	return ctx
}

// script runs a script of examples/backup against the host, and returns what it prints and whether it succeeded.
func script(ctx context.Context, t *testing.T, name string, args ...string) (string, bool) {
	t.Helper()
	out, err := kube.Script(ctx, t, testenv.EnvConf().KubeconfigFile(), "../../examples/backup/"+name, args...)
	t.Logf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	return out, err == nil
}

// drill: what the script of the example finds of a good backup, and of one that was cut off.
func (b *backup) drill(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	b.live.Patch(ctx, t, map[string]any{"enabled": true, "schedule": "0 0 29 2 *", "keep": int64(2)}, "spec", "backup")
	b.succeeds(ctx, t, "drill")
	start := time.Now()
	if out, ok := script(ctx, t, "drill.sh", claims+"/backed-up"); !ok || !strings.Contains(out, fmt.Sprintf("comes back: %d Applications", appsIn())) {
		t.Errorf("a good backup doesn't pass the drill: %s", out)
	}
	measured.add("backup: drill", time.Since(start))
	file := filepath.Join(t.TempDir(), "backup.tar")
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, goneWithin, "the copy is gone", func(ctx context.Context) (bool, string) {
		list, err := host.Typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		return !slices.ContainsFunc(list.Items, func(n corev1.Namespace) bool { return strings.HasPrefix(n.Name, "vargo-drill-") }), "its namespace is there"
	})
	b.store.Rclone(ctx, t, "copyto", file, b.folder()+"/"+b.good.Name+".tar")
	if out, ok := script(ctx, t, "drill.sh", claims+"/backed-up"); ok || !strings.Contains(out, "FAILED: backup "+b.good.Name) {
		t.Errorf("a damaged backup passes the drill: %s", out)
	}
	return ctx
}

// lostHost: all claims of a folder come back from their backups, but for one that has none.
func (b *backup) lostHost(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	b.succeeds(ctx, t, "before the loss")
	second := claim.Create(ctx, t, host, newClaim("lost").Set(map[string]any{"enabled": true, "schedule": "0 0 29 2 *"}, "spec", "backup"))
	second.AwaitReady(ctx, t, readyWithin)
	second.Patch(ctx, t, "1", "metadata", "annotations", v1alpha1.AnnotationBackup)
	second.Await(ctx, t, backedUpWithin, "a good backup", func(s *claim.State) bool { return s.True(claim.BackedUp) })
	for _, l := range []*claim.Live{second, b.live} {
		deleteAndAwait(ctx, t, l, goneWithin)
	}
	dir := t.TempDir()
	for name, priority := range map[string]string{"backed-up": "1", "lost": "10", "never": "0"} {
		raw, err := json.Marshal(newClaim(name).Set(priority, "metadata", "annotations", "virtualargocd.io/restore-priority").Object())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".json"), raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	out, ok := script(ctx, t, "restore.sh", "--parallel", "2", dir)
	measured.add("backup: two of three claims of a lost host", time.Since(start))
	if ok || !strings.Contains(out, "2 of 3 claims are restored") || !strings.Contains(out, claims+"/never") || !strings.Contains(out, "there is none in") {
		t.Errorf("want two restored, and one without a backup: %s", out)
	}
	var err error
	for into, name := range map[**claim.Live]string{&b.live: "backed-up", &b.copy: "lost"} {
		if *into, err = claim.Find(host, claims, name); err != nil {
			t.Fatal(err)
		}
	}
	if is := applicationUIDs(ctx, t, b.live); len(is) != len(b.apps) || is["app-0"] != b.apps["app-0"] {
		t.Errorf("want %v, got %v", b.apps, is)
	}
	never, err := claim.Find(host, claims, "never")
	if err != nil {
		t.Fatal(err)
	}
	deleteAndAwait(ctx, t, never, goneWithin)
	tenant := b.copy.XRName(ctx, t)
	if out, ok := script(ctx, t, "restore.sh", filepath.Join(dir, "lost.json")); !ok || !strings.Contains(out, "1 of 1 claims are restored") || b.copy.XRName(ctx, t) != tenant {
		t.Errorf("a claim that is restored is left alone, and reported as before: %s", out)
	}
	return ctx
}
