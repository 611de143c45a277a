package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// XVirtualArgoCD is an Argo CD of a customer's own, in a virtual cluster of its
// own. Customers claim one with a VirtualArgoCD in their namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=xvirtualargocds,singular=xvirtualargocd,categories={crossplane,composite}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="PHASE",type=string,JSONPath=".status.phase",description="Pending, Provisioning, Failing, Ready, Updating or Degraded."
// +kubebuilder:printcolumn:name="ACCEPTED",type=string,JSONPath=".status.conditions[?(@.type=='SpecAccepted')].status",description="False while the claim, its plan or the platform's input can't be used. The tenant goes on as before."
// +kubebuilder:printcolumn:name="PROGRESS",type=integer,JSONPath=".status.progress",description="How far the installation is, in percent."
// +kubebuilder:printcolumn:name="PLAN",type=string,JSONPath=".status.plan",description="The plan in use."
// +kubebuilder:printcolumn:name="ARGOCD",type=string,JSONPath=".status.argocd.version",description="The version of Argo CD that runs."
// +kubebuilder:printcolumn:name="KUBERNETES",type=string,JSONPath=".status.vcluster.kubernetesVersion",description="The Kubernetes version of the virtual cluster."
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=".status.argocd.url",priority=1,description="Where Argo CD is reached."
type XVirtualArgoCD struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What you want. Every part is optional: `spec: {}` gives a working Argo CD
	// of the platform's default versions.
	// +optional
	Spec Spec `json:"spec,omitempty"`

	// What is there.
	// +optional
	Status Status `json:"status,omitempty"`
}

// Spec is what a tenant asks for.
type Spec struct {
	// Plan of the platform's, such as small: what the virtual cluster and Argo CD have
	// and what they may use. Changing it resizes in place. One that isn't for the
	// claim's namespace is refused, with those that are. Default: the platform's.
	// `kubectl get environmentconfig -L virtualargocd.io/plan` lists them.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",message="write the name of a plan, such as standard"
	Plan string `json:"plan,omitempty"`

	// The Argo CD.
	// +optional
	// +nullable
	ArgoCD *ArgoCDSpec `json:"argocd,omitempty"`

	// The Kubernetes of the virtual cluster that Argo CD runs in.
	// +optional
	// +nullable
	Kubernetes *KubernetesSpec `json:"kubernetes,omitempty"`

	// The virtual cluster itself.
	// +optional
	// +nullable
	VCluster *VClusterSpec `json:"vcluster,omitempty"`

	// Clusters that this Argo CD deploys to, beside the virtual cluster it runs
	// in (which it calls in-cluster). At most 50. An entry that is taken out
	// takes the cluster out of Argo CD; what was deployed there stays.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=50
	Clusters []ClusterSpec `json:"clusters,omitempty"`

	// Repositories that Applications come from. At most 50.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=50
	Repositories []RepositorySpec `json:"repositories,omitempty"`

	// Credentials for every repository whose URL begins in one way, so that each
	// needn't be listed. At most 50.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=50
	CredentialTemplates []CredentialTemplateSpec `json:"credentialTemplates,omitempty"`

	// The first Application, named bootstrap: created in Argo CD's namespace once
	// Argo CD runs, and kept as it is described here. Its health is in the status.
	// When this is taken out again, the Application stays as it was.
	// +optional
	// +nullable
	Bootstrap *BootstrapSpec `json:"bootstrap,omitempty"`

	// How Argo CD is reached from outside the host cluster. Default: where the
	// platform has a domain for it, at https://<claim>-<namespace>.<domain>; where it
	// has none, not at all.
	// +optional
	// +nullable
	Ingress *IngressSpec `json:"ingress,omitempty"`

	// How people sign on. Default: as the local user admin, with the password in
	// the connection Secret.
	// +optional
	// +nullable
	SSO *SSOSpec `json:"sso,omitempty"`

	// Refuses to delete the claim, its namespace and its composite resource while this
	// is true, whoever asks: kubectl, or a GitOps tool that prunes. It takes effect a few
	// seconds after it is set or unset, also where another field of the claim is refused at
	// the same time, once the tenant has been accepted for the first time. To delete the claim, set it to false first and wait a few
	// seconds. A namespace can be deleted once no claim in it is protected.
	// Administrators of the host can still destroy a protected tenant: by deleting what
	// Crossplane made for it, such as the namespace in status.namespace; by deleting the
	// CustomResourceDefinition of claims or of composite resources, or in the foreground
	// the CompositeResourceDefinition, since Kubernetes then deletes all of them without
	// asking; and by first removing the label crossplane.io/in-use or the Usages and
	// ClusterUsages that refuse, until Crossplane puts them back within a minute.
	// Default: false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`
}

// ArgoCDSpec says which Argo CD is installed, and how.
type ArgoCDSpec struct {
	// Version of the argo-cd Helm chart, such as 10.1.1: any, or where the plan lists
	// some, one of those, the platform's, or the one that runs. Default: the platform's, or
	// the one that runs where that is higher. Argo CD's own notes on upgrading say what
	// to look at before raising it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]*)?$')",message="write an exact version of the argo-cd chart, such as 10.1.1, not a range"
	ChartVersion string `json:"chartVersion,omitempty"`

	// Values of the argo-cd Helm chart. They are merged over the platform's, map
	// by map; lists replace. Names of the chart's workloads (fullnameOverride and
	// the like) are the platform's to set, and so is what the plan sets.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// KubernetesSpec says which Kubernetes the virtual cluster serves.
type KubernetesSpec struct {
	// Kubernetes version of the virtual cluster, such as v1.36.0: the platform's, the
	// one that runs, or one that the plan lists. vcluster 0.36.1 and later serve 1.30
	// to 1.36; each older one serves fewer. Raising it upgrades, one minor version at a
	// time; going back to an older minor version is refused, with the versions that are
	// possible. Default: the platform's. A tenant goes there one minor version after the
	// other, and stays at what it runs where that is higher.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+$')",message="write a whole Kubernetes version, such as v1.36.0"
	Version string `json:"version,omitempty"`
}

// VClusterSpec says which virtual cluster is installed, and how.
type VClusterSpec struct {
	// Version of the vcluster Helm chart, such as 0.36.1: the platform's, the one that
	// runs, or one that the plan lists; 0.25.0 is the oldest. Going back to an older
	// minor version is refused. Default: the platform's, or the one that runs where that
	// is higher.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]*)?$')",message="write an exact version of the vcluster chart, such as 0.36.1, not a range"
	ChartVersion string `json:"chartVersion,omitempty"`

	// Values of the vcluster Helm chart. Only some paths are a tenant's to set,
	// such as controlPlane.statefulSet.resources, unless the plan sets them; any
	// other is refused with an error that names it.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}
