package release

import (
	"strings"
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// What somebody deletes or scales down of a release comes back with its next upgrade: Helm creates what doesn't exist, and sets other fields of
// built-in kinds back. provider-helm never looks at the objects, so a repair gives the Release other values, which mean the same, as an attempt
// to install it does (see Emptied). No pod restarts but those of what comes back.

// annotationRepaired holds when the last repairs of a Release began, in RFC 3339 with spaces between; at most maxRepairs.
const annotationRepaired = "virtualargocd.io/repaired"

// Bounds of the repairs of a release: somebody may delete the same object again and again.
const (
	// maxRepairs is how many repairs may begin within repairsIn, and betweenRepairs the shortest time between two.
	maxRepairs     = 3
	repairsIn      = time.Hour
	betweenRepairs = time.Minute
	// repairsWithin is how long a repair takes at most until Helm has tried it.
	repairsWithin = 2 * waitTimeout
)

// repairs returns when the last repairs of a Release began, the earliest first.
func repairs(t tenant.Tenant, name string) []time.Time {
	var out []time.Time
	for at := range strings.FieldsSeq(t.Composed(name).String("metadata", "annotations", annotationRepaired)) {
		if began, err := time.Parse(time.RFC3339, at); err == nil {
			out = append(out, began)
		}
	}
	return out[max(0, len(out)-maxRepairs):]
}

// GivenUp returns until when a Release isn't repaired, because it was too often already; the zero time for one that may be repaired.
func GivenUp(t tenant.Tenant, name string) time.Time {
	all := repairs(t, name)
	if len(all) < maxRepairs {
		return time.Time{}
	}
	if until := all[0].Add(repairsIn); t.Observed.Now.Before(until) {
		return until
	}
	return time.Time{}
}

// NextRepair returns when the next repair of a Release may begin, as far as the time decides; the zero time for now.
func NextRepair(t tenant.Tenant, name string) time.Time {
	next := GivenUp(t, name)
	if all := repairs(t, name); len(all) > 0 && next.IsZero() {
		next = all[len(all)-1].Add(betweenRepairs)
	}
	if !next.After(t.Observed.Now) {
		return time.Time{}
	}
	return next
}

// Repairs reports whether a Release is being repaired.
func Repairs(t tenant.Tenant, name string, c tenant.Chart) bool {
	is, all := t.Composed(name), repairs(t, name)
	return len(all) > 0 && StateOf(is).RollsOut() && !Differs(is, c) && t.Observed.Now.Sub(all[len(all)-1]) < repairsWithin
}

// refusedClaim reports whether the claim has a mistake: somebody is at work. One of the platform's goes on for long, and is no matter of the tenant.
func refusedClaim(t tenant.Tenant) bool {
	return t.Refused != nil && mistakes.OwnerOf(t.Refused) == mistakes.Claim
}

// mayRepair reports whether a repair of a release may begin now: nothing else is being done with it, the tenant is awake, and its claim is accepted.
func mayRepair(t tenant.Tenant, name string, c tenant.Chart) bool {
	is := t.Composed(name)
	return t.InstalledBefore(name) && StateOf(is) == Deployed && !IsTakenBack(is) && !Differs(is, c) && markOf(name, c.Values) != nil &&
		!refusedClaim(t) && !t.Hibernation.Asleep && !tenant.IsAsleep(t.Observed) && NextRepair(t, name).IsZero()
}

// Repair begins a repair of a Release of which something was deleted or scaled down, if one may begin now. The caller passes the Release on to
// Retry and Values.
func Repair(t tenant.Tenant, name string, r *helmv1beta1.Release, c tenant.Chart, drifted bool) {
	is := t.Composed(name)
	if Differs(is, c) {
		// A change repairs it, too, and is a new beginning.
		return
	}
	was := is.String("metadata", "annotations", annotationRepaired)
	if drifted && mayRepair(t, name, c) {
		times := []string{}
		for _, at := range append(repairs(t, name), t.Observed.Now) {
			times = append(times, at.UTC().Format(time.RFC3339))
		}
		was = strings.Join(times[max(0, len(times)-maxRepairs):], " ")
	}
	if was != "" {
		r.Annotations[annotationRepaired] = was
	}
}

// begins reports whether a repair of a Release begins in this call.
func begins(t tenant.Tenant, name string, r *helmv1beta1.Release) bool {
	now := r.Annotations[annotationRepaired]
	return now != "" && now != t.Composed(name).String("metadata", "annotations", annotationRepaired)
}
