//go:build e2e

package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/check"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/parts"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
)

// A chaosRun is one run of a schedule.
type chaosRun struct {
	schedule.Schedule
	t     *testing.T
	began time.Time

	mu   sync.Mutex
	kept *check.Kept
	// last has the objects of all tenants as they were last seen, and ids the names of all composite resources that were seen.
	last []check.Object
	ids  map[string]bool
	// stopped has the claims with a stopped workload.
	stopped  map[string]string
	troubles *check.Troubles
	// disturbed counts the steps that have disturbed a part.
	disturbed map[schedule.Part]int
	// removed has when claims were deleted, or tried to be.
	removed map[string][]time.Time
	// backups has when backups were asked for, by claim, and askedAgain for which of them that was done a second time.
	backups    map[string]time.Time
	askedAgain map[string]bool
	// naps counts how often tenants were put to sleep, and slept how often they were seen asleep then. napping has those that weren't yet.
	naps, slept int
	napping     map[string]bool
	// withoutClaim counts the composite resources that Crossplane has left behind.
	withoutClaim int
}

func newRun(t *testing.T, s schedule.Schedule) *chaosRun {
	t.Helper()
	return &chaosRun{
		Schedule: s, t: t, began: time.Now(), kept: check.NewKept(), ids: map[string]bool{}, stopped: map[string]string{},
		troubles: check.NewTroubles(), disturbed: map[schedule.Part]int{}, removed: map[string][]time.Time{},
		backups: map[string]time.Time{}, askedAgain: map[string]bool{}, napping: map[string]bool{},
	}
}

// say logs something with the time since the run began.
func (r *chaosRun) say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// take takes all steps of the schedule, and returns when no part is disturbed any more.
func (r *chaosRun) take(ctx context.Context) {
	running := sync.WaitGroup{}
	for _, steps := range r.Of() {
		running.Go(func() {
			for _, s := range steps {
				pause(ctx, time.Until(r.began.Add(s.At)))
				if s.Disturbs() {
					r.disturb(ctx, s)
				} else {
					r.do(ctx, s)
				}
			}
		})
	}
	running.Wait()
}

// pause returns after d, or when ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// foundWithin is how long a step looks for a part that doesn't run, because it was killed or its tenant is being created.
const foundWithin = 5 * time.Second

// disturb disturbs a part of the platform.
func (r *chaosRun) disturb(ctx context.Context, s schedule.Step) {
	part := partOf(s, func() string { return r.idOf(schedule.Name(s.Tenant)) })
	what, first := strings.TrimSpace(s.String()), time.Now()
	for ; ; pause(ctx, 200*time.Millisecond) {
		began := time.Now()
		err := parts.Disturb(ctx, part, s)
		if err == nil {
			r.say("%s (from %.1fs on)", what, began.Sub(r.began).Seconds())
			r.mu.Lock()
			r.disturbed[s.Part]++
			r.mu.Unlock()
			return
		}
		if s.For > 0 {
			// A part that is found late, or was killed by another step, is disturbed for the rest of the time.
			s.For -= time.Since(began)
		}
		if time.Since(first) > foundWithin || s.For < 0 || ctx.Err() != nil {
			r.say("%s: %v", what, err)
			return
		}
	}
}

// observe notes what tenants have, and writes into the virtual clusters of those that are Ready, until ctx is done.
func (r *chaosRun) observe(ctx context.Context) {
	writing := sync.WaitGroup{}
	defer writing.Wait()
	writing.Go(func() {
		for ; ctx.Err() == nil; pause(ctx, time.Second) {
			r.mark(ctx)
		}
	})
	for ; ctx.Err() == nil; pause(ctx, time.Second) {
		// What can't be read now is read the next time.
		_ = r.look(ctx)
	}
}

// look notes what tenants have now.
func (r *chaosRun) look(ctx context.Context) error {
	now, err := check.Objects(ctx, host, namespace)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.kept.See(now)
	r.troubles.See(now, time.Now())
	r.last = now
	for _, o := range now {
		r.ids[o.Tenant] = true
		if o.IsTenant() && o.Phase == v1alpha1.PhaseHibernated && r.napping[o.Claim] {
			r.slept++
			delete(r.napping, o.Claim)
		}
	}
	r.mu.Unlock()
	return nil
}

// mark writes once into each virtual cluster that was ready.
func (r *chaosRun) mark(ctx context.Context) {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	writing := sync.WaitGroup{}
	for _, o := range last {
		if o.ReadyAt != "" && !o.Leaves {
			// One that doesn't answer gets the next write.
			writing.Go(func() { _ = tenants.mark(ctx, o.Tenant) })
		}
	}
	writing.Wait()
}

// idOf returns the name of the composite resource of a claim; "" if none was seen.
func (r *chaosRun) idOf(claim string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.last {
		if !o.Leaves && o.IsTenant() && strings.HasPrefix(o.Tenant, claim+"-") {
			return o.Tenant
		}
	}
	return ""
}

// await waits until there are no problems.
func (r *chaosRun) await(ctx context.Context, within time.Duration, what string, problems func(context.Context) []string) bool {
	r.t.Helper()
	began := time.Now()
	for {
		found := problems(ctx)
		if len(found) == 0 {
			r.say("%s, %.0f seconds later", what, time.Since(began).Seconds())
			return true
		}
		if time.Since(began) > within || ctx.Err() != nil {
			r.t.Errorf("SEED=%d: not within %s: %s\n  %s", r.Seed, within, what, strings.Join(found, "\n  "))
			return false
		}
		pause(ctx, 2*time.Second)
	}
}

