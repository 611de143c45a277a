package proxy

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pace is how often the proxy looks at an object in a virtual cluster that a provider
// watches, and how often it tells the provider.
type pace struct {
	// settle is how long a change has to be followed by others before the proxy looks, and
	// look the shortest time between two looks.
	settle, look time.Duration
	// unready is when it looks again while a workload isn't available or changes, for unreadyFor:
	// why its pods don't start is known later than that they don't. After that the provider does, which
	// looks each half minute at what isn't ready.
	unready, unreadyFor time.Duration
	// probe is when it asks for one workload where nothing is heard.
	probe time.Duration
	// grace is how long a virtual API server may not answer before the provider is told: it
	// may be starting anew. retry is when it is asked again after that.
	grace, retry time.Duration
	// listen is how long the proxy listens at a time, and again and atLast how soon it
	// listens again where that fails.
	listen, again, atLast time.Duration
	// linger is how long it goes on after the provider has stopped to watch. Clients come back
	// within half a minute.
	linger time.Duration
	// news is how often the provider is told at most, after the first burst of changes. Each
	// is a reconcile of the tenant.
	news  time.Duration
	burst int
}

var defaultPace = pace{
	settle: 500 * time.Millisecond, look: 5 * time.Second, unready: 10 * time.Second, unreadyFor: 2 * time.Minute,
	probe: 45 * time.Second, grace: 20 * time.Second, retry: 20 * time.Second,
	listen: 10 * time.Minute, again: time.Second, atLast: 30 * time.Second, linger: 2 * time.Minute,
	news: time.Minute, burst: 10,
}

// Bounds of following virtual clusters.
const (
	maxFollows = 3 * maxServers
	// maxLooks is how many looks there may be at the same time: each holds an answer.
	maxLooks = 64
	// heardBytes is how much a virtual API server may say a second while the proxy listens,
	// and heardBurst how much at once: twice the workloads of Argo CD.
	heardBytes = 16 << 10
	heardBurst = 256 << 10
	heardChunk = 4 << 10
)

// followed is an object in a virtual cluster that a provider watches. The proxy listens to
// changes, whatever they are, looks, and tells the provider when it would see something
// else than it has seen. The proxy believes nothing of what it hears. There is one of each
// kind for each virtual API server: a watch goes on when the credentials change.
type followed struct {
	followKey

	proxy *Proxy
	// created is the first version.
	created int64
	// rung has a value when there may be something to see.
	rung chan struct{}
	news *rate.Limiter

	mu sync.Mutex
	// server has the credentials of the provider's last request, and target is the object
	// that it was for.
	server *server
	target target
	// seen is what the provider has seen last, or was told to look at.
	seen     digest
	version  int64
	changed  chan struct{}
	watchers int
	stop     context.CancelFunc
}

// followKey is of what there is one.
type followKey struct {
	url  string
	kind *watchable
}

// follow returns what is followed of a kind; nil where that is too much. The caller holds
// the lock.
func (p *Proxy) follow(key followKey) *followed {
	if f := p.follows[key]; f != nil {
		return f
	}
	if len(p.follows) >= maxFollows {
		maps.DeleteFunc(p.follows, func(_ followKey, f *followed) bool { return f.idle() })
	}
	if len(p.follows) >= maxFollows {
		return nil
	}
	version := p.version.Add(1)
	f := &followed{
		proxy: p, followKey: key, created: version, version: version, changed: make(chan struct{}),
		rung: make(chan struct{}, 1), news: rate.NewLimiter(rate.Every(p.pace.news), p.pace.burst),
	}
	p.follows[key] = f
	return f
}

// join has something followed until the caller leaves, and for a while after.
func (p *Proxy) join(key followKey) (f *followed, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f = p.follow(key); f == nil {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers++
	if f.stop == nil {
		var ctx context.Context
		ctx, f.stop = context.WithCancel(context.Background())
		go f.run(ctx)
	}
	return f, func() {
		f.mu.Lock()
		f.watchers--
		f.mu.Unlock()
		time.AfterFunc(p.pace.linger, func() { p.forget(f) })
	}
}

// forget ends following where nobody watches any more.
func (p *Proxy) forget(f *followed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers == 0 && f.stop != nil {
		f.stop()
		f.stop = nil
		delete(p.follows, f.followKey)
	}
}

func (f *followed) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stop == nil
}

// saw takes note of an object that a provider has seen, and of the credentials with which
// it has asked.
func (p *Proxy) saw(s *server, kind *watchable, t target, seen digest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.follow(followKey{s.url, kind})
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.server, f.seen = s, seen
	if f.target == t {
		return
	}
	f.target = t
	// The provider has to know what it can be told of.
	f.tell()
	f.ring()
}

// tell tells who watches that the object has changed. The caller holds the lock.
func (f *followed) tell() {
	f.version = f.proxy.version.Add(1)
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *followed) ring() {
	select {
	case f.rung <- struct{}{}:
	default:
	}
}

