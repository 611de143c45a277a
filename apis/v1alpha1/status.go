package v1alpha1

// Phase is the state of a tenant in one word.
//
// +kubebuilder:validation:Enum=Pending;Provisioning;Failing;Ready;Updating;Degraded;Hibernating;Hibernated;Waking
type Phase string

// Phases of a tenant.
const (
	// PhasePending means that the tenant has no namespace on the host yet, so nothing can
	// be installed.
	PhasePending Phase = "Pending"
	// PhaseProvisioning means that the tenant is being installed.
	PhaseProvisioning Phase = "Provisioning"
	// PhaseFailing means that the installation has failed and is retried, or that its pods
	// can't start. The message says why.
	PhaseFailing Phase = "Failing"
	// PhaseReady means that every workload of Argo CD is available.
	PhaseReady Phase = "Ready"
	// PhaseUpdating means that the tenant was ready before, and a change is being rolled
	// out: an upgrade, a value, a credential.
	PhaseUpdating Phase = "Updating"
	// PhaseDegraded means that the tenant was ready before, and something is broken now.
	// The message says what.
	PhaseDegraded Phase = "Degraded"
	// PhaseHibernating means that the tenant was ready before, and its pods are being deleted.
	PhaseHibernating Phase = "Hibernating"
	// PhaseHibernated means that the tenant is asleep: none of its pods runs.
	PhaseHibernated Phase = "Hibernated"
	// PhaseWaking means that its pods are being started again.
	PhaseWaking Phase = "Waking"
)

// Status is the observed state of a tenant.
type Status struct {
	// Phase of the tenant: Pending, Provisioning, Failing (the installation has failed and
	// is retried, or its pods can't start), Ready, Updating (was ready before, and a change
	// is being rolled out), Degraded (was ready before, and something is broken now),
	// Hibernating (falls asleep), Hibernated (none of its pods runs) or Waking.
	// While the tenant is being deleted, the phase stays as it was, and the condition Ready
	// is False with reason Deleting.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// Progress of the installation, in percent. It never goes back: a tenant that was Ready
	// once stays at 100, and the phase says what becomes of it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Progress *int64 `json:"progress,omitempty"`

	// When the tenant became Ready for the first time. It never changes afterwards.
	// +optional
	// +kubebuilder:validation:Format=date-time
	ReadyAt string `json:"readyAt,omitempty"`

	// What the tenant waits for, or what is wrong. When Argo CD is ready but an optional
	// part isn't, the message names the condition of that part.
	// +optional
	Message string `json:"message,omitempty"`

	// Plan in use: the one in the spec, or the platform's default plan; standard where the
	// platform has none. A change to it may still be in progress.
	// +optional
	Plan string `json:"plan,omitempty"`

	// Versions of the platform that the tenant doesn't have yet although its claim names
	// none, and why: nothing is downgraded automatically, and Kubernetes is upgraded one
	// minor version at a time. For each, the claim gets an event with reason VersionHeld.
	// +optional
	VersionsHeld []string `json:"versionsHeld,omitempty"`

	// State of the tenant in its channel. Without a channel, this is set only while a
	// platform change waits for the maintenance window or the end of a freeze.
	// +optional
	Channel *TenantChannel `json:"channel,omitempty"`

	// Namespace of the tenant on the host.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Virtual cluster.
	// +optional
	VCluster *VClusterStatus `json:"vcluster,omitempty"`

	// Argo CD.
	// +optional
	ArgoCD *ArgoCDStatus `json:"argocd,omitempty"`

	// How many Applications Argo CD has, at most two minutes ago; as it was seen last while that
	// isn't known. About 10,000 are counted; further ones aren't.
	// +optional
	Applications *ApplicationsStatus `json:"applications,omitempty"`

	// State of the credentials of each cluster in the spec.
	// +optional
	// +listType=atomic
	Clusters []ClusterStatus `json:"clusters,omitempty"`

	// State of each repository and credential template in the spec.
	// +optional
	// +listType=atomic
	Repositories []RepositoryStatus `json:"repositories,omitempty"`

	// Where Git servers send events, with spec.webhooks.
	// +optional
	Webhooks *WebhooksStatus `json:"webhooks,omitempty"`

	// Components that the tenant has beside Argo CD, and those that are being removed.
	// +optional
	// +listType=atomic
	Components []ComponentStatus `json:"components,omitempty"`

	// First Application.
	// +optional
	Bootstrap *BootstrapStatus `json:"bootstrap,omitempty"`

	// Hibernation.
	// +optional
	Hibernation *HibernationStatus `json:"hibernation,omitempty"`

	// Backups.
	// +optional
	Backup *BackupStatus `json:"backup,omitempty"`

	// Restore from a backup.
	// +optional
	Restore *RestoreStatus `json:"restore,omitempty"`
}

