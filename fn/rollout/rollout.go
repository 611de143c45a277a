// Package rollout decides when a tenant gets a change. No other package delays changes. What a
// claim changes it gets at once. What the platform changes, which is the offer of its channel,
// its plan and the function's input, it gets together: in its turn where it has a channel, and
// in its maintenance window.
package rollout

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A Moment is what the answer depends on, beside what was accepted and what is asked for.
type Moment struct {
	Now time.Time
	// Gate is what is known of the channel of what is asked for.
	Gate tenant.Gate
	// Record is what the tenant's channel knew of it last.
	Record channel.Record
	// Installed reports whether something of the tenant runs.
	Installed bool
	// Decide decides about the tenant by what it may have.
	Decide func(tenant.Accepted) (*tenant.Decision, error)
}

// Next returns what a tenant is to have now, of what was accepted for it, nil for nothing,
// and what is asked for; and where it then stands with what the platform offers.
func Next(was *tenant.Accepted, asked tenant.Accepted, m Moment) (tenant.Accepted, tenant.Standing) {
	s := tenant.Standing{Schedule: schedule(asked), Asked: was == nil || !equal(windowOf(was.Spec), windowOf(asked.Spec))}
	s.Name = m.Gate.Name
	var next tenant.Accepted
	switch {
	case m.Gate.Name == "":
		next = alone(was, asked, m, &s)
	case was == nil:
		next = begin(asked, m, &s)
	case m.Gate.Problem != "":
		next = kept(*was, asked)
		s.Message = m.Gate.Problem + "; the tenant keeps what it has of the platform's"
	default:
		next = inTurn(*was, asked, m, &s)
	}
	s.Accepted = next.Offer.Digest
	return next, s
}

// schedule says when the platform's changes may reach a tenant. What can't be used of it is
// refused elsewhere, and counts for nothing here.
func schedule(a tenant.Accepted) maintenance.Schedule {
	s, _ := maintenance.Parse("", a.Plan.Data.Maintenance)
	own, _ := maintenance.Parse("", a.Spec.Maintenance)
	if a.Spec.Maintenance != nil && a.Spec.Maintenance.TimeWindow != nil {
		s.Window = own.Window
	}
	if own.Thaws.After(s.Thaws) {
		s.Thaws, s.Reason = own.Thaws, own.Reason
	}
	return s
}

// windowOf is what a claim says that decides when it gets the platform's changes.
func windowOf(a tenant.Ask) any { return []any{a.Channel, a.Plan, a.Maintenance} }

// kept returns what a tenant has that takes its claim's changes, and nothing of the
// platform's. Where the claim names another plan, it has that as it is now.
func kept(was, asked tenant.Accepted) tenant.Accepted {
	keep := asked
	keep.Input, keep.Offer = was.Input, was.Offer
	if asked.Spec.Plan == was.Spec.Plan {
		keep.Plan = was.Plan
	}
	return keep
}

// alone is for a tenant without a channel: it gets what the platform changes in its window.
func alone(was *tenant.Accepted, asked tenant.Accepted, m Moment, s *tenant.Standing) tenant.Accepted {
	waits := s.Schedule.Waits(m.Now)
	// A claim that leaves its channel has changed that itself.
	if was == nil || waits == "" || was.Spec.Channel != asked.Spec.Channel {
		return asked
	}
	keep := kept(*was, asked)
	if same(keep, asked) {
		return asked
	}
	now, then, ok := m.decide(keep, asked)
	if ok && unaffected(now, then) {
		return asked
	}
	_, s.Again = s.Schedule.At(m.Now)
	s.UpdateAvailable, s.Message = true, waits+changes(now, then)
	return keep
}

