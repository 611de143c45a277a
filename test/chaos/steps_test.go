//go:build e2e

package chaos

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/check"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const (
	// namespace is where the claims are.
	namespace = "chaos"
	// noPlan is the name of a plan that doesn't exist.
	noPlan = "chaos-mistake"
	// stoppable is the workload of Argo CD that is stopped.
	stoppable = "argocd-repo-server"
)

// plans are the names of the plans that claims use.
var plans = []string{"chaos-a", "chaos-b"}

var (
	claimKind = schema.GroupVersionResource{Group: "virtualargocd.io", Version: "v1alpha1", Resource: "virtualargocds"}
	planKind  = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.PlanKind}
	planKinds = planKind.GroupVersion().WithResource("xargocdplans")
)

// acceptedWithin is how long a step is retried until an API server that is disturbed accepts it. To create a claim again, the one that was
// deleted must be gone first.
const acceptedWithin = 5 * time.Minute

// stoppedWithin is how long stopping a workload is retried, which may not exist yet.
const stoppedWithin = 10 * time.Second

// do takes a step about a claim, a plan or the channel. It retries until the API server, which may be disturbed, has accepted it.
func (r *chaosRun) do(ctx context.Context, s schedule.Step) {
	within := acceptedWithin
	if s.Action == schedule.Break {
		within = stoppedWithin
	}
	began := time.Now()
	for {
		err := r.try(ctx, s)
		switch {
		case err == nil:
			r.say("%s (after %.1fs)", strings.TrimSpace(s.String()), time.Since(began).Seconds())
			return
		case time.Since(began) < within && ctx.Err() == nil:
			pause(ctx, 500*time.Millisecond)
		case s.Action == schedule.Break:
			r.say("%s: not there yet: %v", strings.TrimSpace(s.String()), err)
			return
		default:
			r.t.Errorf("SEED=%d: %s: %v", r.Seed, strings.TrimSpace(s.String()), err)
			return
		}
	}
}

func (r *chaosRun) try(ctx context.Context, s schedule.Step) error {
	name := schedule.Name(s.Tenant)
	switch s.Action {
	case schedule.Create:
		r.forget(name)
		return create(ctx, name, s.Spec)
	case schedule.Change, schedule.Correct:
		return change(ctx, name, s.Spec)
	case schedule.Sleep:
		if err := change(ctx, name, s.Spec); err != nil {
			return err
		}
		r.mu.Lock()
		r.naps++
		r.napping[name] = true
		r.mu.Unlock()
		return nil
	case schedule.Wake:
		r.awaitSleep(ctx, name)
		return change(ctx, name, s.Spec)
	case schedule.Backup:
		asked := time.Now()
		if err := backUp(ctx, name, s.Value); err != nil {
			return err
		}
		r.mu.Lock()
		r.backups[name] = asked
		r.mu.Unlock()
		return nil
	case schedule.Mistake:
		s.Spec.Plan = noPlan
		return change(ctx, name, s.Spec)
	case schedule.Break:
		return r.stop(ctx, name)
	case schedule.Mend:
		return r.start(ctx, name)
	case schedule.Delete:
		r.mu.Lock()
		r.removed[name] = append(r.removed[name], time.Now())
		r.mu.Unlock()
		r.forget(name)
		return remove(ctx, name)
	case schedule.EditPlan:
		return applyPlan(ctx, s.Plan, s.Value)
	case schedule.EditOffer:
		return r.offer(ctx, s.Value)
	default:
		return fmt.Errorf("nobody can %s", s.Action)
	}
}

// forget forgets what was asked of an earlier tenant of a claim.
func (r *chaosRun) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.backups, name)
	delete(r.askedAgain, name)
	delete(r.napping, name)
}

// asleepWithin is how long a tenant that is to sleep is left alone, at most, until it was seen asleep: one that isn't ready, or in which a change is
// being rolled out, doesn't fall asleep before.
const asleepWithin = 30 * time.Second

