package v1alpha1

import "slices"

// Types of the conditions of claims and XRs, in addition to Crossplane's Ready and
// Synced.
const (
	// ConditionVirtualClusterReady is True when the desired virtual cluster is installed
	// and its kubeconfig is published.
	ConditionVirtualClusterReady = "VirtualClusterReady"
	// ConditionArgoCDReady is True when the desired argo-cd chart is installed and each of
	// its workloads is observed to be available.
	ConditionArgoCDReady = "ArgoCDReady"
	// ConditionSpecAccepted is True when the claim, its plan and the function's input can
	// be used. While they can't, the tenant keeps what was accepted before, and the other
	// conditions describe its state. The Secret <tenant>-accepted holds what was accepted.
	// Where that Secret is lost, damaged or written by a newer function, nothing of the
	// tenant changes until the mistake is corrected.
	ConditionSpecAccepted = "SpecAccepted"
	// ConditionHostProtected is True when the host has the admission policies that protect
	// it from tenants. Without them no new tenant is created. Existing tenants keep running,
	// and their Ready doesn't depend on this condition.
	ConditionHostProtected = "HostProtected"
	// ConditionClustersConnected is True when Argo CD was seen to connect to every cluster in
	// the spec, and False when it was seen to fail, or a Secret can't be used. It is Unknown
	// until then: Argo CD connects to a cluster only once an Application deploys to it.
	ConditionClustersConnected = "ClustersConnected"
	// ConditionRepositoriesConnected is True when Argo CD was seen to read every repository in
	// the spec, and False when it was seen to fail, or a Secret can't be used. It is Unknown
	// until then: Argo CD reads a repository only once an Application uses it.
	ConditionRepositoriesConnected = "RepositoriesConnected"
	// ConditionBootstrapSynced is True when the Application of spec.bootstrap is
	// Synced and Healthy.
	ConditionBootstrapSynced = "BootstrapSynced"
	// ConditionIngressReady is True when an ingress controller has given Argo CD's
	// Ingress an address, or the platform's Gateway has accepted its HTTPRoute.
	ConditionIngressReady = "IngressReady"
	// ConditionSSOReady is True when Argo CD was seen to send people to the identity provider
	// of the spec, which it does once it has read the provider's discovery document. It is False
	// when that fails. It doesn't tell whether the provider accepts a login.
	ConditionSSOReady = "SSOReady"
	// ConditionSecretKeysReady is True when every Secret of spec.argocd.secretKeys is well
	// formed and passed to Argo CD.
	ConditionSecretKeysReady = "SecretKeysReady"
	// ConditionAccountsReady is True when Argo CD has the accounts of spec.argocd.accounts and
	// the admin's rotated password, and they are in the connection Secret.
	ConditionAccountsReady = "AccountsReady"
	// ConditionNotificationsReady is True when Argo CD has the notifications of the spec, and
	// what their services refer to. It doesn't tell whether a service accepts them.
	ConditionNotificationsReady = "NotificationsReady"
	// ConditionWebhooksReady is True when Argo CD has the secrets of spec.webhooks.
	ConditionWebhooksReady = "WebhooksReady"
	// ConditionImagePullSecretsReady is True when new pods of the virtual cluster have the
	// Secrets of spec.imagePullSecrets. It doesn't tell whether a registry accepts them.
	ConditionImagePullSecretsReady = "ImagePullSecretsReady"
	// ConditionBackedUp is True while the last good backup is younger than two runs of the
	// schedule. It is Unknown until the first one is due.
	ConditionBackedUp = "BackedUp"
	// ConditionComponentsReady is True when each component that the tenant has beside Argo CD is
	// installed and each of its workloads is observed to be available.
	ConditionComponentsReady = "ComponentsReady"
	// ConditionRestored is True once the backup of spec.restoreFrom is restored, and Argo CD may
	// act on it.
	ConditionRestored = "Restored"
	// ConditionTenantBound is True when a VirtualArgoCD of group m.virtualargocd.io has its
	// tenant, the composite resource, and alone writes to it. Claims don't have it.
	ConditionTenantBound = "TenantBound"
	// ConditionPoolFull is True when a pool has as many spares to be taken as its spec says. Only
	// pools have it.
	ConditionPoolFull = "PoolFull"
)

