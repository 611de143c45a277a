package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PoolKind is the kind of pools. They have no claim: only the platform team creates them.
const PoolKind = "XArgoCDPool"

// Labels of spares, which are composite resources that nobody has taken yet. Whoever takes one removes them.
const (
	// LabelSpare, with the value "true", is on each spare.
	LabelSpare = "virtualargocd.io/spare"
	// LabelPool has the name of the spare's pool.
	LabelPool = "virtualargocd.io/pool"
	// LabelPoolPlan has the name of the plan of the spare.
	LabelPoolPlan = "virtualargocd.io/pool-plan"
	// LabelPoolDigest has the digest of that plan, as it was when the spare was made; that of its channel for a plan with one.
	LabelPoolDigest = "virtualargocd.io/pool-plan-digest"
)

// AnnotationClaimedAt is the annotation of a composite resource that was a spare, with when the VirtualArgoCD that took it was created.
const AnnotationClaimedAt = "virtualargocd.io/claimed-at"

// XArgoCDPool is a pool of spares: tenants of a plan that belong to nobody yet. A new
// VirtualArgoCD of group m.virtualargocd.io with that plan takes one over instead of waiting for
// an installation. Each spare is taken once at most, and the pool makes another.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=xargocdpools,singular=xargocdpool,categories={crossplane,composite}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="PLAN",type=string,JSONPath=".spec.plan",description="The plan of the spares."
// +kubebuilder:printcolumn:name="SIZE",type=integer,JSONPath=".spec.size",description="How many spares the pool is to have."
// +kubebuilder:printcolumn:name="OFFERED",type=integer,JSONPath=".status.offered",description="How many can be taken now."
// +kubebuilder:printcolumn:name="ASLEEP",type=integer,JSONPath=".status.asleep",description="How many of these are asleep."
// +kubebuilder:printcolumn:name="MAKING",type=integer,JSONPath=".status.making",description="How many can't be taken."
// +kubebuilder:printcolumn:name="TAKEN",type=integer,JSONPath=".status.taken",description="How many have been taken since the pool was created."
// +kubebuilder:printcolumn:name="ACCEPTED",type=string,JSONPath=".status.conditions[?(@.type=='SpecAccepted')].status",description="False while the pool can't be used."
// +kubebuilder:printcolumn:name="MESSAGE",type=string,JSONPath=".status.conditions[?(@.type=='PoolFull')].message",priority=1,description="What the pool waits for."
type XArgoCDPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which spares there are to be.
	// +optional
	Spec PoolSpec `json:"spec,omitempty"`

	// Which spares there are.
	// +optional
	Status PoolStatus `json:"status,omitempty"`
}

// PoolSpec says which spares a pool is to have.
//
// +kubebuilder:validation:XValidation:rule="has(self.plan)",message="write the name of the plan of the spares"
type PoolSpec struct {
	// Plan of the spares. They have nothing but what the plan and the platform give each
	// tenant, and no backups. A spare that isn't what a new tenant of the plan would be, since the
	// plan, a version or the revision of the plan's channel has changed, can't be taken, and is
	// replaced. So is one that has been Degraded for half an hour. They are replaced one after the
	// other.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Plan string `json:"plan,omitempty"`

	// Number of spares that are to be there to be taken. A pool makes two at a time. With fewer
	// than before, those that nobody has taken are deleted. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	Size int64 `json:"size,omitempty"`

	// Whether the spares are asleep: none of their pods runs. Whoever takes one waits until it
	// has woken up. Default: false.
	// +optional
	Asleep bool `json:"asleep,omitempty"`
}

// PoolStatus says which spares a pool has.
type PoolStatus struct {
	// Number of spares that can be taken now.
	// +optional
	Offered int64 `json:"offered"`

	// Number of those that are asleep.
	// +optional
	Asleep int64 `json:"asleep"`

	// Number of spares that can't be taken: they are being installed, woken or put to sleep, are to
	// be replaced, or something is wrong with them.
	// +optional
	Making int64 `json:"making"`

	// Number of spares that have been taken since the pool was created.
	// +optional
	Taken int64 `json:"taken"`

	// Number of the last spare that was made.
	// +optional
	Last int64 `json:"last"`
}
