package channel

import (
	"fmt"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// Label is the label on what a channel publishes and on the records of its tenants. Its value is the channel's name.
const Label = "virtualargocd.io/channel"

// Keys in the ConfigMaps that hold a tenant's record, its admission, and the state of a channel.
const (
	RecordKey    = "record"
	AdmissionKey = "admission"
	StateKey     = "state"
)

// A Record is what a channel knows of a tenant. The function writes it when it is called for the tenant. It changes only when the tenant
// accepts an offer, when its phase or the reason for it changes, or when its claim changes its labels or its schedule.
type Record struct {
	// Tenant is the name of the composite resource.
	Tenant string `json:"tenant"`
	// Claim is the namespace and name of the claim, for people; empty where there is none.
	Claim string `json:"claim,omitempty"`
	// Named says that the claim names the channel itself, and not its plan.
	Named bool `json:"named,omitempty"`
	// Labels of the claim that rollout.first selects by.
	Labels map[string]string `json:"labels,omitempty"`
	// Created is when the tenant's composite resource was created; the zero time if that is unknown.
	Created time.Time `json:"created,omitzero"`
	// Joined is when the tenant joined the channel; the zero time if that is unknown.
	Joined time.Time `json:"joined,omitzero"`
	// Returned is when the tenant last gave back an offer that had changed nothing for it; the zero time for never.
	Returned time.Time `json:"returned,omitzero"`
	// Schedule says when the tenant may change.
	Schedule maintenance.Schedule `json:"schedule,omitzero"`
	// Moved is when the claim last changed what decides about its window: its plan, its channel or its maintenance. It is the zero time for
	// a tenant without a window.
	Moved time.Time `json:"moved,omitzero"`

	// Accepted is the digest of the offer that the tenant has; empty before it has one.
	Accepted string `json:"accepted,omitempty"`
	// Changed is when the tenant accepted it.
	Changed time.Time `json:"changed,omitzero"`
	// Before is the phase that the tenant had then; empty if the offer changed nothing that ran, because the tenant was new or had all of
	// it already.
	Before v1alpha1.Phase `json:"before,omitempty"`
	// Ready is when the tenant was first seen Ready since then; the zero time before that.
	Ready time.Time `json:"ready,omitzero"`
	// Kept says that Changed, Before and Ready are about an earlier offer, since the one that the tenant has changed nothing that runs.
	Kept bool `json:"kept,omitempty"`
	// Edited says that the claim was changed while the tenant wasn't well with the offer. If it is Ready now, that says nothing about the
	// offer.
	Edited bool `json:"edited,omitempty"`
	// ArgoCD is the version of the chart argo-cd that the tenant had when it was last Ready before an offer changed it; empty if unknown.
	ArgoCD string `json:"argocd,omitempty"`

	// Phase of the tenant since it accepted the offer, and the time since when it has it.
	Phase v1alpha1.Phase `json:"phase"`
	Since time.Time      `json:"since"`
	// Why is the first message with which the tenant was Degraded or Failing, or the last reason why its update doesn't go on, at most
	// maxWhy bytes; empty in other phases.
	Why string `json:"why,omitempty"`
}

// maxWhy is how many bytes of a tenant's message a record holds.
const maxWhy = 200

// Accept returns the record of a tenant that accepts an offer, given by its digest. The tenant is Updating from then on, until See is
// called once the offer is in place: what is observed earlier is about what the tenant had before. unaffected says that the offer changes
// nothing that runs, and held that this is so because its versions are lower than those that run.
func (r Record) Accept(offer string, unaffected, held bool, now time.Time) Record {
	r.Accepted = offer
	failing, _ := r.failing()
	switch {
	case unaffected && r.Before != "" && !r.Edited && (r.Ready.IsZero() || failing || !held):
		// It is still updating to the offer before, or has yet to prove that. If this offer would undo it, it isn't what breaks the tenant.
		// Otherwise both offers are the same for it. But a tenant that has what its claim says now says nothing about either.
		r.Kept = !r.Ready.IsZero()
		if held {
			r.Before = r.Phase
		}
	case unaffected || r.Phase == "":
		r.Changed, r.Before, r.Kept, r.Edited = now, "", false, false
	default:
		r.Changed, r.Before, r.Ready, r.Kept, r.Edited = now, r.Phase, time.Time{}, false, false
		r.Phase, r.Since, r.Why = v1alpha1.PhaseUpdating, now, ""
	}
	return r
}

// Edit returns the record of a tenant whose claim was changed.
func (r Record) Edit() Record {
	failing, _ := r.failing()
	r.Edited = r.Edited || r.Before != "" && (r.Ready.IsZero() || failing)
	return r
}

// See returns the record of a tenant that is seen in a phase. why is the reason for it; "" if that is unknown.
func (r Record) See(phase v1alpha1.Phase, why string, now time.Time) Record {
	if r.Phase != phase {
		r.Phase, r.Since, r.Why = phase, now, ""
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

// name returns the tenant's name for messages: that of its claim, if it has one.
func (r *Record) name() string {
	if r.Claim != "" {
		return r.Claim
	}
	return r.Tenant
}

// customer returns the namespace of the tenant's claim, or else the tenant's name.
func (r *Record) customer() string {
	customer, _, _ := strings.Cut(r.name(), "/")
	return customer
}

// Grace is how long a tenant must be Degraded or Failing before it counts as broken. A workload can be unavailable for some seconds while
// its pods are replaced.
const Grace = time.Minute

// failing reports whether the tenant is Degraded or Failing, and from when on that counts.
func (r *Record) failing() (bool, time.Time) {
	return r.Phase == v1alpha1.PhaseDegraded || r.Phase == v1alpha1.PhaseFailing, r.Since.Add(Grace)
}

// failed reports whether the tenant has been Degraded or Failing for longer than Grace.
func (r *Record) failed(now time.Time) bool {
	failing, counts := r.failing()
	return failing && !now.Before(counts)
}

// Unproved reports whether the offer that the tenant has accepted hasn't proved itself there: the tenant isn't well with it, and wasn't
// well with it for as long as proved.
func (r *Record) Unproved(proved time.Duration) bool {
	failing, _ := r.failing()
	return r.Before != "" && (r.Ready.IsZero() || failing && r.Since.Before(r.Ready.Add(proved)))
}

// underWay reports whether the tenant is updating to the offer that it has accepted, and until when it may.
func (u rules) underWay(r *Record, now time.Time) (bool, time.Time) {
	until := r.Changed.Add(u.stuckFor)
	if failing, counts := r.failing(); failing {
		until = sooner(until, counts)
	}
	return r.Before != "" && r.Ready.IsZero() && now.Before(until), until
}

// broken reports whether the offer that the tenant has accepted has broken it, and still does.
func (u rules) broken(r *Record, now time.Time) bool {
	if r.Before != v1alpha1.PhaseReady || r.elsewhere() {
		return false
	}
	if r.Ready.IsZero() {
		underWay, _ := u.underWay(r, now)
		return !underWay
	}
	return r.failed(now) && r.Unproved(u.proved) && !r.Edited
}

// elsewhere reports whether the tenant accepted the offer before it joined the channel.
func (r *Record) elsewhere() bool { return r.Changed.Before(r.Joined) }

// how says how a tenant is broken, for messages.
func (u rules) how(r *Record) string {
	how := string(r.Phase)
	if failing, _ := r.failing(); !failing {
		how += fmt.Sprintf(" for more than %s", u.stuckFor)
	}
	if r.Why != "" {
		// Quoted, since it has texts of the tenant, such as names of pods, which could look like another tenant.
		how += fmt.Sprintf(": %.150q", r.Why)
	}
	return how
}

// settled returns when the tenant's update ended, whether it succeeded or not; the zero time if the offer changed nothing.
func (u rules) settled(r *Record) time.Time {
	if r.Before == "" || !r.Ready.IsZero() {
		return r.Ready
	}
	until := r.Changed.Add(u.stuckFor)
	if failing, _ := r.failing(); failing {
		// It may have failed, updated and failed again since.
		return sooner(r.Since, until)
	}
	return until
}
