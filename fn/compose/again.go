package compose

import (
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// looksAgain is how often the function looks at a tenant that is being installed,
// looksAgainSoon at one whose namespace is being prepared, and looksAgainLater at one for
// which something has been missing for stuckAfter: there may be hundreds. Only Crossplane
// 2.4 watches the Secret that the virtual cluster writes its kubeconfig to.
const (
	looksAgain      = 10 * time.Second
	looksAgainSoon  = 4 * time.Second
	looksAgainLater = 30 * time.Second
	stuckAfter      = 2 * time.Minute
)

// LooksAgainIn returns when to look again at a tenant that comes up for the first time,
// whether anything changes or not. It reports false for other tenants. Crossplane's
// circuit breaker may keep changes from it, and then nothing else goes on.
func LooksAgainIn(t tenant.Tenant) (time.Duration, bool) {
	if tenant.WasReady(t.Observed) {
		return 0, false
	}
	since := release.AgeOf(t, t.Observed.XR)
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		if resource.Exists(name)(t) {
			since = release.Age(t, name)
		}
	}
	in := looksAgain
	switch {
	case since > stuckAfter:
		return looksAgainLater, true
	case !resource.Exists(tenant.VClusterRelease)(t):
		return looksAgainSoon, true
	}
	for name, within := range release.StartsWithin {
		if left := within - release.Age(t, name); left > 0 {
			in = min(in, left+time.Second)
		}
	}
	return in, true
}
