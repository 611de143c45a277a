package limits

import (
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// MaxFailures is how many times a virtual API server may exceed a limit within failureWindow before it is blocked.
	MaxFailures   = 3
	failureWindow = time.Minute
	// maxTrials is how many requests a virtual API server gets first after it was blocked. It has to answer all of them.
	maxTrials = 3
)

// A Breaker is the circuit breaker of a virtual API server: it blocks all requests for a while after the server has exceeded limits.
type Breaker struct {
	breaker *gobreaker.TwoStepCircuitBreaker[any]
	blocked time.Duration
}

// NewBreaker returns a Breaker that blocks requests for that long.
func NewBreaker(blocked time.Duration) *Breaker {
	return &Breaker{blocked: blocked, breaker: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: maxTrials,
		Interval:    failureWindow,
		Timeout:     blocked,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.TotalFailures >= MaxFailures },
	})}
}

// Closed reports whether all requests are passed on: the server isn't blocked, or about to be tried again.
func (b *Breaker) Closed() bool { return b.breaker.State() == gobreaker.StateClosed }

// Failures returns how many limits the server has exceeded lately.
func (b *Breaker) Failures() int { return int(b.breaker.Counts().TotalFailures) }

// Allow returns an error if a request must not be passed on. Otherwise the caller calls done with the limit that the server has exceeded,
// or nil.
func (b *Breaker) Allow() (done func(exceeded error), err error) {
	done, err = b.breaker.Allow()
	return done, b.reason(err)
}

// AllowWatch is like Allow for a watch. A watch lasts for minutes, and would have the breaker wait for its result: it counts only if the
// server exceeds a limit.
func (b *Breaker) AllowWatch() (done func(exceeded error), err error) {
	if b.breaker.State() == gobreaker.StateOpen {
		return nil, b.reason(gobreaker.ErrOpenState)
	}
	return func(exceeded error) {
		if exceeded == nil {
			return
		}
		if done, err := b.breaker.Allow(); err == nil {
			done(exceeded)
		}
	}, nil
}

// reason returns an error of the breaker in words for the user of a virtual cluster.
func (b *Breaker) reason(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gobreaker.ErrTooManyRequests):
		return fmt.Errorf("it has gone over a limit %d times: it is tried with %d requests, which it hasn't answered yet", MaxFailures, maxTrials)
	}
	return fmt.Errorf("it has gone over a limit %d times, and is asked again within %s", MaxFailures, b.blocked)
}
