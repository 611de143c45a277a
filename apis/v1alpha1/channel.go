package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ChannelKind is the kind of channels. They have no claim: only the platform team creates them.
const ChannelKind = "XArgoCDChannel"

// XArgoCDChannel is what a platform team gives the tenants of a channel, and how it
// reaches them: a few first, then more, and no more once it has broken too many.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=xargocdchannels,singular=xargocdchannel,categories={crossplane,composite}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="REVISION",type=integer,JSONPath=".status.revision",description="Number of the newest revision: of what is offered, with the plans."
// +kubebuilder:printcolumn:name="STATE",type=string,JSONPath=".status.conditions[?(@.type=='Progressing')].reason",description="How far the revision is: Paused, Halted, UpdatingTenants, Soaking, WaitingForTenants, NoTenants, LastStep or Complete; InvalidSpec while the channel can't be used."
// +kubebuilder:printcolumn:name="TENANTS",type=integer,JSONPath=".status.tenants.total",description="Tenants of the channel."
// +kubebuilder:printcolumn:name="SUCCEEDED",type=integer,JSONPath=".status.tenants.succeeded",description="Tenants that have the revision, and have finished their update."
// +kubebuilder:printcolumn:name="FAILED",type=integer,JSONPath=".status.tenants.failed",description="Tenants that the revision has broken."
// +kubebuilder:printcolumn:name="ACCEPTED",type=string,JSONPath=".status.conditions[?(@.type=='SpecAccepted')].status",description="False while the channel can't be used."
// +kubebuilder:printcolumn:name="PERCENT",type=integer,JSONPath=".status.percent",priority=1,description="Share of the tenants that may have the revision in this step."
// +kubebuilder:printcolumn:name="PROGRESSING",type=integer,JSONPath=".status.tenants.progressing",priority=1,description="Tenants that are updating, or may begin."
// +kubebuilder:printcolumn:name="ARGOCD-CHART",type=string,JSONPath=".status.versions.argocdChart",priority=1,description="The version of the argo-cd chart in the revision."
// +kubebuilder:printcolumn:name="KUBERNETES",type=string,JSONPath=".status.versions.kubernetes",priority=1,description="The Kubernetes version of virtual clusters in the revision."
// +kubebuilder:printcolumn:name="MESSAGE",type=string,JSONPath=".status.conditions[?(@.type=='Progressing')].message",priority=1,description="What the channel waits for, why it has halted, or why it can't be used."
type XArgoCDChannel struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is offered, and how it reaches tenants.
	// +optional
	Spec ChannelSpec `json:"spec,omitempty"`

	// How far the newest revision has got.
	// +optional
	Status ChannelStatus `json:"status,omitempty"`
}

// ChannelSpec is what is offered, and how it reaches tenants.
type ChannelSpec struct {
	// Namespaces whose claims may name the channel: names, and patterns such as premium-*,
	// in which * matches any number of characters. At most 256. A claim in another namespace
	// that names the channel is refused. When its namespace is removed from the list, a
	// tenant isn't counted any more, gets no revision, and keeps what it has. A plan may name
	// any channel for its tenants. Default: every namespace.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// What the channel's tenants get. It overrides the function's input, and is overridden
	// by the plan and the claim. An edit makes a new revision, which goes through all steps
	// for every tenant that doesn't have it.
	// +optional
	Offer ChannelOffer `json:"offer,omitempty"`

	// How a revision reaches tenants.
	// +optional
	Rollout ChannelRollout `json:"rollout,omitempty"`

	// Whether no further tenant may begin to update. Tenants that have begun finish their
	// update. Setting this to true and, in another edit, back to false also ends a halt: see
	// rollout.maxFailures. Default: false.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// ChannelOffer is what a channel's tenants get. Fields that are left out are as
// in the input of the channel's own Composition, or the built-in ones.
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

	// Charts of components in the catalogue of the function's input, for tenants that have them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Components []ChannelComponent `json:"components,omitempty"`
}

