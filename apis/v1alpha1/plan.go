package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// PlanKind is the kind of plans. They have no claim: only the platform team creates them.
const PlanKind = "XArgoCDPlan"

// LabelDefaultPlan is the label, with the value "true", of the plan of claims that name none.
const LabelDefaultPlan = "virtualargocd.io/default-plan"

// ConditionProvidersTested is a condition of plans: whether the installed provider-helm and provider-kubernetes have the versions that the
// end-to-end tests run. It says so only, and stops nothing.
const ConditionProvidersTested = "ProvidersTested"

// Reasons of ConditionProvidersTested.
const (
	// ReasonTested: both have the version that is tested (True).
	ReasonTested = "Tested"
	// ReasonUntested: at least one has another version: the message names it, and the one that is tested (False).
	ReasonUntested = "Untested"
	// ReasonVersionUnknown: at least one is named by its digest alone, or isn't installed by Crossplane (Unknown).
	ReasonVersionUnknown = "VersionUnknown"
)

// XArgoCDPlan is a size of tenants, and what their claims may choose. A claim names a plan in
// spec.plan. Its name is that of the plan.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=xargocdplans,singular=xargocdplan,categories={crossplane,composite}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="DEFAULT",type=string,JSONPath=".metadata.labels.virtualargocd\\.io/default-plan",description="true for the plan of claims that name none."
// +kubebuilder:printcolumn:name="CHANNEL",type=string,JSONPath=".spec.channel",description="The channel of the plan's tenants."
// +kubebuilder:printcolumn:name="HA",type=boolean,JSONPath=".spec.argocd.ha",description="Whether Argo CD is highly available."
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=".status.quota.cpu",description="How much CPU the pods of a tenant may use together."
// +kubebuilder:printcolumn:name="MEMORY",type=string,JSONPath=".status.quota.memory",description="How much memory the pods of a tenant may use together."
// +kubebuilder:printcolumn:name="ACCEPTED",type=string,JSONPath=".status.conditions[?(@.type=='SpecAccepted')].status",description="False while the plan can't be used."
// +kubebuilder:printcolumn:name="MESSAGE",type=string,JSONPath=".status.conditions[?(@.type=='SpecAccepted')].message",priority=1,description="What is wrong with the plan."
type XArgoCDPlan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Settings of the plan's tenants. Each field is optional; an unknown field is an error.
	// A claim can't override what a field sets; values are defaults. A change of a field
	// that becomes a value of the vcluster chart replaces the tenants' control planes: with
	// one replica, the virtual API server is unavailable until the new one has started, and
	// Argo CD keeps running. A change of quota or limits restarts nothing.
	// +optional
	Spec PlanSpec `json:"spec,omitempty"`

	// Whether the plan can be used, and what it comes to.
	// +optional
	Status PlanStatus `json:"status,omitempty"`
}

// PlanStatus is what a plan comes to.
type PlanStatus struct {
	// Limits of the quota of each tenant, with the built-in ones where the plan sets none;
	// missing while the plan has a mistake.
	// +optional
	Quota *PlanQuota `json:"quota,omitempty"`
}

// PlanQuota are limits of the quota of a tenant.
type PlanQuota struct {
	// Limit of limits.cpu.
	// +optional
	CPU string `json:"cpu,omitempty"`

	// Limit of limits.memory.
	// +optional
	Memory string `json:"memory,omitempty"`

	// Limit of count/pods.
	// +optional
	Pods string `json:"pods,omitempty"`
}