// untrue returns what isn't as wanted, for all tenants and the channel.
func (r *chaosRun) untrue(ctx context.Context) (out []string) {
	if err := r.deleteWithoutClaim(ctx); err != nil {
		return []string{err.Error()}
	}
	c, err := readChannel(ctx)
	if err == nil {
		err = r.resume(ctx, c)
	}
	if err != nil {
		return []string{err.Error()}
	}
	wanted, values, members := r.Wanted(), r.PlanValues(), 0
	existing := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[name].InChannel {
			members++
		}
		r.mu.Lock()
		asked := r.backups[name]
		r.mu.Unlock()
		id, problems, err := r.untrueOf(ctx, name, check.Wanted{
			Spec: wanted[name], PlanValue: values[wanted[name].Plan], OfferValue: r.OfferValue(), Revision: c.Status.Revision, BackedUpSince: asked,
		})
		existing[id] = true
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, p := range problems {
			out = append(out, name+": "+p)
		}
	}
	for _, p := range c.Problems(members) {
		out = append(out, "the channel: "+p)
	}
	if len(out) > 0 {
		return out
	}
	if err := r.look(ctx); err != nil {
		return []string{err.Error()}
	}
	return r.left(ctx, existing)
}

func (r *chaosRun) untrueOf(ctx context.Context, name string, w check.Wanted) (id string, problems []string, err error) {
	l, err := claim.Find(host, namespace, name)
	if err != nil {
		return "", nil, err
	}
	t, err := check.Read(ctx, l)
	if err != nil {
		return "", nil, err
	}
	id = t.XR.GetName()
	if t.Claim.Phase != "Ready" {
		// Other problems follow from this one.
		return id, []string{t.Claim.String()}, nil
	}
	if err := r.askAgain(ctx, name, t, w); err != nil {
		return id, nil, err
	}
	problems, err = tenants.read(ctx, id, &t)
	if err != nil {
		return id, problems, err
	}
	return id, append(problems, t.Problems(w)...), nil
}

// askAgain asks once more for a backup of which all attempts have failed while parts were disturbed, as an operator does. One of which nothing is
// heard is an error in the end.
func (r *chaosRun) askAgain(ctx context.Context, name string, is check.Tenant, w check.Wanted) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !is.BackupMissing(w) || is.Claim.Backup.Message == "" || r.askedAgain[name] {
		return nil
	}
	r.say("the backup of %s has failed: ask again: %s", name, is.Claim.Backup.Message)
	if err := backUp(ctx, name, int(time.Now().Unix())); err != nil {
		return err
	}
	r.askedAgain[name] = true
	return nil
}

// leftWithin is how long before or after the creation of a composite resource its claim was deleted, at most, if Crossplane leaves the
// composite resource behind.
const leftWithin = 30 * time.Second

// deleteWithoutClaim deletes the composite resources that no claim refers to, as an operator does on the alert VirtualArgoCDWithoutClaim.
// Crossplane leaves one behind when it removes the finalizer of a deleted claim before its cache has the composite resource, because the API
// server was paused or killed. Crossplane sets the claim's reference before it creates the composite resource. One whose claim
// was deleted at another time is an error.
func (r *chaosRun) deleteWithoutClaim(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	for _, o := range last {
		if !o.IsTenant() || o.Leaves {
			continue
		}
		is, err := host.Dynamic.Resource(claimKind).Namespace(namespace).Get(ctx, o.Claim, metav1.GetOptions{})
		if kerrors.IsNotFound(err) {
			is, err = &unstructured.Unstructured{}, nil
		}
		if err != nil {
			return err
		}
		if ref, _, _ := unstructured.NestedString(is.Object, "spec", "resourceRef", "name"); ref == o.Tenant {
			continue
		}
		xr, err := host.Dynamic.Resource(check.Composites).Get(ctx, o.Tenant, metav1.GetOptions{})
		if kerrors.IsNotFound(err) || err == nil && xr.GetDeletionTimestamp() != nil {
			continue
		}
		if err != nil {
			return err
		}
		if created := xr.GetCreationTimestamp().Time; !r.removedAround(o.Claim, created) {
			return fmt.Errorf("%s, created at %s, has no claim, but no claim was deleted within %s of that", o.Tenant, created, leftWithin)
		}
		r.say("Crossplane has left %s behind without a claim: delete it", o.Tenant)
		r.withoutClaim++
		if err := host.Dynamic.Resource(check.Composites).Delete(ctx, o.Tenant, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (r *chaosRun) removedAround(claim string, created time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.removed[claim], func(at time.Time) bool { return at.Sub(created).Abs() < leftWithin })
}

// left returns what is left of deleted tenants.
func (r *chaosRun) left(ctx context.Context, existing map[string]bool) []string {
	var gone []string
	r.mu.Lock()
	for id := range r.ids {
		if !existing[id] {
			gone = append(gone, id)
		}
	}
	r.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	all, err := inventory.Take(ctx, host)
	if err != nil {
		return []string{err.Error()}
	}
	if left := all.About(gone...); len(left) > 0 {
		return []string{"of deleted tenants there is still:\n" + left.String()}
	}
	return nil
}

// lost returns an error with what existing tenants have lost.
func (r *chaosRun) lost() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost := r.kept.Lost(); len(lost) > 0 {
		return errors.New(strings.Join(lost, "\n  "))
	}
	return nil
}
