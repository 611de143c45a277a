package release

import (
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// StartsWithin is how long the installation of a Release's chart takes where nothing is
// missing. After that the function looks for what keeps its pods from running: sooner
// would cost every tenant some more of Crossplane's attention.
var StartsWithin = map[string]time.Duration{tenant.VClusterRelease: 20 * time.Second, tenant.ArgoCDRelease: 25 * time.Second}

// IsLate reports whether a Release has been there for longer than an installation takes.
func IsLate(t tenant.Tenant, release string) bool {
	return resource.Exists(release)(t) && Age(t, release) >= StartsWithin[release]
}

// Age is how long ago a composed resource was created, 0 where nobody knows.
func Age(t tenant.Tenant, name string) time.Duration { return AgeOf(t, t.Composed(name).Struct) }

// AgeOf is Age of an object.
func AgeOf(t tenant.Tenant, o wire.Struct) time.Duration {
	created, err := time.Parse(time.RFC3339, o.String("metadata", "creationTimestamp"))
	if err != nil {
		return 0
	}
	return t.Observed.Now.Sub(created)
}
