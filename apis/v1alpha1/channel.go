package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ChannelKind is the kind of channels. They have no claim: they are the platform's.
const ChannelKind = "XArgoCDChannel"

// XArgoCDChannel is what a platform team offers to the tenants that name the channel, and
// how it reaches them: a few first, then more, and no further once tenants break.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=xargocdchannels,singular=xargocdchannel,categories={crossplane,composite}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="OFFER",type=string,JSONPath=".status.offer",description="Digest of what is offered."
// +kubebuilder:printcolumn:name="PERCENT",type=integer,JSONPath=".status.percent",description="Share of the tenants that may have the offer in this step."
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=".status.tenants.updated",description="Tenants that have the offer."
// +kubebuilder:printcolumn:name="UPDATING",type=integer,JSONPath=".status.tenants.updating",description="Tenants that change now."
// +kubebuilder:printcolumn:name="DEGRADED",type=integer,JSONPath=".status.tenants.degraded",description="Tenants that the offer has broken."
// +kubebuilder:printcolumn:name="HALTED",type=string,JSONPath=".status.conditions[?(@.type=='Halted')].status",description="True when too many tenants broke, and no other gets the offer."
type XArgoCDChannel struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is offered, and how it reaches tenants.
	// +optional
	Spec ChannelSpec `json:"spec,omitempty"`

	// How far it is.
	// +optional
	Status ChannelStatus `json:"status,omitempty"`
}

