package watch

import (
	"context"
	"math/rand/v2"
	"time"
)

// Intervals say how often an informer polls an object, and how often it notifies providers.
type Intervals struct {
	// Settle is how long an informer waits for more events before it polls, and MinPoll the shortest time between two polls.
	Settle, MinPoll time.Duration
	// Unsettled is how soon it polls again while the object's state isn't settled, for UnsettledFor at most: the reason why a pod doesn't
	// start is known later than the fact. After that, the provider polls by itself, every 30 seconds while its Object isn't ready.
	Unsettled, UnsettledFor time.Duration
	// Resync is how long after a poll an informer without an event checks that the virtual API server answers.
	Resync time.Duration
	// Poll is how long after a poll it polls again an object without triggers.
	Poll time.Duration
	// Grace is how long a virtual API server may not answer before the provider is notified, because it may be restarting. Retry is how
	// soon it is polled again after that.
	Grace, Retry time.Duration
	// WatchTimeout is how long a watch in the virtual cluster lasts. Backoff is how soon it is watched again after the first failure; that
	// doubles up to MaxBackoff.
	WatchTimeout, Backoff, MaxBackoff time.Duration
	// Keep is how long an informer goes on after the last watch of a provider has ended. Clients watch again within 30 seconds.
	Keep time.Duration
	// MinNotify is the shortest time between two notifications, after the first Burst of them. Each causes a reconcile of the tenant.
	MinNotify time.Duration
	Burst     int
}

// DefaultIntervals notify a provider half a second after a change, and 65 seconds after a virtual API server has stopped answering.
var DefaultIntervals = Intervals{
	Settle: 500 * time.Millisecond, MinPoll: 5 * time.Second, Unsettled: 10 * time.Second, UnsettledFor: 2 * time.Minute,
	Resync: 45 * time.Second, Poll: 50 * time.Second, Grace: 20 * time.Second, Retry: 20 * time.Second,
	WatchTimeout: 10 * time.Minute, Backoff: time.Second, MaxBackoff: 30 * time.Second, Keep: 2 * time.Minute,
	MinNotify: time.Minute, Burst: 30,
}

// Unreachable is how long after a virtual API server has stopped answering a provider is notified at the latest.
func (i Intervals) Unreachable() time.Duration { return i.Resync + i.Grace }

// jitter changes a duration by up to a tenth, so that tenants aren't polled all at the same time.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)*0.2*float64(d)) //nolint:gosec // It is no secret.
}

// sleep waits for d. It reports false if the context ends before that.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
