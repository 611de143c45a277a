package tenant

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
)

const (
	// maxTenantID is the maximum length of a tenant's id, so that all names that are made from
	// it have 63 characters or less.
	maxTenantID = 40
	// hashLength is the number of hexadecimal digits of a hash: 64 bits, too many for two
	// tenants to have the same by chance.
	hashLength = 16
)

var (
	dnsLabel    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	hashed      = regexp.MustCompile(`-[0-9a-f]{16}$`)
	onlyHash    = regexp.MustCompile(`^[0-9a-f]{16}$`)
	dashes      = regexp.MustCompile(`-+`)
	notDNSLabel = regexp.MustCompile(`[^a-z0-9-]+`)
)

// BoundedLabel returns a DNS label for a name: the name itself, or a part of it and its hash
// if it is longer or no DNS label. It also hashes a name that ends like one with a hash, so
// that no two names have the same label.
func BoundedLabel(name string, most int) string {
	if len(name) <= most && dnsLabel.MatchString(name) && !hashed.MatchString(name) {
		return name
	}
	base := notDNSLabel.ReplaceAllString(strings.ToLower(name), "-")
	base = base[:min(len(base), most-hashLength-1)]
	return cmp.Or(strings.Trim(base, "-"), "tenant") + "-" + hashOf(name)
}

// frontHash is the number of hexadecimal digits at the end of the names that Behind returns. No name of Crossplane's for a claim has as
// many there, and with hashLength of them BoundedLabel would hash the name once more.
const frontHash = 12

// Behind returns the name of the composite resource that a new namespaced VirtualArgoCD gets. It is short enough to be the tenant's id.
func Behind(namespace, name string) string {
	base := notDNSLabel.ReplaceAllString(strings.ToLower(name), "-")
	base = base[:min(len(base), maxTenantID-frontHash-1)]
	return cmp.Or(strings.Trim(base, "-"), "tenant") + "-" + hashOf(namespace + "/" + name)[:frontHash]
}

// hostLabelSign is in the label of each hostname that a claim gets below the platform's domain.
const hostLabelSign = "--"

// HostLabel returns the first label of the hostname that a claim gets below the platform's domain:
// <claim>--<namespace>, or a part of the names and their hash. No two claims have the same. namespace
// is "" for a composite resource without a claim, and claim its name then.
func HostLabel(namespace, claim string) string {
	label := claim + hostLabelSign + namespace
	inNames := strings.Contains(claim+" "+namespace, hostLabelSign) || onlyHash.MatchString(namespace)
	if len(label) <= validation.DNS1123LabelMaxLength && dnsLabel.MatchString(claim) && dnsLabel.MatchString(namespace) && !inNames && !reserved(label) {
		return label
	}
	base := dashes.ReplaceAllString(notDNSLabel.ReplaceAllString(claim+"-"+cmp.Or(namespace, "xr"), "-"), "-")
	base = base[:min(len(base), validation.DNS1123LabelMaxLength-hashLength-len(hostLabelSign))]
	return strings.Trim(base, "-") + hostLabelSign + hashOf(namespace+"/"+claim)
}

// IsHostLabel reports whether a label has the form of those that HostLabel returns.
func IsHostLabel(label string) bool {
	return strings.Contains(label, hostLabelSign) && !reserved(label)
}

// reserved reports whether both dashes are in a label's third and fourth place. Certificate
// authorities refuse such labels unless they are internationalized names (RFC 5890, 2.3.1).
func reserved(label string) bool { return len(label) >= 4 && label[2:4] == hostLabelSign }

func hashOf(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:hashLength] }

