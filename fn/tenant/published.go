package tenant

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
)

// Published is what a channel tells all of its tenants, in an EnvironmentConfig. Each change
// of it has all of them reconciled. So it changes only with the channel's spec, with the
// plans and inputs, and when the offer is complete or halts. Admissions are in other objects:
// see package offers.
type Published struct {
	// Digest of the current offer, with the plans and inputs.
	Digest string `json:"digest"`
	// Offer is the current offer.
	Offer v1alpha1.ChannelOffer `json:"offer"`
	// Complete is the last complete offer; its Digest is empty before there is one. See
	// channel.State.
	Complete Completed `json:"complete,omitzero"`
	// Namespaces whose claims may name the channel; empty for all.
	Namespaces []string `json:"namespaces,omitempty"`
	With
	// Labels are the keys of the labels that rollout.first selects by. Records have no others,
	// since a claim may have any number.
	Labels []string `json:"labels,omitempty"`
	// Proved is how long a tenant must be Ready with the offer before later trouble isn't
	// attributed to it.
	Proved metav1.Duration `json:"proved,omitzero"`
	Paused bool            `json:"paused,omitempty"`
	Halted bool            `json:"halted,omitempty"`
}

// With is what is part of an offer beside its content.
type With struct {
	// Plans are the digests of all plans, by name. DefaultPlan is the name of the plan of
	// claims that name none.
	Plans       map[string]string `json:"plans,omitempty"`
	DefaultPlan string            `json:"defaultPlan,omitempty"`
	// Inputs are the digests of the function's inputs in all Compositions, sorted.
	Inputs []string `json:"inputs,omitempty"`
}

// Completed is the last complete offer.
type Completed struct {
	Digest string                `json:"digest"`
	Offer  v1alpha1.ChannelOffer `json:"offer"`
}

// Gate returns what a tenant knows of the channel. a is its admission; nil for none.
func (p Published) Gate(a *channel.Admission) channel.Gate {
	return channel.Gate{Offer: p.Digest, Complete: p.Complete.Digest, Paused: p.Paused, Halted: p.Halted, Admission: a}
}

// Content returns the offer with a digest. It reports false unless that is the current offer
// or the last complete one.
func (p Published) Content(digest string) (v1alpha1.ChannelOffer, bool) {
	switch digest {
	case p.Digest:
		return p.Offer, true
	case p.Complete.Digest:
		return p.Complete.Offer, true
	}
	return v1alpha1.ChannelOffer{}, false
}

// Covers reports whether a plan and an input are part of the offer as they are. plan is the
// plan's name, settings and input are the digests of the plan's data and of the input, and
// named says that the claim names the plan. A plan that no XArgoCDPlan holds is the
// built-in one, which has no settings.
func (w With) Covers(plan string, named bool, settings, input string) (ofPlan, ofInput bool) {
	of, there := w.Plans[plan]
	if !there {
		of = fingerprint.Of(struct{}{})
	}
	return of == settings && (named || plan == w.DefaultPlan), slices.Contains(w.Inputs, input)
}
