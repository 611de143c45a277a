// Package connections observes whether the Argo CD of a virtual cluster connects to the clusters, repositories and identity provider that a
// claim has. It gets everything from the virtual API server as a user of the virtual cluster could, and needs no account of Argo CD: metrics
// and pages of Argo CD's pods by the API server's proxy to pods, and Applications.
package connections

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
	"github.com/virtual-argocd/virtual-argocd/internal/visible"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// How long a poll takes at most, how long an observation is kept, and how old it may be when a provider requests it. In between a poll may
// observe nothing, because Argo CD restarts, or has nothing to do.
const (
	pollTimeout = 10 * time.Second
	keepFor     = 10 * time.Minute
	freshFor    = 2 * time.Minute
	// maxMessage is how many bytes of a message are considered, and maxMessages how many all messages may have together.
	maxMessage  = 4 << 10
	maxMessages = 8 << 10
)

// A Store keeps what was observed of the connections of each virtual cluster's Argo CD.
type Store struct {
	// Sample is how long a poll waits between two counts of requests if it has none from before.
	Sample time.Duration
	// PageTimeout is how long Argo CD's API server may take for a page.
	PageTimeout time.Duration

	// all has one set for each virtual cluster, however often a claim changes what it has.
	all *virtualapi.Observations[observations]
}

// NewStore returns an empty Store.
func NewStore() *Store {
	return &Store{Sample: 3 * time.Second, PageTimeout: 4 * time.Second, all: virtualapi.NewObservations(func() *observations {
		return &observations{connections: map[proxy.ConnectionKey]observation{}}
	})}
}

// Poll observes the connections with these keys, unless another poll of them is in progress. It returns what is known of them then, as the
// data of a ConfigMap, and whether that are all. It doesn't fail: what can't be observed now stays for a while as it was observed.
func (s *Store) Poll(ctx context.Context, c *virtualapi.Client, namespace string, keys []proxy.ConnectionKey) (data map[string]string, all bool) {
	known := s.all.Of(c, namespace)
	known.poll(ctx, s, c, namespace, keys)
	return known.data(keys)
}

// Get returns what is known of the connections with these keys. It polls first if that is too old.
func (s *Store) Get(ctx context.Context, c *virtualapi.Client, namespace string, keys []proxy.ConnectionKey) (data map[string]string) {
	known := s.all.Of(c, namespace)
	if known.isOld() {
		known.poll(ctx, s, c, namespace, keys)
	}
	data, _ = known.data(keys)
	return data
}

// observations are those of the connections of one Argo CD.
type observations struct {
	// polling is held during a poll.
	polling sync.Mutex

	mu          sync.Mutex
	polled      time.Time
	connections map[proxy.ConnectionKey]observation
	// requests are the counts of Argo CD's requests to API servers, by the pod that counts and by host.
	requests map[string]map[string]requests
}

type observation struct {
	proxy.Connection
	at time.Time
}

// isOld reports whether there was no poll for a while.
func (o *observations) isOld() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.polled) > freshFor
}

// data returns what was observed of the connections with these keys as the data of a ConfigMap, and whether that are all.
func (o *observations) data(keys []proxy.ConnectionKey) (data map[string]string, all bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, room := []proxy.Connection{}, maxMessages
	for _, k := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		is, ok := o.connections[k]
		if !ok {
			continue
		}
		c := is.Connection
		if room -= len(c.Message); room < 0 {
			c.Message = ""
		}
		list = append(list, c)
	}
	return proxy.ConnectionsData(list), len(list) == len(keys)
}

// poll observes the connections with these keys, and forgets others.
func (o *observations) poll(ctx context.Context, s *Store, c *virtualapi.Client, namespace string, keys []proxy.ConnectionKey) {
	if !o.polling.TryLock() {
		return
	}
	defer o.polling.Unlock()
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	p := newPoll(s, c, namespace, keys)
	o.mu.Lock()
	p.before = o.requests
	o.mu.Unlock()
	p.run(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.take(p, time.Now())
}

// take takes over what a poll has found. The caller holds the lock.
func (o *observations) take(p *poll, now time.Time) {
	o.polled = now
	if p.requests != nil {
		o.requests = p.requests
	}
	for k := range p.quiet {
		if was, ok := o.connections[k]; ok {
			o.connections[k] = observation{was.Connection, now}
		}
	}
	for k, is := range p.found {
		o.set(k, is, now)
	}
	for k, is := range o.connections {
		if now.Sub(is.at) > keepFor || !p.asked[k] {
			delete(o.connections, k)
		}
	}
}

// set sets what was observed of a connection. As long as it fails for the same reason, the message stays as it was first: ports and numbers
// of requests in it change each time, and each change is written to the host.
func (o *observations) set(k proxy.ConnectionKey, is proxy.Connection, now time.Time) {
	is.Key, is.Message = k, cleaned(is.Message)
	if is.Connected {
		is.Message = ""
	}
	if was, ok := o.connections[k]; ok && is.Agent == nil && was.Connected == is.Connected && withoutNumbers(was.Message) == withoutNumbers(is.Message) {
		is = was.Connection
	}
	o.connections[k] = observation{is, now}
}

var (
	// userinfo is the part of a URL with a name and a password, which may have characters that it should escape.
	userinfo = regexp.MustCompile(`(://)[^\s"']*@`)
	numbers  = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F]*`)
)

func withoutNumbers(message string) string { return numbers.ReplaceAllString(message, "0") }

// cleaned returns a message of a tenant's on one short line, without what a URL has of credentials.
func cleaned(message string) string {
	// A message of some hundred bytes may begin with a long text without space.
	if len(message) > maxMessage {
		message = message[:maxMessage]
	}
	return podtrouble.Short(userinfo.ReplaceAllString(visible.Line(message), "$1"))
}
