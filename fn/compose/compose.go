package compose

import (
	"fmt"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// Result is the desired state of a tenant's composed resources.
type Result struct {
	// Desired resources, by their name in the composition.
	Desired map[string]*fnv1.Resource
	// Waiting are the resources that are wanted and not yet created.
	Waiting []string
	// NotReady are the desired resources that aren't ready.
	NotReady []string
}

// Ready tells whether everything that is wanted is there and ready.
func (r Result) Ready() bool { return len(r.Waiting) == 0 && len(r.NotReady) == 0 }

// Compose builds the tenant's composed resources.
func Compose(t Tenant) (Result, error) {
	r := Result{Desired: make(map[string]*fnv1.Resource, 16)}
	for _, row := range table(t) {
		if !row.wanted(t) {
			continue
		}
		if !t.observed(row.name).Exists() && row.waits(t) {
			r.Waiting = append(r.Waiting, row.name)
			continue
		}
		o, err := row.build(t)
		if err != nil {
			return Result{}, fmt.Errorf("cannot build composed resource %q: %w", row.name, err)
		}
		s, err := o.encode()
		if err != nil {
			return Result{}, fmt.Errorf("cannot encode composed resource %q: %w", row.name, err)
		}
		ready := fnv1.Ready_READY_FALSE
		if row.ready(t) {
			ready = fnv1.Ready_READY_TRUE
		} else {
			r.NotReady = append(r.NotReady, row.name)
		}
		r.Desired[row.name] = &fnv1.Resource{Resource: s, Ready: ready}
	}
	return r, nil
}

// Names returns the names in the table of all composed resources, whether the tenant
// has them now or not, sorted.
func Names(t Tenant) []string {
	var names []string
	for _, row := range table(t) {
		names = append(names, row.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
