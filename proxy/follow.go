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

// pace is how often the proxy reads ("looks at") an object in a virtual cluster that a
// provider watches, and how often it notifies ("tells") the provider.
type pace struct {
	// settle is how long the proxy waits for more events before it looks, and look is the
	// shortest time between two looks.
	settle, look time.Duration
	// unready is how soon it looks again while a workload isn't available or is being changed,
	// for as long as unreadyFor: the reason why pods don't start is known later than the fact.
	// After that, the provider looks, every 30 seconds at what isn't ready.
	unready, unreadyFor time.Duration
	// probe is how long after a look it queries one workload, if there is no event, to see
	// whether the virtual API server answers.
	probe time.Duration
	// poll is how long after a look it looks again at what reports no changes.
	poll time.Duration
	// sample is how long it waits between two counts of requests where it has none from before.
	sample time.Duration
	// signOn is how long Argo CD's API server may take for a page.
	signOn time.Duration
	// grace is how long a virtual API server may not answer before the provider is told,
	// because it may be restarting. retry is how soon it is queried again after that.
	grace, retry time.Duration
	// listen is how long a watch of the proxy lasts. again is how soon the proxy watches again
	// after the first failure; that doubles up to atLast.
	listen, again, atLast time.Duration
	// linger is how long it goes on after the provider has stopped watching. Clients come back
	// within 30 seconds.
	linger time.Duration
	// news is the shortest time between two notifications, after the first burst of them.
	// Each causes a reconcile of the tenant.
	news  time.Duration
	burst int
}

// How soon the proxy notifies a provider: of a change, and at the latest of a virtual API
// server that has stopped answering.
const (
	ToldOfChange  = 500 * time.Millisecond
	ToldOfSilence = probe + grace
	// LooksAtConnections is how often it looks at what Argo CD connects to.
	LooksAtConnections = 50 * time.Second

	probe = 45 * time.Second
	grace = 20 * time.Second
)

var defaultPace = pace{
	settle: ToldOfChange, look: 5 * time.Second, unready: 10 * time.Second, unreadyFor: 2 * time.Minute,
	probe: probe, poll: LooksAtConnections, sample: 3 * time.Second, signOn: 4 * time.Second, grace: grace, retry: 20 * time.Second,
	listen: 10 * time.Minute, again: time.Second, atLast: 30 * time.Second, linger: 2 * time.Minute,
	news: time.Minute, burst: 30,
}

// Bounds of watching virtual clusters.
const (
	maxFollows = 4 * maxServers
	// maxLooks is how many looks there may be at the same time: each holds an answer in memory.
	// maxDecoding is how many answers may be decoded at the same time, which needs no network.
	// maxPolls is how many looks at what is polled, which take longer: they must not hold up those at health.
	maxLooks    = 64
	maxPolls    = 16
	maxDecoding = 4
	// heardBytes is how many bytes a second the proxy reads of a watch, and heardBurst how many
	// at once: twice the workloads of Argo CD.
	heardBytes = 16 << 10
	heardBurst = 256 << 10
	heardChunk = 4 << 10
)

// followed is an object in a virtual cluster that a provider watches. The proxy watches for
// events, looks at the object after each, and tells the provider if it would see a
// difference. The proxy doesn't use the content of events, which a tenant can forge. There is
// one followed object of each kind for each virtual API server; it stays the same when the
// credentials change.
type followed struct {
	followKey

	proxy *Proxy
	// created is the first resource version.
	created int64
	// rung has a value when the object may have changed.
	rung chan struct{}
	news *rate.Limiter

	mu sync.Mutex
	// server has the credentials of the provider's last request, and target is the object
	// that it was for.
	server *server
	target target
	// seen is the digest of what the provider has seen last, or was told of.
	seen     digest
	version  int64
	changed  chan struct{}
	watchers int
	// left is when the last watcher left, or when the object was added.
	left time.Time
	stop context.CancelFunc
}

// followKey identifies a followed object.
type followKey struct {
	url  string
	kind *watchable
}

