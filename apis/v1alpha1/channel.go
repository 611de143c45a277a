package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ChannelKind is the kind of channels. They have no claim: only the platform team creates them.
const ChannelKind = "XArgoCDChannel"

// XArgoCDChannel is what a platform team offers to the tenants of a channel, and how it
// reaches them: a few first, then more, and no more once it has broken too many.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=xargocdchannels,singular=xargocdchannel,categories={crossplane,composite}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="OFFER",type=string,JSONPath=".status.offer",description="Digest of what is offered."
// +kubebuilder:printcolumn:name="STATE",type=string,JSONPath=".status.conditions[?(@.type=='Progressing')].reason",description="How far the offer is: Paused, Halted, UpdatingTenants, Soaking, WaitingForTenants, NoTenants, LastStep or Complete."
// +kubebuilder:printcolumn:name="TENANTS",type=integer,JSONPath=".status.tenants.total",description="Tenants of the channel."
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=".status.tenants.updated",description="Tenants that have the offer, and have finished their update."
// +kubebuilder:printcolumn:name="DEGRADED",type=integer,JSONPath=".status.tenants.degraded",description="Tenants that the offer has broken."
// +kubebuilder:printcolumn:name="ACCEPTED",type=string,JSONPath=".status.conditions[?(@.type=='SpecAccepted')].status",description="False while the channel can't be used."
// +kubebuilder:printcolumn:name="PERCENT",type=integer,JSONPath=".status.percent",priority=1,description="Share of the tenants that may have the offer in this step."
// +kubebuilder:printcolumn:name="UPDATING",type=integer,JSONPath=".status.tenants.updating",priority=1,description="Tenants that are updating, or were admitted."
// +kubebuilder:printcolumn:name="ARGOCD-CHART",type=string,JSONPath=".spec.offer.argocd.chartVersion",priority=1,description="The version of the argo-cd chart that is offered."
// +kubebuilder:printcolumn:name="KUBERNETES",type=string,JSONPath=".spec.offer.kubernetes.version",priority=1,description="The Kubernetes version of virtual clusters that is offered."
// +kubebuilder:printcolumn:name="MESSAGE",type=string,JSONPath=".status.conditions[?(@.type=='Progressing')].message",priority=1,description="What the channel waits for, or why it has halted."
type XArgoCDChannel struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is offered, and how it reaches tenants.
	// +optional
	Spec ChannelSpec `json:"spec,omitempty"`

	// How far the offer has got.
	// +optional
	Status ChannelStatus `json:"status,omitempty"`
}

