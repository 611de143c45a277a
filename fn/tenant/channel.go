package tenant

import (
	"cmp"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// An Offer is the offer of a channel that a tenant has. The zero Offer is that of a tenant
// without one.
type Offer struct {
	// Channel is the name of the channel.
	Channel string `json:"channel,omitempty"`
	// Digest of the offer, with the plans and inputs that were part of it.
	Digest                string `json:"digest,omitempty"`
	v1alpha1.ChannelOffer `json:"offer,omitzero"`
	// Since is what the tenant had before offers that changed nothing for it; nil if the channel
	// has admitted it to the offer, or it began with that. If a change of the claim makes the
	// offer matter, the tenant returns to this and waits for its turn.
	Since *Platform `json:"since,omitempty"`
}

// Platform is what a tenant has of the platform.
type Platform struct {
	Plan  plan.Plan           `json:"plan"`
	Input inputv1alpha1.Input `json:"input"`
	Offer Offer               `json:"channel,omitzero"`
}

// Over returns the input with the versions of the offer. The chart values of the offer are
// merged elsewhere, with those of the other layers.
func (o Offer) Over(in inputv1alpha1.Input) inputv1alpha1.Input {
	in.Charts.ArgoCD.Version = cmp.Or(o.ArgoCD.ChartVersion, in.Charts.ArgoCD.Version)
	in.Charts.VCluster.Version = cmp.Or(o.VCluster.ChartVersion, in.Charts.VCluster.Version)
	in.Kubernetes.Version = cmp.Or(o.Kubernetes.Version, in.Kubernetes.Version)
	return in
}

// At returns the path of a field of the offer, for errors.
func (o Offer) At(field string) string { return "channel " + o.Channel + ": spec.offer." + field }

// Or returns the path of a field of the offer if value, which is that field's, isn't empty, and
// otherwise the other path.
func (o Offer) Or(value, field, otherwise string) string {
	if value != "" {
		return o.At(field)
	}
	return otherwise
}

// A Gate is what a tenant knows of its channel.
type Gate struct {
	// Name of the channel; empty for none.
	Name string
	// Problem says why nothing is known of the channel, or why the tenant isn't in it any more;
	// empty if neither is so.
	Problem string
	// Published is what the channel tells all of its tenants.
	Published Published
	// Admission of the tenant; nil for none.
	Admission *channel.Admission
}

// A Standing is the state of a tenant in its channel, and towards platform changes.
type Standing struct {
	v1alpha1.TenantChannel
	// Took says that the tenant takes an offer now. Unaffected says that the offer changes
	// nothing that runs, and Held that this is so because its versions are lower than those
	// that run.
	Took, Unaffected, Held bool
	// Broken says that an earlier offer had broken the tenant when it was admitted to the one that
	// it takes now.
	Broken bool
	// Named says that the claim names the channel itself, and not its plan.
	Named bool
	// Waits says that the tenant keeps what it had.
	Waits bool
	// Asked says that the claim is new, or has just changed what decides about its window:
	// its plan, its channel or its maintenance.
	Asked bool
	// Edited says that the claim has just been changed.
	Edited bool
	// Labels are the keys of the labels that go into the tenant's record.
	Labels []string
	// Schedule says when platform changes may begin.
	Schedule maintenance.Schedule
	// Again is when the standing may change although nothing else does; the zero time for
	// never.
	Again time.Time
}
