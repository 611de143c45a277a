package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Plan is what the function reads of an EnvironmentConfig of Crossplane's with the
// label virtualargocd.io/plan: a size that tenants have, and what they may choose.
//
// +kubebuilder:object:root=true
type Plan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What tenants of the plan have. Each field is optional; an unknown one is an
	// error. What a field sets no claim of the plan can set; values are defaults. A
	// change of anything that becomes a value of the vcluster chart replaces the
	// tenants' control planes: where there is one of them, the virtual API is away while
	// the new one starts. Argo CD keeps running. Quota and limits are no values of that
	// chart: a change of them restarts nothing.
	Data PlanData `json:"data,omitempty"`
}

// PlanData is what tenants of a plan have.
type PlanData struct {
	// Namespaces of the claims that may have the plan: names, and patterns such as
	// premium-*, in which * stands for any number of characters. A claim of another
	// namespace that names the plan is refused, with the plans that it may have; so is
	// one that names none, where this is the default plan. A tenant that has the plan
	// keeps it when its namespace is taken off the list. A composite resource without a
	// claim may have any plan. Default: every namespace. The built-in plan standard is
	// for every namespace, too: to change that, install a plan of that name.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Namespaces []string `json:"namespaces,omitempty"`

	// The virtual cluster.
	// +optional
	VCluster PlanVCluster `json:"vcluster,omitempty"`

	// The Argo CD.
	// +optional
	ArgoCD PlanArgoCD `json:"argocd,omitempty"`

	// What the tenant may use of the host in all: limits of a ResourceQuota, such as
	// limits.memory: 16Gi or count/pods: "30", over the built-in ones. Where it leaves
	// the virtual cluster or Argo CD less than they take, their pods don't start, and the
	// claim's status says why.
	// +optional
	Quota map[string]Quantity `json:"quota,omitempty"`

	// What a container may use: limits of a LimitRange, over the built-in ones. Pods of the
	// control plane, its etcd and DNS, and Argo CD that don't fit don't start, and the
	// claim's status says why.
	// +optional
	Limits PlanLimits `json:"limits,omitempty"`

	// Pod Security level that the tenant's pods are held to. restricted holds in the
	// virtual cluster alone, for Argo CD and DNS there, too: vcluster's own pods don't
	// run under it, so that the namespace on the host keeps baseline. What Argo CD
	// deploys into its own virtual cluster has to fit. Default: baseline.
	// +optional
	// +kubebuilder:validation:Enum=baseline;restricted
	PodSecurity string `json:"podSecurity,omitempty"`

	// Services of type LoadBalancer that the tenant may have. The tenant's pods can be
	// reached from the internet then. Where traffic comes by way of other nodes
	// (externalTrafficPolicy: Cluster) it comes from these nodes' addresses: list them
	// in the input's network.allowFrom. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	LoadBalancers int64 `json:"loadBalancers,omitempty"`

	// RuntimeClass of the host that all of the tenant's pods run with, whatever they
	// ask for, such as gvisor. The virtual cluster's control plane, which runs no
	// code of the tenant's, has the host's default. Default: what each pod asks for.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RuntimeClass string `json:"runtimeClass,omitempty"`

	// How the Argo CDs are reached from outside, over the input's.
	// +optional
	Ingress Ingress `json:"ingress,omitempty"`

	// Versions that claims may choose, each an exact one, or a range such as ~1.35
	// or ">=9.3.0 <10". The platform's, which the input sets, and what a tenant runs
	// already are always possible.
	// +optional
	Versions PlanVersions `json:"versions,omitempty"`

	// Values of the charts, over the input's and under the claim's.
	// +optional
	Values PlanValues `json:"values,omitempty"`
}

// PlanVCluster is the size of a virtual cluster.
type PlanVCluster struct {
	// Replicas of the control plane. Several need backingStore etcd. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	Replicas int64 `json:"replicas,omitempty"`

	// Store of the virtual cluster's state: sqlite in the control plane's pod, or etcd
	// in pods of its own, one for one replica and three for several. A virtual cluster
	// keeps the store that it was made with; with sqlite, a claim that names no plan has
	// one replica, whatever the default plan says. Default: sqlite.
	// +optional
	// +kubebuilder:validation:Enum=sqlite;etcd
	BackingStore string `json:"backingStore,omitempty"`

	// Resources of the control plane, over the built-in ones.
	// +optional
	Resources Resources `json:"resources,omitempty"`

	// Volume of the store, over the input's. A virtual cluster keeps the volume that
	// it was made with: Kubernetes can't change those of a StatefulSet. So a change
	// here is for new tenants, and a claim can't change to a plan with another volume. A
	// claim that names no plan keeps its own when the default plan is another one.
	// +optional
	Storage PlanStorage `json:"storage,omitempty"`
}

