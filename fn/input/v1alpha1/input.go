// Package v1alpha1 holds the types of the composition function's input, which the
// platform writes in the Composition's pipeline step.
//
// +kubebuilder:object:generate=true
// +groupName=input.virtualargocd.io
// +versionName=v1alpha1
package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// The input's API version and kind.
const (
	APIVersion = "input.virtualargocd.io/v1alpha1"
	Kind       = "Input"
)

// Input holds the platform's settings for all tenants. Each field is optional; an
// unknown field is an error.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=crossplane
type Input struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Cluster that virtual clusters are installed on.
	Host Host `json:"host,omitempty"`

	// Namespace of the tenants' installers and of the Secrets that the function and the
	// providers write about tenants. Default: crossplane-system.
	// +kubebuilder:validation:MaxLength=63
	ConnectionSecretNamespace string `json:"connectionSecretNamespace,omitempty"`

	// Helm charts that are installed for each tenant.
	Charts Charts `json:"charts,omitempty"`

	// Kubernetes of the virtual clusters.
	Kubernetes Kubernetes `json:"kubernetes,omitempty"`

	// Sources of container images.
	Images Images `json:"images,omitempty"`

	// Volume of the virtual clusters' state.
	Storage Storage `json:"storage,omitempty"`

	// How the Argo CDs are reached from outside the host.
	Ingress apiv1alpha1.PlatformIngress `json:"ingress,omitempty"`

	// Connections that tenants may open and accept.
	Network Network `json:"network,omitempty"`

	// Secrets that claims may use.
	Credentials Credentials `json:"credentials,omitempty"`

	// Catalogue of the components that tenants can have beside Argo CD, such as Argo Workflows.
	// Plans and claims name them. Default: Argo Rollouts, Workflows, Events and Image Updater, as
	// in examples/install/components.yaml; with [], there are none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Components []Component `json:"components,omitzero"`

	// Where backups of tenants go, which plans and claims switch on.
	// +optional
	Backup Backup `json:"backup,omitzero"`

	// Tunnels to clusters that let no connections in, for claims with spec.clusters[].tunnel.
	// Default: none, and claims can't have any.
	// +optional
	Tunnels *Tunnels `json:"tunnels,omitempty"`
}

// Tunnels says what tunnels need.
type Tunnels struct {
	// Image of the function, which is that of the tunnels' servers and agents, too. The customers'
	// closed clusters pull it. The tag is required, such as v0.3.0: another one restarts all
	// tunnels' servers. Defaults: registry xpkg.crossplane.io, repository
	// virtual-argocd/function-virtual-argocd.
	Image Image `json:"image,omitempty"`

	// Certificate of the CA that issues the certificates of the claims' hostnames, in PEM, for
	// agents. Default: they must be issued by one that agents know, as browsers do.
	// +kubebuilder:validation:MaxLength=65536
	CertificateAuthority string `json:"certificateAuthority,omitempty"`
}

