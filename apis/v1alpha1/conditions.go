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
	// ConditionSpecAccepted is True when the claim, its plan and the platform's input
	// can be used. While they can't, the tenant goes on as it was accepted before, and
	// the other conditions tell how it is. What was accepted is kept in the Secret
	// <tenant>-accepted. Where that is lost, damaged or of a newer function, nothing of a
	// tenant changes until the mistake is corrected.
	ConditionSpecAccepted = "SpecAccepted"
	// ConditionHostProtected is True when the host has the admission policies that
	// keep tenants from harming it. Without them no new tenant comes up; one that runs
	// goes on, and its Ready doesn't depend on this.
	ConditionHostProtected = "HostProtected"
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

// EventVersionHeld is the reason of the event that says why a tenant doesn't have the
// platform's version yet. See status.versionsHeld.
const EventVersionHeld = "VersionHeld"

// Reasons of conditions.
const (
	// ReasonAvailable: it runs (True).
	ReasonAvailable = "Available"
	// ReasonInstalling: it is being installed, or a change is rolled out (False).
	ReasonInstalling = "Installing"
	// ReasonInstallFailed: the provider reports an error; it is tried again (False). A
	// change of what runs is tried three times: see ReasonUpgradeFailed.
	ReasonInstallFailed = "InstallFailed"
	// ReasonPodsCannotStart: pods of an installation don't run for want of something: room
	// on the host, an image, a volume, quota (False). The message has the words of the
	// scheduler or the kubelet. It goes on by itself once that is there.
	ReasonPodsCannotStart = "PodsCannotStart"
	// ReasonWaitingForNamespace: the host namespace isn't there yet (False,
	// VirtualClusterReady alone).
	ReasonWaitingForNamespace = "WaitingForNamespace"
	// ReasonPoliciesMissing: the host lacks admission policies, or has older ones
	// than the function needs (False). The message names them.
	ReasonPoliciesMissing = "PoliciesMissing"
	// ReasonKubeconfigInvalid: the kubeconfig that the virtual cluster has written is
	// not one that vcluster writes, and isn't used (False, VirtualClusterReady alone).
	// The one from before stays in use.
	ReasonKubeconfigInvalid = "KubeconfigInvalid"
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
	// ReasonSecretInvalid: a Secret that the spec names can't be used: it isn't
	// labelled as one that claims may use, or what is in it is of no known form
	// (False). What it gave before stays in use.
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
	// ReasonAccepted: the claim, its plan and the input are in use (True, SpecAccepted
	// alone).
	ReasonAccepted = "Accepted"
	// ReasonInvalidSpec: the claim can't be used, and its author has to correct it
	// (False, SpecAccepted). Of a tenant that was never accepted each condition has this
	// reason, or one of the next two.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonInvalidPlan: the claim's plan can't be used, and the platform has to correct
	// it (False, SpecAccepted).
	ReasonInvalidPlan = "InvalidPlan"
	// ReasonInvalidInput: the function's input can't be used, and the platform has to
	// correct it (False, SpecAccepted).
	ReasonInvalidInput = "InvalidInput"
	// ReasonUpgradeFailed: a change of the vcluster or argo-cd chart, of its version or its
	// values, has failed three times, and the release from before is in use (False,
	// SpecAccepted alone). It isn't tried again; another change is.
	ReasonUpgradeFailed = "UpgradeFailed"
)
