package compose

import (
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
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

// Ready reports whether everything that is wanted is there and ready.
func (r Result) Ready() bool { return len(r.Waiting) == 0 && len(r.NotReady) == 0 }

// Compose builds the tenant's composed resources.
func Compose(t tenant.Tenant) (Result, error) {
	r := Result{Desired: make(map[string]*fnv1.Resource, 16)}
	for _, row := range Table(t) {
		if !row.Has(t) {
			continue
		}
		if !t.Composed(row.Name).Exists() && row.Waits(t) {
			r.Waiting = append(r.Waiting, row.Name)
			continue
		}
		o, err := row.Build(t)
		if err != nil {
			return Result{}, fmt.Errorf("cannot build composed resource %q: %w", row.Name, err)
		}
		s, err := o.Encode()
		if err != nil {
			return Result{}, fmt.Errorf("cannot encode composed resource %q: %w", row.Name, err)
		}
		ready := fnv1.Ready_READY_FALSE
		if row.Ready(t) {
			ready = fnv1.Ready_READY_TRUE
		} else {
			r.NotReady = append(r.NotReady, row.Name)
		}
		r.Desired[row.Name] = &fnv1.Resource{Resource: s, Ready: ready}
	}
	return r, nil
}
