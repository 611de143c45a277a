// Package argocd observes of an Argo CD what its workloads don't tell: which objects of its chart somebody has deleted, and how many
// Applications it has.
//
// Nothing reports that. provider-helm 1.3.0 compares the last record of Helm with the Release, and never looks at the objects themselves
// (pkg/controller/cluster/release/observe.go). Upstream, an observation of them there, as flux's helm-controller has it, would replace this.
package argocd

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

const (
	// Every is the shortest time between two looks: what is missing is seen after that, and how many Applications there are changes the status
	// of a claim no more often.
	Every = 2 * time.Minute
	// lookTimeout is how long a look may take.
	lookTimeout = 5 * time.Second
	// keepFor is how long a number of Applications is kept while no application controller tells it, because it restarts.
	keepFor = 10 * time.Minute
)

// A Store keeps what was observed of the Argo CD of each virtual cluster.
type Store struct {
	// every is the shortest time between two looks at one of them.
	every time.Duration
	all   *virtualapi.Observations[observation]
}

// NewStore returns an empty Store, with the shortest time between two looks at one of them.
func NewStore(every time.Duration) *Store {
	return &Store{every: every, all: virtualapi.NewObservations(func() *observation { return &observation{} })}
}

// An observation is what is known of one Argo CD.
type observation struct {
	// looking is held during a look.
	looking sync.Mutex

	mu     sync.Mutex
	looked time.Time
	record record
	// missing is nil where nothing is, or that isn't known.
	missing *proxy.Missing
	// applications is nil where that isn't known, and counted when they were counted.
	applications *proxy.Applications
	counted      time.Time
}

// AddTo adds what is known to the data of a summary.
func (s *Store) AddTo(c *virtualapi.Client, namespace string, data map[string]string) {
	is := s.all.Of(c, namespace)
	is.mu.Lock()
	defer is.mu.Unlock()
	proxy.AddTo(data, is.missing, is.applications)
}

// Look looks at an Argo CD if the last look is too old, unless another look is in progress. It reports whether anything was observed to be
// different. It doesn't fail: what is missing isn't known where a request fails.
func (s *Store) Look(ctx context.Context, c *virtualapi.Client, namespace string) (changed bool) {
	return s.look(ctx, c, namespace, s.every)
}

// LookOnce looks at an Argo CD that nobody has looked at yet.
func (s *Store) LookOnce(ctx context.Context, c *virtualapi.Client, namespace string) {
	s.look(ctx, c, namespace, virtualapi.Unused)
}

func (s *Store) look(ctx context.Context, c *virtualapi.Client, namespace string, old time.Duration) (changed bool) {
	is := s.all.Of(c, namespace)
	if !is.looking.TryLock() {
		return false
	}
	defer is.looking.Unlock()
	is.mu.Lock()
	due, last := is.looked.IsZero() || time.Since(is.looked) >= old, is.record
	is.mu.Unlock()
	if !due {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	applications, counted := count(ctx, c, namespace)
	last, missing := findMissing(ctx, c, namespace, last)
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.take(time.Now(), last, missing, applications, counted)
}

// take takes over what a look has found. The caller holds the lock.
func (o *observation) take(now time.Time, r record, missing *proxy.Missing, applications proxy.Applications, counted bool) (changed bool) {
	o.looked, o.record = now, r
	wasMissing, wereApplications := o.missing, o.applications
	o.missing = missing
	switch {
	case counted:
		o.applications, o.counted = &applications, now
	case now.Sub(o.counted) > keepFor:
		o.applications = nil
	}
	return !reflect.DeepEqual(wasMissing, o.missing) || !reflect.DeepEqual(wereApplications, o.applications)
}

// findMissing returns what is missing of the release that is deployed, with its record; nil for nothing, and where that isn't known. The record
// is read again if it isn't the last one.
func findMissing(ctx context.Context, c *virtualapi.Client, namespace string, last record) (record, *proxy.Missing) {
	secret, err := deployed(ctx, c, namespace)
	if err != nil || secret == nil {
		return last, nil
	}
	if last.key != keyOf(*secret) {
		is, err := read(ctx, c, namespace, *secret)
		if err != nil {
			return last, nil
		}
		last = is
	}
	missing, err := last.missing(ctx, c, namespace)
	if err != nil || len(missing.Objects) == 0 {
		return last, nil
	}
	return last, missing
}
