package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// Plan is what the function reads from an EnvironmentConfig of Crossplane with the label
// virtualargocd.io/plan: a size of tenants, and what their claims may choose.
//
// +kubebuilder:object:root=true
type Plan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Settings of the plan's tenants. Each field is optional; an unknown field is an error.
	// A claim can't override what a field sets; values are defaults. A change of a field
	// that becomes a value of the vcluster chart replaces the tenants' control planes: with
	// one replica, the virtual API server is unavailable until the new one has started, and
	// Argo CD keeps running. A change of quota or limits restarts nothing.
	Data PlanData `json:"data,omitempty"`
}

// PlanData are the settings of a plan's tenants.
type PlanData struct {
	// Namespaces whose claims may use the plan: names, and patterns such as premium-*, in
	// which * matches any number of characters. A claim in another namespace that names the
	// plan, or that names none while this is the default plan, is refused; the message lists
	// the plans that it may use. A tenant keeps its plan when its namespace is removed from
	// the list. A composite resource without a claim may use any plan. Default: every
	// namespace. This also applies to the built-in plan standard: to change that, install a
	// plan with that name.
	// +kubebuilder:validation:MaxItems=256
	Namespaces []string `json:"namespaces,omitempty"`

	// Channel of the plan's tenants, such as stable. A claim can't name another. Default: the
	// one that the claim names, or none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Channel string `json:"channel,omitempty"`

	// When platform changes may reach the plan's tenants. A claim's own time window replaces
	// the plan's; a freeze applies to every tenant of the plan. Default: at any time.
	// +optional
	Maintenance *apiv1alpha1.MaintenanceSpec `json:"maintenance,omitempty"`

	// Size of the virtual cluster.
	VCluster PlanVCluster `json:"vcluster,omitempty"`

	// Size of Argo CD.
	ArgoCD PlanArgoCD `json:"argocd,omitempty"`

	// Hard limits of the tenant's ResourceQuota on the host, such as limits.memory: 16Gi or
	// count/pods: "30", merged over the built-in ones. Where the virtual cluster or Argo CD
	// needs more, its pods don't start, and the claim's status says why.
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
	RuntimeClass string `json:"runtimeClass,omitempty"`

	// How the Argo CDs are reached from outside the host. Each field overrides that of the
	// function's input; annotations are merged.
	Ingress Ingress `json:"ingress,omitempty"`

	// Versions that claims may choose: exact ones, or ranges such as ~1.35 or
	// ">=9.3.0 <10". The platform's version, in the function's input, and the version that
	// the tenant runs already are always allowed.
	Versions PlanVersions `json:"versions,omitempty"`

	// Values of the charts. They override the function's input; claims override them.
	Values PlanValues `json:"values,omitempty"`
}

// PlanVCluster is the size of a virtual cluster.
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
	Resources Resources `json:"resources,omitempty"`

	// Volume of the store. Each field overrides that of the function's input; size also
	// overrides storage.ephemeral. The volume of a virtual cluster can't be changed, because
	// Kubernetes can't change the volumes of a StatefulSet. A change here applies to new
	// tenants, and a claim can't change to a plan with another volume. A claim that names no
	// plan keeps its volume when the default plan changes.
	Storage PlanStorage `json:"storage,omitempty"`
}

// PlanStorage is the volume of a virtual cluster's store.
type PlanStorage struct {
	// Size of the volume.
	Size Quantity `json:"size,omitempty"`

	// StorageClass of the volume.
	// +kubebuilder:validation:MaxLength=253
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
	Resources Resources `json:"resources,omitempty"`
}

// PlanContainer is the size of a workload whose replicas a plan can't set.
type PlanContainer struct {
	// Resources of the container.
	Resources Resources `json:"resources,omitempty"`
}

// Resources of a container.
type Resources struct {
	// Requests, such as memory: 256Mi.
	Requests map[string]Quantity `json:"requests,omitempty"`

	// Limits, such as memory: 1Gi.
	Limits map[string]Quantity `json:"limits,omitempty"`
}

// PlanLimits are the limits of a LimitRange.
type PlanLimits struct {
	// Default limits of a container.
	Default map[string]Quantity `json:"default,omitempty"`

	// Default requests of a container.
	DefaultRequest map[string]Quantity `json:"defaultRequest,omitempty"`

	// Maximum limits of a container.
	Max map[string]Quantity `json:"max,omitempty"`
}

// PlanVersions are the versions that claims may choose.
type PlanVersions struct {
	// Versions of the argo-cd chart. Default: all, because Argo CD runs inside the tenant's
	// own virtual cluster.
	// +kubebuilder:validation:MaxItems=64
	ArgoCDCharts []string `json:"argocdCharts,omitempty"`

	// Versions of the vcluster chart, which runs on the host. Default: only the platform's.
	// +kubebuilder:validation:MaxItems=64
	VClusterCharts []string `json:"vclusterCharts,omitempty"`

	// Versions of Kubernetes, which runs in the control plane's pod on the host. Default:
	// only the platform's.
	// +kubebuilder:validation:MaxItems=64
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
}

// Quantity is an amount of a resource, such as 500m or 2Gi. It isn't parsed when it is
// decoded, so that an error about it can name the path of its field.
//
// +kubebuilder:validation:XIntOrString
type Quantity string

// UnmarshalJSON keeps strings and numbers as text, and anything else as JSON.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	*q = Quantity(strings.Trim(string(data), `"`))
	return nil
}