// state returns the object's metadata, nil before it was asked for, its version, and what
// is closed when that changes.
func (f *followed) state() (object *metav1.PartialObjectMetadata, version int64, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.target.name != "" {
		object = &metav1.PartialObjectMetadata{TypeMeta: f.kind.TypeMeta, ObjectMeta: metav1.ObjectMeta{
			Namespace: f.target.namespace, Name: f.target.name, ResourceVersion: formatVersion(f.version),
		}}
	}
	return object, f.version, f.changed
}

// knows reports whether a version is one of this object's, and what has changed since can
// be told.
func (f *followed) knows(version int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return version >= f.created && version <= f.version
}

// run looks at the object when there may be something to see, until the context ends.
func (f *followed) run(ctx context.Context) {
	pace := f.proxy.pace
	listensTo, hush := target{}, func() {}
	defer func() { hush() }()
	var last, failing, unready time.Time
	// whole is for a look at all of the object.
	whole := false
	timer := time.NewTimer(pace.probe)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.rung:
			whole = true
			if !sleep(ctx, max(pace.settle, pace.look-time.Since(last))) {
				return
			}
			select {
			case <-f.rung:
			default:
			}
		case <-timer.C:
		}
		f.mu.Lock()
		s, t := f.server, f.target
		f.mu.Unlock()
		if t.name == "" {
			timer.Reset(pace.probe)
			continue
		}
		if t != listensTo {
			hush()
			listensTo, hush = t, f.listenTo(ctx, t)
		}
		if whole {
			last = time.Now()
		}
		sees, settled, err := f.look(ctx, s, t, whole)
		next, wholeNext := jitter(pace.probe), false
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if failing.IsZero() {
				failing = time.Now()
			}
			next, wholeNext = pace.retry, true
			if left := pace.grace - time.Since(failing); left > 0 {
				next = min(left, pace.look)
			} else if !f.show(digest{}) {
				next = pace.unready
			}
		case whole:
			failing = time.Time{}
			switch {
			case settled:
				unready = time.Time{}
			case unready.IsZero():
				unready = time.Now()
			}
			wholeNext = !unready.IsZero() && time.Since(unready) < pace.unreadyFor
			if told := f.show(sees); wholeNext || !told {
				next, wholeNext = pace.unready, true
			}
		}
		whole = wholeNext
		timer.Reset(next)
	}
}

// show tells the provider of what it hasn't seen. It reports false where that
// has to wait.
func (f *followed) show(now digest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now == f.seen {
		return true
	}
	if !f.news.Allow() {
		return false
	}
	f.seen = now
	f.tell()
	return true
}

var errLeftAlone = errors.New("it is left alone")

// look looks at the object. A virtual API server that is left alone isn't asked, and a
// look isn't what has one left alone: the provider is to get the error itself.
func (f *followed) look(ctx context.Context, s *server, t target, whole bool) (sees digest, settled bool, err error) {
	p := f.proxy
	select {
	case p.looks <- struct{}{}:
		defer func() { <-p.looks }()
	case <-ctx.Done():
		return digest{}, true, ctx.Err()
	}
	if s.breaker.State() != gobreaker.StateClosed {
		return digest{}, true, errLeftAlone
	}
	ctx, cancel := context.WithTimeout(ctx, p.limits.Read)
	defer cancel()
	return f.kind.look(ctx, p, s, t, whole)
}

// listenTo listens to all that tells of changes of an object, until the caller stops it.
func (f *followed) listenTo(ctx context.Context, t target) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	for _, bell := range f.kind.bells(t) {
		go f.listen(ctx, bell)
	}
	return stop
}

// listen listens to a bell until the context ends.
func (f *followed) listen(ctx context.Context, bell string) {
	pace := f.proxy.pace
	for wait := pace.again; ; wait = min(2*wait, pace.atLast) {
		since := time.Now()
		f.hear(ctx, bell)
		// Whatever has ended it: the virtual API server may be gone.
		f.ring()
		if time.Since(since) > pace.atLast {
			wait = pace.again
		}
		if !sleep(ctx, jitter(wait)) {
			return
		}
	}
}

// onlyMetadata asks for as little as there is of an object that changes.
const onlyMetadata = mediaJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + mediaJSON

// hear watches a bell, and rings with all that comes, without reading it. An API server
// first tells of all that there is.
func (f *followed) hear(ctx context.Context, bell string) {
	p := f.proxy
	f.mu.Lock()
	s := f.server
	f.mu.Unlock()
	if s.breaker.State() != gobreaker.StateClosed {
		return
	}
	within := jitter(p.pace.listen)
	ctx, cancel := context.WithTimeout(ctx, within+p.limits.Read)
	defer cancel()
	begins := time.AfterFunc(p.limits.Read, cancel)
	answer, err := getAs(ctx, s, watching(bell, int(within.Seconds())), onlyMetadata)
	begins.Stop()
	if err != nil {
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return
	}
	chunk, slow := make([]byte, heardChunk), rate.NewLimiter(heardBytes, heardBurst)
	for {
		n, err := answer.Body.Read(chunk)
		if n > 0 {
			f.ring()
		}
		if err != nil || slow.WaitN(ctx, n) != nil {
			return
		}
	}
}

// jitter returns a duration of a tenth more or less: not all tenants at the same time.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)*0.2*float64(d)) //nolint:gosec // It is no secret.
}

// sleep waits, and reports whether the context hasn't ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