// ConnectionState is the state of a connection.
//
// +kubebuilder:validation:Enum=Configured;Connected;Failed;SecretMissing;SecretInvalid;WaitingForAgent;AgentLost;Inactive
type ConnectionState string

// States of connections.
const (
	// StateConfigured means that the credentials are well formed and Argo CD gets them. It
	// hasn't been seen to use them yet.
	StateConfigured ConnectionState = "Configured"
	// StateConnected means that Argo CD was seen to connect.
	StateConnected ConnectionState = "Connected"
	// StateFailed means that Argo CD was seen to fail to connect. The message says why.
	StateFailed ConnectionState = "Failed"
	// StateSecretMissing means that the claim's namespace doesn't contain the Secret.
	StateSecretMissing ConnectionState = "SecretMissing"
	// StateSecretInvalid means that the Secret can't be used. The message says why.
	StateSecretInvalid ConnectionState = "SecretInvalid"
	// StateWaitingForAgent means that the agent of a cluster with a tunnel hasn't connected yet
	// with the key that it has now.
	StateWaitingForAgent ConnectionState = "WaitingForAgent"
	// StateAgentLost means that the agent of a cluster with a tunnel was connected and isn't any
	// more.
	StateAgentLost ConnectionState = "AgentLost"
	// StateInactive means that Argo CD gets the credentials of a cluster only once
	// spec.restoreFrom.activate is true.
	StateInactive ConnectionState = "Inactive"
)

// ClusterStatus is the state of a cluster in the spec.
type ClusterStatus struct {
	// Name of the cluster in the spec.
	// +optional
	Name string `json:"name,omitempty"`

	// State of the cluster: Configured (the credentials are well formed, and Argo CD gets
	// them), Connected (Argo CD was seen to connect), Failed (it was seen to fail),
	// SecretMissing or SecretInvalid; for a cluster with a tunnel also WaitingForAgent (its agent
	// hasn't connected yet) or AgentLost (its connection is lost); and of a restored tenant
	// Inactive (Argo CD gets the credentials once restoreFrom.activate is true).
	// +optional
	State ConnectionState `json:"state,omitempty"`

	// Agent of a cluster with a tunnel, as it was seen last.
	// +optional
	Agent *AgentStatus `json:"agent,omitempty"`

	// What is wrong and what to do about it; empty when nothing is wrong.
	// +optional
	Message string `json:"message,omitempty"`
}

// AgentState is the state of an agent.
//
// +kubebuilder:validation:Enum=Waiting;Connected;Lost
type AgentState string

// States of agents.
const (
	// AgentWaiting means that the agent hasn't connected yet with the key that it has now.
	AgentWaiting AgentState = "Waiting"
	// AgentConnected means that the agent is connected.
	AgentConnected AgentState = "Connected"
	// AgentLost means that the agent was connected and isn't any more.
	AgentLost AgentState = "Lost"
)

