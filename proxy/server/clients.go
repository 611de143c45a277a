package server

import (
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// maxServers is for how many virtual API servers there are clients.
const maxServers = 2_000

// clients are those of the tokens that providers have used lately.
type clients struct {
	limits limits.Limits
	memory *limits.Memory
	dial   virtualapi.Dialer
	keep   time.Duration

	mu      sync.Mutex
	byToken *cache.LRUExpireCache
}

func newClients(c Config) *clients {
	return &clients{limits: c.Limits, memory: limits.NewMemory(), dial: c.Dial, keep: c.KeepClients, byToken: cache.NewLRUExpireCache(maxServers)}
}

// of returns the client for the token in a header Authorization.
func (c *clients) of(authorization string) (*virtualapi.Client, error) {
	key := sha256.Sum256([]byte(authorization))
	c.mu.Lock()
	defer c.mu.Unlock()
	if is, found := c.byToken.Get(key); found {
		return is.(*virtualapi.Client), nil
	}
	token, isBearer := strings.CutPrefix(authorization, "Bearer ")
	if !isBearer {
		token = ""
	}
	credentials, err := proxy.ReadToken(token)
	if err != nil {
		return nil, err
	}
	is, err := virtualapi.NewClient(credentials, c.limits, c.memory, c.dial)
	if err != nil {
		return nil, err
	}
	c.byToken.Add(key, is, c.keep)
	// The cache drops an expired client only when somebody gets it, which nobody does after its tenant is gone.
	time.AfterFunc(c.keep+time.Millisecond, func() { c.byToken.Get(key) })
	return is, nil
}
