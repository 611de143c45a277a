package provider

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

const withStore = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","backup":{"remote":"backup:"}}`

// jobOf is a Job as the function composes it, as the API server gives it to the simulation.
func jobOf(t *testing.T, o *structpb.Struct) *batchv1.Job {
	t.Helper()
	raw, err := json.Marshal(o.AsMap())
	if err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{}
	if err := json.Unmarshal(raw, job); err != nil {
		t.Fatal(err)
	}
	manager := jobsManager
	job.Spec.ManagedBy, job.Status = &manager, batchv1.JobStatus{}
	return job
}

// backupJobOf is a Job that the CronJob of a tenant makes.
func backupJobOf(t *testing.T, e *crossplanetest.Engine) *batchv1.Job {
	t.Helper()
	cron := e.Observed(tenant.BackupCronJob)
	job := jobOf(t, crossplanetest.Field(cron, "spec", "jobTemplate"))
	job.Namespace, job.Name = platformNamespace, "scheduled"
	return job
}

// until reconciles a tenant until it has a Job.
func until(t *testing.T, e *crossplanetest.Engine, name string) *batchv1.Job {
	t.Helper()
	for range 20 {
		e.Reconcile()
		if e.Has(name) {
			return jobOf(t, e.Observed(name))
		}
		e.RunProviders()
	}
	t.Fatalf("the function composes no Job %s: %s", name, e.Status("message"))
	return nil
}

// runJob creates a Job, and runs it until it is finished.
func runJob(t *testing.T, j *jobs, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	if err := j.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		result, err := j.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(job)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(min(result.RequeueAfter, time.Second))
	}
	if err := j.client.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
		t.Fatal(err)
	}
	if job.Status.StartTime == nil || has(job, batchv1.JobComplete) == has(job, batchv1.JobFailed) {
		t.Fatalf("the Job isn't finished: %+v", job.Status)
	}
	return job
}

func simulateJobs(t *testing.T, objects ...client.Object) *jobs {
	t.Helper()
	s, mgr := simulate(t, objects...)
	return &jobs{controlPlanes: s.controlPlanes, client: mgr.client}
}

// TestSleepAndWake: the virtual cluster of a tenant that is asleep doesn't answer.
func TestSleepAndWake(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	namespace := "vargo-" + e.Observed(tenant.AcceptedSecret).AsMap()["metadata"].(map[string]any)["labels"].(map[string]any)[tenant.LabelTenant].(string)
	j := simulateJobs(t, secret(namespace, tenant.KubeconfigSource, nil))
	for _, tc := range []struct {
		spec, job string
		answers   bool
	}{{`{"hibernation":{"enabled":true}}`, tenant.HibernateJob, false}, {`{}`, tenant.WakeJob, true}} {
		e.SetSpec(tc.spec)
		if job := runJob(t, j, until(t, e, tc.job)); !has(job, batchv1.JobComplete) || job.Status.CompletionTime == nil {
			t.Errorf("Job %s: %+v", tc.job, job.Status)
		}
		if err := j.answers(t.Context(), j.client, namespace); (err == nil) != tc.answers {
			t.Errorf("after Job %s: %v", tc.job, err)
		}
		e.FinishJob(tc.job)
	}
}

// TestBackupAndRestore: what a Job restores is what the last one of the same claim has stored, and the virtual cluster starts with it.
func TestBackupAndRestore(t *testing.T) {
	e := crossplanetest.New(t, `{"backup":{"enabled":true,"keep":1}}`, withStore).Install()
	names := tenant.NewNames(e.Observed(tenant.AcceptedSecret).AsMap()["metadata"].(map[string]any)["labels"].(map[string]any)[tenant.LabelTenant].(string), "")
	in := func(name string, data map[string]string) *corev1.ConfigMap {
		o := &corev1.ConfigMap{Data: data}
		o.Namespace, o.Name = platformNamespace, name
		return o
	}
	j := simulateJobs(
		t, in(names.Backup, nil), in(names.Restore, nil), secret(platformNamespace, names.Restore, nil),
		secret(platformNamespace, names.AcceptedSecret, map[string][]byte{"accepted.json": []byte("{}")}),
		secret(names.Namespace, tenant.KubeconfigSource, nil),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names.Namespace}},
	)
	reported := func(name string) map[string]string {
		o := in(name, nil)
		if err := j.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		return o.Data
	}
	restore := until(t, crossplanetest.New(t, `{"restoreFrom":{"activate":true}}`, withStore), tenant.RestorePrefix+"snapshot")
	if job := runJob(t, j, restore.DeepCopy()); !has(job, batchv1.JobFailed) || !strings.Contains(reported(names.Restore)["message"], "there is none in backup:team-a/customer1") {
		t.Errorf("without a backup: %+v, %v", job.Status, reported(names.Restore))
	}
	if err := j.publish(t.Context(), names.Namespace, true); err == nil || !strings.Contains(err.Error(), "waits for its snapshot") {
		t.Errorf("without its snapshot, the control plane starts: %v", err)
	}
	j.sleep(names.Namespace, true)
	if job := runJob(t, j, backupJobOf(t, e)); !has(job, batchv1.JobFailed) || reported(names.Backup)["message"] == "" {
		t.Errorf("a backup of a tenant that is asleep: %+v, %v", job.Status, reported(names.Backup))
	}
	j.sleep(names.Namespace, false)
	job := backupJobOf(t, e)
	job.Name = "another"
	if job = runJob(t, j, job); !has(job, batchv1.JobComplete) || reported(names.Backup)["message"] != "" || reported(names.Backup)["applications"] != "3" {
		t.Errorf("a backup: %+v, %v", job.Status, reported(names.Backup))
	}
	restore.Name = "again"
	if job := runJob(t, j, restore); !has(job, batchv1.JobComplete) || reported(names.Restore)["restoredAt"] == "" || reported(names.Restore)["active"] != "true" {
		t.Errorf("a restore: %+v, %v", job.Status, reported(names.Restore))
	}
	kept := secret(platformNamespace, names.Restore, nil)
	if err := j.client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]byte{"accepted.json": []byte("{}")}, kept.Data); diff != "" {
		t.Errorf("what the platform keeps of the tenant: -want, +got:\n%s", diff)
	}
	if !j.delivered[names.Namespace] {
		t.Error("the control plane still waits for its snapshot")
	}
}

// TestKeepsBackups: the store has as many as are to be kept, the newest ones.
func TestKeepsBackups(t *testing.T) {
	b := &backups{in: map[string][]stored{}}
	for _, name := range []string{"1", "2", "3"} {
		b.add("a", stored{name: name}, 2)
	}
	if _, found := b.find("a", "1"); found {
		t.Error("the oldest is still there")
	}
	if s, _ := b.find("a", "latest"); s.name != "3" {
		t.Errorf("the latest is %s", s.name)
	}
	if _, found := b.find("b", "latest"); found {
		t.Error("one of another folder is found")
	}
}
