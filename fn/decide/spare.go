package decide

import (
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Spare returns what a spare of a pool is to have: what it began with. Where a new tenant would get something else now, an update is available
// for the spare, and its pool replaces it. It isn't updated: an upgrade may end otherwise than an installation, and can't go back to an earlier
// version. A spare serves nobody, so it has no maintenance window, and its channel rolls nothing out to it: it never has a revision with which
// no new tenant begins.
func Spare(was *tenant.Accepted, asked tenant.Accepted, c tenant.Channel, now time.Time) Choice {
	if was != nil && c.Problem != "" {
		out := Choose(was, asked, c, false, now)
		out.Spare = true
		return out
	}
	out := Choose(nil, asked, c, false, now)
	// A new tenant may wait for more, as the spare will once it is taken.
	out.Spare, out.UpdateAvailable, out.Message = true, false, ""
	if was == nil {
		return out
	}
	keep, fresh := kept(*was, asked, c.Begins), out.Take
	switch {
	case c.Begin > 0 && c.Begins == nil:
		out.Take, out.Message = keep, fmt.Sprintf("revision %d of channel %s is missing", c.Begin, c.Name)
	case !equal(keep, fresh):
		out.Take, out.Other, out.Free = keep, &fresh, true
		out.UpdateAvailable, out.Message = true, "is to be replaced, because a new tenant gets something else"
	}
	out.Revision = out.Take.Offered.In(c.Name)
	return out
}