// AgentStatus is the state of the agent of a cluster with a tunnel.
type AgentStatus struct {
	// State of the agent: Waiting (it hasn't connected yet with its key), Connected, or Lost (it
	// was connected, and isn't any more).
	// +optional
	State AgentState `json:"state,omitempty"`

	// Since when it is so. An agent that was connected when the server of the tunnels ended is
	// Lost since the server is there again.
	// +optional
	Since string `json:"since,omitempty"`

	// SHA256 fingerprint of the agent's key, as the server of the tunnels knows it.
	// +optional
	Key string `json:"key,omitempty"`
}

// VClusterStatus is the observed state of the virtual cluster.
type VClusterStatus struct {
	// Secret with the kubeconfig of the virtual cluster, in the namespace that
	// connectionSecretNamespace of the function's input names.
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

	// When the first certificate in the kubeconfig of the virtual cluster expires: the
	// client certificate, which the virtual cluster renews in time, or that of the CA, which
	// it doesn't renew.
	// +optional
	// +kubebuilder:validation:Format=date-time
	CertificatesExpireAt string `json:"certificatesExpireAt,omitempty"`

	// Installed version of the vcluster chart; empty before it is installed.
	// +optional
	Version string `json:"version,omitempty"`

	// Desired version of the vcluster chart. It differs from version while a change is
	// being rolled out or can't be rolled out.
	// +optional
	DesiredVersion string `json:"desiredVersion,omitempty"`

	// Kubernetes version that the virtual cluster runs; empty before it runs.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// Desired Kubernetes version. It differs from kubernetesVersion while a change is being
	// rolled out or can't be rolled out.
	// +optional
	DesiredKubernetesVersion string `json:"desiredKubernetesVersion,omitempty"`
}

// ArgoCDStatus is the observed state of Argo CD.
type ArgoCDStatus struct {
	// Version of Argo CD: the tag of the image of its API server. Empty before that runs, and
	// where the tag isn't a version of at most 32 characters, such as v3.2.6.
	// +optional
	Version string `json:"version,omitempty"`

	// Installed version of the argo-cd chart; empty before it is installed.
	// +optional
	ChartVersion string `json:"chartVersion,omitempty"`

	// Desired version of the argo-cd chart. It differs from chartVersion while a change is
	// being rolled out or can't be rolled out.
	// +optional
	DesiredChartVersion string `json:"desiredChartVersion,omitempty"`

	// URL of Argo CD's web interface and API; empty before Argo CD is installed. With an
	// Ingress or an HTTPRoute, it has its hostname. Otherwise it is the URL of a Service on
	// the host, for port-forwarding and for the peers in network.allowFrom of the
	// function's input.
	// +optional
	URL string `json:"url,omitempty"`
}

// Kinds of entries in the status of repositories.
const (
	KindRepository         = "Repository"
	KindCredentialTemplate = "CredentialTemplate"
)

// RepositoryStatus is the state of a repository or a credential template in the spec.
type RepositoryStatus struct {
	// Kind of the entry: Repository or CredentialTemplate.
	// +optional
	// +kubebuilder:validation:Enum=Repository;CredentialTemplate
	Kind string `json:"kind,omitempty"`

	// Name of the entry in the spec.
	// +optional
	Name string `json:"name,omitempty"`

	// State of the entry: Configured (the credentials are well formed, and Argo CD gets them,
	// or none are needed), Connected (Argo CD was seen to read the repository), Failed (it was
	// seen to fail), SecretMissing or SecretInvalid. Credential templates stay Configured.
	// +optional
	State ConnectionState `json:"state,omitempty"`

	// What is wrong and what to do about it; empty when nothing is wrong.
	// +optional
	Message string `json:"message,omitempty"`
}

// ApplicationsStatus is how many Applications an Argo CD has, as the metrics of its application
// controllers say. Of a tenant with more than about ten thousand, only the first ones are counted.
type ApplicationsStatus struct {
	// Total is the number of Applications.
	// +optional
	Total int64 `json:"total"`

	// NotHealthy is the number of those whose health isn't Healthy.
	// +optional
	NotHealthy int64 `json:"notHealthy"`

	// NotSynced is the number of those whose sync status isn't Synced.
	// +optional
	NotSynced int64 `json:"notSynced"`
}
