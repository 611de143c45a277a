package tenant

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// maxTenantID leaves room for the longest prefix and suffix a name gets, so that
// every name is a DNS label of 63 characters or less.
const maxTenantID = 40

// hashLength is long enough that two tenants don't meet by chance: 64 bits.
const hashLength = 16

var (
	// DNSLabel is what a DNS label looks like.
	DNSLabel    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	hashed      = regexp.MustCompile(`-[0-9a-f]{16}$`)
	notDNSLabel = regexp.MustCompile(`[^a-z0-9-]+`)
)

// tenantID derives the name of a tenant from that of its XR: the same name where
// it fits, else a part of it with a hash. A name that ends as a hashed one does
// is hashed too, so that no two XRs get the same id.
func tenantID(xrName string) string { return BoundedLabel(xrName, maxTenantID) }

// BoundedLabel makes a DNS label of a name.
func BoundedLabel(name string, most int) string {
	if len(name) <= most && DNSLabel.MatchString(name) && !hashed.MatchString(name) {
		return name
	}
	base := notDNSLabel.ReplaceAllString(strings.ToLower(name), "-")
	base = base[:min(len(base), most-hashLength-1)]
	if base = strings.Trim(base, "-"); base == "" {
		base = "tenant"
	}
	return base + "-" + hashOf(name)
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:hashLength]
}

// Names inside every tenant. They needn't differ between tenants: each has a
// namespace, and a virtual cluster, of its own.
const (
	// HelmVCluster is the Helm release of vcluster, and the name of its
	// Service and its StatefulSet.
	HelmVCluster = "vcluster"
	// KubeconfigSource is the Secret vcluster writes its kubeconfig to, under the
	// key KubeconfigSourceKey.
	KubeconfigSource    = "vc-" + HelmVCluster
	KubeconfigSourceKey = "config"
	// ControlPlaneAccount is the ServiceAccount of the virtual cluster's control
	// plane, which the vcluster chart makes.
	ControlPlaneAccount = "vc-" + HelmVCluster
	// HelmArgoCD is the Helm release of argo-cd, and the prefix of its
	// workloads' names.
	HelmArgoCD = "argocd"
	// ArgoCDServer is the name of Argo CD's API server, its Service and its Ingress.
	ArgoCDServer = HelmArgoCD + "-server"
	// ArgoCDNamespace is Argo CD's namespace in the virtual cluster.
	ArgoCDNamespace = "argocd"
)

// Names of one tenant's objects.
type Names struct {
	// Tenant is the tenant's id.
	Tenant string
	// Namespace of the virtual cluster in the host cluster.
	Namespace string
	// Installer is the tenant's account on the host: the ServiceAccount that the
	// providers act as in the tenant's namespace. It is outside of that namespace, and
	// has its name.
	Installer string
	// InstallerSecret holds the account's token, and the kubeconfig made of it.
	InstallerSecret string
	// HostProviderConfig is the name of both ProviderConfigs that use the account.
	HostProviderConfig string
	// PasswordSecret is the connection Secret of the argo-cd Release, on the control
	// plane.
	PasswordSecret string
	// KubeconfigSecret holds the way into the virtual cluster, on the control plane.
	KubeconfigSecret string
	// AcceptedSecret holds what was accepted of the claim, its plan and the input.
	AcceptedSecret string
	// ValuesSecret holds the chart values that come from Secrets, on the control
	// plane.
	ValuesSecret string
	// ChannelRecord is the ConfigMap with what the tenant's channel is to know of it.
	ChannelRecord string
	// ProviderConfig is the name of both ProviderConfigs for the virtual cluster.
	// Its prefix keeps it apart from those of the platform, whatever an XR is named.
	ProviderConfig string
	// APIHostnames are the names the virtual cluster's API is called by; the first
	// is the one in the kubeconfig.
	APIHostnames []string
	// ArgoCDHostname is the host's name of Argo CD's API server.
	ArgoCDHostname string
}

// HostnameRecord is the name of the object that says whose a hostname is. There is one
// name for one hostname, so that only one tenant can have it.
func HostnameRecord(hostname string) string { return "vargo-host-" + hashOf(hostname) }

// AdmissionName is the name of the object by which a channel admits a tenant to its offer.
// Each channel has its own, since a tenant may move from one to another.
func AdmissionName(channel, xrName string) string {
	return "vargo-admission-" + hashOf(channel+"/"+xrName)
}

// ChannelState is the name of the object in which a channel keeps its state.
func ChannelState(channel string) string { return "vargo-channel-" + hashOf(channel) }

// Composed names a composed resource of the tenant.
func (n Names) Composed(suffix string) string { return n.Tenant + "-" + suffix }

