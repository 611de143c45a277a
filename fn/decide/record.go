package decide

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	"github.com/virtual-argocd/virtual-argocd/fn/spare"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// GoesBackTo returns the version of the chart argo-cd to which a tenant may go back if its
// channel gives it that, because the one that it has hasn't proved itself there; "" for none.
func GoesBackTo(r rollout.Record, c tenant.Channel) string {
	if c.Name == "" || !r.Unproved(c.Proved.Duration) {
		return ""
	}
	return r.ArgoCD
}

// Record returns the new record of a tenant.
func Record(t tenant.Tenant) rollout.Record {
	now := t.Observed.Now.UTC().Truncate(time.Second)
	r := t.Observed.Record()
	if t.Observed.Composed[tenant.ChannelRecord].String("metadata", "labels", tenant.LabelChannel) != t.Standing.Name {
		// What another channel did to the tenant says nothing about this one.
		r = rollout.Record{Revision: t.Standing.Revision, Phase: r.Phase, Since: r.Since, Why: r.Why}
	}
	r.Tenant, r.Claim, r.Labels = t.Observed.XR.String("metadata", "name"), "", recordLabels(t.Observed.XR)
	schedule := t.Standing.Schedule
	// A channel doesn't need the reason of a freeze, and each change of a record has it read all.
	schedule.Reason = ""
	r = r.Plan(schedule, now)
	if t.Claim.Name != "" {
		r.Claim = t.Claim.Namespace + "/" + t.Claim.Name
	}
	r.Named = t.Standing.Named
	r = r.Edit(fingerprint.Of(t.Ask), now)
	// Where there is no time, the tenant isn't new. One that was a spare wasn't in the channel before.
	r.Created = spare.Created(t.Observed.XR)
	r = r.Look(t.Standing.Newest, effectOf(t), now)
	if r.Revision != t.Standing.Revision {
		// Where that wasn't recorded when the tenant took it, it may have changed anything.
		changes := t.Standing.Changes || !t.Standing.Took
		r = r.Take(t.Standing.Revision, changes, t.Observed.Running.ArgoCD, t.Standing.Proved, now)
		if r.Took.Equal(now) {
			return r
		}
	}
	// What was taken back before isn't the revision's.
	back := release.TakenBack(t, r.Took)
	switch {
	case back != "" && r.Updating():
		// The revision has been rolled back.
		return r.See(v1alpha1.PhaseDegraded, back, now)
	case r.Updating() && slices.ContainsFunc(release.All(t), func(is release.Named) bool { return isChanging(t, is) }):
		// What is observed is still about the time before the revision.
		return r
	}
	phase := t.Phase
	isFailing := phase == v1alpha1.PhaseDegraded || phase == v1alpha1.PhaseFailing
	deployed := release.StateOf(t.Composed(tenant.VClusterRelease)).HasDeployed() && release.StateOf(t.Composed(tenant.ArgoCDRelease)).HasDeployed()
	if isFailing && !r.Took.IsZero() && !r.Updating() && !deployed {
		// Helm tries, or takes back, what was changed since the tenant was Ready with the revision. That isn't the revision's fault.
		phase = v1alpha1.PhaseUpdating
	}
	return r.See(phase, t.Why, now)
}

// effectOf returns what the newest revision would do to a tenant.
func effectOf(t tenant.Tenant) rollout.Effect {
	switch {
	case !t.Standing.Looked:
		return ""
	case t.Standing.Changes:
		return rollout.Changes
	}
	return rollout.None
}

// isChanging reports whether a Release isn't yet what a revision has made of it. One of a component that comes up for the first time is no matter of
// the revision.
func isChanging(t tenant.Tenant, r release.Named) bool {
	is := t.Composed(r.Name)
	if strings.HasPrefix(r.Name, tenant.ComponentPrefix) {
		return t.InstalledBefore(r.Name) && !release.IsTakenBack(is) && (release.Differs(is, r.Chart) || release.StateOf(is).RollsOut() || release.StateOf(is) == release.Failed)
	}
	return release.Differs(is, r.Chart)
}

// maxLabels bounds the labels in a record, in bytes: a claim may have any number.
const maxLabels = 4 << 10

// recordLabels returns the claim's labels, those with the first keys if there are many. Crossplane copies
// them to the composite resource, and adds its own.
func recordLabels(xr wire.Struct) map[string]string {
	all, out, size := xr.Texts("metadata", "labels"), map[string]string{}, 0
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(key, "crossplane.io/") {
			continue
		}
		if size += len(key) + len(all[key]); size > maxLabels {
			break
		}
		out[key] = all[key]
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
