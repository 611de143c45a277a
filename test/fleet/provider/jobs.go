package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

const (
	// jobsManager is what runs the Jobs of tenants in place of Kubernetes, by their field managedBy.
	jobsManager = "virtualargocd.io/simulation"
	// platformNamespace is where they are.
	platformNamespace = "crossplane-system"
	// applications is how many Applications each simulated tenant has.
	applications = 3
	// digest is that of the contents of each.
	digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// jobsPolicy has the API server write jobsManager into the Jobs of tenants when they are created: it can't be changed later.
const jobsPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: simulated-jobs}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + platformNamespace + `}}
    objectSelector: {matchExpressions: [{key: ` + tenant.LabelTenant + `, operator: Exists}]}
    resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]
  mutations:
    - patchType: JSONPatch
      jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec/managedBy", value: "` + jobsManager + `"}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: simulated-jobs}
spec: {policyName: simulated-jobs}
`

// KeepJobs runs the Jobs of tenants until ctx is done, whatever becomes of the API server.
func (s *Simulation) KeepJobs(ctx context.Context) {
	for ctx.Err() == nil {
		// It ends when it can't reach the API server.
		if err := s.runJobs(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "the simulation of Jobs begins again: %v\n", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (s *Simulation) runJobs(ctx context.Context) error {
	for _, document := range strings.Split(jobsPolicy, "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return fmt.Errorf("cannot read the policy for Jobs: %w", err)
		}
		if err := s.planes.admin.Patch(ctx, o, client.Apply, client.ForceOwnership, client.FieldOwner("simulation")); err != nil { //nolint:staticcheck // The typed Apply wants generated types.
			return fmt.Errorf("cannot have the API server give Jobs to the simulation: %w", err)
		}
	}
	mgr, err := newJobsManager(s.admin, s.scheme)
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("jobs").For(&batchv1.Job{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 10,
			// Soon, after a time in which the API server was away.
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](100*time.Millisecond, 2*time.Second),
		}).
		Complete(&jobs{controlPlanes: s.planes, client: s.planes.admin})
	if err != nil {
		return fmt.Errorf("cannot watch Jobs: %w", err)
	}
	return mgr.Start(ctx)
}

// newJobsManager makes a manager that acts as an administrator, and knows of the Jobs of tenants alone.
func newJobsManager(admin *rest.Config, scheme *runtime.Scheme) (ctrl.Manager, error) {
	ours, err := labels.NewRequirement(tenant.LabelTenant, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	again := true
	mgr, err := ctrl.NewManager(admin, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &again},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&batchv1.Job{}: {
			Namespaces: map[string]cache.Config{platformNamespace: {}}, Label: labels.NewSelector().Add(*ours),
		}}},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make the manager of Jobs: %w", err)
	}
	return mgr, nil
}

// jobs does what the Jobs of tenants would do. It acts as an administrator: what their accounts may do isn't tested.
type jobs struct {
	*controlPlanes

	client client.Client
}

// A stored is a backup in the simulated store.
type stored struct {
	name string
	// kept is what the platform keeps of the tenant.
	kept map[string][]byte
}

// backups are those in the store, by folder.
type backups struct {
	mu sync.Mutex
	in map[string][]stored
}

func (b *backups) add(folder string, s stored, keep int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.in[folder] = append(b.in[folder], s)
	b.in[folder] = b.in[folder][max(0, len(b.in[folder])-keep):]
}

// find returns a backup by its name, or the latest.
func (b *backups) find(folder, name string) (stored, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range slices.Backward(b.in[folder]) {
		if name == "latest" || s.name == name {
			return s, true
		}
	}
	return stored{}, false
}

// Reconcile runs a Job for as long as Durations.Job.
func (j *jobs) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	job := &batchv1.Job{}
	if err := j.client.Get(ctx, req.NamespacedName, job); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if job.Spec.ManagedBy == nil || *job.Spec.ManagedBy != jobsManager || job.DeletionTimestamp != nil || job.Status.CompletionTime != nil || has(job, batchv1.JobFailed) {
		return ctrl.Result{}, nil
	}
	id := job.Labels[tenant.LabelTenant]
	steps := stepsOf(job)
	if job.Status.StartTime == nil {
		if steps[tenant.HibernateJob] != nil {
			// The control plane is what goes first.
			j.sleep(namespacePrefix+id, true)
		}
		job.Status.StartTime = new(metav1.Now())
		return ctrl.Result{RequeueAfter: time.Millisecond}, ignoreConflict(j.client.Status().Update(ctx, job))
	}
	if left := time.Until(job.Status.StartTime.Add(j.Faults.takes(id, j.Durations.Job))); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	why, err := j.run(ctx, namespacePrefix+id, job, steps)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, ignoreConflict(j.finish(ctx, job, why))
}

func ignoreConflict(err error) error {
	if kerrors.IsConflict(err) || kerrors.IsNotFound(err) {
		return nil // There is another call.
	}
	return err
}

func has(job *batchv1.Job, typ batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == typ && c.Status == corev1.ConditionTrue })
}

