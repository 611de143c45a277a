//go:build e2e

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/check"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/diagnose"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
)

// keep leaves everything in place after a run that failed, for inspection.
var keep = os.Getenv("E2E_KEEP") != ""

// TestChaos does the runs of seeds that have failed once, and RUNS more, each on the cluster of the run before. With SEED, it does only the
// run of that seed.
func TestChaos(t *testing.T) {
	createNamespace(t.Context(), t)
	all, good, tally := seedsOf(t), 0, &tally{parts: map[schedule.Part]disturbances{}}
	for i, seed := range all {
		fmt.Printf("\nRun %d of %d: SEED=%d\n", i+1, len(all), seed)
		clean := false
		if t.Run(fmt.Sprintf("SEED=%d", seed), func(t *testing.T) { clean = play(t.Context(), t, seed, tally) }) {
			good++
		}
		if !clean {
			break
		}
	}
	fmt.Printf("\n%d of %d runs were good.\n%s", good, len(all), tally)
	for _, part := range tally.missed() {
		t.Errorf("no step has disturbed the part %q: does it have another name now?", part)
	}
	if tally.naps >= fewest && tally.slept == 0 {
		t.Errorf("tenants were put to sleep %d times, and none was seen asleep", tally.naps)
	}
}

// A tally counts what has happened in all runs.
type tally struct {
	parts map[schedule.Part]disturbances
	// withoutClaim counts the composite resources that Crossplane has left behind.
	withoutClaim int
	// naps counts how often tenants were put to sleep, slept how often they were seen asleep then, and backups those that were asked for, of which
	// askedAgain a second time.
	naps, slept, backups, askedAgain int
}

// fewest is how often something has to be tried so that it should have had an effect once: other steps may undo it before.
const fewest = 5

// disturbances counts the steps that disturb a part: those of the schedules, and those of them that found the part.
type disturbances struct{ steps, disturbed int }

func (c *tally) add(r *chaosRun) {
	for _, s := range r.Steps {
		if s.Disturbs() {
			of := c.parts[s.Part]
			of.steps++
			c.parts[s.Part] = of
		}
	}
	for part, n := range r.disturbed {
		of := c.parts[part]
		of.disturbed += n
		c.parts[part] = of
	}
	c.withoutClaim += r.withoutClaim
	c.naps, c.slept = c.naps+r.naps, c.slept+r.slept
	c.backups, c.askedAgain = c.backups+len(r.backups), c.askedAgain+len(r.askedAgain)
}

// missed returns the parts that no step has disturbed. A few steps may miss a part because other steps have killed it.
func (c *tally) missed() (out []schedule.Part) {
	for _, part := range schedule.Parts {
		if c.parts[part].disturbed == 0 && c.parts[part].steps >= fewest {
			out = append(out, part)
		}
	}
	return out
}

func (c *tally) String() string {
	b := &strings.Builder{}
	for _, part := range schedule.Parts {
		fmt.Fprintf(b, "%s: disturbed by %d of %d steps\n", part, c.parts[part].disturbed, c.parts[part].steps)
	}
	fmt.Fprintf(b, "composite resources that Crossplane has left behind without a claim: %d\n", c.withoutClaim)
	fmt.Fprintf(b, "tenants were put to sleep %d times, and seen asleep %d times; %d were asked to be backed up last, %d of them twice\n", c.naps, c.slept, c.backups, c.askedAgain)
	return b.String()
}

func seedsOf(t *testing.T) []uint64 {
	t.Helper()
	if seed := number(t, "SEED", 0); seed != 0 {
		return []uint64{seed}
	}
	byDefault := uint64(5)
	if realParts {
		byDefault = 1
	}
	out := tenants.seeds()
	for range number(t, "RUNS", byDefault) {
		// Short enough to copy by hand.
		out = append(out, 1+rand.Uint64N(999_999))
	}
	return out
}

// play does the run of a seed, and adds its steps to the tally. It reports whether nothing is left of the run.
func play(ctx context.Context, t *testing.T, seed uint64, tally *tally) (clean bool) {
	s := schedule.New(seed, tenants.options())
	fmt.Print(s)
	before, err := inventory.Take(ctx, host)
	if err != nil {
		t.Fatal(err)
	}
	for plan, value := range s.Plans {
		if err := applyPlan(ctx, plan, value); err != nil {
			t.Fatal(err)
		}
	}
	createChannel(ctx, t, s.Offer)
	r := newRun(t, s)
	observing, stop := context.WithCancel(ctx)
	observer := sync.WaitGroup{}
	observer.Go(func() { r.observe(observing) })
	r.take(ctx)
	// A tenant whose assignment ended because the offer was edited is assigned the next only after Settle.
	r.await(ctx, tenants.readyWithin()+rollout.Settle, "All tenants are as wanted", r.untrue)
	stop()
	observer.Wait()
	tally.add(r)
	if err := r.lost(); err != nil {
		t.Errorf("SEED=%d: lost:\n  %v", seed, err)
	}
	if t.Failed() {
		dump(ctx, t, seed)
		if keep {
			return false
		}
	}
	return r.await(ctx, tenants.goneWithin(), "Nothing is left", func(ctx context.Context) []string { return r.remains(ctx, before) })
}

// remains deletes all claims and, once their tenants are gone, the channel and the plans. It returns what exists that didn't exist before the
// run.
func (r *chaosRun) remains(ctx context.Context, before inventory.Listing) []string {
	for name := range r.Wanted() {
		if err := remove(ctx, name); err != nil {
			return []string{err.Error()}
		}
	}
	left, err := check.Objects(ctx, host, namespace)
	if err != nil {
		return []string{err.Error()}
	}
	if len(left) > 0 {
		return []string{fmt.Sprintf("%d objects of tenants, such as %s", len(left), left[0].Name)}
	}
	if err := removeChannel(ctx); err != nil {
		return []string{err.Error()}
	}
	for plan := range r.Plans {
		if err := removePlan(ctx, plan); err != nil {
			return []string{err.Error()}
		}
	}
	after, err := inventory.Take(ctx, host)
	if err != nil {
		return []string{err.Error()}
	}
	// Its pods may have been replaced.
	return inventory.Diff(before.UnnamedPods(crossplane), after.UnnamedPods(crossplane))
}

// dump writes the state of the cluster to a directory.
func dump(ctx context.Context, t *testing.T, seed uint64) {
	t.Helper()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("virtual-argocd-chaos-%d-%s", seed, time.Now().Format("150405")))
	if err := diagnose.Dump(ctx, host, dir, func(namespace string) bool { return namespace == crossplane }); err != nil {
		t.Log("cannot write all of the cluster's state down:", err)
	}
	t.Log("the state of the cluster is in", dir)
}