// ChannelSpec is what is offered, and how it reaches tenants.
type ChannelSpec struct {
	// Namespaces whose claims may name the channel: names, and patterns such as premium-*,
	// in which * matches any number of characters. A claim in another namespace that names
	// it is refused. A tenant keeps its channel when its namespace is removed from the
	// list. A plan may name any channel for its tenants. Default: every namespace.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// What the channel's tenants get: it stands over the function's input, and under the
	// plan and the claim. An edit starts again at the first step, for every tenant that
	// doesn't have what is written now.
	// +optional
	Offer ChannelOffer `json:"offer,omitempty"`

	// How an offer reaches tenants.
	// +optional
	Rollout ChannelRollout `json:"rollout,omitempty"`

	// While this is true no further tenant begins to change. Those that have begun end
	// their change. It also ends a halt: see rollout.haltAfter. Default: false.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// ChannelOffer is what a channel's tenants get. What is left out stays as the function's
// input has it.
type ChannelOffer struct {
	// The argo-cd chart.
	// +optional
	ArgoCD ChannelChart `json:"argocd,omitempty"`

	// The vcluster chart.
	// +optional
	VCluster ChannelChart `json:"vcluster,omitempty"`

	// The virtual clusters' Kubernetes.
	// +optional
	Kubernetes ChannelKubernetes `json:"kubernetes,omitempty"`
}

// ChannelChart is a Helm chart as a channel offers it.
type ChannelChart struct {
	// Version of the chart, such as 10.1.1, where the claim names none. Tenants that run
	// a higher one keep it, but for those that one of argo-cd has broken: they go back.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]*)?$')",message="write an exact version of the chart, such as 10.1.1, not a range"
	ChartVersion string `json:"chartVersion,omitempty"`

	// Values of the chart: merged over those of the function's input and under those of
	// the plan and the claim, map by map; lists replace.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// ChannelKubernetes is the virtual clusters' Kubernetes as a channel offers it.
type ChannelKubernetes struct {
	// Version where the claim names none, such as v1.36.0. Tenants get there one minor
	// version after the other; those that run a higher one keep it.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+$')",message="write a whole Kubernetes version, such as v1.36.0"
	Version string `json:"version,omitempty"`
}

// ChannelRollout says how an offer reaches tenants.
type ChannelRollout struct {
	// Labels of claims that get an offer before all others, such as those of the
	// platform's own. They are counted in no percentage. All others wait until each of
	// them has the offer and its change has ended, but for those that are frozen or don't
	// answer, and no longer than eight days for one to begin. Default: none.
	// +optional
	// +nullable
	First *metav1.LabelSelector `json:"first,omitempty"`

	// Steps, in ascending order of their percentage. At most 20. After the last one
	// nothing goes on by itself: where it is below 100, the others don't get the offer.
	// Default: one step of 100 percent.
	// +optional
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Steps []ChannelStep `json:"steps,omitempty"`

	// How many tenants change at the same time, at most. An offer begins with fewer: with as
	// many as haltAfter.degraded, and then with as many as have it and are Ready, until that
	// is more than this. So an offer that breaks every tenant breaks no more than
	// haltAfter.degraded. Default: 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxUpdating int32 `json:"maxUpdating,omitempty"`

	// When no further tenant gets the offer. A halt ends when the offer is edited; or
	// when paused is set to true and to false again, and fewer tenants than that are
	// broken.
	// +optional
	HaltAfter ChannelHalt `json:"haltAfter,omitempty"`
}

// ChannelStep is a step of a rollout.
type ChannelStep struct {
	// Share of the channel's tenants that may have the offer in this step, in percent and
	// rounded up. Those for which the offer changes nothing aren't counted. 0 is for those
	// that first selects alone.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent"`

	// How long the step's tenants are watched before the next step begins, such as 24h:
	// from when the last of them was Ready. Default: not at all.
	// +optional
	Soak Duration `json:"soak,omitempty"`
}

// ChannelHalt says when a rollout halts.
type ChannelHalt struct {
	// How many tenants have to be broken by the offer for the rollout to halt. A tenant
	// counts when it was Ready before it got the offer, and then is Degraded or Failing for
	// a minute or takes longer than stuckFor. Once it was Ready with the offer for the
	// longest soak of the steps, and at least for stuckFor, it counts no more. A customer can
	// break its own tenants: write more than one customer has. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	Degraded int32 `json:"degraded,omitempty"`

	// How long a tenant's change may take, such as 30m. Default: 30m.
	// +optional
	StuckFor Duration `json:"stuckFor,omitempty"`
}

// Duration is a time in hours, minutes and seconds, such as 24h or 1h30m.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+(h|m|s))+$')",message="write a duration in hours, minutes or seconds, such as 24h or 30m"
type Duration string

// ChannelStatus is how far an offer is.
type ChannelStatus struct {
	// Digest of what is offered.
	// +optional
	Offer string `json:"offer,omitempty"`

	// Number of the step, from 1.
	// +optional
	Step *int64 `json:"step,omitempty"`

	// Share of the tenants that may have the offer in this step, in percent.
	// +optional
	Percent *int64 `json:"percent,omitempty"`

	// How many of the channel's tenants there are, and how they are.
	// +optional
	Tenants ChannelTenants `json:"tenants,omitempty"`
}

// ChannelTenants counts the tenants of a channel.
type ChannelTenants struct {
	// All of them.
	// +optional
	Total int64 `json:"total"`

	// Those that have the offer, and are not on their way to it.
	// +optional
	Updated int64 `json:"updated"`

	// Those that change, or may begin to.
	// +optional
	Updating int64 `json:"updating"`

	// Those that the offer has broken: they were Ready before and are Degraded since, or
	// take too long.
	// +optional
	Degraded int64 `json:"degraded"`

	// Those that get the offer only in their maintenance window, which isn't open.
	// +optional
	WaitingForWindow int64 `json:"waitingForWindow"`

	// Those that get the offer only after a freeze.
	// +optional
	Frozen int64 `json:"frozen"`
}

// Types of the conditions of a channel, beside Crossplane's own Ready and Synced.
const (
	// ConditionProgressing is True while further tenants get the offer, or will after a
	// soak or in their windows, without anybody's doing.
	ConditionProgressing = "Progressing"
	// ConditionHalted is True when as many tenants broke as haltAfter allows. The message
	// names them, and says how they are broken.
	ConditionHalted = "Halted"
	// ConditionComplete is True when every tenant of the channel has the offer.
	ConditionComplete = "Complete"
)

// Reasons of the conditions of a channel.
const (
	// ReasonUpdatingTenants: tenants change, or may begin to (True, Progressing alone).
	ReasonUpdatingTenants = "UpdatingTenants"
	// ReasonSoaking: the step's tenants have the offer, and are watched (True, Progressing
	// alone).
	ReasonSoaking = "Soaking"
	// ReasonWaitingForTenants: tenants that are to come next can't yet: their windows are
	// closed, they are frozen, or they don't answer (True, Progressing alone).
	ReasonWaitingForTenants = "WaitingForTenants"
	// ReasonPaused: spec.paused is true (False, Progressing alone).
	ReasonPaused = "Paused"
	// ReasonHalted: too many tenants broke (False, Progressing alone).
	ReasonHalted = "Halted"
	// ReasonLastStep: the last step is over, and it is below 100 percent (False,
	// Progressing and Complete).
	ReasonLastStep = "LastStep"
	// ReasonComplete: every tenant has the offer (True, Complete; False, Progressing).
	ReasonComplete = "Complete"
	// ReasonIncomplete: some tenants don't have the offer (False, Complete alone).
	ReasonIncomplete = "Incomplete"
	// ReasonTenantsBroken: as many tenants broke as haltAfter allows (True, Halted alone).
	ReasonTenantsBroken = "TenantsBroken"
	// ReasonTenantsWell: fewer tenants broke (False, Halted alone).
	ReasonTenantsWell = "TenantsWell"
)
