package watch

import (
	"context"
	"errors"
	"time"

	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// A loop polls the object of an informer when it may have changed.
type loop struct {
	*informer

	// triggered is the object whose triggers are watched, until stopTriggers is called.
	triggered    Object
	stopTriggers func()
	// full says that the object is to be polled. Otherwise it is only checked whether the virtual API server answers.
	full bool
	// polled is when the object was polled last; failing and unsettled are since when the virtual API server doesn't answer, and the state
	// isn't settled.
	polled, failing, unsettled time.Time
}

// run polls the object when it may have changed, until the context ends.
func (i *informer) run(ctx context.Context) {
	l := &loop{informer: i, stopTriggers: func() {}}
	defer func() { l.stopTriggers() }()
	timer := time.NewTimer(i.all.intervals.Resync)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.enqueued:
			l.full = true
			if !l.settle(ctx) {
				return
			}
		case <-timer.C:
		}
		next := l.next(ctx)
		if ctx.Err() != nil {
			return
		}
		timer.Reset(next)
	}
}

// settle waits for more events, which need no further poll, and until the object may be polled again. It reports false if the context ends
// before that.
func (l *loop) settle(ctx context.Context) bool {
	intervals := l.all.intervals
	if !sleep(ctx, max(intervals.Settle, intervals.MinPoll-time.Since(l.polled))) {
		return false
	}
	select {
	case <-l.enqueued:
	default:
	}
	return true
}

// next polls the object once, and returns when to poll or check it again if there is no event before that.
func (l *loop) next(ctx context.Context) time.Duration {
	intervals := l.all.intervals
	client, object := l.target()
	if object.Name == "" {
		return intervals.Resync
	}
	if object != l.triggered {
		l.stopTriggers()
		l.triggered, l.stopTriggers, l.unsettled = object, l.watchTriggers(ctx, object), time.Time{}
	}
	if l.full {
		l.polled = time.Now()
	}
	state, err := l.poll(ctx, client, object, l.full)
	switch {
	case ctx.Err() != nil:
		return 0
	case l.resource.Triggers == nil:
		return l.afterSlowPoll(state, err)
	case err != nil:
		return l.afterError()
	case l.full:
		return l.afterPoll(state)
	}
	return jitter(intervals.Resync)
}

// afterSlowPoll notifies the provider after a poll of an object without triggers, which is polled soon while it is new.
func (l *loop) afterSlowPoll(state State, err error) time.Duration {
	intervals := l.all.intervals
	l.full = true
	if l.unsettled.IsZero() {
		l.unsettled = time.Now()
	}
	// What the provider may not be notified of yet, it is notified of after a later poll.
	notified := err != nil || l.update(state.Digest)
	if (!notified || !state.Settled) && time.Since(l.unsettled) < intervals.UnsettledFor {
		return intervals.Unsettled
	}
	return jitter(intervals.Poll)
}

// afterError notifies the provider once the virtual API server hasn't answered for a while.
func (l *loop) afterError() time.Duration {
	intervals := l.all.intervals
	l.full = true
	if l.failing.IsZero() {
		l.failing = time.Now()
	}
	if left := intervals.Grace - time.Since(l.failing); left > 0 {
		return min(left, intervals.MinPoll)
	}
	if !l.update(Digest{}) {
		return intervals.Unsettled
	}
	return intervals.Retry
}

// afterPoll notifies the provider after a poll.
func (l *loop) afterPoll(state State) time.Duration {
	intervals := l.all.intervals
	l.failing = time.Time{}
	switch {
	case state.Settled:
		l.unsettled = time.Time{}
	case l.unsettled.IsZero():
		l.unsettled = time.Now()
	}
	notified := l.update(state.Digest)
	if l.full = !notified || !l.unsettled.IsZero() && time.Since(l.unsettled) < intervals.UnsettledFor; l.full {
		return intervals.Unsettled
	}
	return jitter(intervals.Resync)
}

var errBlocked = errors.New("the virtual API server is blocked")

// poll polls the object, or checks whether the virtual API server answers. It doesn't query a virtual API server that the breaker blocks,
// and its own errors don't count for the breaker: the provider has to get the error itself.
func (l *loop) poll(ctx context.Context, c *virtualapi.Client, o Object, full bool) (State, error) {
	slots := l.all.polls
	if l.resource.Triggers == nil {
		slots = l.all.slowPolls
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return State{}, ctx.Err()
	}
	if !c.Breaker.Closed() {
		return State{}, errBlocked
	}
	ctx, cancel := context.WithTimeout(ctx, c.Limits.Read)
	defer cancel()
	switch {
	case full:
		return l.resource.Poll(ctx, c, o)
	case l.resource.Check != nil:
		changed, err := l.resource.Check(ctx, c, o)
		if changed {
			l.enqueue()
		}
		return State{}, err
	}
	return State{}, nil
}
