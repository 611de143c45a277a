package proxy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/util/cache"
)

// Limits of what a virtual API server is given.
type Limits struct {
	// Read and Write are how long the whole of a request may take.
	Read, Write time.Duration
	// Watch is how long a watch may last, such as Helm's for its hooks.
	Watch time.Duration
	// Rest is how long a virtual API server is left alone that went over a limit
	// MaxFailures times within a minute.
	Rest time.Duration
	// Answer is the size of an answer in bytes, and LargeAnswer that of what Helm asks for
	// beside ordinary objects: its records, CustomResourceDefinitions, the OpenAPI document
	// and the whole of a watch.
	Answer, LargeAnswer int64
	// Failure is the size of an error in bytes. A longer one could be more than a status
	// can hold.
	Failure int64
	// Values is how many objects, lists and members an answer may have, and LargeValues
	// how many a large one may have, with all records of Helm in it.
	Values, LargeValues int
	// Depth is how deep objects and lists may be nested. Crossplane can send the function objects of up to some 3,300 levels
	// (a level is three of the 10,000 that protobuf reads), and what a Kubernetes API stores has a few dozen.
	Depth int
	// RecordCount is how many records of Helm an answer may have, and Records the size in
	// bytes to which all of them may unpack.
	RecordCount int
	Records     int64
	// Text is how many items, members and lines the texts in all records may have, such
	// as the manifest, which Helm reads as YAML.
	Text int
}

// DefaultLimits let Argo CD's chart through several times over (TestChartsAreWithinLimits).
// An API server stores objects of up to 1.5 MiB.
var DefaultLimits = Limits{
	Read: 15 * time.Second, Write: 40 * time.Second, Watch: 5 * time.Minute, Rest: time.Minute,
	Answer: 2 << 20, LargeAnswer: 8 << 20, Failure: 32 << 10, Values: 20_000, LargeValues: 100_000, Depth: 500,
	RecordCount: 8, Records: 40 << 20, Text: 800_000,
}

// definitions is the path of CustomResourceDefinitions.
const definitions = "/apis/apiextensions.k8s.io/"

const (
	mediaJSON = "application/json"
	mediaText = "text/plain"
)

// MaxFailures is how many times a virtual API server may go over a limit in a minute, and maxTrials with how many requests it is tried
// after that. It has to answer all of them.
const (
	MaxFailures = 3
	maxTrials   = 3
)

// Bounds of what the proxy keeps of virtual API servers.
const (
	maxServers    = 2_000
	serversKept   = 10 * time.Minute
	connections   = 16
	idleFor       = 30 * time.Second // The API server closes after 90.
	dialWithin    = 10 * time.Second
	failuresCount = time.Minute
)

// shortestWatch is how long a watch lasts at least.
const shortestWatch = time.Second

// Proxy is the handler of the providers' requests.
type Proxy struct {
	limits Limits
	log    logging.Logger
	dial   dialer

	pace pace
	// looks has a value for each look into a virtual cluster that is under way, polls for each at what is
	// polled, and decoding for each answer that is being decoded.
	looks, polls, decoding chan struct{}
	// held is the memory for large answers, in bytes.
	held *semaphore.Weighted
	// version is the last resource version that was given to a followed object. It starts from the time, so that
	// a proxy recognizes those of an earlier one.
	version atomic.Int64

	// watches ends when the proxy stops: watches would keep it from that for minutes.
	watches    context.Context //nolint:containedctx // It is the proxy's own.
	endWatches context.CancelFunc

	mu      sync.Mutex
	servers *cache.LRUExpireCache
	// sights are what was seen of Argo CD's connections.
	sights *cache.LRUExpireCache
	// follows are the objects that providers watch or may watch.
	follows map[followKey]*followed
}

// New returns a proxy.
func New(limits Limits, log logging.Logger) *Proxy {
	p := &Proxy{
		limits: limits, log: log, pace: defaultPace, looks: make(chan struct{}, maxLooks), polls: make(chan struct{}, maxPolls), decoding: make(chan struct{}, maxDecoding),
		held:    semaphore.NewWeighted(maxHeld),
		servers: cache.NewLRUExpireCache(maxServers), sights: cache.NewLRUExpireCache(maxSights), follows: map[followKey]*followed{},
	}
	p.version.Store(time.Now().UnixMicro())
	p.watches, p.endWatches = context.WithCancel(context.Background())
	return p
}

