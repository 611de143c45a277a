package tenant

import (
	"cmp"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// An Offer is what a tenant has of a channel. The zero Offer is that of a tenant without
// one.
type Offer struct {
	// Channel is the name of the channel.
	Channel string `json:"channel,omitempty"`
	// Digest of what the channel offered, with the plans and inputs that went with it.
	Digest                string `json:"digest,omitempty"`
	v1alpha1.ChannelOffer `json:"offer,omitzero"`
}

// Over lays the offer over the platform's input. Values are laid over those of the input
// where they are merged.
func (o Offer) Over(in inputv1alpha1.Input) inputv1alpha1.Input {
	in.Charts.ArgoCD.Version = cmp.Or(o.ArgoCD.ChartVersion, in.Charts.ArgoCD.Version)
	in.Charts.VCluster.Version = cmp.Or(o.VCluster.ChartVersion, in.Charts.VCluster.Version)
	in.Kubernetes.Version = cmp.Or(o.Kubernetes.Version, in.Kubernetes.Version)
	return in
}

// At is the path of a field of the offer.
func (o Offer) At(field string) string { return "channel " + o.Channel + ": spec.offer." + field }

// Or is the path of a field of the offer where it has a value, else the other field.
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
	// Problem is why nothing is known of it; empty where something is.
	Problem string
	// Published is what the channel says to all of its tenants.
	Published Published
	// Admission of the tenant; nil for none.
	Admission *channel.Admission
}

// A Standing is where a tenant stands with what the platform offers.
type Standing struct {
	v1alpha1.TenantChannel
	// Took says that the tenant takes an offer now, Unaffected that it changes nothing that
	// runs, and Held that this is so because versions of the offer are below those that run.
	Took, Unaffected, Held bool
	// Asked says that the claim is new, or has changed what decides about its window: its
	// plan, its channel or its maintenance.
	Asked bool
	// Labels are the keys of those that the channel is to know of.
	Labels []string
	// Schedule says when the platform's changes may begin.
	Schedule maintenance.Schedule
	// Again is when the tenant may stand elsewhere though nothing changes; the zero time for
	// never.
	Again time.Time
}
