// Package eventually waits in tests, on e2e-framework's wait, and says what it saw last when waiting was in vain.
package eventually

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/klient/wait"
)

const interval = 500 * time.Millisecond

// Check looks once. It reports whether the wait is over and, for people, the state it saw.
type Check func(ctx context.Context) (done bool, state string)

// True waits until check is done and returns how long that took. When it takes longer than within, the test fails
// with what was waited for and the state seen last.
func True(ctx context.Context, t testing.TB, within time.Duration, what string, check Check) time.Duration {
	t.Helper()
	start := time.Now()
	last := "nothing"
	err := wait.For(func(ctx context.Context) (bool, error) {
		done, state := check(ctx)
		// A check that was cut off by the deadline saw the deadline, not the cluster.
		if ctx.Err() == nil || last == "nothing" {
			last = state
		}
		return done, nil
	}, wait.WithContext(ctx), wait.WithTimeout(within), wait.WithInterval(interval), wait.WithImmediate())
	if err != nil {
		t.Fatalf("%s: not within %s\nlast seen: %s", what, within, last)
	}
	return time.Since(start)
}