// PlanStorage is the volume of a virtual cluster's store.
type PlanStorage struct {
	// Size of the volume.
	// +optional
	Size Quantity `json:"size,omitempty"`

	// StorageClass of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClass string `json:"storageClass,omitempty"`
}

// PlanArgoCD is the size of an Argo CD.
type PlanArgoCD struct {
	// High availability: redis in three replicas, which want three nodes, and two
	// replicas of the API server, the repository server and the ApplicationSet
	// controller, unless they say otherwise.
	// +optional
	HA bool `json:"ha,omitempty"`

	// The API server.
	// +optional
	Server PlanWorkload `json:"server,omitempty"`

	// The repository server.
	// +optional
	RepoServer PlanWorkload `json:"repoServer,omitempty"`

	// The application controller.
	// +optional
	Controller PlanWorkload `json:"controller,omitempty"`

	// The ApplicationSet controller.
	// +optional
	ApplicationSet PlanWorkload `json:"applicationSet,omitempty"`

	// The notifications controller.
	// +optional
	Notifications PlanContainer `json:"notifications,omitempty"`

	// Redis; with high availability, each of its containers.
	// +optional
	Redis PlanContainer `json:"redis,omitempty"`

	// Dex, where the chart's values have it.
	// +optional
	Dex PlanContainer `json:"dex,omitempty"`
}

// PlanWorkload is the size of one of Argo CD's workloads.
type PlanWorkload struct {
	// Replicas of the workload.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	Replicas int64 `json:"replicas,omitempty"`

	// Resources of its container.
	// +optional
	Resources Resources `json:"resources,omitempty"`
}

// PlanContainer is the size of a workload whose replicas are not a plan's to set.
type PlanContainer struct {
	// Resources of its container.
	// +optional
	Resources Resources `json:"resources,omitempty"`
}

// Resources of a container.
type Resources struct {
	// Requests, such as memory: 256Mi.
	// +optional
	Requests map[string]Quantity `json:"requests,omitempty"`

	// Limits, such as memory: 1Gi.
	// +optional
	Limits map[string]Quantity `json:"limits,omitempty"`
}

// PlanLimits are the limits of a LimitRange.
type PlanLimits struct {
	// Limits of a container that names none.
	// +optional
	Default map[string]Quantity `json:"default,omitempty"`

	// Requests of a container that names none.
	// +optional
	DefaultRequest map[string]Quantity `json:"defaultRequest,omitempty"`

	// The most that a container may have.
	// +optional
	Max map[string]Quantity `json:"max,omitempty"`
}

// PlanVersions are the versions that claims may choose.
type PlanVersions struct {
	// Versions of the argo-cd chart. Default: all, since Argo CD runs inside the
	// tenant's own virtual cluster.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ArgoCDCharts []string `json:"argocdCharts,omitempty"`

	// Versions of the vcluster chart, which runs on the host. Default: none but the
	// platform's.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	VClusterCharts []string `json:"vclusterCharts,omitempty"`

	// Versions of Kubernetes, whose programs run in the control plane's pod on the
	// host. Default: none but the platform's.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Kubernetes []string `json:"kubernetes,omitempty"`
}

// PlanValues are values of the charts.
type PlanValues struct {
	// Values of the vcluster chart: those that are a tenant's or a plan's to set.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	VCluster *runtime.RawExtension `json:"vcluster,omitempty"`

	// Values of the argo-cd chart.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ArgoCD *runtime.RawExtension `json:"argocd,omitempty"`
}

// Quantity is an amount of a resource, such as 500m or 2Gi. It isn't read when it
// is decoded, so that what is none can be told with the path of its field.
//
// +kubebuilder:validation:XIntOrString
type Quantity string

// UnmarshalJSON takes text and numbers; of anything else it keeps the JSON.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	*q = Quantity(strings.Trim(string(data), `"`))
	return nil
}