// optionalConditions exist only while the spec has their part. The tenant's Ready
// doesn't depend on them.
var optionalConditions = []string{ConditionClustersConnected, ConditionRepositoriesConnected, ConditionBootstrapSynced, ConditionIngressReady, ConditionSSOReady, ConditionSecretKeysReady, ConditionAccountsReady, ConditionNotificationsReady, ConditionWebhooksReady, ConditionImagePullSecretsReady, ConditionBackedUp, ConditionRestored, ConditionComponentsReady}

// OptionalConditions returns the types of the conditions of the optional parts of a
// spec.
func OptionalConditions() []string { return slices.Clone(optionalConditions) }

// EventVersionHeld is the reason of the event that says why a tenant doesn't have the
// platform's version yet. See status.versionsHeld.
const EventVersionHeld = "VersionHeld"

// Reasons of events about platform changes. See status.channel.
const (
	// EventUpdateAvailable: there is a platform change that the tenant doesn't have yet.
	EventUpdateAvailable = "UpdateAvailable"
	// EventUpdateTaken: the tenant begins to update to it.
	EventUpdateTaken = "UpdateTaken"
)

// EventSpareTaken is the reason of the event of a pool of which a spare was taken. The message says who has it.
const EventSpareTaken = "SpareTaken"

// EventExpires is the reason of the event a day before the time ends that a plan gives a tenant.
const EventExpires = "Expires"

