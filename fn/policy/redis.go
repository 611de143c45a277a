package policy

import (
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// redis refuses values of a claim with which Argo CD has no redis, or not the one that is meant, unless they were accepted before: the chart asks
// externalRedis only where none of its own runs (helper argo-cd.redis.server).
func redis(g tenant.Given, of *values.Stack) error {
	if g.Unassigned {
		return nil
	}
	const root = "spec.argocd.values."
	v := of.Merged()
	ha, proxy := values.Enabled(v, false, "redis-ha", "enabled"), values.Enabled(v, true, "redis-ha", "haproxy", "enabled")
	runs := ha && proxy || !ha && values.Enabled(v, true, "redis", "enabled")
	// Whoever sets the address itself knows where redis is.
	elsewhere := values.Enabled(v, false, "configs", "params", "redis.server") || values.Enabled(v, false, "configs", "params", "redis.sentinel.hosts")
	own := func(path ...string) bool {
		is, ok := of.Claims(path...)
		return ok && is != nil && is != "" && !g.KeepsValues(path...)
	}
	var found []error
	switch external := values.Enabled(v, false, "externalRedis", "host"); {
	case elsewhere:
	case runs && external && own("externalRedis", "host"):
		by := "redis.enabled: false"
		if ha {
			by = "redis-ha.enabled: false and " + by
		}
		found = append(found, fmt.Errorf("%sexternalRedis.host: Argo CD ignores it while a redis of its own runs: write %s, too", root, by))
	case !runs && !external:
		const instead = "Argo CD compares nothing without redis: write externalRedis.host, or leave it out"
		for _, path := range [][]string{{"redis", "enabled"}, {"redis-ha", "haproxy", "enabled"}} {
			if ha == (path[0] == "redis-ha") && own(path...) {
				found = append(found, fmt.Errorf("%s%s: %s", root, joined(path), instead))
			}
		}
	}
	return mistakes.Join(found...)
}