// ChannelChart is a Helm chart as a channel offers it.
type ChannelChart struct {
	// Version of the chart, such as 10.1.1 of argo-cd or 0.36.1 of vcluster, for claims that
	// name none. Tenants that run a higher version keep it; only argo-cd goes back, from a
	// version that has broken the tenant. Default: the one in the input of the channel's
	// Composition, or the built-in one.
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
	// one in the input of the channel's Composition, or the built-in one.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+$')",message="write a whole Kubernetes version, such as v1.36.0"
	Version string `json:"version,omitempty"`
}

// ChannelRollout says how a revision reaches tenants.
type ChannelRollout struct {
	// Labels of claims that get a revision before all others, such as the platform team's
	// own. They aren't counted in percentages. All other tenants wait until each of these has
	// succeeded or failed, except for those that are frozen, and for those that don't begin
	// within progressDeadline. Whoever may label a claim so can delay all others until its
	// maintenance window opens. Default: none.
	// +optional
	// +nullable
	MandatoryGroup *metav1.LabelSelector `json:"mandatoryGroup,omitempty"`

	// Steps, in ascending order of their percentage. At most 20. If the last one is below
	// 100, the remaining tenants don't get the revision. Default: one step of 100 percent.
	// +optional
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Steps []ChannelStep `json:"steps,omitempty"`

	// How many tenants may update at the same time. A revision begins with maxFailures
	// tenants if that is fewer, and then allows as many as already have the revision and are
	// Ready. So a revision that breaks every tenant breaks no more than maxFailures. From 1
	// to 500. Default: 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxConcurrency int32 `json:"maxConcurrency,omitempty"`

	// How many tenants have to fail for the rollout to halt, so that no further tenant gets
	// the revision. A tenant fails when it was Ready before it took the revision, and then is
	// Degraded for a minute, takes longer than progressDeadline, or is rolled back. One that
	// was Ready with the revision for the longest minSuccessTime of all steps, and at least
	// for progressDeadline, doesn't fail later. Of each namespace one failure counts, unless
	// the revision has changed tenants of fewer namespaces than this. A halt ends when an edit
	// makes another revision with which the broken tenants, which get it first, are well; or
	// when paused is set to true and, in another edit, back to false. From 1 to 500. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxFailures int32 `json:"maxFailures,omitempty"`

	// How long a tenant has to begin its update after its turn has come, and then to become
	// Ready, such as 1h. One that doesn't begin is passed over, and gets the revision after
	// all others. Default: 30m.
	// +optional
	ProgressDeadline Duration `json:"progressDeadline,omitempty"`
}

// ChannelStep is a step of a rollout.
type ChannelStep struct {
	// Share of the tenants that the revision changes that may have it in this step, in percent.
	// The number of tenants is rounded up. Those that an earlier revision has broken get it in
	// any step. Tenants of the mandatory group aren't counted. With 0,
	// only they get the revision.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent"`

	// How long the step's tenants are watched before the next step begins, such as 24h,
	// from the time when the last of them became Ready. Default: 0s.
	// +optional
	MinSuccessTime Duration `json:"minSuccessTime,omitempty"`
}

// Duration is a time in hours, minutes and seconds, such as 24h or 1h30m.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+(h|m|s))+$')",message="write a duration in hours, minutes or seconds, such as 24h or 30m"
type Duration string

// ChannelStatus is how far a revision has got.
type ChannelStatus struct {
	// Number of the newest revision: of what is offered, with the plans.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// Number of the last revision that all tenants had, except for those that were skipped or
	// passed over. New tenants begin with it.
	// +optional
	CompleteRevision int64 `json:"completeRevision,omitempty"`

	// What the newest revision has of versions.
	// +optional
	Versions ChannelVersions `json:"versions,omitempty"`

	// Number of the current step, from 1.
	// +optional
	Step *int64 `json:"step,omitempty"`

	// Share of the tenants that may have the revision in the current step, in percent.
	// +optional
	Percent *int64 `json:"percent,omitempty"`

	// Numbers of the channel's tenants.
	// +optional
	Tenants ChannelTenants `json:"tenants,omitempty"`
}

