package virtualapi

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// maxStored is of how many virtual clusters there are observations.
	maxStored = 2_000
	// Unused is how long observations in a virtual cluster are kept when no provider requests them.
	Unused = 20 * time.Minute
)

// Observations keep what was observed in each virtual cluster.
type Observations[T any] struct {
	begin func() *T

	mu  sync.Mutex
	all *cache.LRUExpireCache
}

// NewObservations returns none. What begin returns is those in a virtual cluster in which nothing was observed yet.
func NewObservations[T any](begin func() *T) *Observations[T] {
	return &Observations[T]{begin: begin, all: cache.NewLRUExpireCache(maxStored)}
}

// Of returns the observations in a virtual cluster, and begins them where there are none.
func (o *Observations[T]) Of(c *Client, namespace string) *T {
	key := c.URL + " " + namespace
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.all.Get(key)
	if !ok {
		found = o.begin()
	}
	o.all.Add(key, found, Unused)
	return found.(*T)
}

// Len returns of how many virtual clusters there are observations.
func (o *Observations[T]) Len() int { return len(o.all.Keys()) }
