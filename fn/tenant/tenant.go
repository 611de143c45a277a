// Package tenant holds what everything else is about: what is given of a tenant, what was
// accepted, what is decided, and the names of its objects.
package tenant

import (
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Tenant is what composed resources are built from.
type Tenant struct {
	*Decision
	Observed Observed
	// Accepted is what the decision follows from, as JSON.
	Accepted []byte
	// Refused is why that isn't what the claim, its plan and the input say now; nil when
	// it is.
	Refused error
}

// Composed returns the observed composed resource of that name.
func (t Tenant) Composed(name string) wire.Composed { return t.Observed.Composed[name] }

// InstalledBefore reports whether a Release was installed once: the status remembers its
// version.
func (t Tenant) InstalledBefore(release string) bool {
	was := t.Observed.XR.Get("status")
	if release == ArgoCDRelease {
		return was.String("argocd", "chartVersion") != ""
	}
	return was.String("vcluster", "version") != ""
}