// Reasons of conditions.
const (
	// ReasonAvailable: it runs (True).
	ReasonAvailable = "Available"
	// ReasonInstalling: it is being installed, or a change is being rolled out (False).
	ReasonInstalling = "Installing"
	// ReasonInstallFailed: the provider reports an error and retries (False). A change of an
	// installed chart is tried three times: see ReasonUpgradeFailed.
	ReasonInstallFailed = "InstallFailed"
	// ReasonPodsCannotStart: pods of an installation don't start because room on the host,
	// an image, a volume or quota is missing, or aren't ready two minutes after they were
	// created (False). The message quotes the scheduler or the kubelet. The installation goes on
	// by itself once that is there.
	ReasonPodsCannotStart = "PodsCannotStart"
	// ReasonWaitingForNamespace: the namespace on the host, or its accounts or bounds, don't
	// exist yet (False, only VirtualClusterReady).
	ReasonWaitingForNamespace = "WaitingForNamespace"
	// ReasonPoliciesMissing: admission policies of the host are missing, not in force, or
	// older than the function needs (False). The message names them.
	ReasonPoliciesMissing = "PoliciesMissing"
	// ReasonResolverMissing: the host has no DNS resolver for tenants (False). A tenant that runs
	// already asks the host's DNS, which answers with names of other tenants.
	ReasonResolverMissing = "ResolverMissing"
	// ReasonKubeconfigInvalid: the kubeconfig of the virtual cluster isn't what vcluster
	// writes, and isn't used (False, only VirtualClusterReady). The previous one stays in
	// use.
	ReasonKubeconfigInvalid = "KubeconfigInvalid"
	// ReasonWaitingForVirtualCluster: there is no virtual cluster to install into yet
	// (False, only ArgoCDReady and ComponentsReady).
	ReasonWaitingForVirtualCluster = "WaitingForVirtualCluster"
	// ReasonWaitingForWorkloads: the chart, or a change of it, is installed, and workloads are
	// not yet observed to be available (False, only ArgoCDReady).
	ReasonWaitingForWorkloads = "WaitingForWorkloads"
	// ReasonWaitingForPassword: the admin's initial password isn't published yet (False,
	// only ArgoCDReady).
	ReasonWaitingForPassword = "WaitingForPassword"
	// ReasonWorkloadsUnavailable: workloads that were available aren't now, or can't be
	// observed (False, only ArgoCDReady and ComponentsReady).
	ReasonWorkloadsUnavailable = "WorkloadsUnavailable"
	// ReasonDrifted: objects of the argo-cd chart other than workloads were deleted in the virtual
	// cluster (False, only ArgoCDReady). They are brought back.
	ReasonDrifted = "Drifted"
	// ReasonRepairGaveUp: what was deleted or scaled down in the virtual cluster was brought back
	// three times within an hour, and is gone again (False, only ArgoCDReady and
	// ComponentsReady). The message says when it is brought back next.
	ReasonRepairGaveUp = "RepairGaveUp"
	// ReasonWaitingForArgoCD: Argo CD isn't installed yet, or hasn't checked the
	// Application yet (False).
	ReasonWaitingForArgoCD = "WaitingForArgoCD"
	// ReasonSecretMissing: the claim's namespace doesn't contain a Secret that the spec
	// names (False). Its previous content stays in use.
	ReasonSecretMissing = "SecretMissing"
	// ReasonSecretInvalid: a Secret that the spec names can't be used, because it lacks the
	// label for claims or has no known form (False). Its previous content stays in use.
	ReasonSecretInvalid = "SecretInvalid"
	// ReasonConnectionFailed: Argo CD was seen to fail to connect (False, only ClustersConnected,
	// RepositoriesConnected and SSOReady). The message has Argo CD's words.
	ReasonConnectionFailed = "ConnectionFailed"
	// ReasonWaitingForAgent: the agent of a cluster with a tunnel hasn't connected yet (False, only
	// ClustersConnected). The message says where its manifest is.
	ReasonWaitingForAgent = "WaitingForAgent"
	// ReasonAgentLost: the agent of a cluster with a tunnel isn't connected any more (False, only
	// ClustersConnected).
	ReasonAgentLost = "AgentLost"
	// ReasonConfigured: what the spec says is in use, and Argo CD hasn't been seen to connect to all
	// of it yet (Unknown, only ClustersConnected, RepositoriesConnected and SSOReady).
	ReasonConfigured = "Configured"
	// ReasonNoBackup: two runs of the schedule have passed without a good backup, or the platform
	// has no place for backups (False, only BackedUp). The message says why.
	ReasonNoBackup = "NoBackup"
	// ReasonRestoring: the backup isn't restored yet (False, only Restored).
	ReasonRestoring = "Restoring"
	// ReasonRestoreFailed: the backup can't be restored; it is tried again (False, only Restored).
	// The message says why.
	ReasonRestoreFailed = "RestoreFailed"
	// ReasonInactive: the backup is restored, and Argo CD's controllers don't run, because
	// spec.restoreFrom.activate isn't true (False for Restored, Unknown for ClustersConnected).
	ReasonInactive = "Inactive"
	// ReasonScheduled: no backup was due yet (Unknown, only BackedUp).
	ReasonScheduled = "Scheduled"
	// ReasonHibernated: the tenant is asleep, falls asleep or wakes up (False for
	// VirtualClusterReady and ArgoCDReady, Unknown for what Argo CD would tell).
	ReasonHibernated = "Hibernated"
	// ReasonRemoving: a component that the claim has no more is being uninstalled (False, only
	// ComponentsReady).
	ReasonRemoving = "Removing"
	// ReasonPasswordNotRotated: the annotation that rotates the admin's password has no effect
	// (False, only AccountsReady). The message says why.
	ReasonPasswordNotRotated = "PasswordNotRotated"
	// ReasonApplicationFailed: the Application can't be created or observed, or Argo CD
	// can't sync it (False, only BootstrapSynced).
	ReasonApplicationFailed = "ApplicationFailed"
	// ReasonOutOfSync: the Application differs from Git, or Argo CD can't compare them
	// (False, only BootstrapSynced).
	ReasonOutOfSync = "OutOfSync"
	// ReasonProgressing: the Application is synced, but not healthy yet (False, only
	// BootstrapSynced).
	ReasonProgressing = "Progressing"
	// ReasonSuspended: the Application is synced, and something in it is suspended (False,
	// only BootstrapSynced).
	ReasonSuspended = "Suspended"
	// ReasonUnhealthy: the Application is synced, but not healthy (False, only
	// BootstrapSynced).
	ReasonUnhealthy = "Unhealthy"
	// ReasonHostTaken: another claim has the hostname (False, only IngressReady).
	ReasonHostTaken = "HostTaken"
	// ReasonTooManyHosts: the claim keeps as many hostnames as one may have, and the one that it
	// asks for isn't reserved (False, only IngressReady). The message names those that it gives up.
	ReasonTooManyHosts = "TooManyHosts"
	// ReasonWaitingForHost: it isn't known yet whether the hostname is free, or it belongs to the tenant of an earlier claim of the same name, which isn't gone
	// yet (False, only IngressReady).
	ReasonWaitingForHost = "WaitingForHost"
	// ReasonCertificateInvalid: the claim's certificate is in use, and has expired, or isn't for
	// all hostnames (False, only IngressReady).
	ReasonCertificateInvalid = "CertificateInvalid"
	// ReasonIngressRefused: the host refuses the Ingress, or changes of it, because of annotations
	// that tenants may not have (False, only IngressReady).
	ReasonIngressRefused = "IngressRefused"
	// ReasonRouteRefused: the Gateway doesn't accept the HTTPRoute, or finds nothing behind it
	// (False, only IngressReady).
	ReasonRouteRefused = "RouteRefused"
	// ReasonWaitingForAddress: no ingress controller has given the Ingress an address, or no
	// controller has taken up the HTTPRoute, or its Gateway has no address (False, only
	// IngressReady).
	ReasonWaitingForAddress = "WaitingForAddress"
	// ReasonNotInSpec: this part was removed from the spec (True).
	ReasonNotInSpec = "NotInSpec"
	// ReasonAccepted: the claim, its plan and the input are in use (True, only
	// SpecAccepted).
	ReasonAccepted = "Accepted"
	// ReasonUnusedValues: the claim, its plan and the input are in use, and some of their chart
	// values change nothing, because the chart doesn't have them, or because they only repeat its
	// defaults where something else is set: the message names them (True, only SpecAccepted).
	ReasonUnusedValues = "UnusedValues"
	// ReasonInvalidSpec: the claim or the channel can't be used, and its author has to
	// correct it (False, SpecAccepted). While a tenant was never accepted, all its conditions but
	// HostProtected have this reason or one of the next three.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonInvalidPlan: the claim's plan can't be used, and the platform has to correct
	// it (False, SpecAccepted).
	ReasonInvalidPlan = "InvalidPlan"
	// ReasonInvalidChannel: the offer of the claim's channel can't be used for a tenant that
	// was never accepted, and the platform has to correct it (False, SpecAccepted).
	ReasonInvalidChannel = "InvalidChannel"
	// ReasonInvalidInput: the function's input can't be used, and the platform has to
	// correct it (False, SpecAccepted).
	ReasonInvalidInput = "InvalidInput"
	// ReasonUpgradeFailed: a change of the version or the values of the vcluster or argo-cd
	// chart has failed three times and was rolled back (False, only SpecAccepted). It isn't
	// tried again; another change is.
	ReasonUpgradeFailed = "UpgradeFailed"
	// ReasonClaimExists: the tenant belongs to a claim of the same namespace and name. It is
	// only observed until the claim is gone (False, only TenantBound).
	ReasonClaimExists = "ClaimExists"
	// ReasonSeveralTenants: more than one tenant is of this namespace and name (False, only
	// TenantBound). The message names them.
	ReasonSeveralTenants = "SeveralTenants"
	// ReasonNameTaken: the composite resource that has the name is somebody else's (False, only
	// TenantBound).
	ReasonNameTaken = "NameTaken"
	// ReasonTenantLeft: the platform has ended that the tenant follows this VirtualArgoCD, to
	// give it to a claim (False, only TenantBound).
	ReasonTenantLeft = "TenantLeft"
	// ReasonTenantGoes: an earlier tenant of the same name is still being deleted (False, only
	// TenantBound).
	ReasonTenantGoes = "TenantGoes"
	// ReasonWaitingForTenant: the composite resource doesn't exist yet (False, only TenantBound).
	ReasonWaitingForTenant = "WaitingForTenant"
	// ReasonTakingSpare: a tenant of a pool is being taken over (False, only TenantBound).
	ReasonTakingSpare = "TakingSpare"
	// ReasonFilling: spares are being made (False, only PoolFull).
	ReasonFilling = "Filling"
	// ReasonNotWritten: provider-kubernetes can't write or read the composite resource (False,
	// only TenantBound and PoolFull). The message has its words.
	ReasonNotWritten = "NotWritten"
	// ReasonFieldsRemain: the tenant still has fields of its former claim that were removed from
	// the spec since then (False, only TenantBound). The message names them.
	ReasonFieldsRemain = "FieldsRemain"
	// ReasonSecretTaken: the Secret of spec.writeConnectionSecretToRef is somebody else's, and
	// isn't written (False, only TenantBound).
	ReasonSecretTaken = "SecretTaken"
)
