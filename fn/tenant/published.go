package tenant

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
)

// Published is what a channel says to all of its tenants, in an EnvironmentConfig. Each
// change of it wakes all of them, so it changes with the offer, and when that is complete,
// halts or is paused. Who is admitted stands elsewhere: see the package offers.
type Published struct {
	// Digest of what is offered, with the plans and inputs.
	Digest string `json:"digest"`
	// Offer is what is offered.
	Offer v1alpha1.ChannelOffer `json:"offer"`
	// Complete is what was complete last; its Digest is empty before there was one. See
	// channel.State.
	Complete Completed `json:"complete,omitzero"`
	// Namespaces whose claims may name the channel; empty for all.
	Namespaces []string `json:"namespaces,omitempty"`
	With
	// Labels are the keys of those that rollout.first looks at. Tenants record no others: a
	// claim may have any number.
	Labels []string `json:"labels,omitempty"`
	// Proved is for how long a tenant must have been Ready with the offer before what breaks then
	// isn't the offer's fault.
	Proved metav1.Duration `json:"proved,omitzero"`
	Paused bool            `json:"paused,omitempty"`
	Halted bool            `json:"halted,omitempty"`
}

// With is what goes with an offer.
type With struct {
	// Plans are the fingerprints of all plans, by name, and DefaultPlan is the name of that
	// of claims that name none.
	Plans       map[string]string `json:"plans,omitempty"`
	DefaultPlan string            `json:"defaultPlan,omitempty"`
	// Inputs are the fingerprints of the function's inputs in all Compositions, sorted.
	Inputs []string `json:"inputs,omitempty"`
}

// Completed is an offer that was complete.
type Completed struct {
	Digest string                `json:"digest"`
	Offer  v1alpha1.ChannelOffer `json:"offer"`
}

// Gate is what a tenant with an admission, or without one, is to know of the channel.
func (p Published) Gate(a *channel.Admission) channel.Gate {
	return channel.Gate{Offer: p.Digest, Complete: p.Complete.Digest, Paused: p.Paused, Halted: p.Halted, Admission: a}
}

// Content returns the offer with a digest, and reports whether the channel knows it.
func (p Published) Content(digest string) (v1alpha1.ChannelOffer, bool) {
	switch digest {
	case p.Digest:
		return p.Offer, true
	case p.Complete.Digest:
		return p.Complete.Offer, true
	}
	return v1alpha1.ChannelOffer{}, false
}

// Covers reports whether a plan and an input, by their fingerprints, are those that go with
// the offer. A plan that no EnvironmentConfig holds is the built-in one, which has no
// settings. named says that the claim names the plan.
func (w With) Covers(plan string, named bool, settings, input string) (ofPlan, ofInput bool) {
	of, there := w.Plans[plan]
	if !there {
		of = fingerprint.Of(struct{}{})
	}
	return of == settings && (named || plan == w.DefaultPlan), slices.Contains(w.Inputs, input)
}