// ServeHTTP passes a request on to the virtual API server that its token names, and the
// answer back once all of it is within the limits.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s, err := p.server(r.Header.Get("Authorization"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	needs, err := needOf(r)
	if err != nil {
		p.log.Debug("A request isn't passed on", "server", s.url, "reason", err.Error())
		refuse(w, s, err)
		return
	}
	if needs.all != nil {
		p.serveWatch(w, r, s, needs.all)
		return
	}
	written, err := p.count(s, w, r, needs)
	if over := (*overLimit)(nil); errors.As(err, &over) {
		p.log.Info("A virtual API server goes over a limit", "server", s.url, "path", r.URL.Path, "limit", err.Error())
	}
	if err != nil && !written {
		refuse(w, s, err)
	}
}

// count passes a request on unless the breaker blocks its server, and counts for the breaker whether the server goes over a
// limit. A panic counts, too.
func (p *Proxy) count(s *server, w http.ResponseWriter, r *http.Request, needs need) (written bool, err error) {
	done, err := p.allow(s, needs)
	if err != nil {
		return false, err
	}
	failure := errPanics
	defer func() { done(failure) }()
	written, err = p.pass(s, w, r, needs)
	failure = nil
	if over := (*overLimit)(nil); errors.As(err, &over) {
		failure = err
	}
	return written, err
}

var errPanics = errors.New("the proxy panics")

// allow asks the breaker whether a request may be passed on. The caller calls done with the failure, or nil. A watch lasts for minutes,
// and would keep the breaker waiting: it counts only if it fails.
func (p *Proxy) allow(s *server, needs need) (done func(failure error), err error) {
	isWatch := needs.one != nil
	switch {
	case !isWatch:
		done, err = s.breaker.Allow()
	case s.breaker.State() == gobreaker.StateOpen:
		err = gobreaker.ErrOpenState
	default:
		done = func(failure error) {
			if failure == nil {
				return
			}
			if done, err := s.breaker.Allow(); err == nil {
				done(failure)
			}
		}
	}
	switch {
	case errors.Is(err, gobreaker.ErrTooManyRequests):
		return nil, fmt.Errorf("it has gone over a limit %d times: it is tried with %d requests, which it hasn't answered yet", MaxFailures, maxTrials)
	case err != nil:
		return nil, fmt.Errorf("it has gone over a limit %d times, and is asked again within %s", MaxFailures, p.limits.Rest)
	}
	return done, nil
}

// refuse answers with text and with 502, since client-go shows the text of such an answer
// whatever was asked for. There is no Retry-After: a provider would wait for it, and tries
// again by itself.
func refuse(w http.ResponseWriter, s *server, err error) {
	http.Error(w, fmt.Sprintf("virtual API server %s: %s", s.url, err), http.StatusBadGateway)
}

// overLimit is an answer that goes over a limit.
type overLimit struct{ what string }

func (e *overLimit) Error() string { return e.what }

func tooLong(most int64) error {
	return &overLimit{fmt.Sprintf("it answers with more than %d bytes", most)}
}

func (l Limits) tooDeep() error {
	return &overLimit{fmt.Sprintf("it answers with objects nested deeper than %d levels", l.Depth)}
}

// pass passes a request on, and the answer back. It reports whether it has begun to.
func (p *Proxy) pass(s *server, w http.ResponseWriter, r *http.Request, needs need) (written bool, err error) {
	within := p.limits.Read
	switch {
	case needs.one != nil:
		within = p.limits.Watch
	case r.Method != http.MethodGet:
		within = p.limits.Write
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	if needs.one != nil {
		defer context.AfterFunc(p.watches, cancel)()
	}
	if match := summaries.FindStringSubmatch(r.URL.Path); match != nil {
		body, err := p.summarize(ctx, s, r, match[1], match[2])
		if err != nil {
			return false, late(ctx, err, within)
		}
		send(w, mediaJSON, http.StatusOK, body)
		return true, nil
	}
	if match := connectionsOne.FindStringSubmatch(r.URL.Path); match != nil {
		body, err := p.connectionsOf(ctx, s, r, match[1], match[2])
		if err != nil {
			return false, late(ctx, err, within)
		}
		send(w, mediaJSON, http.StatusOK, body)
		return true, nil
	}
	answer, err := s.ask(ctx, r)
	if err != nil {
		return false, late(ctx, err, within)
	}
	defer func() { _ = answer.Body.Close() }()
	if err := checkForm(answer, r.URL.Path); err != nil {
		return false, err
	}
	if needs.one != nil && answer.StatusCode == http.StatusOK {
		begins := time.Now()
		came, err := p.stream(ctx, s, w, answer, *needs.one)
		if err == nil && !came {
			err = late(ctx, nil, within)
		}
		// A client watches again at once.
		sleep(ctx, shortestWatch-time.Since(begins))
		return true, err
	}
	body, release, err := p.read(ctx, s, answer, r.URL.Path)
	defer release()
	if err == nil {
		err = p.decode(ctx, func() (err error) { body, err = p.shown(s, r, answer, body); return err })
	}
	if err != nil {
		return false, late(ctx, err, within)
	}
	send(w, answer.Header.Get("Content-Type"), answer.StatusCode, body)
	return true, nil
}

func send(w http.ResponseWriter, contentType string, status int, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func isTrue(s string) bool { return s == "true" || s == "1" }

// late tells a request that took too long from another one's error. A provider that has
// gone by itself is no fault of the server's.
func late(ctx context.Context, err error, within time.Duration) error {
	if errors.Is(err, errCrowded) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &overLimit{fmt.Sprintf("no answer within %s", within)}
	}
	// The host's DNS isn't the tenant's.
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return err
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return &overLimit{err.Error()}
	}
	return err
}