// PlanSpec are the settings of a plan's tenants.
type PlanSpec struct {
	// Namespaces whose claims may use the plan: names, and patterns such as premium-*, in
	// which * matches any number of characters. A claim in another namespace that names the
	// plan, or that names none while this is the default plan, is refused; the message lists
	// the plans that it may use. A tenant keeps its plan when its namespace is removed from
	// the list. A composite resource without a claim may use any plan. Default: every
	// namespace. This also applies to the built-in plan standard: to change that, install a
	// plan with that name.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// Channel of the plan's tenants, such as stable. A claim can't name another. Default: the
	// one that the claim names, or none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Channel string `json:"channel,omitempty"`

	// When platform changes may reach the plan's tenants. A claim's own time window replaces
	// the plan's; a freeze applies to every tenant of the plan. Default: at any time.
	// +optional
	Maintenance *MaintenanceSpec `json:"maintenance,omitempty"`

	// Backups of the plan's tenants. A claim's own settings replace the plan's, field by field.
	// It takes effect at once. Default: none.
	// +optional
	Backup *BackupSpec `json:"backup,omitempty"`

	// When the plan's tenants are asleep. A claim's own settings replace the plan's, field by
	// field. It takes effect at once. Default: never.
	// +optional
	Hibernation *HibernationSpec `json:"hibernation,omitempty"`

	// How long a tenant of the plan may run from its creation, such as 336h. After that it is
	// asleep until its claim has another plan, or the plan a later end: nothing of it is
	// deleted. A warning event comes a day before. It takes effect at once. Default: no end.
	// +optional
	ExpireAfter Duration `json:"expireAfter,omitempty"`

	// Size of the virtual cluster.
	VCluster PlanVCluster `json:"vcluster,omitempty"`

	// Size of Argo CD.
	ArgoCD PlanArgoCD `json:"argocd,omitempty"`

	// Hard limits of the tenant's ResourceQuota on the host, such as limits.memory: 16Gi or
	// count/pods: "30", merged over the built-in ones. Where the virtual cluster or Argo CD
	// needs more, its pods don't start, and the claim's status says why.
	// +kubebuilder:validation:MaxProperties=64
	Quota map[string]Quantity `json:"quota,omitempty"`

	// Limits of the tenant's LimitRange on the host, merged over the built-in ones. Pods of
	// the control plane, of its etcd and DNS, and of Argo CD that exceed them don't start,
	// and the claim's status says why.
	Limits PlanLimits `json:"limits,omitempty"`

	// Pod Security level of the tenant's pods: baseline or restricted. restricted applies
	// inside the virtual cluster, to Argo CD, to DNS and to everything that is deployed
	// there. The namespace on the host keeps baseline, because vcluster's own pods don't run
	// under restricted. Default: baseline.
	// +kubebuilder:validation:Enum=baseline;restricted
	PodSecurity string `json:"podSecurity,omitempty"`

	// Number of Services of type LoadBalancer that the tenant may have. With more than 0,
	// the tenant's pods can be reached from the internet, but of the pods in the virtual
	// cluster's namespace argocd only Argo CD's API server. With externalTrafficPolicy:
	// Cluster, traffic comes from the addresses of nodes: list these in network.allowFrom of
	// the function's input. Default: 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	LoadBalancers int64 `json:"loadBalancers,omitempty"`

	// RuntimeClass of the host for all of the tenant's pods, such as gvisor, whichever they
	// name themselves. The control plane of the virtual cluster, which runs no code of the
	// tenant, uses the host's default. Default: the RuntimeClass that each pod names.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	RuntimeClass string `json:"runtimeClass,omitempty"`

	// How the Argo CDs are reached from outside the host. Each field overrides that of the
	// function's input; annotations are merged.
	Ingress PlatformIngress `json:"ingress,omitempty"`

	// Versions that claims may choose: exact ones, or ranges such as ~1.35 or
	// ">=9.3.0 <10". The platform's version, in the function's input, and the version that
	// the tenant runs already are always allowed.
	Versions PlanVersions `json:"versions,omitempty"`

	// Components of the catalogue in the function's input that the plan's tenants have, and may
	// have. Default: a claim may name each of them.
	// +optional
	Components PlanComponents `json:"components,omitzero"`

	// Values of the charts. They override the function's input; claims override them.
	Values PlanValues `json:"values,omitempty"`
}

// PlanVCluster is the size of a virtual cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas == 1 || has(self.backingStore) && self.backingStore == 'etcd'",message="several replicas need a store that they share: write backingStore: etcd"
type PlanVCluster struct {
	// Replicas of the control plane. More than one need backingStore etcd. Default: 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	Replicas int64 `json:"replicas,omitempty"`

	// Store of the virtual cluster's state: sqlite in the pod of the control plane, or etcd
	// in separate pods: one with one replica of the control plane, otherwise three. The
	// store of a virtual cluster can't be changed. With sqlite, a claim that names no plan
	// has one replica, whatever the default plan says. Default: sqlite.
	// +kubebuilder:validation:Enum=sqlite;etcd
	BackingStore string `json:"backingStore,omitempty"`

	// Resources of the control plane, merged over the built-in ones.
	Resources PlanResources `json:"resources,omitempty"`

	// Volume of the store. Each field overrides that of the function's input; size also
	// overrides storage.ephemeral. The volume of a virtual cluster can't be changed, because
	// Kubernetes can't change the volumes of a StatefulSet. A change here applies to new
	// tenants, and a claim can't change to a plan with another volume. A claim that names no
	// plan keeps its volume when the default plan changes.
	Storage PlanStorage `json:"storage,omitempty"`
}

