package channel

import (
	"fmt"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// Label stands on what a channel publishes and on the records of its tenants, with the
// channel's name.
const Label = "virtualargocd.io/channel"

// Keys of the ConfigMaps with a tenant's record, with its admission, and with the state of
// a channel.
const (
	RecordKey    = "record"
	AdmissionKey = "admission"
	StateKey     = "state"
)

// A Record is what a channel knows of a tenant. The tenant writes it, and it changes only
// when the tenant accepts an offer or its phase changes.
type Record struct {
	// Tenant is the name of the composite resource.
	Tenant string `json:"tenant"`
	// Claim is the namespace and name of the claim, for people; empty where there is none.
	Claim string `json:"claim,omitempty"`
	// Labels of the claim.
	Labels map[string]string `json:"labels,omitempty"`
	// Schedule says when the tenant may change.
	Schedule maintenance.Schedule `json:"schedule,omitzero"`
	// Moved is when the claim has said last what decides about its window: with its plan, its
	// channel, a window or a freeze. It is the zero time for a tenant without a window.
	Moved time.Time `json:"moved,omitzero"`

	// Accepted is the digest of the offer that the tenant has; empty before it has one.
	Accepted string `json:"accepted,omitempty"`
	// Changed is when it accepted that.
	Changed time.Time `json:"changed,omitzero"`
	// Before is the phase in which it was then; empty where the offer changed nothing that
	// ran: the tenant was new, or had all of it already.
	Before v1alpha1.Phase `json:"before,omitempty"`
	// Ready is when it was seen Ready for the first time since then.
	Ready time.Time `json:"ready,omitzero"`
	// ArgoCD is the version of the chart argo-cd that it had when it was Ready for the last time
	// before such a change; empty for unknown.
	ArgoCD string `json:"argocd,omitempty"`

	// Phase of the tenant, as seen since it accepted the offer, and since when.
	Phase v1alpha1.Phase `json:"phase"`
	Since time.Time      `json:"since"`
	// Why it is Degraded or Failing, as it said at first, or what is in the way of its change, as
	// it said last; empty in other phases.
	Why string `json:"why,omitempty"`
}

// maxWhy is how many bytes of a tenant's message a record has.
const maxWhy = 200

// Accept returns the record of a tenant that accepts an offer. It is Updating from then on,
// until it is seen otherwise with the offer in place: what is observed before that is about
// what it had. unaffected says that the offer changes nothing that runs, and held that this is
// so because the offer is below what runs.
func (r Record) Accept(offer string, unaffected, held bool, now time.Time) Record {
	r.Accepted = offer
	switch {
	case unaffected && r.Before != "" && r.Ready.IsZero():
		// It still changes to what it accepted before. Where this offer would undo that, it isn't
		// this one that breaks the tenant; else both are the same for it.
		if held {
			r.Before = r.Phase
		}
	case unaffected || r.Phase == "":
		r.Changed, r.Before = now, ""
	default:
		r.Changed, r.Before, r.Ready = now, r.Phase, time.Time{}
		r.Phase, r.Since, r.Why = v1alpha1.PhaseUpdating, now, ""
	}
	return r
}

// See returns the record of a tenant that is seen in a phase, and why; "" for not known.
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

// name of the tenant for people.
func (r *Record) name() string {
	if r.Claim != "" {
		return r.Claim
	}
	return r.Tenant
}

// Grace is for how long a tenant must be Degraded or Failing before it counts as that. Pods
// that are replaced can make a workload unavailable for some seconds.
const Grace = time.Minute

// failing reports whether the tenant is Degraded or Failing, and when it counts as that.
func (r *Record) failing() (bool, time.Time) {
	return r.Phase == v1alpha1.PhaseDegraded || r.Phase == v1alpha1.PhaseFailing, r.Since.Add(Grace)
}

// failed reports whether the tenant has been Degraded or Failing for longer than Grace.
func (r *Record) failed(now time.Time) bool {
	failing, counts := r.failing()
	return failing && !now.Before(counts)
}

// Unproved reports whether the tenant isn't well with the offer that it has accepted, and
// wasn't for as long as proves the offer there.
func (r *Record) Unproved(proved time.Duration) bool {
	failing, _ := r.failing()
	return r.Before != "" && (r.Ready.IsZero() || failing && r.Since.Before(r.Ready.Add(proved)))
}

// underWay reports whether the tenant is changing to the offer that it has accepted, and
// until when it counts as that.
func (u rules) underWay(r *Record, now time.Time) (bool, time.Time) {
	until := r.Changed.Add(u.stuckFor)
	if failing, counts := r.failing(); failing {
		until = sooner(until, counts)
	}
	return r.Before != "" && r.Ready.IsZero() && now.Before(until), until
}

// broken reports whether the offer that the tenant has accepted has broken it.
func (u rules) broken(r *Record, now time.Time) bool {
	if r.Before != v1alpha1.PhaseReady {
		return false
	}
	if r.Ready.IsZero() {
		underWay, _ := u.underWay(r, now)
		return !underWay
	}
	return r.failed(now) && r.Unproved(u.proved)
}

// how says in what way a tenant is broken.
func (u rules) how(r *Record) string {
	how := string(r.Phase)
	if failing, _ := r.failing(); !failing {
		how += fmt.Sprintf(" for more than %s", u.stuckFor)
	}
	if r.Why != "" {
		how += ": " + r.Why
	}
	return how
}

// settled is when the tenant's change was over, for better or worse; the zero time where it
// changed nothing.
func (u rules) settled(r *Record) time.Time {
	if r.Before == "" || !r.Ready.IsZero() {
		return r.Ready
	}
	if failing, _ := r.failing(); failing {
		return r.Since
	}
	return r.Changed.Add(u.stuckFor)
}