// begin is for a tenant of a channel for which nothing was accepted, or of which that is
// lost.
func begin(asked tenant.Accepted, m Moment, s *tenant.Standing) tenant.Accepted {
	p := m.Gate.Published
	s.Offer, s.Labels = p.Digest, p.Labels
	v := p.Gate(m.Gate.Admission).Decide(channel.Facts{New: !m.Installed, Accepted: m.Record.Accepted, Schedule: s.Schedule}, m.Now)
	content, known := p.Content(v.Offer)
	if !known && m.Installed {
		// What it had is lost, and nobody else knows: it goes on with what all others have.
		if v.Offer = p.Complete.Digest; v.Offer == "" {
			v.Offer = p.Digest
		}
		content, known = p.Content(v.Offer)
	}
	if known && v.Offer != "" {
		asked.Offer = tenant.Offer{Channel: m.Gate.Name, Digest: v.Offer, ChannelOffer: content}
	}
	s.UpdateAvailable, s.Message, s.Again = v.Offer != p.Digest, v.Message, v.Again
	return asked
}

// inTurn is for a tenant of a channel: it gets what the platform changes when the channel
// admits it.
func inTurn(was, asked tenant.Accepted, m Moment, s *tenant.Standing) tenant.Accepted {
	p := m.Gate.Published
	s.Offer, s.Labels = p.Digest, p.Labels
	keep, offered := kept(was, asked), asked
	offered.Offer = tenant.Offer{Channel: m.Gate.Name, Digest: p.Digest, ChannelOffer: p.Offer}
	ofPlan, ofInput := p.Covers(asked.Plan.Name, asked.Spec.Plan != "", fingerprint.Of(asked.Plan.Data), fingerprint.Of(asked.Input))
	// What the claim itself has changed, or nobody, needs no offer.
	ofPlan = ofPlan || equal(keep.Plan, asked.Plan)
	ofInput = ofInput || equal(keep.Input, asked.Input)
	has := was.Offer.Digest
	if has == p.Digest && ofPlan && ofInput {
		return offered
	}
	now, then, ok := m.decide(keep, offered)
	s.UpdateAvailable = true
	if !ofPlan || !ofInput {
		s.Message = "channel " + m.Gate.Name + " doesn't offer yet what the platform has changed in " + what(ofPlan, ofInput) + changes(now, then)
		return keep
	}
	s.Unaffected = ok && unaffected(now, then)
	s.Held = s.Unaffected && !slices.Equal(now.VersionsHeld, then.VersionsHeld)
	v := p.Gate(m.Gate.Admission).Decide(channel.Facts{Accepted: has, Unaffected: s.Unaffected, Schedule: s.Schedule}, m.Now)
	s.Message, s.Again = v.Message, v.Again
	if v.Offer != p.Digest {
		s.Message += changes(now, then)
		return keep
	}
	if now != nil && then == nil {
		// The tenant is no worse off for what it is offered.
		_, err := m.Decide(offered)
		s.Message = "can't have what is offered: " + err.Error()
		return keep
	}
	s.Took, s.UpdateAvailable = true, false
	return offered
}

func what(ofPlan, ofInput bool) string {
	switch {
	case ofPlan:
		return "the function's input"
	case ofInput:
		return "the plan"
	}
	return "the plan and the function's input"
}

// decide returns what follows from what a tenant has, and from what it may have; nil for
// what can't be had. It reports whether both can.
func (m Moment) decide(keep, take tenant.Accepted) (now, then *tenant.Decision, ok bool) {
	now, err := m.Decide(keep)
	if err != nil {
		now = nil
	}
	then, err = m.Decide(take)
	if err != nil {
		then = nil
	}
	return now, then, now != nil && then != nil
}

// unaffected reports whether two decisions are about the same tenant but for what they say
// to people.
func unaffected(now, then *tenant.Decision) bool {
	a, b := *now, *then
	a.VersionsHeld, b.VersionsHeld = nil, nil
	return reflect.DeepEqual(a, b)
}

// same reports whether the platform's part of two is the same.
func same(a, b tenant.Accepted) bool {
	return equal(a.Plan, b.Plan) && equal(a.Input, b.Input) && equal(a.Offer, b.Offer)
}

// equal compares as JSON: of chart values there are several forms in memory.
func equal(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
