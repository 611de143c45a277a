//go:build e2e

package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"

	corehost "github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/figures"
)

// What Crossplane lets a composite resource have by default before it stops following it: events at once, and for each
// second. Changes count for two events.
const (
	eventsAtOnce    = 100
	eventsPerSecond = 1
	// Now and then Crossplane writes a composite resource's conditions back and forth some times; that is no change of ours.
	eventsOfItsOwn = 60
	// Helm doesn't wait for Argo CD's workloads, so the claim shows each step in which they come up.
	eventsOfWorkloads = 40
	// What a URL, sign-on and a first Application add. Each step of that Application is one of the Object that shows it.
	// It takes a tenant to the end of what Crossplane allows, and may take it past that once it is Ready.
	eventsOfParts = 60
)

// crossplaneEvents of all composite resources that Crossplane has had until a time.
type crossplaneEvents struct {
	at      time.Time
	allowed float64
	dropped float64
}

// fewEvents counts for the first claim since Crossplane started, too: that one hears once of each admission policy, and of each
// binding, that the function asks for.
func (c *customer) fewEvents(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.events.holdToBudget(ctx, t, float64(2*len(corehost.RequiredPolicies)))
	return ctx
}

// holdToBudget holds what one tenant costs on its way, to Ready or to all of its credentials, from an earlier count to
// now, below what Crossplane lets it have by default, whatever this Crossplane is set to: past that, each further step
// would wait for half a minute. A tenant of which much is asked may have more.
func (c crossplaneEvents) holdToBudget(ctx context.Context, t *testing.T, more float64) {
	t.Helper()
	now := countCrossplaneEvents(ctx, t)
	events, took := now.allowed-c.allowed, now.at.Sub(c.at)
	budget := eventsAtOnce + eventsPerSecond*took.Seconds()
	t.Logf("%.0f events in %s, of the %.0f that Crossplane lets through by default", events, took.Round(time.Second), budget)
	if os.Getenv("CROSSPLANE") == "oldest" {
		t.Log("NOT HELD TO IT HERE: THE OLDEST CROSSPLANE COUNTS MORE EVENTS")
	} else if events > budget+eventsOfItsOwn+eventsOfWorkloads+more {
		t.Errorf("a tenant costs %.0f events, Crossplane lets %.0f through by default", events, budget)
	}
	if dropped := now.dropped - c.dropped; dropped > 0 {
		t.Errorf("Crossplane has dropped %.0f events", dropped)
	}
}

// countCrossplaneEvents reads Crossplane's metrics.
func countCrossplaneEvents(ctx context.Context, t *testing.T) crossplaneEvents {
	t.Helper()
	at := time.Now()
	events, err := figures.ReadEvents(ctx, host.Typed, crossplane)
	if err != nil {
		t.Fatal(err)
	}
	return crossplaneEvents{at: at, allowed: events["Allowed"], dropped: events["Dropped"]}
}