// ChannelVersions are the versions of claims that name none.
type ChannelVersions struct {
	// Version of the argo-cd chart.
	// +optional
	ArgoCDChart string `json:"argocdChart,omitempty"`

	// Version of the vcluster chart.
	// +optional
	VClusterChart string `json:"vclusterChart,omitempty"`

	// Version of Kubernetes.
	// +optional
	Kubernetes string `json:"kubernetes,omitempty"`

	// Versions of the charts of components, by the components' names.
	// +optional
	Components map[string]string `json:"components,omitempty"`
}

// ChannelTenants counts the tenants of a channel by how far they are with the newest revision.
type ChannelTenants struct {
	// All tenants of the channel.
	// +optional
	Total int64 `json:"total"`

	// Tenants that wait for their turn, or for their maintenance window, or haven't said yet what
	// the revision changes.
	// +optional
	ToApply int64 `json:"toApply"`

	// Tenants that are updating, or were assigned the revision and may begin.
	// +optional
	Progressing int64 `json:"progressing"`

	// Tenants that have the revision, or for which it changes nothing.
	// +optional
	Succeeded int64 `json:"succeeded"`

	// Tenants that the revision has broken: see spec.rollout.maxFailures.
	// +optional
	Failed int64 `json:"failed"`

	// Tenants that were assigned the revision and didn't begin in time, or didn't say in time
	// what it would change for them.
	// +optional
	TimedOut int64 `json:"timedOut"`

	// Tenants that are frozen or asleep, were broken by something else before they got the
	// revision, or have failed before the channel was paused.
	// +optional
	Skipped int64 `json:"skipped"`
}

// Types of the conditions of a channel, beside SpecAccepted and Crossplane's own Ready and
// Synced.
const (
	// ConditionProgressing is True while tenants get the newest revision, or will get it after minSuccessTime
	// or in their maintenance windows, without anybody having to act.
	ConditionProgressing = "Progressing"
	// ConditionHalted is True when maxFailures tenants have failed. The
	// message names them, and says how they are broken.
	ConditionHalted = "Halted"
	// ConditionComplete is True when every tenant of the channel has the newest revision.
	ConditionComplete = "Complete"
)

// Reasons of the conditions of a channel.
const (
	// ReasonUpdatingTenants: tenants are updating, or were assigned the revision (True, only
	// Progressing).
	ReasonUpdatingTenants = "UpdatingTenants"
	// ReasonSoaking: the step's tenants have the revision, and are watched for minSuccessTime (True, only
	// Progressing).
	ReasonSoaking = "Soaking"
	// ReasonWaitingForTenants: the next tenants haven't said yet what the revision changes, wait
	// for their maintenance windows, are frozen, or didn't begin in time (True, only Progressing).
	ReasonWaitingForTenants = "WaitingForTenants"
	// ReasonNoTenants: the channel has no tenants any more (False, only Progressing).
	ReasonNoTenants = "NoTenants"
	// ReasonPaused: spec.paused is true (False, only Progressing).
	ReasonPaused = "Paused"
	// ReasonHalted: too many tenants have failed (False, only Progressing).
	ReasonHalted = "Halted"
	// ReasonLastStep: the last step is over, and it is below 100 percent (False,
	// Progressing and Complete).
	ReasonLastStep = "LastStep"
	// ReasonComplete: every tenant has the revision (True for Complete, False for
	// Progressing).
	ReasonComplete = "Complete"
	// ReasonIncomplete: some tenants don't have the revision (False, only Complete).
	ReasonIncomplete = "Incomplete"
	// ReasonTenantsFailed: maxFailures tenants have failed (True, only
	// Halted).
	ReasonTenantsFailed = "TenantsFailed"
	// ReasonTenantsWell: fewer tenants have failed (False, only Halted).
	ReasonTenantsWell = "TenantsWell"
)
