package rollout

import (
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// A Record is what a channel knows of a tenant. The function writes it when it is called for the
// tenant.
type Record struct {
	// Tenant is the name of the composite resource.
	Tenant string `json:"tenant"`
	// Claim is the namespace and name of the claim; empty where there is none.
	Claim string `json:"claim,omitempty"`
	// Named says that the claim names the channel itself, and not its plan.
	Named bool `json:"named,omitempty"`
	// Labels of the claim.
	Labels map[string]string `json:"labels,omitempty"`
	// Schedule says when the tenant may change.
	Schedule maintenance.Schedule `json:"schedule,omitzero"`
	// Spec is the digest of the claim's spec that is in use.
	Spec string `json:"spec,omitempty"`

	// Created is when the composite resource was created, or taken if it was a spare.
	Created time.Time `json:"created,omitzero"`
	// Revision is the number of the channel's revision that the tenant has; 0 for none.
	Revision int64 `json:"revision,omitempty"`
	// Looked is the number of the last revision for which the tenant has seen whether it would change anything
	// that runs, and LookedAt when it first saw that. Effect is what the newest revision would do, as of now.
	Looked   int64     `json:"looked,omitempty"`
	LookedAt time.Time `json:"lookedAt,omitzero"`
	Effect   Effect    `json:"effect,omitempty"`
	// Took is when it last took a revision that changed something; the zero time for never.
	Took time.Time `json:"took,omitzero"`
	// WasReady says that it was Ready then, or would have been if an earlier revision hadn't broken it.
	WasReady bool `json:"wasReady,omitempty"`
	// Mends says that an earlier revision had broken it then.
	Mends bool `json:"mends,omitempty"`
	// Unchanged says that the revisions since then, the one that it has among them, have changed
	// nothing: it can't prove that one.
	Unchanged bool `json:"unchanged,omitempty"`
	// Edited is when its claim was changed since then while it wasn't well, for the first time: that it
	// is well now says nothing about the revision.
	Edited time.Time `json:"edited,omitzero"`
	// Ready is when it was first Ready since then; the zero time before that.
	Ready time.Time `json:"ready,omitzero"`
	// ArgoCD is the version of the chart argo-cd with which it was Ready before that; "" unless WasReady.
	ArgoCD string `json:"argocd,omitempty"`

	// Phase of the tenant, and since when it has it.
	Phase v1alpha1.Phase `json:"phase"`
	Since time.Time      `json:"since"`
	// Why is the first message with which the tenant was Degraded or Failing, or the last reason why
	// its update doesn't go on, at most maxWhy bytes; empty in other phases.
	Why string `json:"why,omitempty"`
}

// maxWhy is how many bytes of a tenant's message a record holds.
const maxWhy = 200

// Take returns the record of a tenant that takes a revision. The tenant is Updating from then on,
// until See is called once the revision is in place: what is observed earlier is about what it had
// before. changes says whether the revision changes anything that runs, argocd is the version of the chart
// argo-cd that it has, and proved is how long it must be Ready with a revision before later trouble isn't
// attributed to that.
func (r Record) Take(revision int64, changes bool, argocd string, proved time.Duration, now time.Time) Record {
	r.Effect = ""
	r.Revision = revision
	if !changes {
		r.Unchanged = true
		return r
	}
	switch {
	case r.Phase == v1alpha1.PhaseReady:
		r.WasReady, r.Mends, r.ArgoCD = true, false, argocd
	case !r.Unproved(proved):
		// Something else has broken it.
		r.WasReady, r.Mends, r.ArgoCD = false, false, ""
	default:
		r.Mends = r.WasReady
	}
	r.Took, r.Ready, r.Unchanged, r.Edited = now, time.Time{}, false, time.Time{}
	r.Phase, r.Since, r.Why = v1alpha1.PhaseUpdating, now, ""
	return r
}

// An Effect is what a revision would do to what runs; "" where that can't be told: the tenant has that
// revision, hasn't looked yet, or can't use it.
type Effect string

// Effects of a revision.
const (
	Changes Effect = "Changes"
	None    Effect = "None"
)

// Look returns the record of a tenant that has seen what the newest revision would do. newest is its number.
func (r Record) Look(newest int64, effect Effect, now time.Time) Record {
	if effect != "" && r.Looked != newest {
		r.Looked, r.LookedAt = newest, now
	}
	r.Effect = effect
	return r
}

// looks returns what a revision would do, as far as the tenant has seen that.
func (r *Record) looks(revision int64) Effect {
	if r.Looked != revision {
		return ""
	}
	return r.Effect
}

// Edit returns the record of a tenant whose claim's spec in use has a digest.
func (r Record) Edit(spec string, now time.Time) Record {
	if failing, _ := r.failing(); (failing || r.Updating()) && r.Edited.IsZero() && r.Spec != "" && r.Spec != spec && !r.Took.IsZero() {
		r.Edited = now
	}
	r.Spec = spec
	return r
}

// See returns the record of a tenant that is seen in a phase. why is the reason for it; "" if that is
// unknown.
func (r Record) See(phase v1alpha1.Phase, why string, now time.Time) Record {
	if was := r.asleep(); r.Phase != phase {
		r.Phase, r.Since, r.Why = phase, now, ""
		r.wake(was, now)
	}
	failing, _ := r.failing()
	if why != "" && (phase == v1alpha1.PhaseUpdating || failing && r.Why == "") {
		r.Why = strings.ToValidUTF8(why[:min(maxWhy, len(why))], "")
	}
	if phase == v1alpha1.PhaseReady && r.Ready.IsZero() {
		r.Ready = now
	}
	return r
}

// Plan returns the record of a tenant that may change by a schedule.
func (r Record) Plan(s maintenance.Schedule, now time.Time) Record {
	was := r.asleep()
	r.Schedule = s
	r.wake(was, now)
	return r
}

// wake gives a tenant that was asleep, and isn't any more, the whole time again for the revision to which it was changing.
func (r *Record) wake(was bool, now time.Time) {
	if was && !r.asleep() && r.Updating() {
		r.Took = now
	}
}

// asleep reports whether the tenant's pods are kept from running, so that it says nothing about its revision.
func (r *Record) asleep() bool {
	return r.Schedule.Asleep || r.Phase == v1alpha1.PhaseHibernating || r.Phase == v1alpha1.PhaseHibernated
}

// Updating reports whether the tenant has taken a revision that changed something, and hasn't been
// Ready with it.
func (r *Record) Updating() bool { return !r.Took.IsZero() && r.Ready.IsZero() }

// Unproved reports whether the revision that the tenant has hasn't proved itself there: the tenant
// isn't well with it, and wasn't well with it for as long as proved.
func (r *Record) Unproved(proved time.Duration) bool {
	failing, _ := r.failing()
	return r.Updating() || !r.Took.IsZero() && failing && r.Since.Before(r.Ready.Add(proved))
}

// Grace is how long a tenant must be Degraded or Failing before that counts. A workload can be
// unavailable for some seconds while its pods are replaced.
const Grace = time.Minute

// failing reports whether the tenant is Degraded or Failing, and from when on that counts.
func (r *Record) failing() (bool, time.Time) {
	return r.Phase == v1alpha1.PhaseDegraded || r.Phase == v1alpha1.PhaseFailing, r.Since.Add(Grace)
}

// name returns the tenant's name for messages: that of its claim, if it has one.
func (r *Record) name() string {
	if r.Claim != "" {
		return r.Claim
	}
	return r.Tenant
}

// namespaceOf returns the namespace of a tenant with a name; the name itself where there is no claim.
func namespaceOf(name string) string {
	namespace, _, _ := strings.Cut(name, "/")
	return namespace
}
