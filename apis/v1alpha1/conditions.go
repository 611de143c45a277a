package v1alpha1

import "slices"

// Types of the conditions that stand on the XR and on the claim beside
// Crossplane's own Ready and Synced.
const (
	// ConditionVirtualClusterReady is True when the virtual cluster is installed
	// as wanted and its kubeconfig is published.
	ConditionVirtualClusterReady = "VirtualClusterReady"
	// ConditionArgoCDReady is True when the argo-cd chart is installed as wanted
	// and each of its workloads is seen available.
	ConditionArgoCDReady = "ArgoCDReady"
	// ConditionClustersConnected is True when the credentials of every cluster of
	// the spec are well formed and handed to Argo CD.
	ConditionClustersConnected = "ClustersConnected"
	// ConditionRepositoriesConnected is True when the credentials of every
	// repository and credential template of the spec are well formed and handed to
	// Argo CD.
	ConditionRepositoriesConnected = "RepositoriesConnected"
	// ConditionBootstrapSynced is True when the Application of spec.bootstrap is
	// Synced and Healthy.
	ConditionBootstrapSynced = "BootstrapSynced"
	// ConditionIngressReady is True when an ingress controller has given Argo CD's
	// Ingress an address.
	ConditionIngressReady = "IngressReady"
	// ConditionSSOReady is True when Argo CD is set up for signing on as the spec
	// says. Whether the provider plays its part, a person who signs on sees.
	ConditionSSOReady = "SSOReady"
)

// Conditions of parts that a spec may have or not: there only when it has. The
// tenant's Ready doesn't wait for them.
var optionalConditions = []string{ConditionClustersConnected, ConditionRepositoriesConnected, ConditionBootstrapSynced, ConditionIngressReady, ConditionSSOReady}

// OptionalConditions are the types of the conditions of parts that a spec may
// have or not.
func OptionalConditions() []string { return slices.Clone(optionalConditions) }

// Reasons of conditions.
const (
	// ReasonAvailable: it runs (True).
	ReasonAvailable = "Available"
	// ReasonInstalling: it is being installed, or a change is rolled out (False).
	ReasonInstalling = "Installing"
	// ReasonInstallFailed: the provider reports an error; it is tried again (False).
	ReasonInstallFailed = "InstallFailed"
	// ReasonWaitingForNamespace: the host namespace isn't there yet (False,
	// VirtualClusterReady alone).
	ReasonWaitingForNamespace = "WaitingForNamespace"
	// ReasonWaitingForKubeconfig: the virtual cluster is installed, its
	// kubeconfig isn't published yet (False, VirtualClusterReady alone).
	ReasonWaitingForKubeconfig = "WaitingForKubeconfig"
	// ReasonWaitingForVirtualCluster: there is no virtual cluster to install
	// into yet (False, ArgoCDReady alone).
	ReasonWaitingForVirtualCluster = "WaitingForVirtualCluster"
	// ReasonWaitingForWorkloads: the chart is installed, workloads are not yet
	// seen available (False, ArgoCDReady alone).
	ReasonWaitingForWorkloads = "WaitingForWorkloads"
	// ReasonWaitingForPassword: the admin's initial password isn't published
	// yet (False, ArgoCDReady alone).
	ReasonWaitingForPassword = "WaitingForPassword"
	// ReasonWorkloadsUnavailable: workloads that were available are not now
	// (False, ArgoCDReady alone).
	ReasonWorkloadsUnavailable = "WorkloadsUnavailable"
	// ReasonWaitingForArgoCD: Argo CD isn't installed yet, or hasn't looked yet
	// (False).
	ReasonWaitingForArgoCD = "WaitingForArgoCD"
	// ReasonSecretMissing: a Secret that the spec names isn't in the claim's
	// namespace (False). What it gave before stays in use.
	ReasonSecretMissing = "SecretMissing"
	// ReasonSecretInvalid: a Secret that the spec names can't be used (False).
	// What it gave before stays in use.
	ReasonSecretInvalid = "SecretInvalid"
	// ReasonApplicationFailed: the Application can't be created or observed, or
	// Argo CD can't sync it (False, BootstrapSynced alone).
	ReasonApplicationFailed = "ApplicationFailed"
	// ReasonOutOfSync: the Application differs from Git, or Argo CD can't tell
	// (False, BootstrapSynced alone).
	ReasonOutOfSync = "OutOfSync"
	// ReasonProgressing: the Application is synced, and not healthy yet (False,
	// BootstrapSynced alone).
	ReasonProgressing = "Progressing"
	// ReasonSuspended: the Application is synced, and something in it is suspended
	// (False, BootstrapSynced alone).
	ReasonSuspended = "Suspended"
	// ReasonUnhealthy: the Application is synced, and not healthy (False,
	// BootstrapSynced alone).
	ReasonUnhealthy = "Unhealthy"
	// ReasonHostTaken: another claim has the host (False, IngressReady alone).
	ReasonHostTaken = "HostTaken"
	// ReasonWaitingForHost: it isn't known yet whether the host is free (False,
	// IngressReady alone).
	ReasonWaitingForHost = "WaitingForHost"
	// ReasonWaitingForAddress: no ingress controller has given the Ingress an
	// address (False, IngressReady alone).
	ReasonWaitingForAddress = "WaitingForAddress"
	// ReasonNotInSpec: the spec had this part once and has it no more (True).
	ReasonNotInSpec = "NotInSpec"
	// ReasonInvalidSpec: the claim or the function's input can't be used. What
	// runs is left as it is, so the condition keeps its status.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonDeleting: the tenant is being deleted (False).
	ReasonDeleting = "Deleting"
)
