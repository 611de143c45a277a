package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// XVirtualArgoCD is one customer's Argo CD in its own virtual cluster. Customers
// claim one with a VirtualArgoCD in their namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=xvirtualargocds,singular=xvirtualargocd,categories={crossplane,composite}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="PHASE",type=string,JSONPath=".status.phase",description="Pending, Provisioning, Failing, Ready, Updating, Degraded, Hibernating, Hibernated or Waking."
// +kubebuilder:printcolumn:name="ACCEPTED",type=string,JSONPath=".status.conditions[?(@.type=='SpecAccepted')].status",description="False while the claim, its plan or the function's input can't be used. The tenant keeps what was accepted before."
// +kubebuilder:printcolumn:name="PROGRESS",type=integer,JSONPath=".status.progress",priority=1,description="Progress of the installation, in percent."
// +kubebuilder:printcolumn:name="PLAN",type=string,JSONPath=".status.plan",priority=1,description="The plan in use."
// +kubebuilder:printcolumn:name="ARGOCD",type=string,JSONPath=".status.argocd.version",description="The version of Argo CD that runs."
// +kubebuilder:printcolumn:name="KUBERNETES",type=string,JSONPath=".status.vcluster.kubernetesVersion",priority=1,description="The Kubernetes version of the virtual cluster."
// +kubebuilder:printcolumn:name="UPDATE",type=boolean,JSONPath=".status.channel.updateAvailable",description="True while there is a platform change that the tenant doesn't have yet."
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=".status.argocd.url",priority=1,description="The URL of Argo CD."
// +kubebuilder:printcolumn:name="APPS",type=integer,JSONPath=".status.applications.total",priority=1,description="How many Applications Argo CD has."
// +kubebuilder:printcolumn:name="NOT-HEALTHY",type=integer,JSONPath=".status.applications.notHealthy",priority=1,description="How many of them aren't Healthy."
// +kubebuilder:printcolumn:name="NOT-SYNCED",type=integer,JSONPath=".status.applications.notSynced",priority=1,description="How many of them aren't Synced."
// +kubebuilder:printcolumn:name="BACKUP",type=date,JSONPath=".status.backup.lastSuccess",priority=1,description="How old the last good backup is."
// +kubebuilder:printcolumn:name="ASLEEP",type=date,JSONPath=".status.hibernation.since",priority=1,description="For how long the tenant has been asleep."
// +kubebuilder:printcolumn:name="COMPONENTS",type=string,JSONPath=".status.conditions[?(@.type=='ComponentsReady')].status",priority=1,description="False while a component that the tenant has beside Argo CD isn't ready. Empty for none."
// +kubebuilder:printcolumn:name="MESSAGE",type=string,JSONPath=".status.message",priority=1,description="What the tenant waits for, or what is wrong."
type XVirtualArgoCD struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state. Every field is optional: `spec: {}` gives a working Argo CD of the
	// platform's default version.
	// +optional
	Spec Spec `json:"spec,omitempty"`

	// Observed state.
	// +optional
	Status Status `json:"status,omitempty"`
}