// finish writes what Kubernetes would write of a Job that is complete, or has failed for a reason.
func (j *jobs) finish(ctx context.Context, job *batchv1.Job, why string) error {
	now := metav1.Now()
	add := func(typ batchv1.JobConditionType, reason string) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: typ, Status: corev1.ConditionTrue, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: why,
		})
	}
	if why != "" {
		job.Status.Failed = 1
		add(batchv1.JobFailureTarget, "BackoffLimitExceeded")
		add(batchv1.JobFailed, "BackoffLimitExceeded")
	} else {
		job.Status.Succeeded, job.Status.CompletionTime = 1, &now
		add(batchv1.JobSuccessCriteriaMet, "CompletionsReached")
		add(batchv1.JobComplete, "CompletionsReached")
	}
	return j.client.Status().Update(ctx, job)
}

// stepsOf returns the environments of a Job's containers, by the names of these, which are those of the steps.
func stepsOf(job *batchv1.Job) map[string]map[string]string {
	out := map[string]map[string]string{}
	spec := job.Spec.Template.Spec
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		out[c.Name] = map[string]string{}
		for _, v := range c.Env {
			out[c.Name][v.Name] = v.Value
		}
	}
	return out
}

// run does what a Job does in the end. It returns why that fails, "" for success.
func (j *jobs) run(ctx context.Context, namespace string, job *batchv1.Job, steps map[string]map[string]string) (why string, err error) {
	switch {
	case steps[tenant.HibernateJob] != nil:
		j.sleep(namespace, true)
		return "", nil
	case steps[tenant.WakeJob] != nil:
		j.sleep(namespace, false)
		return "", nil
	case steps["store"] != nil:
		return j.backUp(ctx, namespace, job, steps)
	case steps["fetch"] != nil:
		return j.restore(ctx, namespace, steps)
	}
	return "", fmt.Errorf("the simulation doesn't know Job %s", job.Name)
}

// sleep takes the control plane in a namespace away, or brings it back.
func (s *controlPlanes) sleep(namespace string, asleep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asleep[namespace] = asleep; !asleep {
		delete(s.asleep, namespace)
	}
}

// backUp is a Job that makes a backup.
func (j *jobs) backUp(ctx context.Context, namespace string, job *batchv1.Job, steps map[string]map[string]string) (why string, err error) {
	now, store := time.Now().UTC(), steps["store"]
	if j.answers(ctx, j.client, namespace) != nil {
		why = "taking vcluster's snapshot: the virtual cluster's control plane doesn't run"
		return why, j.report(ctx, steps["report"]["RECORD"], failure(now, why))
	}
	s := stored{name: now.Format("2006-01-02T150405Z"), kept: map[string][]byte{}}
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.Name != "tenant" || v.Projected == nil {
			continue
		}
		for _, from := range v.Projected.Sources {
			secret := &corev1.Secret{}
			if err := j.client.Get(ctx, client.ObjectKey{Namespace: platformNamespace, Name: from.Secret.Name}, secret); err != nil {
				return "", err
			}
			for key, value := range secret.Data {
				s.kept[key] = value
			}
		}
	}
	keep, err := strconv.Atoi(store["KEEP"])
	if err != nil {
		return "", fmt.Errorf("cannot read how many backups to keep: %w", err)
	}
	j.store.add(store["FOLDER"], s, keep)
	return "", j.report(ctx, steps["report"]["RECORD"], map[string]string{
		"name": s.name, "succeededAt": now.Format(time.RFC3339), "size": "400000", "objects": "500", "applications": strconv.Itoa(applications), "digest": digest, "failedAt": "", "message": "",
	})
}

// restore is a Job that restores a backup.
func (j *jobs) restore(ctx context.Context, namespace string, steps map[string]map[string]string) (why string, err error) {
	now, fetch, record := time.Now().UTC(), steps["fetch"], steps["report"]["RECORD"]
	s, found := j.store.find(fetch["FOLDER"], fetch["BACKUP"])
	switch deliver := steps["deliver"]; {
	case !found:
		why = "looking for a backup: there is none in " + fetch["FOLDER"]
	case deliver == nil && j.answers(ctx, j.client, namespace) != nil:
		why = "importing Argo CD's objects: connection refused"
	case deliver != nil:
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: platformNamespace, Name: deliver["SECRET"]}}
		patch, err := json.Marshal(map[string]any{"data": s.kept})
		if err != nil {
			return "", err
		}
		if err := j.client.Patch(ctx, secret, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			return "", err
		}
		j.mu.Lock()
		j.delivered[namespace] = true
		j.mu.Unlock()
	}
	if why != "" {
		return why, j.report(ctx, record, failure(now, why))
	}
	return "", j.report(ctx, record, map[string]string{
		"name": s.name, "restoredAt": now.Format(time.RFC3339), "objects": "500", "applications": strconv.Itoa(applications), "digest": digest, "active": steps["report"]["ACTIVE"], "failedAt": "", "message": "",
	})
}

func failure(now time.Time, why string) map[string]string {
	return map[string]string{"failedAt": now.Format(time.RFC3339), "message": why}
}

// report writes what a Job reports.
func (j *jobs) report(ctx context.Context, record string, data map[string]string) error {
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: platformNamespace, Name: record}}
	return j.client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", patch))
}
