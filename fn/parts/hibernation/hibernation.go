// Package hibernation is the part of a claim with its sleep. A Job in the platform's namespace takes the control plane's replicas away, and
// then the pods that it has made; another brings the control plane back. Meanwhile the providers leave alone what can't be reached.
package hibernation

import (
	"slices"
	"strconv"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Part is spec.hibernation, with spec.suspension and what the plan says of both.
var Part = part.Part{Field: "spec.hibernation", Resolve: resolve, Rows: rows, Report: report}

// earliest is how long before the end of a plan's schedule the first of its tenants wakes up: all at once would be slow.
const earliest = 15 * time.Minute

func resolve(of part.Candidate) error {
	ofPlan, ofClaim := of.Plan.Spec.Hibernation, of.Spec.Hibernation
	planned, planErr := parse(of.Plan.At("hibernation.schedules"), ofPlan)
	claimed, claimErr := parse(mistakes.Field{Owner: mistakes.Claim, Path: "spec.hibernation.schedules"}, ofClaim)
	expires, expireErr := expiry(of)
	if err := mistakes.Join(planErr, claimErr, expireErr); err != nil {
		return err
	}
	h := tenant.Hibernation{
		Expires: expires,
		Kubectl: tenant.KubectlImage(of.Input),
	}
	early := time.Duration(maintenance.Spread(of.Decision.Names.Tenant, uint32(earliest/time.Second))) * time.Second
	on, by, sleep := enabled(ofPlan), "plan "+strconv.Quote(of.Plan.Name), planned
	if ofClaim != nil && len(ofClaim.Schedules) > 0 {
		by, sleep, early = "spec.hibernation.schedules", claimed, 0
	}
	if ofClaim != nil && ofClaim.Enabled != nil {
		on, by = ofClaim.Enabled, "spec.hibernation.enabled"
	}
	switch expired := !expires.IsZero() && !of.Now.Before(expires); {
	case of.Spec.Suspension != nil:
		h.Asleep, h.Forced, h.Reason = true, true, tenant.SuspendedReason+of.Spec.Suspension.Reason
	case expired:
		h.Asleep, h.Forced, h.Reason = true, true, "the time that plan "+strconv.Quote(of.Plan.Name)+" gives it has ended: ask the platform for another plan"
	case on != nil:
		h.Asleep = *on
	default:
		var at time.Time
		if h.Asleep, at = sleep.At(of.Now, early); h.Asleep {
			h.Until = at
		} else {
			h.Next = at
		}
	}
	switch ends := !expires.IsZero(); {
	case !h.Asleep && ends && (h.Next.IsZero() || expires.Before(h.Next)):
		h.Next = expires
	case h.Asleep && h.Reason == "":
		h.Reason = by + " says so"
		if ends && expires.Before(h.Until) {
			h.Until = time.Time{}
		}
	}
	if of.Decision.Store.Size == "" && (h.Asleep || !h.Next.IsZero()) {
		h.Asleep, h.Forced, h.Until, h.Next, h.Expires = false, false, time.Time{}, time.Time{}, time.Time{}
		h.Reason = "it stays awake, because its virtual cluster has no volume (storage.ephemeral of the function's input), and would lose everything"
	}
	of.Decision.Hibernation = h
	return nil
}

func enabled(s *v1alpha1.HibernationSpec) *bool {
	if s == nil {
		return nil
	}
	return s.Enabled
}

func parse(field mistakes.Field, s *v1alpha1.HibernationSpec) (maintenance.Sleep, error) {
	if s == nil {
		return maintenance.Sleep{}, nil
	}
	sleep, err := maintenance.ParseSleep(field.Path, s.Schedules)
	return sleep, mistakes.By(field.Owner, err)
}

// expiry returns when the time ends that the plan gives the tenant; the zero time for never.
func expiry(of part.Candidate) (time.Time, error) {
	after := of.Plan.Spec.ExpireAfter
	if after == "" {
		return time.Time{}, nil
	}
	d, err := time.ParseDuration(string(after))
	if err != nil || d < time.Hour {
		return time.Time{}, of.Plan.At("expireAfter").Errorf("%.32q is no duration of at least an hour: write one such as 336h", after)
	}
	if of.Created.IsZero() {
		return time.Time{}, nil
	}
	return of.Created.Add(d), nil
}

// warnsBefore is how long before its end a tenant's author is warned.
const warnsBefore = 24 * time.Hour

// Again returns when something of this changes with the time; the zero time for never.
func Again(t tenant.Tenant) time.Time {
	h := t.Hibernation
	times := []time.Time{h.Until, h.Next}
	if !h.Expires.IsZero() {
		times = append(times, h.Expires.Add(-warnsBefore), h.Expires)
	}
	times = slices.DeleteFunc(times, func(at time.Time) bool { return !at.After(t.Observed.Now) })
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}

// Warning returns what to tell a tenant's author of the end of its time, a day before; "" for nothing, and once it was told.
func Warning(t tenant.Tenant) string {
	h := t.Hibernation
	from, now := h.Expires.Add(-warnsBefore), t.Observed.Now
	if h.Expires.IsZero() || now.Before(from) || !now.Before(h.Expires) || warned(t) {
		return ""
	}
	return "The time that plan " + strconv.Quote(t.PlanName) + " gives this Argo CD ends at " + h.Expires.UTC().Format(time.RFC3339) + ": it is asleep from then on, and nothing of it is deleted"
}

// warned reports whether the author was told in a call before: the status has since then that it expires.
func warned(t tenant.Tenant) bool {
	return t.Observed.XR.String("status", "hibernation", "expiresAt") == t.Hibernation.Expires.UTC().Format(time.RFC3339)
}

func report(t tenant.Tenant, out *v1alpha1.Status) {
	h, s := t.Hibernation, v1alpha1.HibernationStatus{}
	format := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.UTC().Format(time.RFC3339)
	}
	switch state := StateOf(t); state.Phase {
	case "":
		// One that is to be asleep isn't yet.
		s.Next, s.Reason = format(h.Next), h.Reason
	case v1alpha1.PhaseHibernated:
		s.Since = state.Since
		fallthrough
	default:
		s.Until, s.Reason = format(h.Until), h.Reason
	}
	// From a day before on: so it says whether the author was warned.
	if !h.Expires.IsZero() && !t.Observed.Now.Before(h.Expires.Add(-warnsBefore)) {
		s.ExpiresAt = format(h.Expires)
	}
	if s != (v1alpha1.HibernationStatus{}) {
		out.Hibernation = &s
	}
}