// NewNames names everything of the tenant whose XR has the supplied name.
// clusterDomain may be empty.
func NewNames(xrName, clusterDomain string) Names {
	t := tenantID(xrName)
	n := Names{
		Tenant:           t,
		Namespace:        "vargo-" + t,
		KubeconfigSecret: t + "-kubeconfig",
		PasswordSecret:   t + "-argocd-admin",
		AcceptedSecret:   t + "-accepted",
		ValuesSecret:     t + "-argocd-values",
		ChannelRecord:    t + "-channel",
		ProviderConfig:   "vargo-" + t,
	}
	n.Installer, n.InstallerSecret = n.Namespace, t+"-installer"
	n.HostProviderConfig = "host-" + n.Namespace
	service := func(name string) string { return name + "." + n.Namespace + ".svc" }
	n.APIHostnames = []string{service(HelmVCluster)}
	// The syncer gives a Service of the virtual cluster this name on the host.
	n.ArgoCDHostname = service(ArgoCDServer + "-x-" + ArgoCDNamespace + "-x-" + HelmVCluster)
	if clusterDomain != "" {
		n.APIHostnames = []string{n.APIHostnames[0] + "." + clusterDomain, n.APIHostnames[0]}
		n.ArgoCDHostname += "." + clusterDomain
	}
	return n
}

// AnnotationIngressHost stands on a tenant's namespace in the host cluster: the hosts
// that its Ingresses may have, with commas between.
const AnnotationIngressHost = "virtualargocd.io/ingress-host"

// QuotaName is the name of the tenant's ResourceQuota, and QuotaOfIngresses what it
// calls the number of Ingresses.
const (
	QuotaName        = "virtual-argocd"
	QuotaOfIngresses = "count/ingresses.networking.k8s.io"
)

// APIServer is the virtual cluster's URL, as reached from the host cluster.
func (n Names) APIServer() string { return "https://" + n.APIHostnames[0] + ":443" }

// Names of composed resources in the composition. They never change: Crossplane
// deletes a resource whose name is gone.
const (
	Namespace = "namespace"
	// The tenant's account on the host, and the Secret with its credentials.
	InstallerAccount     = "installer-account"
	InstallerCredentials = "installer-credentials"
	InstallerBinding     = "installer-binding"
	ControlPlaneBinding  = "control-plane-binding"
	// IngressesBinding lets the control plane write Ingresses on the host.
	IngressesBinding = "control-plane-ingresses-binding"
	Quota            = "quota"
	Limits           = "limits"
	// ProviderConfigs of the host, with the tenant's account.
	HostHelmProviderConfig       = "host-helm-provider-config"
	HostKubernetesProviderConfig = "host-kubernetes-provider-config"

	VClusterRelease = "vcluster"
	ControlPlanePod = "control-plane-pod"
	// KubeconfigSecret has the way into the virtual cluster.
	KubeconfigSecret         = "kubeconfig"
	HelmProviderConfig       = "helm-provider-config"
	KubernetesProviderConfig = "kubernetes-provider-config"

	ArgoCDRelease = "argocd"
	// ValuesSecret has the chart values that come from Secrets.
	ValuesSecret = "values-secret"
	Workloads    = "argocd-workloads"
	// AcceptedSecret has what was accepted.
	AcceptedSecret = "accepted"
	Usage          = "usage"
	// ChannelRecord is what the tenant's channel is to know of it.
	ChannelRecord = "channel-record"

	Bootstrap     = "bootstrap"
	IngressObject = "ingress"
	// IngressCount counts the tenant's Ingresses on the host.
	IngressCount        = "ingress-count"
	DeletionProtection  = "deletion-protection"
	NamespaceProtection = "namespace-protection"
	CompositeProtection = "composite-protection"
	// HostnamePrefix begins the names of the records of hostnames.
	HostnamePrefix = "ingress-host-"
)

// Keys of composed Secrets, and of the record of a hostname.
const (
	// KubeconfigKey is the key of a kubeconfig in Secrets. The ProviderConfigs read it.
	KubeconfigKey = "kubeconfig"
	// ProxiedKey is the key of the kubeconfig that reaches a virtual cluster through the
	// proxy beside each provider.
	ProxiedKey  = "proxied"
	ValuesKey   = "values.yaml"
	AcceptedKey = "accepted.json"
	HostnameKey = "host"
)

// Keys of a claim's connection Secret, beside KubeconfigKey.
const (
	URLKey      = "url"
	UsernameKey = "username"
	PasswordKey = "password"
)

// LabelTenant stands on a tenant's namespace in the host cluster.
const LabelTenant = "virtualargocd.io/tenant"

// HostnameResource is the name in the composition of the record of a hostname.
func HostnameResource(hostname string) string { return HostnamePrefix + hashOf(hostname) }
