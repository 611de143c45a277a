package proxy

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
)

// How long the proxy takes for a look at Argo CD's connections, and how long it remembers what it
// saw. In between it may see nothing, because Argo CD restarts, or has nothing to do.
const (
	sightWithin = 10 * time.Second
	sightKept   = 10 * time.Minute
	sightFresh  = 2 * time.Minute
	maxSights   = maxServers
	// maxSaid is how many bytes of a message the proxy looks at, and maxTold how many it tells of all messages.
	maxSaid = 4 << 10
	maxTold = 8 << 10
)

// A sight is what the proxy has seen of Argo CD's connections in a virtual cluster.
type sight struct {
	// looking is held during a look.
	looking sync.Mutex

	mu     sync.Mutex
	looked time.Time
	seen   map[ConnectionKey]seen
	// requests are the counts of Argo CD's requests to API servers, by the pod that counts and by host.
	requests map[string]map[string]requests
}

type seen struct {
	Connection
	at time.Time
}

// sightOf returns what was seen of the connections in a virtual cluster. It is forgotten if nobody
// asks for it any more. There is one for each virtual cluster, however often a claim changes what is asked for.
func (p *Proxy) sightOf(s *server, namespace string) *sight {
	key := s.url + " " + namespace
	p.mu.Lock()
	defer p.mu.Unlock()
	is := &sight{seen: map[ConnectionKey]seen{}}
	if found, ok := p.sights.Get(key); ok {
		is = found.(*sight)
	}
	p.sights.Add(key, is, serversKept+sightKept)
	return is
}

// old reports whether there was no look for a while.
func (v *sight) old() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Since(v.looked) > sightFresh
}

// data returns what was seen of the connections with these keys as the data of a ConfigMap, and how many
// that are.
func (v *sight) data(keys []ConnectionKey) (data map[string]string, n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	list, room := []Connection{}, maxTold
	for _, k := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		is, ok := v.seen[k]
		if !ok {
			continue
		}
		c := is.Connection
		if room -= len(c.Message); room < 0 {
			c.Message = ""
		}
		list = append(list, c)
	}
	return ConnectionsData(list), len(list)
}

// look looks at the connections with these keys, unless another look is under way. It doesn't fail:
// what can't be seen now stays as it was seen for a while.
func (v *sight) look(ctx context.Context, p *Proxy, s *server, namespace string, keys []ConnectionKey) {
	if !v.looking.TryLock() {
		return
	}
	defer v.looking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sightWithin)
	defer cancel()
	l := &glance{proxy: p, server: s, namespace: namespace, asked: map[ConnectionKey]bool{}, found: map[ConnectionKey]Connection{}, quiet: map[ConnectionKey]bool{}}
	for _, k := range keys {
		l.asked[k] = true
	}
	v.mu.Lock()
	l.before = v.requests
	v.mu.Unlock()
	if len(keys) > 0 {
		l.look(ctx)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	v.looked = now
	if l.requests != nil {
		v.requests = l.requests
	}
	for k := range l.quiet {
		if was, ok := v.seen[k]; ok {
			v.seen[k] = seen{was.Connection, now}
		}
	}
	for k, is := range l.found {
		v.see(k, is, now)
	}
	for k, is := range v.seen {
		if now.Sub(is.at) > sightKept || !l.asked[k] {
			delete(v.seen, k)
		}
	}
}

// see notes what was seen. As long as something fails for the same reason, the message stays as it
// was first: ports and numbers of requests in it change each time, and each change is written to the
// host.
func (v *sight) see(k ConnectionKey, is Connection, now time.Time) {
	is.Key, is.Message = k, cleaned(is.Message)
	if is.Connected {
		is.Message = ""
	}
	if was, ok := v.seen[k]; ok && was.Connected == is.Connected && withoutNumbers(was.Message) == withoutNumbers(is.Message) {
		is = was.Connection
	}
	v.seen[k] = seen{is, now}
}

var (
	// userinfo is the part of a URL with a name and a password, which may have signs that it should escape.
	userinfo = regexp.MustCompile(`(://)[^\s"']*@`)
	numbers  = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F]*`)
)

func withoutNumbers(message string) string { return numbers.ReplaceAllString(message, "0") }

// cleaned returns a message of a tenant's on one short line, without what a URL has of credentials.
func cleaned(message string) string {
	// Text of some hundred bytes may begin with a long text without space.
	if len(message) > maxSaid {
		message = message[:maxSaid]
	}
	visible := func(r rune) rune {
		if unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return r
		}
		return -1
	}
	return podtrouble.Short(userinfo.ReplaceAllString(strings.Map(visible, strings.ToValidUTF8(message, "")), "$1"))
}
