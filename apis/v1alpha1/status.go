package v1alpha1

// Phase is the state of a tenant in one word.
//
// +kubebuilder:validation:Enum=Pending;Provisioning;Failing;Ready;Updating;Degraded
type Phase string

// Phases of a tenant.
const (
	// PhasePending means the tenant has no namespace on the host yet, so that
	// nothing can be installed.
	PhasePending Phase = "Pending"
	// PhaseProvisioning means the tenant is being installed.
	PhaseProvisioning Phase = "Provisioning"
	// PhaseFailing means an installation of the tenant has failed, and is tried again, or
	// that its pods can't start. The message says why.
	PhaseFailing Phase = "Failing"
	// PhaseReady means every workload of Argo CD is available.
	PhaseReady Phase = "Ready"
	// PhaseUpdating means the tenant was ready once, and a change is being rolled
	// out: an upgrade, a value, a credential.
	PhaseUpdating Phase = "Updating"
	// PhaseDegraded means the tenant was ready once and something is broken now.
	// The message says what.
	PhaseDegraded Phase = "Degraded"
)

// Status is what runs, and what is being waited for.
type Status struct {
	// Pending, Provisioning, Failing (an installation has failed, and is tried again, or its pods can't start),
	// Ready, Updating (was ready, and a change is being rolled out) or Degraded (was
	// ready, and something is broken now). While the tenant is deleted this stays as it
	// was, and the condition Ready is False with reason Deleting.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// How far the installation is, in percent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Progress *int64 `json:"progress,omitempty"`

	// What is being waited for, or what is wrong. When Argo CD is ready and a part
	// beside it isn't, it names that part's condition.
	// +optional
	Message string `json:"message,omitempty"`

	// The plan in use: the one of the spec, or the platform's default; standard where
	// the platform has none. What it sets may still be on its way.
	// +optional
	Plan string `json:"plan,omitempty"`

	// The platform's versions that this tenant doesn't have yet, though its claim names
	// no others, and why: no version goes back by itself, and Kubernetes goes one minor
	// version at a time. The claim gets an event of each, with reason VersionHeld.
	// +optional
	VersionsHeld []string `json:"versionsHeld,omitempty"`

	// Namespace of the virtual cluster in the host cluster.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// The virtual cluster.
	// +optional
	VCluster *VClusterStatus `json:"vcluster,omitempty"`

	// The Argo CD.
	// +optional
	ArgoCD *ArgoCDStatus `json:"argocd,omitempty"`

	// Each cluster of the spec, and whether its credentials are there.
	// +optional
	// +listType=atomic
	Clusters []ClusterStatus `json:"clusters,omitempty"`

	// Each repository and credential template of the spec, and whether its
	// credentials are there.
	// +optional
	// +listType=atomic
	Repositories []RepositoryStatus `json:"repositories,omitempty"`

	// The first Application.
	// +optional
	Bootstrap *BootstrapStatus `json:"bootstrap,omitempty"`
}

// ConnectionState says whether credentials are there.
//
// +kubebuilder:validation:Enum=Connected;SecretMissing;SecretInvalid
type ConnectionState string

// States of credentials.
const (
	// StateConnected means that Argo CD gets the credentials, and that they are
	// well formed. Whether the other side accepts them, Argo CD says.
	StateConnected ConnectionState = "Connected"
	// StateSecretMissing means that the Secret isn't in the claim's namespace.
	StateSecretMissing ConnectionState = "SecretMissing"
	// StateSecretInvalid means that the Secret can't be used. The message says why.
	StateSecretInvalid ConnectionState = "SecretInvalid"
)

// ClusterStatus is what became of a cluster of the spec.
type ClusterStatus struct {
	// Name of the cluster in the spec.
	// +optional
	Name string `json:"name,omitempty"`

	// Connected (the credentials are well formed, and Argo CD gets them),
	// SecretMissing or SecretInvalid.
	// +optional
	State ConnectionState `json:"state,omitempty"`

	// What is wrong and what to do, empty when nothing is.
	// +optional
	Message string `json:"message,omitempty"`
}

// VClusterStatus is what runs of the virtual cluster, and how to reach it.
type VClusterStatus struct {
	// Secret with the kubeconfig of the virtual cluster, in the namespace of
	// Crossplane's connection Secrets.
	// +optional
	KubeconfigSecretName string `json:"kubeconfigSecretName,omitempty"`

	// Key of the kubeconfig in that Secret.
	// +optional
	KubeconfigSecretKey string `json:"kubeconfigSecretKey,omitempty"`

	// ProviderConfig of provider-helm for the virtual cluster.
	// +optional
	HelmProviderName string `json:"helmProviderName,omitempty"`

	// ProviderConfig of provider-kubernetes for the virtual cluster.
	// +optional
	KubernetesProviderName string `json:"kubernetesProviderName,omitempty"`

	// Version of the vcluster chart that is installed; empty before it is.
	// +optional
	Version string `json:"version,omitempty"`

	// Version of the vcluster chart that is wanted. It differs from version while a
	// change is rolled out, or can't be.
	// +optional
	DesiredVersion string `json:"desiredVersion,omitempty"`

	// Kubernetes version the virtual cluster serves; empty before it does.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// Kubernetes version that is wanted. It differs from kubernetesVersion while a
	// change is rolled out, or can't be.
	// +optional
	DesiredKubernetesVersion string `json:"desiredKubernetesVersion,omitempty"`
}

// ArgoCDStatus is what runs of Argo CD, and where it is reached.
type ArgoCDStatus struct {
	// Version of Argo CD, read from the image its API server runs; empty before
	// it does.
	// +optional
	Version string `json:"version,omitempty"`

	// Version of the argo-cd chart that is installed; empty before it is.
	// +optional
	ChartVersion string `json:"chartVersion,omitempty"`

	// Version of the argo-cd chart that is wanted. It differs from chartVersion
	// while a change is rolled out, or can't be.
	// +optional
	DesiredChartVersion string `json:"desiredChartVersion,omitempty"`

	// URL of Argo CD's web interface and API: with an Ingress its host's, without
	// one that of its Service on the host cluster, to be reached by port-forward or
	// from what the platform's network.allowFrom lists; empty before Argo CD is
	// installed.
	// +optional
	URL string `json:"url,omitempty"`
}

// Kinds of entries in the status of repositories.
const (
	KindRepository         = "Repository"
	KindCredentialTemplate = "CredentialTemplate"
)

// RepositoryStatus is what became of a repository or a credential template of the
// spec.
type RepositoryStatus struct {
	// Repository or CredentialTemplate.
	// +optional
	// +kubebuilder:validation:Enum=Repository;CredentialTemplate
	Kind string `json:"kind,omitempty"`

	// Name of the entry in the spec.
	// +optional
	Name string `json:"name,omitempty"`

	// Connected (the credentials are well formed, and Argo CD gets them, or none
	// are needed), SecretMissing or SecretInvalid.
	// +optional
	State ConnectionState `json:"state,omitempty"`

	// What is wrong and what to do, empty when nothing is.
	// +optional
	Message string `json:"message,omitempty"`
}