// ChannelSpec is what is offered, and how it reaches tenants.
type ChannelSpec struct {
	// Namespaces whose claims may name the channel: names, and patterns such as premium-*,
	// in which * matches any number of characters. At most 256. A claim in another namespace
	// that names the channel is refused. When its namespace is removed from the list, a
	// tenant is neither counted nor admitted any more, and keeps what it has. A plan may name
	// any channel for its tenants. Default: every namespace.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// What the channel's tenants get. It overrides the function's input, and is overridden
	// by the plan and the claim. An edit begins a new offer, which goes through all steps
	// for every tenant that doesn't have it.
	// +optional
	Offer ChannelOffer `json:"offer,omitempty"`

	// How an offer reaches tenants.
	// +optional
	Rollout ChannelRollout `json:"rollout,omitempty"`

	// Whether no further tenant may begin to update. Tenants that have begun finish their
	// update. Setting this to true and back to false also ends a halt: see
	// rollout.haltAfter. Default: false.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// ChannelOffer is what a channel's tenants get. Fields that are left out are as in the
// function's input.
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
	// Version of the chart, such as 10.1.1 of argo-cd or 0.36.1 of vcluster, for claims that
	// name none. Tenants that run a higher version keep it; only argo-cd goes back, from a
	// version that has broken the tenant. Default: the one in the function's input.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]*)?$')",message="write an exact version of the chart, such as 10.1.1, not a range"
	ChartVersion string `json:"chartVersion,omitempty"`

	// Values of the chart. They override those of the function's input, and are overridden
	// by those of the plan and the claim. Maps are merged, lists are replaced.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// ChannelKubernetes is the virtual clusters' Kubernetes as a channel offers it.
type ChannelKubernetes struct {
	// Kubernetes version for claims that name none, such as v1.36.0. Tenants are upgraded
	// one minor version at a time; those that run a higher version keep it. Default: the
	// one in the function's input.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+$')",message="write a whole Kubernetes version, such as v1.36.0"
	Version string `json:"version,omitempty"`
}

// ChannelRollout says how an offer reaches tenants.
type ChannelRollout struct {
	// Labels of claims that get an offer before all others, such as the platform team's
	// own. They aren't counted in percentages. All other tenants wait until each of these
	// has finished its update, except for those that are frozen, and for those that were
	// admitted and didn't begin; they wait for at most eight days after the offer began or
	// went on after a pause or halt. Default: none.
	// +optional
	// +nullable
	First *metav1.LabelSelector `json:"first,omitempty"`

	// Steps, in ascending order of their percentage. At most 20. If the last one is below
	// 100, the remaining tenants don't get the offer. Default: one step of 100 percent.
	// +optional
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Steps []ChannelStep `json:"steps,omitempty"`

	// How many tenants may update at the same time. An offer begins with haltAfter.degraded
	// tenants if that is fewer, and then allows as many as already have the offer and are
	// Ready. So an offer that breaks every tenant breaks no more than haltAfter.degraded.
	// From 1 to 500. Default: 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxUpdating int32 `json:"maxUpdating,omitempty"`

	// When the rollout halts, so that no further tenant gets the offer. A halt ends when
	// spec.offer is edited; or when paused is set to true and back to false while fewer
	// than haltAfter.degraded tenants are broken.
	// +optional
	HaltAfter ChannelHalt `json:"haltAfter,omitempty"`
}

// ChannelStep is a step of a rollout.
type ChannelStep struct {
	// Share of the channel's tenants that may have the offer in this step, in percent. The
	// number of tenants is rounded up. Tenants that first selects, and those for which the
	// offer changes nothing, aren't counted. With 0, only tenants that first selects get
	// the offer.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent"`

	// How long the step's tenants are watched before the next step begins, such as 24h,
	// from the time when the last of them became Ready. Default: 0s.
	// +optional
	Soak Duration `json:"soak,omitempty"`
}

// ChannelHalt says when a rollout halts.
type ChannelHalt struct {
	// How many tenants the offer has to break for the rollout to halt. The offer has broken
	// a tenant that was Ready before, and then is Degraded for a minute, takes longer than
	// stuckFor, or is rolled back. A tenant that was Ready with the offer for the longest
	// soak of all steps, and at least for stuckFor, doesn't count if it breaks later. A
	// customer can break its own tenants: set this at least two higher than the number of
	// claims that one customer has. From 1 to 500. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	Degraded int32 `json:"degraded,omitempty"`

	// How long the update of a tenant may take, such as 1h. A tenant that takes longer
	// counts as broken. Default: 30m.
	// +optional
	StuckFor Duration `json:"stuckFor,omitempty"`
}

// Duration is a time in hours, minutes and seconds, such as 24h or 1h30m.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+(h|m|s))+$')",message="write a duration in hours, minutes or seconds, such as 24h or 30m"
type Duration string

// ChannelStatus is how far an offer has got.
type ChannelStatus struct {
	// Digest of the offer, with the plans and inputs that are part of it.
	// +optional
	Offer string `json:"offer,omitempty"`

	// Number of the current step, from 1.
	// +optional
	Step *int64 `json:"step,omitempty"`

	// Share of the tenants that may have the offer in the current step, in percent.
	// +optional
	Percent *int64 `json:"percent,omitempty"`

	// Numbers of the channel's tenants.
	// +optional
	Tenants ChannelTenants `json:"tenants,omitempty"`
}

// ChannelTenants counts the tenants of a channel.
type ChannelTenants struct {
	// All tenants of the channel.
	// +optional
	Total int64 `json:"total"`

	// Tenants that have the offer, and have finished their update.
	// +optional
	Updated int64 `json:"updated"`

	// Tenants that are updating, or were admitted and may begin.
	// +optional
	Updating int64 `json:"updating"`

	// Tenants that the offer has broken: see spec.rollout.haltAfter.degraded.
	// +optional
	Degraded int64 `json:"degraded"`

	// Tenants that don't have the offer, and whose maintenance window is closed.
	// +optional
	WaitingForWindow int64 `json:"waitingForWindow"`

	// Tenants that don't have the offer, and are frozen.
	// +optional
	Frozen int64 `json:"frozen"`
}

// Types of the conditions of a channel, beside SpecAccepted and Crossplane's own Ready and
// Synced.
const (
	// ConditionProgressing is True while tenants get the offer, or will get it after a soak
	// or in their maintenance windows, without anybody having to act.
	ConditionProgressing = "Progressing"
	// ConditionHalted is True when the offer has broken haltAfter.degraded tenants. The
	// message names them, and says how they are broken.
	ConditionHalted = "Halted"
	// ConditionComplete is True when every tenant of the channel has the offer.
	ConditionComplete = "Complete"
)

// Reasons of the conditions of a channel.
const (
	// ReasonUpdatingTenants: tenants are updating, or were admitted (True, only
	// Progressing).
	ReasonUpdatingTenants = "UpdatingTenants"
	// ReasonSoaking: the step's tenants have the offer, and are watched (True, only
	// Progressing).
	ReasonSoaking = "Soaking"
	// ReasonWaitingForTenants: the next tenants wait for their maintenance windows, are
	// frozen, or were admitted and didn't begin; or the channel waits until it knows the
	// labels of the claims, or for admissions of which it has lost the state (True, only
	// Progressing).
	ReasonWaitingForTenants = "WaitingForTenants"
	// ReasonNoTenants: the channel has no tenants any more (False, only Progressing).
	ReasonNoTenants = "NoTenants"
	// ReasonPaused: spec.paused is true (False, only Progressing).
	ReasonPaused = "Paused"
	// ReasonHalted: the offer has broken too many tenants (False, only Progressing).
	ReasonHalted = "Halted"
	// ReasonLastStep: the last step is over, and it is below 100 percent (False,
	// Progressing and Complete).
	ReasonLastStep = "LastStep"
	// ReasonComplete: every tenant has the offer (True for Complete, False for
	// Progressing).
	ReasonComplete = "Complete"
	// ReasonIncomplete: some tenants don't have the offer (False, only Complete).
	ReasonIncomplete = "Incomplete"
	// ReasonTenantsBroken: the offer has broken haltAfter.degraded tenants (True, only
	// Halted).
	ReasonTenantsBroken = "TenantsBroken"
	// ReasonTenantsWell: the offer has broken fewer tenants (False, only Halted).
	ReasonTenantsWell = "TenantsWell"
)