// Names that are the same in every tenant's namespace or virtual cluster.
const (
	// HelmVCluster is the Helm release of vcluster, its Service and its StatefulSet.
	HelmVCluster = "vcluster"
	// KubeconfigSource is the Secret that vcluster writes its kubeconfig to, under the key
	// KubeconfigSourceKey.
	KubeconfigSource    = "vc-" + HelmVCluster
	KubeconfigSourceKey = "config"
	// ControlPlaneAccount is the ServiceAccount of the control plane, from the vcluster chart.
	ControlPlaneAccount = "vc-" + HelmVCluster
	// WorkloadAccount is the ServiceAccount of the tenant's pods, from the vcluster chart.
	WorkloadAccount = "vc-workload-" + HelmVCluster
	// HelmArgoCD is the Helm release of argo-cd, and the prefix of its workloads' names.
	HelmArgoCD = "argocd"
	// ArgoCDServer is Argo CD's API server, its Service and its Ingress.
	ArgoCDServer = HelmArgoCD + "-server"
	// ArgoCDServerOnHost is the name that the syncer gives both on the host.
	ArgoCDServerOnHost = ArgoCDServer + onHost
	// ArgoCDNamespace is Argo CD's namespace in the virtual cluster.
	ArgoCDNamespace = "argocd"
	// onHost is the end of the names that the syncer gives to what is in that namespace.
	onHost = "-x-" + ArgoCDNamespace + "-x-" + HelmVCluster
)

// OnHost returns the name that the syncer gives on the host to what has a short name in Argo CD's namespace.
func OnHost(name string) string { return name + onHost }

// Names of one tenant's objects. Those of Secrets are on the control plane.
type Names struct {
	Tenant string
	// Namespace of the virtual cluster on the host.
	Namespace string
	// Installer is the ServiceAccount that the providers use in the tenant's namespace. It is
	// in another namespace.
	Installer string
	// InstallerSecret has the token of the installer, and the kubeconfig with it.
	InstallerSecret string
	// HostProviderConfig is the name of both ProviderConfigs with the installer's kubeconfig.
	HostProviderConfig string
	// PasswordSecret is the connection Secret of the argo-cd Release.
	PasswordSecret string
	// KubeconfigSecret has the kubeconfig of the virtual cluster.
	KubeconfigSecret string
	// AcceptedSecret has what was accepted of the claim, its plan and the input.
	AcceptedSecret string
	// ValuesSecret has the chart values that come from Secrets.
	ValuesSecret string
	// AccountsSecret has what Argo CD's local accounts need.
	AccountsSecret string
	// ComponentsSecret has the patch by which components are uninstalled.
	ComponentsSecret string
	// ChannelRecord is the ConfigMap with the tenant's record for its channel.
	ChannelRecord string
	// Backup is the CronJob that makes backups, the ConfigMap in which it reports, and its Role.
	Backup string
	// Restore is the ConfigMap in which a restore reports, and the Secret with what the platform kept.
	Restore string
	// BackupAccount is the ServiceAccount that these Jobs use.
	BackupAccount string
	// HibernationAccount is the ServiceAccount of the Jobs that have the tenant fall asleep and wake up.
	HibernationAccount string
	// ProviderConfig is the name of both ProviderConfigs for the virtual cluster. With its
	// prefix, no name of an XR makes it one of the platform's.
	ProviderConfig string
	// APIHostnames are the hostnames of the virtual cluster's API server on the host. The first
	// is in the claim's kubeconfig; the last ends with .svc, and is the one that the proxy uses.
	APIHostnames []string
	// ArgoCDHostname is the hostname of Argo CD's API server on the host.
	ArgoCDHostname string
}

// HostnameRecordPrefix begins the names of the objects that record which tenant has a hostname, as
// HostnamePrefix begins their names in the composition. Both go on with the HostnameHash.
const HostnameRecordPrefix = "vargo-host-"

// HostnameRecord returns the name of the object that records which tenant has a hostname.
// It depends only on the hostname, so that one tenant at most can have it.
func HostnameRecord(hostname string) string { return HostnameRecordPrefix + hashOf(hostname) }

// HostnameHash returns what names that follow from a hostname alone end with.
func HostnameHash(hostname string) string { return hashOf(hostname) }

// AssignmentName returns the name of the ConfigMap by which a channel assigns a revision to a tenant.
func AssignmentName(channel, xrName string) string {
	return "vargo-assignment-" + hashOf(channel+"/"+xrName)
}

