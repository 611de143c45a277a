package rollout

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A Moment is what Next depends on, beside what was accepted and what is asked for.
type Moment struct {
	Now time.Time
	// Gate is what is known of the channel that is asked for.
	Gate tenant.Gate
	// Record is the tenant's last record.
	Record channel.Record
	// Installed reports whether something of the tenant runs.
	Installed bool
	// Decide returns the decision about the tenant if it has the given spec, plan, input and
	// offer.
	Decide func(tenant.Accepted) (*tenant.Decision, error)
}

// Next returns what a tenant gets now, and its state in its channel. was is what was accepted
// for it before, nil for nothing. asked is what its claim asks for, with the current plan and
// input.
func Next(was *tenant.Accepted, asked tenant.Accepted, m Moment) (tenant.Accepted, tenant.Standing) {
	s := tenant.Standing{Schedule: schedule(asked), Asked: was == nil || !equal(windowOf(was.Spec), windowOf(asked.Spec))}
	s.Edited = was != nil && !equal(was.Spec, asked.Spec)
	s.Name, s.Named = m.Gate.Name, asked.Plan.Spec.Channel == ""
	var next tenant.Accepted
	switch {
	case m.Gate.Name == "":
		next = alone(was, asked, m, &s)
	case was == nil:
		next = begin(asked, m, &s)
	case m.Gate.Problem != "":
		next, s.Waits = kept(*was, asked), true
		s.Message = m.Gate.Problem + "; the tenant keeps the offer, the plan and the input that it has"
	default:
		next = inTurn(*was, asked, m, &s)
	}
	s.Accepted = next.Offer.Digest
	return next, s
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

// windowOf returns those fields of a claim that decide when it gets platform changes.
func windowOf(a tenant.Ask) any { return []any{a.Channel, a.Plan, a.Maintenance} }

// kept returns what a tenant has if it takes its claim's changes and no platform changes. A
// plan that the claim newly names is as it is now.
func kept(was, asked tenant.Accepted) tenant.Accepted {
	keep := asked
	keep.Input, keep.Offer = was.Input, was.Offer
	if asked.Spec.Plan == was.Spec.Plan || asked.Plan.Name == was.Plan.Name {
		keep.Plan = was.Plan
	}
	return keep
}

// alone is Next for a tenant without a channel: it gets platform changes in its window.
func alone(was *tenant.Accepted, asked tenant.Accepted, m Moment, s *tenant.Standing) tenant.Accepted {
	// A claim that leaves its channel does so by its own change.
	if was == nil || was.Spec.Channel != asked.Spec.Channel {
		return asked
	}
	keep := kept(*was, asked)
	if same(keep, asked) {
		return asked
	}
	waits := s.Schedule.Waits(m.Now)
	if waits == "" {
		s.Took = true
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

// begin is Next for a tenant of a channel for which nothing was accepted, or for which the
// record of that is lost.
func begin(asked tenant.Accepted, m Moment, s *tenant.Standing) tenant.Accepted {
	p := m.Gate.Published
	s.Offer, s.Labels = p.Digest, p.Labels
	v := p.Gate(m.Gate.Admission).Decide(channel.Facts{New: !m.Installed, Accepted: m.Record.Accepted, Schedule: s.Schedule}, m.Now)
	content, known := p.Content(v.Offer)
	if !known && m.Installed {
		// What it had is lost: it gets the last complete offer, which the others have.
		if v.Offer = p.Complete.Digest; v.Offer == "" {
			v.Offer = p.Digest
		}
		content, known = p.Content(v.Offer)
	}
	if known && v.Offer != "" {
		asked.Offer = tenant.Offer{Channel: m.Gate.Name, Digest: v.Offer, ChannelOffer: content}
	}
	s.UpdateAvailable, s.Message, s.Again = v.Offer != p.Digest, v.Message, v.Again
	if s.Message != "" {
		s.Message += ", and with its plan and the function's input as they are now"
	}
	return asked
}

// inTurn is Next for a tenant of a channel: it gets platform changes when the channel admits
// it.
func inTurn(was, asked tenant.Accepted, m Moment, s *tenant.Standing) tenant.Accepted {
	p := m.Gate.Published
	s.Offer, s.Labels = p.Digest, p.Labels
	if !equal(was.Spec, asked.Spec) {
		was = m.before(was, asked)
	}
	keep, offered := kept(was, asked), asked
	offered.Offer = tenant.Offer{Channel: m.Gate.Name, Digest: p.Digest, ChannelOffer: p.Offer, Since: was.Offer.Since}
	ofPlan, ofInput := p.Covers(asked.Plan.Name, asked.Spec.Plan != "", fingerprint.Of(asked.Plan.Spec), fingerprint.Of(asked.Input))
	// A plan or input that only the claim has changed, or nobody, needn't be part of the offer.
	ofPlan = ofPlan || equal(keep.Plan, asked.Plan)
	ofInput = ofInput || equal(keep.Input, asked.Input)
	has := was.Offer.Digest
	if has == p.Digest && ofPlan && ofInput {
		return offered
	}
	now, then, ok := m.decide(keep, offered)
	s.UpdateAvailable, s.Waits = true, true
	if !ofPlan || !ofInput {
		s.Message = "waits until channel " + m.Gate.Name + " offers the change of " + what(ofPlan, ofInput) + changes(now, then)
		return keep
	}
	s.Unaffected = ok && unaffected(now, then)
	s.Held = s.Unaffected && !slices.Equal(now.VersionsHeld, then.VersionsHeld)
	v := p.Gate(m.Gate.Admission).Decide(channel.Facts{Accepted: has, Unaffected: s.Unaffected, Schedule: s.Schedule}, m.Now)
	s.Message, s.Again = v.Message, v.Again
	if impossible := now != nil && then == nil; impossible || v.Offer != p.Digest {
		s.Message += changes(now, then)
		if impossible {
			// A bad offer must not harm the tenant.
			_, err := m.Decide(offered)
			s.Message = strings.TrimPrefix(s.Message+"; can't use the offer: "+err.Error(), "; ")
		}
		return keep
	}
	s.Took, s.UpdateAvailable, s.Waits = true, false, false
	switch {
	case !s.Unaffected:
		offered.Offer.Since = nil
		s.Broken = m.Gate.Admission != nil && m.Gate.Admission.Broken
	case was.Offer.Since == nil && !sameContent(keep, offered):
		offered.Offer.Since = &tenant.Platform{Plan: keep.Plan, Input: keep.Input, Offer: keep.Offer}
	}
	return offered
}

// before returns what a tenant had before offers that changed nothing for it, if they matter with
// what the claim asks for now: otherwise, whoever names the running versions in a claim, and no
// version later, would have the offer before its turn. If they don't, it returns was.
func (m Moment) before(was, asked tenant.Accepted) tenant.Accepted {
	since := was.Offer.Since
	if since == nil {
		return was
	}
	before := was
	before.Plan, before.Input, before.Offer = since.Plan, since.Input, since.Offer
	if now, then, ok := m.decide(kept(before, asked), kept(was, asked)); ok && unaffected(now, then) {
		return was
	}
	return before
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

// decide returns the decisions about what a tenant has, and about what it would take; nil for
// one that is refused. It reports whether neither is.
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

// unaffected reports whether two decisions are equal except for VersionsHeld, which is only
// shown.
func unaffected(now, then *tenant.Decision) bool {
	a, b := *now, *then
	a.VersionsHeld, b.VersionsHeld = nil, nil
	return reflect.DeepEqual(a, b)
}

// same reports whether plan, input and offer are the same.
func same(a, b tenant.Accepted) bool { return sameContent(a, b) && equal(a.Offer, b.Offer) }

// sameContent reports whether plan and input, and what the offers hold, are the same.
func sameContent(a, b tenant.Accepted) bool {
	return equal(a.Plan, b.Plan) && equal(a.Input, b.Input) && equal(a.Offer.ChannelOffer, b.Offer.ChannelOffer)
}

// equal compares as JSON, because chart values have several forms in memory.
func equal(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