// Backup is where backups of tenants go. A Job in the connectionSecretNamespace makes each of
// them: the credentials of the store are in that namespace alone.
type Backup struct {
	// Remote of rclone with the backups, such as backup: or backup:team-b, of type crypt, so
	// that nothing leaves the host unencrypted. Backups of a claim are below
	// <namespace>/<claim>. Several hosts may have one remote if no two of them have claims of
	// the same namespace and name. Default: none, and no backups can be made.
	// +kubebuilder:validation:MaxLength=256
	Remote string `json:"remote,omitempty"`

	// Secret in the connectionSecretNamespace whose key rclone.conf is rclone's configuration,
	// with the remote and the one that it encrypts for. Default: virtual-argocd-backup.
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`

	// Size up to which a tenant is backed up, in memory. Backups that would be larger fail.
	// Default: 256Mi.
	// +kubebuilder:validation:MaxLength=16
	MaxSize string `json:"maxSize,omitempty"`

	// Number of backups up to which claims may set keep, where the plan doesn't keep more. Claims
	// that were accepted with more keep as many as it says now. Default: 60.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=366
	MaxKeep int64 `json:"maxKeep,omitempty"`

	// Image with argocd and a shell. Defaults: registry quay.io, repository argoproj/argocd,
	// tag the version that the tenant runs.
	// +optional
	ArgoCD Image `json:"argocd,omitzero"`

	// Image with rclone and a shell. Defaults: registry docker.io, repository rclone/rclone,
	// tag 1.76.0.
	// +optional
	Rclone Image `json:"rclone,omitzero"`
}

// Host is the cluster that virtual clusters are installed on: the one that Crossplane
// runs on.
type Host struct {
	// ProviderConfig of provider-kubernetes that creates and deletes the tenants'
	// namespaces on the host. In these namespaces the providers write as the tenant's
	// installer. Default: virtual-argocd-host.
	KubernetesProviderConfig string `json:"kubernetesProviderConfig,omitempty"`

	// DNS domain of the host, such as cluster.local, with which hostnames of Services
	// end. Default: none, and they end with .svc, which resolves in any cluster.
	ClusterDomain string `json:"clusterDomain,omitempty"`

	// API server of the host, which the control planes of virtual clusters call.
	APIServer APIServer `json:"apiServer,omitempty"`
}

// APIServer is where the host's API server is.
type APIServer struct {
	// CIDRs of the API server's addresses behind the Service kubernetes, such as
	// 203.0.113.10/32. `kubectl get endpointslices -n default -l
	// kubernetes.io/service-name=kubernetes` lists the addresses. With this field, the
	// control plane of a virtual cluster reaches only these addresses, DNS and what
	// network.allowTo lists outside its namespace. Default: none, and it also reaches
	// ports 443 and 6443 of every address except link-local ones and those of clouds'
	// metadata services.
	// +kubebuilder:validation:MaxItems=32
	CIDRs []string `json:"cidrs,omitempty"`

	// Port of the API server at these addresses. Default: 6443.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// Network lists the connections that tenants may open and accept. NetworkPolicies in
// each tenant's namespace refuse all others. The host's network plugin must enforce
// NetworkPolicies.
//
// A tenant's pods may open connections to each other, to their own virtual API server
// and to the internet: every address except private, shared, link-local, loopback,
// multicast and reserved ranges and those of clouds' metadata services. They accept
// connections from each other; Argo CD also accepts them from the ingress controllers.
type Network struct {
	// CIDRs that tenants may not reach, in addition to private ranges: public addresses of
	// the host's nodes, pods, Services, load balancers and API server.
	// +kubebuilder:validation:MaxItems=256
	InternalCIDRs []string `json:"internalCIDRs,omitempty"`

	// Namespaces of the ingress controllers. For a controller that uses the host network,
	// list the addresses of its nodes in allowFrom instead. Default: ingress-nginx and
	// traefik.
	// +kubebuilder:validation:MaxItems=32
	IngressControllers []string `json:"ingressControllers,omitempty"`

	// Namespace of Crossplane's providers, which call the virtual API servers. Default: the
	// connectionSecretNamespace.
	// +kubebuilder:validation:MaxLength=63
	ProvidersNamespace string `json:"providersNamespace,omitempty"`

	// Further peers that may connect to the virtual API servers and to every port of the
	// tenants' pods, those of Argo CD's repository servers and redis among them.
	// +kubebuilder:validation:MaxItems=64
	AllowFrom []networkingv1.NetworkPolicyPeer `json:"allowFrom,omitempty"`

	// Peers that may connect to the metrics of the tenants' Argo CDs, such as Prometheus:
	// ports 8082 (application controller) and 8084 (repository server) of the pods in the
	// virtual clusters' namespace argocd, and nothing else. Default: none.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	MetricsFrom []networkingv1.NetworkPolicyPeer `json:"metricsFrom,omitempty"`

	// Further peers that tenants may connect to: a Git server or a cluster with a private
	// address, or a proxy. The host's own DNS doesn't belong here: see dns.
	// +kubebuilder:validation:MaxItems=64
	AllowTo []networkingv1.NetworkPolicyPeer `json:"allowTo,omitempty"`

	// DNS resolver that tenants ask for names outside their virtual cluster. Whatever it
	// answers, every tenant can look up.
	DNS *DNS `json:"dns,omitempty"`

	// Whether tenants have no NetworkPolicies. Then they reach each other and the host,
	// unless something else isolates them. Default: false.
	Disabled bool `json:"disabled,omitempty"`
}

// DNS is the resolver for tenants. It must not answer with names of the host's Services and
// pods, as the host's own DNS does: these have names of other tenants. A change of the address
// restarts the virtual API servers.
type DNS struct {
	// IP address of the resolver, which must answer at port 53. Default: the address of the
	// Service resolver in namespace virtual-argocd-dns (examples/install/dns.yaml), as the
	// Object virtual-argocd-dns observes it.
	// +kubebuilder:validation:MaxLength=45
	Address string `json:"address,omitempty"`

	// Peers behind that address: pods, or ranges of addresses outside the cluster. The DNS pods
	// of tenants may connect to their ports 53 and 1053. Default: the pods
	// app.kubernetes.io/name=virtual-argocd-dns in namespace virtual-argocd-dns.
	// +kubebuilder:validation:MaxItems=16
	Peers []networkingv1.NetworkPolicyPeer `json:"peers,omitempty"`
}

// Resolver returns the DNS resolver that the platform has set, if any.
func (n Network) Resolver() DNS {
	if n.DNS == nil {
		return DNS{}
	}
	return *n.DNS
}

// Charts are the Helm charts that are installed for each tenant.
type Charts struct {
	// vcluster chart. Defaults: repository https://charts.loft.sh, name vcluster, version
	// 0.36.1.
	VCluster Chart `json:"vcluster,omitempty"`

	// argo-cd chart. Defaults: repository https://argoproj.github.io/argo-helm, name
	// argo-cd, version 10.1.1, and readiness probes every 3 seconds instead of the chart's
	// 10, so that an installation is ready sooner.
	ArgoCD Chart `json:"argocd,omitempty"`
}

// Chart is a Helm chart and the platform's values for it.
type Chart struct {
	// Repository of the chart: an http, https or oci URL.
	Repository string `json:"repository,omitempty"`

	// Name of the chart in its repository.
	Name string `json:"name,omitempty"`

	// Version of the chart for claims that name none. Tenants with a higher version keep
	// it.
	Version string `json:"version,omitempty"`

	// Digests of versions of the chart, if its repository is an oci URL: sha256:... by
	// version. A version that has one is installed by it, wherever that version is named, and
	// only if the tag of that version, if there is one, has the same digest. Other versions
	// are installed by their tag.
	// +kubebuilder:validation:MaxProperties=64
	Digests map[string]string `json:"digests,omitempty"`

	// Values of the chart for all tenants. They override the built-in values; plans and
	// claims override them.
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// Component is a Helm chart that tenants can have in their virtual clusters beside Argo CD.
type Component struct {
	// Name by which plans and claims name it, such as workflows. It is also the name of its Helm
	// release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Chart of the component: repository, name and version are required. A new version reaches
	// tenants as that of the chart argo-cd does, by their channels or in their maintenance
	// windows. A lower one than before is installed, too.
	// +required
	Chart Chart `json:"chart,omitzero"`

	// Namespace in the virtual cluster, which is created. Default: the name.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// Workloads of the chart, in that namespace, that must be available for the component to be
	// Ready. Default: none, and it is Ready once Helm has installed it.
	// +kubebuilder:validation:MaxItems=4
	Workloads []Workload `json:"workloads,omitempty"`

	// Paths of the chart's values that claims may set, each with all below it, such as
	// controller.resources; "*" for all. Default: none.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	ClaimValues []string `json:"claimValues,omitempty"`

	// Whether Ingresses in the component's namespace may have the claim's own hostnames, and the
	// ingress controllers connect to the pods there: for webhooks. Whoever may write Ingresses in
	// that namespace can take paths of Argo CD's URL, so it is one that only administrators of the
	// virtual cluster write in, and not that of Argo CD. Default: false.
	Webhooks bool `json:"webhooks,omitempty"`

	// Values of the argo-cd chart for tenants that have the component, such as a UI extension.
	// They override those of charts.argocd, and those of components before it.
	// +kubebuilder:pruning:PreserveUnknownFields
	ArgoCDValues *runtime.RawExtension `json:"argocdValues,omitempty"`
}

// Workload is a Deployment or a StatefulSet.
type Workload struct {
	// Kind of the workload.
	// +kubebuilder:validation:Enum=Deployment;StatefulSet
	Kind string `json:"kind"`

	// Name of the workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}

// Kubernetes of the virtual clusters.
type Kubernetes struct {
	// Kubernetes version for claims that name none. Tenants with a higher version keep it.
	// Those with a lower one are upgraded one minor version at a time. The patch version of
	// each step is the highest exact one in versions.kubernetes of the plan, or, where it
	// has only ranges or none, the one that vcluster lists, such as v1.35.0. A mirror needs
	// the images of these versions, too. Default: v1.36.0.
	Version string `json:"version,omitempty"`
}

// Credentials says which Secrets claims may use.
type Credentials struct {
	// Whether claims can use only Secrets with the label virtualargocd.io/credentials:
	// "true". Required: a Secret without it isn't used, and a condition of the claim says
	// so. Ignored: claims can use every Secret of their namespace, so whoever may write
	// claims there can read all of its Secrets through an Argo CD. Default: Required.
	// +kubebuilder:validation:Enum=Required;Ignored
	Label string `json:"label,omitempty"`
}

// Images says where container images come from.
type Images struct {
	// Registry, optionally with a path, that mirrors all images of vcluster and Argo CD
	// under their upstream paths: with registry.example.com/mirror, Argo CD's image is
	// registry.example.com/mirror/argoproj/argocd. Default: the upstream registries.
	Registry string `json:"registry,omitempty"`

	// Image of vcluster's control plane. Defaults: registry ghcr.io, repository
	// loft-sh/vcluster-oss (the open-source build), tag the chart's version.
	VCluster Image `json:"vcluster,omitempty"`

	// Image with kubectl and a shell, for backups and hibernation. Defaults: registry
	// docker.io, repository alpine/kubectl, tag 1.36.0.
	// +optional
	Kubectl Image `json:"kubectl,omitzero"`
}

// Image of a container.
type Image struct {
	// Registry of the image. images.registry takes precedence.
	Registry string `json:"registry,omitempty"`

	// Repository of the image in the registry.
	Repository string `json:"repository,omitempty"`

	// Tag of the image.
	Tag string `json:"tag,omitempty"`
}

// Storage is the volume of a virtual cluster's state.
type Storage struct {
	// Size of the volume. Default: 1Gi.
	Size string `json:"size,omitempty"`

	// StorageClass of the volume. Default: the host's default class.
	StorageClass string `json:"storageClass,omitempty"`

	// Whether the state is kept in the pod and not in a volume. Everything in the virtual
	// cluster is then lost when the pod is: for test tenants only. Default: false.
	Ephemeral bool `json:"ephemeral,omitempty"`
}