// RevisionName returns the name of the ConfigMap with a revision of a channel.
func RevisionName(channel string, number int64) string {
	return fmt.Sprintf("vargo-revision-%s-%d", channel, number)
}

// What a channel and its tenants write for each other: the channel publishes an EnvironmentConfig for all of its tenants, ConfigMaps with its
// revisions, and one with the assignment of each tenant; a tenant writes a ConfigMap with its record.
const (
	// EnvironmentAPIVersion and EnvironmentKind are those of what a channel publishes.
	EnvironmentAPIVersion = "apiextensions.crossplane.io/v1beta1"
	EnvironmentKind       = "EnvironmentConfig"
	// LabelChannel is the label on what a channel publishes and on the records of its tenants. Its
	// value is the channel's name.
	LabelChannel = "virtualargocd.io/channel"

	// RevisionKey, AssignmentKey and RecordKey are the keys in the ConfigMaps with a revision, a tenant's assignment and its record. StateKey is
	// that in the one in which a channel keeps its state.
	RevisionKey   = "revision"
	AssignmentKey = "assignment"
	RecordKey     = "record"
	StateKey      = "state"
)

// ChannelPublished returns the name of the EnvironmentConfig that a channel publishes.
func ChannelPublished(channel string) string { return "virtual-argocd-channel-" + channel }

// ChannelState returns the name of the ConfigMap in which a channel keeps its state.
func ChannelState(channel string) string { return "vargo-channel-" + hashOf(channel) }

// Composed returns the name of a composed resource of the tenant.
func (n Names) Composed(suffix string) string { return n.Tenant + "-" + suffix }

// virtualPrefix begins the name of both ProviderConfigs of a virtual cluster.
const virtualPrefix = "vargo-"

// IsVirtual reports whether a ProviderConfig is one of a virtual cluster, and not of the host.
func IsVirtual(providerConfig string) bool { return strings.HasPrefix(providerConfig, virtualPrefix) }

// NewNames returns the names of the tenant whose XR has the supplied name.
// clusterDomain may be empty.
func NewNames(xrName, clusterDomain string) Names {
	t := BoundedLabel(xrName, maxTenantID)
	namespace, domain := virtualPrefix+t, ""
	if clusterDomain != "" {
		domain = "." + clusterDomain
	}
	service := HelmVCluster + "." + namespace + ".svc"
	return Names{
		Tenant:             t,
		Namespace:          namespace,
		Installer:          namespace,
		InstallerSecret:    t + "-installer",
		HostProviderConfig: "host-" + namespace,
		KubeconfigSecret:   t + "-kubeconfig",
		PasswordSecret:     t + "-argocd-admin",
		AcceptedSecret:     t + "-accepted",
		ValuesSecret:       t + "-argocd-values",
		AccountsSecret:     t + "-argocd-accounts",
		ComponentsSecret:   t + "-components",
		ChannelRecord:      t + "-channel",
		Backup:             t + "-backup",
		Restore:            t + "-restore",
		BackupAccount:      "backup-" + namespace,
		HibernationAccount: "hibernation-" + namespace,
		ProviderConfig:     namespace,
		APIHostnames:       slices.Compact([]string{service + domain, service}),
		ArgoCDHostname:     ArgoCDServerOnHost + "." + namespace + ".svc" + domain,
	}
}

// Of this product's labels and annotations of a claim or a namespaced VirtualArgoCD, PlatformsMetadata means something only where the platform has
// written it, which claims.yaml sees to, and by ClaimsAnnotations its author asks for something.
var (
	PlatformsMetadata = []string{
		v1alpha1.AnnotationLeave, v1alpha1.AnnotationClaimedAt, v1alpha1.LabelSpare, v1alpha1.LabelPool, v1alpha1.LabelPoolPlan, v1alpha1.LabelPoolDigest,
		v1alpha1.AnnotationAdopting,
	}
	ClaimsAnnotations = []string{v1alpha1.AnnotationBackup, localaccount.RotatePassword}
)