// Spec is the desired state of a tenant.
type Spec struct {
	// Name of a plan of the platform, such as small. It sets the size of the virtual
	// cluster and of Argo CD, and what they may use. A change resizes the tenant in place.
	// A plan that isn't for the claim's namespace is refused; the message lists those that
	// are. `kubectl get xargocdplan` lists all plans.
	// Default: the platform's default plan.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",message="write the name of a plan, such as standard"
	Plan string `json:"plan,omitempty"`

	// Name of a channel of the platform, such as stable. Platform changes, such as new
	// versions and edits of plans or of the function's input, reach the channel's tenants a
	// few at a time; changes of the claim take effect at once. When the claim names another
	// channel, the tenant keeps what it has until that channel updates it. If the plan names
	// a channel, the claim can't name another. `kubectl get xargocdchannel` lists all
	// channels, for those who may list them. Default: the plan's channel, or none: platform
	// changes then take effect as soon as maintenance allows them.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",message="write the name of a channel, such as stable"
	Channel string `json:"channel,omitempty"`

	// When platform changes may reach the tenant. A time window, with its days, replaces
	// that of the plan. A freeze of the plan applies as well as this one. Default: as in
	// the plan, or at any time.
	// +optional
	// +nullable
	Maintenance *MaintenanceSpec `json:"maintenance,omitempty"`

	// Argo CD.
	// +optional
	// +nullable
	ArgoCD *ArgoCDSpec `json:"argocd,omitempty"`

	// Kubernetes of the virtual cluster.
	// +optional
	// +nullable
	Kubernetes *KubernetesSpec `json:"kubernetes,omitempty"`

	// vcluster, which runs the virtual cluster.
	// +optional
	// +nullable
	VCluster *VClusterSpec `json:"vcluster,omitempty"`

	// Clusters that Argo CD deploys to, in addition to the virtual cluster that it runs
	// in (in-cluster). At most 50. Removing an entry removes the cluster from Argo CD;
	// what was deployed there stays.
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

	// Credentials for all repositories with the same URL prefix. At most 50.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=50
	CredentialTemplates []CredentialTemplateSpec `json:"credentialTemplates,omitempty"`

	// First Application, named bootstrap. It is created in Argo CD's namespace once Argo
	// CD runs, and kept as described here. Its health is in the status. Removing this
	// field leaves the Application as it is.
	// +optional
	// +nullable
	Bootstrap *BootstrapSpec `json:"bootstrap,omitempty"`

	// How Argo CD is reached from outside the host. Default: where the platform has a
	// domain, at https://<claim>--<namespace>.<domain>; where it has none, Argo CD has no
	// Ingress.
	// +optional
	// +nullable
	Ingress *IngressSpec `json:"ingress,omitempty"`

	// Single sign-on. Default: only the local user admin, with the password in the
	// connection Secret.
	// +optional
	// +nullable
	SSO *SSOSpec `json:"sso,omitempty"`

	// Notifications about Applications. Default: none, except what
	// spec.argocd.values.notifications has.
	// +optional
	// +nullable
	Notifications *NotificationsSpec `json:"notifications,omitempty"`

	// Git servers that tell Argo CD of pushes, at the URL in status.webhooks.url, so that it
	// needn't ask. Argo CD accepts only events that are signed with the secret of their entry,
	// and none of kinds of Git servers without an entry, unless spec.argocd.secretKeys or
	// chart values have a secret for them. Default: Argo CD's own, which accepts unsigned events of
	// all.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=provider
	// +kubebuilder:validation:MaxItems=6
	Webhooks []WebhookSpec `json:"webhooks,omitempty"`

	// Secrets of type kubernetes.io/dockerconfigjson, for registries whose images the pods of
	// the virtual cluster need, in all its namespaces. Pods that name imagePullSecrets of their
	// own get only those. They apply to pods that are created afterwards; a change of a
	// Secret applies to the next image that is pulled, without a restart. While a Secret is
	// missing or can't be used, the claim's condition ImagePullSecretsReady is False, and what
	// it gave before stays in use. At most 10.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	ImagePullSecrets []SecretReference `json:"imagePullSecrets,omitempty"`

	// Certificates that Argo CD trusts at servers with a private CA: those of repositories, and
	// those that notifications are sent to. For clusters, write certificateAuthority of
	// spec.clusters; for sign-on, rootCA of spec.sso.oidc. At most 50.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=server
	// +kubebuilder:validation:MaxItems=50
	TrustedCertificates []TrustedCertificateSpec `json:"trustedCertificates,omitempty"`

	// Components that the tenant has beside Argo CD, such as Argo Workflows, of those in the
	// platform's catalogue. At most 16. Argo CD doesn't wait for them, and none waits for
	// another: their states are in status.components. Removing an entry uninstalls the
	// component; its CustomResourceDefinitions and their objects stay. Default: those that
	// the plan gives all of its tenants.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Components []ComponentSpec `json:"components,omitempty"`

	// Backups of the tenant. Default: as in the plan, or none.
	// +optional
	// +nullable
	Backup *BackupSpec `json:"backup,omitempty"`

	// When the tenant is asleep, to save what it takes of the host. Default: as in the plan, or
	// never.
	// +optional
	// +nullable
	Hibernation *HibernationSpec `json:"hibernation,omitempty"`

	// Has the tenant sleep, whatever spec.hibernation says, until the platform removes this.
	// Only the platform may set, change or remove it: whoever may update composite resources.
	// +optional
	// +nullable
	Suspension *SuspensionSpec `json:"suspension,omitempty"`

	// Backup from which a new tenant begins. It can't be changed afterwards, except for
	// activate; a claim without it keeps what it was made with. Default: none, the tenant
	// begins empty.
	// +optional
	// +nullable
	RestoreFrom *RestoreSpec `json:"restoreFrom,omitempty"`

	// Whether the deletion of the claim, its namespace and its composite resource is
	// refused, by kubectl and by GitOps tools that prune. To delete the claim, set this to
	// false and wait a few seconds. A namespace can be deleted once no claim in it is
	// protected. A change takes effect within a few seconds, also while another field of
	// the claim is refused, but not before the tenant was accepted for the first time.
	// Administrators of the host can still destroy a protected tenant: by deleting what
	// Crossplane composed for it, such as the namespace in status.namespace; by deleting
	// the CustomResourceDefinition of claims or composite resources, or the
	// CompositeResourceDefinition with foreground deletion; or by removing the label
	// crossplane.io/in-use or the Usages and ClusterUsages, which Crossplane restores
	// within a minute. Default: false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`
}

