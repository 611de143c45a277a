// Package decide decides what a tenant gets. Changes of its claim take effect at once. What its
// channel gives it, or without a channel its plan and the versions in the function's input, takes effect
// in its maintenance window, and with a channel when that assigns it.
package decide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A Choice is what a tenant is to have, before it is known whether it can.
type Choice struct {
	// Take is what it is to have.
	Take tenant.Accepted
	// Other is what it keeps if it can't have Take, or what it waits for; nil for nothing.
	Other *tenant.Accepted
	// Free says that it needn't wait for Other if that changes nothing that runs.
	Free bool
	tenant.Standing
}

// Choose returns what a tenant is to have now. was is what was accepted for it before, nil for nothing.
// asked is what its claim asks for, with the plan and the input as they are now. asleep is whether the tenant is, which takes no change then.
func Choose(was *tenant.Accepted, asked tenant.Accepted, c tenant.Channel, asleep bool, now time.Time) Choice {
	out := Choice{Take: asked}
	out.Schedule = schedule(asked)
	out.Schedule.Asleep = asleep
	out.Name, out.Newest, out.Named, out.Proved = c.Name, c.Published.Revision, asked.Plan.Spec.Channel == "", c.Proved.Duration
	switch {
	case c.Name == "":
		out.alone(was, asked, now)
	case c.Problem != "":
		out.Take = kept(*was, asked, nil)
		out.Message = c.Problem + "; the tenant keeps the revision and the plan that it has"
	case was == nil:
		out.begin(asked, c)
	default:
		out.obey(*was, asked, c, now)
	}
	out.Revision = out.Take.Offered.In(c.Name)
	return out
}

// schedule returns when platform changes may reach a tenant. It ignores maintenance that can't
// be parsed: package policy refuses that.
func schedule(a tenant.Accepted) maintenance.Schedule {
	s, _ := maintenance.Parse("", a.Plan.Spec.Maintenance)
	own, _ := maintenance.Parse("", a.Spec.Maintenance)
	if a.Spec.Maintenance != nil && a.Spec.Maintenance.TimeWindow != nil {
		s.Window = own.Window
	}
	if own.Thaws.After(s.Thaws) {
		s.Thaws, s.Reason = own.Thaws, own.Reason
	}
	return s
}

// kept returns what a tenant has if it takes its claim's changes, and the input, and nothing else of
// the platform. A plan that the claim newly names is as the revision has it, or without one as it is now.
// When and by whom the tenant is changed is as the plan says now.
func kept(was, asked tenant.Accepted, revision *tenant.Revision) tenant.Accepted {
	keep := asked
	keep.Offered = was.Offered
	switch {
	case asked.Spec.Plan == was.Spec.Plan || asked.Plan.Name == was.Plan.Name:
		keep.Plan = was.Plan.Now(asked.Plan)
	case revision != nil:
		_, keep.Plan = revision.Of(was.Offered.Channel, asked.Spec.Plan, asked.Plan)
	}
	return keep
}

// alone chooses for a tenant without a channel.
func (c *Choice) alone(was *tenant.Accepted, asked tenant.Accepted, now time.Time) {
	if was == nil {
		return
	}
	keep := kept(*was, asked, nil)
	if equal(keep, asked) {
		return
	}
	if waits := c.Schedule.Waits(now); waits != "" {
		_, c.Again = c.Schedule.At(now)
		c.Take, c.Other, c.Free = keep, &asked, true
		c.UpdateAvailable, c.Message = true, waits
		return
	}
	c.Took, c.Other = true, &keep
}

// begin chooses for a tenant of a channel for which nothing was accepted.
func (c *Choice) begin(asked tenant.Accepted, of tenant.Channel) {
	switch {
	case of.Begins != nil:
		c.Take = offered(asked, of.Name, *of.Begins)
		if c.UpdateAvailable = of.Begin != of.Published.Revision; c.UpdateAvailable {
			c.Message = fmt.Sprintf("begins with revision %d, the last complete one", of.Begin)
		}
	case of.Halted:
		c.UpdateAvailable, c.Message = true, "begins without a revision, because the channel has halted"
	case of.Paused:
		c.UpdateAvailable, c.Message = true, "begins without a revision, because the channel is paused"
	default:
		c.UpdateAvailable, c.Message = true, fmt.Sprintf("begins without a revision, because revision %d is lost, the last complete one", of.Complete)
	}
}

// obey chooses for a tenant of a channel that has something.
func (c *Choice) obey(was, asked tenant.Accepted, of tenant.Channel, now time.Time) {
	newest := was.Offered.In(of.Name) >= of.Published.Revision
	revision := of.Begins
	if newest {
		revision = of.Newest
	}
	keep := kept(was, asked, revision)
	c.Take = keep
	if newest {
		return
	}
	c.UpdateAvailable = true
	if of.Newest == nil {
		c.Message = fmt.Sprintf("revision %d of channel %s is missing", of.Published.Revision, of.Name)
		return
	}
	next := offered(asked, of.Name, *of.Newest)
	switch waits := c.Schedule.Waits(now); {
	case of.Halted && (of.Assignment == nil || !of.Assignment.Mends):
		c.Message = "the channel has halted"
	case of.Paused:
		c.Message = "the channel is paused"
	case waits != "":
		_, c.Again = c.Schedule.At(now)
		c.Message = waits
	case !of.Assignment.Allows(of.Published.Revision, now):
		c.Message = "waits for its turn"
	default:
		c.Take, c.Other, c.Took, c.UpdateAvailable = next, &keep, true, false
		return
	}
	c.Other, c.Free = &next, of.Complete >= of.Published.Revision
}

// offered returns what is asked for, with what a revision gives the tenant.
func offered(asked tenant.Accepted, channel string, revision tenant.Revision) tenant.Accepted {
	asked.Offered, asked.Plan = revision.Of(channel, asked.Spec.Plan, asked.Plan)
	return asked
}

// equal compares as JSON, because chart values have several forms in memory.
func equal(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