// Labels that Crossplane gives to the composite resource of a claim, and the function to that of a namespaced VirtualArgoCD, and by which
// everything finds it.
const (
	LabelClaimName      = "crossplane.io/claim-name"
	LabelClaimNamespace = "crossplane.io/claim-namespace"
)

// Labels and annotations of a tenant's namespace on the host, and names of its ResourceQuota.
const (
	LabelTenant = "virtualargocd.io/tenant"
	// AnnotationSyncPolicy, on the Object of the first Application, says by whose rules the syncPolicy of the claim was read:
	// "argocd", or those of version 0.2 where it is missing.
	AnnotationSyncPolicy = "virtualargocd.io/sync-policy"
	// AnnotationIngressHost lists the hostnames that the tenant's Ingresses and its HTTPRoute may
	// have, with commas between them.
	AnnotationIngressHost = "virtualargocd.io/ingress-host"

	// AnnotationIngressNamespaces lists the namespaces of the virtual cluster whose Ingresses may
	// have these hostnames, beside that of Argo CD.
	AnnotationIngressNamespaces = "virtualargocd.io/ingress-namespaces"

	// AnnotationClusterIssuers lists the ClusterIssuers that the tenant's Ingresses may name; without
	// it, they may name any.
	AnnotationClusterIssuers = "virtualargocd.io/cluster-issuers"

	// RouteName is the name of a tenant's HTTPRoute.
	RouteName        = "virtual-argocd"
	QuotaName        = "virtual-argocd"
	QuotaOfIngresses = "count/ingresses.networking.k8s.io"
)

// APIServer returns the URL of the virtual cluster on the host, for the claim's kubeconfig.
func (n Names) APIServer() string { return "https://" + n.APIHostnames[0] + ":443" }

// ProxiedAPIServer returns the URL of the virtual cluster for the proxy in the providers' pods,
// which connects only to names that end with .svc. They resolve in every pod of the host,
// whatever its DNS domain is.
func (n Names) ProxiedAPIServer() string {
	return "https://" + n.APIHostnames[len(n.APIHostnames)-1] + ":443"
}