// PlanStorage is the volume of a virtual cluster's store.
//
// +kubebuilder:validation:XValidation:rule="!has(self.size) || string(self.size).matches('[1-9]')",message="write a size above 0, such as 2Gi"
type PlanStorage struct {
	// Size of the volume.
	Size Quantity `json:"size,omitempty"`

	// StorageClass of the volume.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	StorageClass string `json:"storageClass,omitempty"`
}

// PlanArgoCD is the size of an Argo CD.
type PlanArgoCD struct {
	// Whether Argo CD is highly available: three replicas of redis, on three nodes, and two
	// replicas each of the API server, the repository server and the ApplicationSet
	// controller, unless their fields set another number. Default: false.
	HA bool `json:"ha,omitempty"`

	// API server.
	Server PlanWorkload `json:"server,omitempty"`

	// Repository server.
	RepoServer PlanWorkload `json:"repoServer,omitempty"`

	// Application controller.
	Controller PlanWorkload `json:"controller,omitempty"`

	// ApplicationSet controller.
	ApplicationSet PlanWorkload `json:"applicationSet,omitempty"`

	// Notifications controller.
	Notifications PlanContainer `json:"notifications,omitempty"`

	// Redis. With high availability, this applies to each of its containers.
	Redis PlanContainer `json:"redis,omitempty"`

	// Dex, where the values of the chart enable it.
	Dex PlanContainer `json:"dex,omitempty"`
}

// PlanWorkload is the size of one of Argo CD's workloads.
type PlanWorkload struct {
	// Number of replicas.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	Replicas int64 `json:"replicas,omitempty"`

	// Resources of the container.
	Resources PlanResources `json:"resources,omitempty"`
}

// PlanContainer is the size of a workload whose replicas a plan can't set.
type PlanContainer struct {
	// Resources of the container.
	Resources PlanResources `json:"resources,omitempty"`
}

// PlanResources are those of a container.
type PlanResources struct {
	// Requests, such as memory: 256Mi.
	// +kubebuilder:validation:MaxProperties=64
	Requests map[string]Quantity `json:"requests,omitempty"`

	// Limits, such as memory: 1Gi.
	// +kubebuilder:validation:MaxProperties=64
	Limits map[string]Quantity `json:"limits,omitempty"`
}

// PlanLimits are the limits of a LimitRange.
type PlanLimits struct {
	// Default limits of a container.
	// +kubebuilder:validation:MaxProperties=64
	Default map[string]Quantity `json:"default,omitempty"`

	// Default requests of a container.
	// +kubebuilder:validation:MaxProperties=64
	DefaultRequest map[string]Quantity `json:"defaultRequest,omitempty"`

	// Maximum limits of a container.
	// +kubebuilder:validation:MaxProperties=64
	Max map[string]Quantity `json:"max,omitempty"`
}

// PlanVersions are the versions that claims may choose.
type PlanVersions struct {
	// Versions of the argo-cd chart. Default: all, because Argo CD runs inside the tenant's
	// own virtual cluster.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	ArgoCDCharts []string `json:"argocdCharts,omitempty"`

	// Versions of the vcluster chart, which runs on the host. Default: only the platform's.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	VClusterCharts []string `json:"vclusterCharts,omitempty"`

	// Versions of Kubernetes, which runs in the control plane's pod on the host. Default:
	// only the platform's.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	Kubernetes []string `json:"kubernetes,omitempty"`
}

// PlanValues are values of the charts.
type PlanValues struct {
	// Values of the vcluster chart, of the classes tenant and plan.
	// +kubebuilder:pruning:PreserveUnknownFields
	VCluster *runtime.RawExtension `json:"vcluster,omitempty"`

	// Values of the argo-cd chart.
	// +kubebuilder:pruning:PreserveUnknownFields
	ArgoCD *runtime.RawExtension `json:"argocd,omitempty"`

	// Values of the charts of components, for tenants that have them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Components []ComponentValues `json:"components,omitempty"`
}

// Quantity is an amount of a resource, such as 500m or 2Gi, without an exponent. It isn't parsed
// when it is decoded, so that an error about it can name the path of its field.
//
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:Pattern=`^[0-9]{1,15}([.][0-9]{1,9})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$`
type Quantity string

// UnmarshalJSON keeps strings and numbers as text, and anything else as JSON.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	*q = Quantity(strings.Trim(string(data), `"`))
	return nil
}