// follow returns the followed object with a key, and adds it if it doesn't exist; nil if there
// are too many. It is forgotten again unless a provider watches it soon: in provider-helm's pod, nobody watches.
// The caller holds the lock.
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
		proxy: p, followKey: key, created: version, version: version, changed: make(chan struct{}), left: time.Now(),
		rung: make(chan struct{}, 1), news: rate.NewLimiter(rate.Every(p.pace.news), p.pace.burst),
	}
	p.follows[key] = f
	p.forgetLater(f)
	return f
}

// join has an object followed until the caller calls leave, and for a while longer. It returns
// nil if too many are followed.
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
		f.left = time.Now()
		f.mu.Unlock()
		p.forgetLater(f)
	}
}

func (p *Proxy) forgetLater(f *followed) {
	time.AfterFunc(p.pace.linger, func() { p.forget(f) })
}

// forget stops following an object that no provider has watched for a while, and drops its credentials.
func (p *Proxy) forget(f *followed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers > 0 || time.Since(f.left) < p.pace.linger {
		return
	}
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
	if p.follows[f.followKey] == f {
		delete(p.follows, f.followKey)
	}
}

func (f *followed) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stop == nil
}

// saw notes the digest of an object that a provider has seen, and the credentials of its
// request.
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
	// The provider has to be told of an object before it can be told of its changes.
	f.tell()
	f.ring()
}

// tell tells all watchers that the object has changed. The caller holds the lock.
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

// state returns the object's metadata, which is nil before a provider has asked for the object,
// its version, and a channel that is closed when the version changes.
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

// run looks at the object when it may have changed, until the context ends.
func (f *followed) run(ctx context.Context) {
	pace := f.proxy.pace
	listensTo, hush := target{}, func() {}
	defer func() { hush() }()
	var last, failing, unready time.Time
	// whole says that the next look is at the whole object, not only a probe.
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
			listensTo, hush, unready = t, f.listenTo(ctx, t), time.Time{}
		}
		if whole {
			last = time.Now()
		}
		sees, settled, err := f.look(ctx, s, t, whole)
		next, wholeNext := jitter(pace.probe), false
		switch {
		case ctx.Err() != nil:
			return
		case f.kind.polled:
			// The summary of workloads tells whether the virtual API server answers.
			next, wholeNext = jitter(pace.poll), true
			if unready.IsZero() {
				unready = time.Now()
			}
			// What may not be told yet is told after a later look.
			told := err != nil || f.show(sees)
			// What is new is seen soon.
			if (!told || !settled) && time.Since(unready) < pace.unreadyFor {
				next = pace.unready
			}
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

// show tells the provider if the object differs from what it has seen. It reports false if
// that has to wait.
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

// look looks at the object. It doesn't query a virtual API server that the breaker blocks, and
// its own errors don't count for the breaker: the provider has to get the error itself.
func (f *followed) look(ctx context.Context, s *server, t target, whole bool) (sees digest, settled bool, err error) {
	p := f.proxy
	slots := p.looks
	if f.kind.polled {
		slots = p.polls
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
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

// listenTo watches everything that reports changes of an object, until the caller calls stop.
func (f *followed) listenTo(ctx context.Context, t target) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	for _, bell := range f.kind.bells(t) {
		go f.listen(ctx, bell)
	}
	return stop
}

// listen watches a bell, again and again, until the context ends. A bell is the path and query
// of a list in the virtual cluster whose changes ring.
func (f *followed) listen(ctx context.Context, bell string) {
	pace := f.proxy.pace
	for wait := pace.again; ; wait = min(2*wait, pace.atLast) {
		since := time.Now()
		f.hear(ctx, bell)
		// Whatever has ended the watch, the virtual API server may be gone.
		f.ring()
		if time.Since(since) > pace.atLast {
			wait = pace.again
		}
		if !sleep(ctx, jitter(wait)) {
			return
		}
	}
}

// onlyMetadata is the media type that asks for the least of each object.
const onlyMetadata = mediaJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + mediaJSON

// hear watches a bell once, and rings whenever something arrives, without decoding it. An API
// server first sends all existing objects.
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

// jitter changes a duration by up to a tenth, so that tenants don't all have their turn at the
// same time.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)*0.2*float64(d)) //nolint:gosec // It is no secret.
}

// sleep waits for d. It reports false if the context ends before that.
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
