// Package parts kills, pauses and slows the parts of a platform on an embedded cluster.
package parts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
)

// A Part of the platform.
type Part interface {
	// Kill ends it at once.
	Kill(ctx context.Context) error
	// Stop makes it do nothing until the returned function is called.
	Stop(ctx context.Context) (goOn func(), err error)
}

// A part that is slow runs for a while, and is stopped for three times as long.
const (
	runsFor    = 100 * time.Millisecond
	stoppedFor = 3 * runsFor
)

// ErrNotThere is returned for a part that doesn't run, or not yet.
var ErrNotThere = errors.New("it doesn't run")

// Slower is a part with its own way of being slow.
type Slower interface {
	// Slow makes it slow until the returned function is called.
	Slow(ctx context.Context) (goOn func(), err error)
}

// Disturb takes a step of a schedule on a part. When it returns, the part isn't disturbed any more.
func Disturb(ctx context.Context, p Part, s schedule.Step) error {
	switch s.Action {
	case schedule.Kill:
		return p.Kill(ctx)
	case schedule.Pause:
		return during(ctx, s.For, p.Stop)
	case schedule.Slow:
		if slower, ok := p.(Slower); ok {
			return during(ctx, s.For, slower.Slow)
		}
		for end := time.Now().Add(s.For); time.Now().Before(end) && ctx.Err() == nil; sleep(ctx, runsFor) {
			if err := during(ctx, stoppedFor, p.Stop); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("a part can't %s", s.Action)
	}
}

// during begins something and ends it after a time, or when ctx is done.
func during(ctx context.Context, d time.Duration, begin func(context.Context) (end func(), err error)) error {
	end, err := begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	sleep(ctx, d)
	return nil
}

// sleep returns after d, or when ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