// awaitSleep returns once a tenant that was put to sleep was seen asleep, or has had its time.
func (r *chaosRun) awaitSleep(ctx context.Context, name string) {
	for began := time.Now(); time.Since(began) < asleepWithin && ctx.Err() == nil; pause(ctx, time.Second) {
		r.mu.Lock()
		waits := r.napping[name]
		r.mu.Unlock()
		if !waits {
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.napping, name)
}

// create creates a claim. One that has just been deleted must be gone first.
func create(ctx context.Context, name string, s schedule.Spec) error {
	o := claim.New(name).In(namespace).Object()
	write(o, s)
	claims := host.Dynamic.Resource(claimKind).Namespace(namespace)
	_, err := claims.Create(ctx, o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if !kerrors.IsAlreadyExists(err) {
		return err
	}
	is, err := claims.Get(ctx, name, metav1.GetOptions{})
	if err == nil && is.GetDeletionTimestamp() != nil {
		err = fmt.Errorf("claim %s is still being deleted", name)
	}
	return err
}

// change changes a claim. An update that reaches the API server only after a later one fails.
func change(ctx context.Context, name string, s schedule.Spec) error {
	claims := host.Dynamic.Resource(claimKind).Namespace(namespace)
	o, err := claims.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	write(o, s)
	_, err = claims.Update(ctx, o, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

// backUp asks for a backup. An earlier request may be in the claim.
func backUp(ctx context.Context, name string, value int) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, v1alpha1.AnnotationBackup, value)
	_, err := host.Dynamic.Resource(claimKind).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// write writes a spec into a claim.
func write(o *unstructured.Unstructured, s schedule.Spec) {
	set := func(value string, path ...string) {
		if value == "" {
			return
		}
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			panic(err)
		}
	}
	set(s.Plan, "spec", "plan")
	set(s.ArgoCD, "spec", "argocd", "chartVersion")
	set(s.Kubernetes, "spec", "kubernetes", "version")
	if unstructured.RemoveNestedField(o.Object, "spec", "channel"); s.InChannel {
		set(schedule.Channel, "spec", "channel")
	}
	if unstructured.RemoveNestedField(o.Object, "spec", "hibernation"); s.Asleep {
		if err := unstructured.SetNestedField(o.Object, true, "spec", "hibernation", "enabled"); err != nil {
			panic(err)
		}
	}
	if s.BackedUp {
		// The schedule doesn't come while a run lasts.
		backup := map[string]any{"enabled": true, "schedule": "0 0 29 2 *"}
		if err := unstructured.SetNestedMap(o.Object, backup, "spec", "backup"); err != nil {
			panic(err)
		}
	}
	set(strconv.Itoa(s.Value), append([]string{"spec", "argocd", "values"}, append(check.Params, check.ClaimParameter)...)...)
}

// remove deletes a claim, but never a new one of the same name.
func remove(ctx context.Context, name string) error {
	claims := host.Dynamic.Resource(claimKind).Namespace(namespace)
	o, err := claims.Get(ctx, name, metav1.GetOptions{})
	if kerrors.IsNotFound(err) || err == nil && o.GetDeletionTimestamp() != nil {
		return nil
	}
	if err == nil {
		err = claims.Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))})
	}
	return err
}

// stop stops a workload of a tenant.
func (r *chaosRun) stop(ctx context.Context, name string) error {
	id := r.idOf(name)
	if id == "" {
		return fmt.Errorf("claim %s has no composite resource", name)
	}
	// It may be stopped although the answer got lost.
	r.mu.Lock()
	r.stopped[name] = id
	r.mu.Unlock()
	return tenants.stop(ctx, id)
}

// start undoes stop.
func (r *chaosRun) start(ctx context.Context, name string) error {
	r.mu.Lock()
	id := r.stopped[name]
	r.mu.Unlock()
	if id == "" {
		return nil
	}
	err := tenants.start(ctx, id)
	if kerrors.IsNotFound(err) {
		return nil // It never came up.
	}
	return err
}

// applyPlan writes a plan. A claim that changes from one plan to the other gets its control plane replaced.
func applyPlan(ctx context.Context, name string, value int) error {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"vcluster": map[string]any{"resources": map[string]any{"requests": map[string]any{"memory": memoryOf[name]}}},
		"versions": map[string]any{"kubernetes": []any{">=1.35"}, "argocdCharts": []any{">=9.3.0"}},
		"values": map[string]any{"argocd": map[string]any{"configs": map[string]any{"params": map[string]any{
			check.PlanParameter: strconv.Itoa(value),
		}}}},
	}}}
	o.SetGroupVersionKind(planKind)
	o.SetName(name)
	_, err := host.Dynamic.Resource(planKinds).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "chaos", Force: true})
	return err
}

// memoryOf is the memory that control planes request, by plan.
var memoryOf = map[string]any{plans[0]: "600Mi", plans[1]: "640Mi"}

func removePlan(ctx context.Context, name string) error {
	err := host.Dynamic.Resource(planKinds).Delete(ctx, name, metav1.DeleteOptions{})
	if kerrors.IsNotFound(err) {
		return nil
	}
	return err
}

// createNamespace creates the namespace of the claims, and waits for what Kubernetes creates in each namespace.
func createNamespace(ctx context.Context, t *testing.T) {
	t.Helper()
	core := host.Typed.CoreV1()
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Minute, "namespace "+namespace+" is usable", func(ctx context.Context) (bool, string) {
		_, err1 := core.ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		_, err2 := core.ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err1 == nil && err2 == nil, fmt.Sprint(err1, err2)
	})
}
