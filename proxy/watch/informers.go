package watch

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

const (
	// maxInformers is how many informers there may be: five for each of 2,000 virtual clusters.
	maxInformers = 10_000
	// maxPolls is how many polls there may be at the same time: each holds a response in memory. maxSlowPolls is how many of them may be of
	// objects without triggers, which take longer: they must not hold up those of health.
	maxPolls     = 64
	maxSlowPolls = 16
)

// Informers are all informers of a proxy.
type Informers struct {
	intervals Intervals
	// version is the last resourceVersion. It starts from the time, so that those of an earlier proxy are recognized.
	version          atomic.Int64
	polls, slowPolls chan struct{}
	// ctx ends when the proxy stops: watches would keep it from that for minutes.
	ctx  context.Context //nolint:containedctx // It is that of the whole proxy.
	stop context.CancelFunc

	mu  sync.Mutex
	all map[key]*informer
}

// key identifies an informer. It stays the same when the credentials of the virtual cluster or the object change.
type key struct {
	url      string
	resource *Resource
}

// NewInformers returns Informers with these intervals.
func NewInformers(intervals Intervals) *Informers {
	i := &Informers{intervals: intervals, polls: make(chan struct{}, maxPolls), slowPolls: make(chan struct{}, maxSlowPolls), all: map[key]*informer{}}
	i.version.Store(time.Now().UnixMicro())
	i.ctx, i.stop = context.WithCancel(context.Background())
	return i
}

// Observed notes that a provider has read an object with this digest, and the client of its request. From then on, the informer of its
// resource in that virtual cluster polls that object.
func (i *Informers) Observed(c *virtualapi.Client, r *Resource, o Object, d Digest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if is := i.informer(key{c.URL, r}); is != nil {
		is.observed(c, o, d)
	}
}

// informer returns the informer with a key, and adds it if it doesn't exist; nil if there are too many. It is removed again unless a
// provider watches soon: provider-helm reads objects, too, and watches none of them. The caller holds the lock.
func (i *Informers) informer(k key) *informer {
	if is := i.all[k]; is != nil {
		return is
	}
	if len(i.all) >= maxInformers {
		maps.DeleteFunc(i.all, func(_ key, is *informer) bool { return !is.isRunning() })
	}
	if len(i.all) >= maxInformers {
		return nil
	}
	version := i.version.Add(1)
	is := &informer{
		key: k, all: i, created: version, version: version, changed: make(chan struct{}), unwatched: time.Now(),
		enqueued: make(chan struct{}, 1), notifications: rate.NewLimiter(rate.Every(i.intervals.MinNotify), i.intervals.Burst),
	}
	i.all[k] = is
	i.removeLater(is)
	return is
}

// subscribe returns the informer with a key, which runs until the caller calls unsubscribe, and for Intervals.Keep longer. It returns nil if
// there are too many.
func (i *Informers) subscribe(k key) (is *informer, unsubscribe func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if is = i.informer(k); is == nil {
		return nil, nil
	}
	is.mu.Lock()
	defer is.mu.Unlock()
	is.watchers++
	if is.stop == nil {
		var ctx context.Context
		ctx, is.stop = context.WithCancel(i.ctx)
		go is.run(ctx)
	}
	return is, func() {
		is.mu.Lock()
		is.watchers--
		is.unwatched = time.Now()
		is.mu.Unlock()
		i.removeLater(is)
	}
}

func (i *Informers) removeLater(is *informer) {
	time.AfterFunc(i.intervals.Keep, func() { i.removeUnwatched(is) })
}

// removeUnwatched stops an informer that no provider has watched for a while, and drops its credentials.
func (i *Informers) removeUnwatched(is *informer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	is.mu.Lock()
	defer is.mu.Unlock()
	if is.watchers > 0 || time.Since(is.unwatched) < i.intervals.Keep {
		return
	}
	if is.stop != nil {
		is.stop()
		is.stop = nil
	}
	if i.all[is.key] == is {
		delete(i.all, is.key)
	}
}

// Stop stops all informers, and ends the watches of all providers. There can be no others afterwards.
func (i *Informers) Stop() { i.stop() }

// nextVersion returns a new resourceVersion.
func (i *Informers) nextVersion() int64 { return i.version.Add(1) }

func formatVersion(version int64) string { return strconv.FormatInt(version, 10) }