// checkForm refuses answers that would have a provider unpack, follow or wait for
// something. Of the headers only Content-Type is passed on.
func checkForm(answer *http.Response, path string) error {
	switch {
	case answer.StatusCode < 200 || answer.StatusCode >= 300 && answer.StatusCode < 400:
		return &overLimit{fmt.Sprintf("it answers with status %d, which is no answer of an API server", answer.StatusCode)}
	case answer.Header.Get("Content-Encoding") != "":
		return &overLimit{"it answers compressed, which it wasn't asked for"}
	}
	// An API server calls its list of OpenAPI documents text.
	if kind := mediaOf(answer); kind == mediaJSON || kind == mediaText && isOpenAPI(path) {
		return nil
	}
	// What isn't JSON a provider could read, and the proxy couldn't. Errors are often text.
	if answer.StatusCode < 300 {
		return &overLimit{"it doesn't answer with JSON"}
	}
	answer.Header.Set("Content-Type", mediaText)
	return nil
}

func mediaOf(answer *http.Response) string {
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// read returns the whole answer of a server. The caller calls release when it needs it no more, also after an error.
func (p *Proxy) read(ctx context.Context, s *server, answer *http.Response, path string) (body []byte, release func(), err error) {
	most, values := p.limits.Answer, p.limits.Values
	if isSecrets(path) || isDocumentOfVersion(path) || strings.HasPrefix(path, definitions) {
		most, values = p.limits.LargeAnswer, p.limits.LargeValues
	}
	// provider-kubernetes keeps the discovery of a group and version, which is a few KiB.
	if isDiscovery(path) && !isAllDiscovery(path) {
		most, values = most/8, values/8
	}
	if answer.StatusCode >= 400 {
		most = p.limits.Failure
	}
	if body, release, err = p.readAll(ctx, s, answer.Body, most); err != nil {
		return nil, release, err
	}
	c := count(body)
	if c.values > values {
		return nil, release, &overLimit{fmt.Sprintf("it answers with %d values, more than %d", c.values, values)}
	}
	if c.deepest > p.limits.Depth {
		return nil, release, p.limits.tooDeep()
	}
	if isSecrets(path) {
		err = p.decode(ctx, func() error { return p.limits.CheckRecords(body) })
	}
	return body, release, err
}

// decode calls f, which decodes an answer, and returns its error. That takes many times the memory of the answer, so it
// waits for others.
func (p *Proxy) decode(ctx context.Context, f func() error) error {
	select {
	case p.decoding <- struct{}{}:
		defer func() { <-p.decoding }()
		return f()
	case <-ctx.Done():
		return errCrowded
	}
}

// server returns the virtual API server of a token, with what is known about it.
func (p *Proxy) server(header string) (*server, error) {
	key := sha256.Sum256([]byte(header))
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, found := p.servers.Get(key); found {
		return s.(*server), nil
	}
	token, isBearer := strings.CutPrefix(header, "Bearer ")
	if !isBearer {
		token = ""
	}
	c, err := ReadToken(token)
	if err != nil {
		return nil, err
	}
	transport, err := transportOf(c, p.dial)
	if err != nil {
		return nil, err
	}
	s := &server{url: c.Server, transport: transport, held: semaphore.NewWeighted(maxHeldEach), breaker: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: maxTrials,
		Interval:    failuresCount,
		Timeout:     p.limits.Rest,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.TotalFailures >= MaxFailures },
	})}
	p.servers.Add(key, s, serversKept)
	return s, nil
}