// Names of composed resources in the composition. They never change: Crossplane
// deletes a resource whose name is gone.
const (
	Namespace            = "namespace"
	InstallerAccount     = "installer-account"
	InstallerCredentials = "installer-credentials"
	InstallerBinding     = "installer-binding"
	ControlPlaneBinding  = "control-plane-binding"
	// IngressesBinding lets the control plane write Ingresses on the host.
	IngressesBinding = "control-plane-ingresses-binding"
	Quota            = "quota"
	Limits           = "limits"
	// PriorityLevel and FlowSchema bound what the tenant takes of the host's API server.
	PriorityLevel = "priority-level"
	FlowSchema    = "flow-schema"

	HostHelmProviderConfig       = "host-helm-provider-config"
	HostKubernetesProviderConfig = "host-kubernetes-provider-config"

	VClusterRelease      = "vcluster"
	ControlPlanePod      = "control-plane-pod"
	ControlPlaneService  = "control-plane-service"
	ControlPlaneWorkload = "control-plane-workload"
	ControlPlaneStore    = "control-plane-store"
	// PullAccount is the Object that has the tenant's pods on the host pull images with the Secrets of the spec.
	PullAccount              = "pull-account"
	KubeconfigSecret         = "kubeconfig"
	HelmProviderConfig       = "helm-provider-config"
	KubernetesProviderConfig = "kubernetes-provider-config"

	ArgoCDRelease  = "argocd"
	ValuesSecret   = "values-secret"
	AccountsSecret = "accounts-secret"
	Workloads      = "argocd-workloads"
	Connections    = "argocd-connections"
	AcceptedSecret = "accepted"
	Usage          = "usage"
	// ChannelRecord is the tenant's record for its channel.
	ChannelRecord = "channel-record"

	Bootstrap     = "bootstrap"
	IngressObject = "ingress"
	// Route is the HTTPRoute on the host.
	Route = "route"
	// IngressCount counts the tenant's Ingresses on the host, and IngressOnHost is Argo CD's of them.
	IngressCount        = "ingress-count"
	IngressOnHost       = "ingress-on-host"
	DeletionProtection  = "deletion-protection"
	NamespaceProtection = "namespace-protection"
	CompositeProtection = "composite-protection"
	// BackupRecord is the ConfigMap in which backups report.
	BackupRecord      = "backup-record"
	BackupAccount     = "backup-account"
	BackupBinding     = "backup-binding"
	BackupRole        = "backup-role"
	BackupRoleBinding = "backup-role-binding"
	BackupCronJob     = "backup"
	RestoreRecord     = "restore-record"
	RestoredSecret    = "restored-secret"
	// RestorePrefix is the prefix of Jobs that restore a backup.
	RestorePrefix = "restore-"
	// BackupNowPrefix is the prefix of Jobs that a claim's annotation asks for.
	BackupNowPrefix = "backup-now-"
	// BackupMissed is the Job that makes up for the backups that were due while a tenant was asleep.
	BackupMissed       = "backup-missed"
	HibernationAccount = "hibernation-account"
	HibernationBinding = "hibernation-binding"
	// HibernateJob has the tenant fall asleep, and WakeJob wake up. There is one of them at a time.
	HibernateJob = "hibernate"
	WakeJob      = "wake"
	// ComponentPrefix is the prefix of the Releases of components. With MaxComponentName, the names of the objects have 63 characters or less.
	ComponentPrefix = "chart-"
	// ComponentWorkloads observes their workloads, and ComponentsSecret has the patch by which they are uninstalled.
	ComponentWorkloads = "component-workloads"
	ComponentsSecret   = "components-secret"
	// HostnamePrefix is the prefix of records of hostnames.
	HostnamePrefix = "ingress-host-"

	// FrontTenant is the Object with the composite resource behind a namespaced VirtualArgoCD, FrontSecretPrefix the prefix of the
	// Secret with its connection details, and FrontClaim the Usage of a claim that has the tenant.
	FrontTenant = "tenant"
	// FrontSparePrefix is the prefix of that Object where the composite resource was a spare, whose name follows.
	FrontSparePrefix  = "spare-"
	FrontClaim        = "claim"
	FrontSecretPrefix = "connection-"
)

// Keys of composed Secrets, of the record of a hostname, and of a claim's connection Secret.
const (
	KubeconfigKey = "kubeconfig"
	// ProxiedKey is for the kubeconfig with the address of the proxy in the providers' pods.
	ProxiedKey  = "proxied"
	ValuesKey   = "values.yaml"
	AcceptedKey = "accepted.json"
	// PatchKey is the key that provider-helm reads by default.
	PatchKey    = "patch.yaml"
	HostnameKey = "host"
	URLKey      = "url"
	UsernameKey = "username"
	PasswordKey = "password"
)

// MaxComponentName is the maximum length of the name of a component.
const MaxComponentName = 16

// maxAgent is the maximum length of the name of a tunnel's agent.
const maxAgent = 40

// TunnelAgentName returns the name of the agent of a cluster: no two clusters of a claim have the same.
func TunnelAgentName(cluster string) string { return BoundedLabel(cluster, maxAgent) }

// TunnelPrefix begins the keys of a claim's connection Secret with the manifests of tunnels' agents.
const TunnelPrefix = "tunnel."

// TunnelKey returns the key with the manifest of an agent, whose name has no dot in it.
func TunnelKey(agent string) string { return TunnelPrefix + agent + ".yaml" }

// ComponentResource returns the name in the composition of the Release of a component.
func ComponentResource(component string) string { return ComponentPrefix + component }

// BackupNowResource returns the name in the composition of the Job for a value of a claim's annotation.
func BackupNowResource(value string) string { return BackupNowPrefix + hashOf(value) }

// HostnameResource returns the name in the composition of the record of a hostname.
func HostnameResource(hostname string) string { return HostnamePrefix + hashOf(hostname) }