// ArgoCDSpec describes the installation of Argo CD.
type ArgoCDSpec struct {
	// Version of the argo-cd Helm chart, such as 10.1.1. Any version; where the plan lists
	// versions, one of those, the platform's version, or the one that is installed. Read
	// Argo CD's upgrade notes before you raise it. Default: the platform's version, or the
	// installed one if that is higher.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]*)?$')",message="write an exact version of the argo-cd chart, such as 10.1.1, not a range"
	ChartVersion string `json:"chartVersion,omitempty"`

	// Values of the argo-cd Helm chart, merged over the platform's: maps are merged, lists
	// are replaced. Names of the chart's workloads, such as fullnameOverride, and values
	// that the plan sets are refused.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`

	// Keys of Argo CD's own Secret, argocd-secret, from Secrets in the namespace of the
	// claim: for passwords of local accounts, and whatever settings refer to as $<key>. For
	// webhooks, see spec.webhooks. At most 50.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=50
	SecretKeys []SecretKeySpec `json:"secretKeys,omitempty"`

	// Local accounts, such as those of pipelines, with API tokens that are delivered in
	// the connection Secret of the claim and rotated. At most 20, with 20 tokens. Argo CD's signing key is the
	// platform's to set from the first token on, which ends all sessions once.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=20
	Accounts []AccountSpec `json:"accounts,omitempty"`
}

// SecretKeySpec is a key of Argo CD's own Secret.
type SecretKeySpec struct {
	// Key in argocd-secret, such as webhook.github.secret. Keys that Argo CD or other
	// fields of the claim set, such as server.secretkey and accounts.<name>.tokens, are
	// refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="write a key of a Secret: letters, digits, dots, dashes and underscores"
	Key string `json:"key"`

	// Secret with the text. While it is missing or can't be used, the claim's condition
	// SecretKeysReady is False, and what it gave before stays in use.
	SecretRef SecretReference `json:"secretRef"`

	// Key in that Secret. Default: the same key.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$')",message="write a key of a Secret: letters, digits, dots, dashes and underscores"
	SecretKey string `json:"secretKey,omitempty"`
}

// KubernetesSpec describes the Kubernetes of the virtual cluster.
type KubernetesSpec struct {
	// Kubernetes version of the virtual cluster, such as v1.36.0: the platform's version,
	// the one that runs, or one that the plan lists. vcluster 0.36.1 and later support
	// 1.30 to 1.36, older versions fewer. An upgrade that skips a minor version and a
	// downgrade to an older one are refused; the message lists the possible versions.
	// Default: the platform's version, to which a tenant is upgraded one minor version at a
	// time, or the one that runs if that is higher.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+$')",message="write a whole Kubernetes version, such as v1.36.0"
	Version string `json:"version,omitempty"`
}

// VClusterSpec describes the installation of vcluster.
type VClusterSpec struct {
	// Version of the vcluster Helm chart, such as 0.36.1: the platform's version, the one
	// that is installed, or one that the plan lists; 0.25.0 or later. A downgrade to an
	// older minor version is refused. Default: the platform's version, or the installed
	// one if that is higher.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]*)?$')",message="write an exact version of the vcluster chart, such as 0.36.1, not a range"
	ChartVersion string `json:"chartVersion,omitempty"`

	// Values of the vcluster Helm chart. A claim may set only some, such as
	// controlPlane.statefulSet.resources, and only where the plan doesn't set them. Any
	// other value is refused with an error that names its path.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}
