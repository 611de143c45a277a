package rollout

import (
	"encoding/json"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// RecordOf returns the record that was written last for a tenant; the zero Record if there is
// none that can be read.
func RecordOf(o tenant.Observed) channel.Record {
	r := channel.Record{}
	if json.Unmarshal([]byte(o.Composed[tenant.ChannelRecord].String("data", channel.RecordKey)), &r) != nil {
		return channel.Record{}
	}
	return r
}

// GoesBackTo returns the version of the chart argo-cd to which a tenant may go back if its
// channel offers that, because the one that it has hasn't proved itself there; "" for none.
func GoesBackTo(r channel.Record, g tenant.Gate) string {
	if g.Name == "" || !r.Unproved(g.Published.Proved.Duration) {
		return ""
	}
	return r.ArgoCD
}

// Record returns the new record of a tenant, whose phase and the reason for it are given.
func Record(t tenant.Tenant, phase v1alpha1.Phase, why string) channel.Record {
	now := t.Observed.Now.UTC().Truncate(time.Second)
	r := RecordOf(t.Observed)
	if t.Observed.Composed[tenant.ChannelRecord].String("metadata", "labels", channel.Label) != t.Standing.Name {
		r.Joined = now
	}
	switch {
	case t.Standing.Schedule.Window == maintenance.Window{}:
		r.Moved = time.Time{}
	case t.Standing.Asked:
		r.Moved = now
	}
	r.Tenant, r.Claim, r.Labels, r.Schedule = t.Observed.XR.String("metadata", "name"), "", labels(t.Observed.XR, t.Standing.Labels), t.Standing.Schedule
	r.Named, r.Created = t.Standing.Named, created(t.Observed.XR)
	// A channel doesn't need the reason of a freeze, and each change of a record has it read all.
	r.Schedule.Reason = ""
	if t.Claim.Name != "" {
		r.Claim = t.Claim.Namespace + "/" + t.Claim.Name
	}
	if t.Standing.Waits && r.Phase != "" && r.Accepted != t.Standing.Accepted {
		// It had taken an offer that changed nothing, and returns to the one before.
		r.Accepted, r.Returned = t.Standing.Accepted, now
	}
	if t.Standing.Edited {
		r = r.Edit()
	}
	if r.Accepted != t.Standing.Accepted {
		began := r.Phase != "" && !t.Standing.Unaffected
		if began && r.Phase == v1alpha1.PhaseReady {
			r.ArgoCD = t.Observed.Running.ArgoCD
		}
		if t.Standing.Broken && r.Phase == v1alpha1.PhaseReady {
			// It has become Ready only since it was admitted, before all others.
			r.Phase = v1alpha1.PhaseDegraded
		}
		if r = r.Accept(t.Standing.Accepted, t.Standing.Unaffected, t.Standing.Held, now); began {
			return r
		}
	}
	changing := r.Before != "" && r.Ready.IsZero()
	back := release.TakenBack(t)
	switch {
	case back != "" && changing:
		// The offer has been rolled back.
		return r.See(v1alpha1.PhaseDegraded, back, now)
	case changing && (release.Differs(t.Composed(tenant.VClusterRelease), t.VirtualCluster) || release.Differs(t.Composed(tenant.ArgoCDRelease), t.ArgoCD)):
		// What is observed is still about the time before the offer.
		return r
	}
	isFailing := phase == v1alpha1.PhaseDegraded || phase == v1alpha1.PhaseFailing
	deployed := t.Composed(tenant.VClusterRelease).Deployed() && t.Composed(tenant.ArgoCDRelease).Deployed()
	if isFailing && r.Before != "" && !changing && !deployed {
		// Helm tries, or takes back, what was changed since the tenant was Ready with the offer. That isn't the offer's fault.
		phase = v1alpha1.PhaseUpdating
	}
	return r.See(phase, why, now)
}

// created returns when the composite resource was created; the zero time if that is unknown.
func created(xr wire.Struct) time.Time {
	at, err := time.Parse(time.RFC3339, xr.String("metadata", "creationTimestamp"))
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// labels returns the claim's labels with the given keys. Crossplane copies a claim's labels to
// the composite resource.
func labels(xr wire.Struct, keys []string) map[string]string {
	var out map[string]string
	for _, key := range keys {
		if !xr.Has("metadata", "labels", key) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = xr.String("metadata", "labels", key)
	}
	return out
}
