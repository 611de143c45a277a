// Package v1alpha1 holds the input of the composition function, which a
// platform team writes in the Composition's pipeline step.
//
// +kubebuilder:object:generate=true
// +groupName=input.virtualargocd.io
// +versionName=v1alpha1
package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The input's API version and kind.
const (
	APIVersion = "input.virtualargocd.io/v1alpha1"
	Kind       = "Input"
)

// Input is the platform's part of every tenant. Each field is optional; an
// unknown one is an error.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=crossplane
type Input struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The cluster that virtual clusters are installed on.
	// +optional
	Host Host `json:"host,omitempty"`

	// Namespace of the connection Secrets that the providers write on the control
	// plane. Default: crossplane-system.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ConnectionSecretNamespace string `json:"connectionSecretNamespace,omitempty"`

	// The Helm charts that are installed.
	// +optional
	Charts Charts `json:"charts,omitempty"`

	// The virtual clusters' Kubernetes.
	// +optional
	Kubernetes Kubernetes `json:"kubernetes,omitempty"`

	// Where container images come from.
	// +optional
	Images Images `json:"images,omitempty"`

	// Storage of the virtual clusters' state.
	// +optional
	Storage Storage `json:"storage,omitempty"`

	// How the Argo CDs are reached from outside the host cluster.
	// +optional
	Ingress Ingress `json:"ingress,omitempty"`

	// What tenants reach on the network, and from where they are reached.
	// +optional
	Network Network `json:"network,omitempty"`

	// The Secrets that claims may use.
	// +optional
	Credentials Credentials `json:"credentials,omitempty"`
}

// Host is the cluster that virtual clusters are installed on: the one that
// Crossplane runs on.
type Host struct {
	// ProviderConfig of provider-kubernetes for the host, which makes and removes
	// the tenants' namespaces. What is in them the providers write with an account of
	// the tenant's own. Default: virtual-argocd-host.
	// +optional
	KubernetesProviderConfig string `json:"kubernetesProviderConfig,omitempty"`

	// DNS domain of the host cluster, such as cluster.local. When set, addresses
	// of Services end in it; without it they end in .svc, which resolves inside
	// the host cluster whatever its domain.
	// +optional
	ClusterDomain string `json:"clusterDomain,omitempty"`

	// The host's API server, which the virtual clusters' control planes call.
	// +optional
	APIServer APIServer `json:"apiServer,omitempty"`
}

// APIServer is where the host's API server is.
type APIServer struct {
	// Addresses of the API server behind the Service kubernetes, as in `kubectl get
	// endpointslices -l kubernetes.io/service-name=kubernetes`: ranges such as
	// 203.0.113.10/32. With them a virtual cluster's control plane reaches nothing
	// else outside its namespace but DNS and what network.allowTo lists. Default:
	// without any, it also reaches ports 443 and 6443 of everything but link-local
	// addresses.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	CIDRs []string `json:"cidrs,omitempty"`

	// Port of those addresses. Default: 6443.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// Network says what tenants reach, and from where they are reached. Each tenant's
// namespace has NetworkPolicies: nothing comes in or goes out but what is listed
// here. The host's network plugin has to enforce NetworkPolicies.
//
// A tenant's pods reach each other, their own virtual API, and the internet: every
// address but private, shared, link-local, loopback, multicast and reserved ranges
// and those of clouds' metadata services. They are reached by each other, and Argo CD
// by the ingress controllers, too.
type Network struct {
	// Ranges that are no tenant's to reach beside those that are private: public
	// addresses of the host's nodes, pods, Services, or of its API server.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	InternalCIDRs []string `json:"internalCIDRs,omitempty"`

	// Namespaces of the ingress controllers. A controller on its nodes' own network
	// is named in allowFrom instead, by the nodes' addresses. Default: ingress-nginx
	// and traefik.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	IngressControllers []string `json:"ingressControllers,omitempty"`

	// Namespace of Crossplane's providers, which call the virtual APIs. Default: the
	// connectionSecretNamespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ProvidersNamespace string `json:"providersNamespace,omitempty"`

	// Who else reaches the virtual APIs and the tenants' pods, such as a monitoring
	// system.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	AllowFrom []networkingv1.NetworkPolicyPeer `json:"allowFrom,omitempty"`

	// What else tenants reach: a Git server or a cluster with a private address, a
	// proxy, a DNS server other than the pods k8s-app=kube-dns of kube-system.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	AllowTo []networkingv1.NetworkPolicyPeer `json:"allowTo,omitempty"`

	// Disabled makes no NetworkPolicies: tenants then reach each other and the host,
	// unless something else keeps them apart.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
}

// Charts are the Helm charts that are installed.
type Charts struct {
	// The vcluster chart. Defaults: repository https://charts.loft.sh, name
	// vcluster, version 0.36.1.
	// +optional
	VCluster Chart `json:"vcluster,omitempty"`

	// The argo-cd chart. Defaults: repository
	// https://argoproj.github.io/argo-helm, name argo-cd, version 10.1.1, and
	// readiness probes each three seconds where the chart has ten, so that an
	// installation ends sooner.
	// +optional
	ArgoCD Chart `json:"argocd,omitempty"`
}

// Chart is a Helm chart and the platform's values for it.
type Chart struct {
	// Repository of the chart: an http, https or oci URL.
	// +optional
	Repository string `json:"repository,omitempty"`

	// Name of the chart in its repository.
	// +optional
	Name string `json:"name,omitempty"`

	// Version of the chart, where the claim names none. Tenants that run a higher one
	// keep it.
	// +optional
	Version string `json:"version,omitempty"`

	// Values of the chart for every tenant: merged over the built-in ones and
	// under the claim's.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// Kubernetes of the virtual clusters.
type Kubernetes struct {
	// Version where the claim names none. Tenants that run a higher one keep it. Those
	// that run a lower one get there one minor version after the other. In between they
	// run the highest patch version that their plan lists by itself, in
	// versions.kubernetes, and where it lists only ranges or none, the one in vcluster's
	// own list, such as v1.35.0: a mirror of its images needs that one, too. Default:
	// v1.36.0.
	// +optional
	Version string `json:"version,omitempty"`
}

// Credentials says which Secrets claims may use.
type Credentials struct {
	// Whether a Secret needs the label virtualargocd.io/credentials: "true" before a
	// claim of its namespace can use it. Required: a Secret without it gives nothing,
	// and the claim's condition says so. Ignored: whoever may write claims in a
	// namespace can read every Secret there by way of an Argo CD. Default: Required.
	// +optional
	// +kubebuilder:validation:Enum=Required;Ignored
	Label string `json:"label,omitempty"`
}

// Images says where container images come from.
type Images struct {
	// Registry, with a path if there is one, that mirrors every image of vcluster
	// and of Argo CD under the path it has upstream: registry.example.com/mirror
	// serves registry.example.com/mirror/argoproj/argocd. Default: upstream's.
	// +optional
	Registry string `json:"registry,omitempty"`

	// Image of vcluster's control plane. Defaults: registry ghcr.io, repository
	// loft-sh/vcluster-oss (the open-source build), tag the chart's version.
	// +optional
	VCluster Image `json:"vcluster,omitempty"`
}

// Image of a container.
type Image struct {
	// Registry host. images.registry wins over it.
	// +optional
	Registry string `json:"registry,omitempty"`

	// Repository in the registry.
	// +optional
	Repository string `json:"repository,omitempty"`

	// Tag of the image.
	// +optional
	Tag string `json:"tag,omitempty"`
}

// Storage of a virtual cluster's state.
type Storage struct {
	// Size of the volume. Default: 1Gi.
	// +optional
	Size string `json:"size,omitempty"`

	// StorageClass of the volume. Default: the host's default class.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`

	// Ephemeral keeps the state in the pod alone: it is lost with the pod, and
	// with it everything in the virtual cluster. For throw-away tenants.
	// +optional
	Ephemeral bool `json:"ephemeral,omitempty"`
}

// Ingress says how the Argo CDs are reached from outside the host cluster.
type Ingress struct {
	// DNS domain of the Argo CDs, such as argocd.example.org, of which every name
	// leads to the ingress controller. When set, each claim that names no host gets
	// <claim>-<namespace>.<domain>. Default: none, and only claims with a host have
	// an Ingress.
	// +optional
	// +kubebuilder:validation:MaxLength=189
	Domain string `json:"domain,omitempty"`

	// Hosts that claims may name: host names, and *.example.org for those right below
	// a domain. Default: every host that no other claim has, be it one that something
	// else on the host cluster is served at.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Hosts []string `json:"hosts,omitempty"`

	// IngressClass where the claim names none. Default: the host cluster's default
	// class.
	// +optional
	ClassName string `json:"className,omitempty"`

	// Annotations of each Ingress, under the claim's. Where examples/install/tenants.yaml
	// is installed, the host refuses an Ingress with one that isn't listed there, or with
	// a value of other signs than it allows: list there what stands here.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Where certificates come from when the claim says nothing. Default: the
	// ingress controller's own certificate.
	// +optional
	TLS IngressTLS `json:"tls,omitempty"`
}

// IngressTLS says where certificates come from.
type IngressTLS struct {
	// Issuer of cert-manager on the host cluster. An issuer with an HTTP-01 solver
	// must set serviceType ClusterIP there: tenants have no NodePort.
	// +optional
	Issuer Issuer `json:"issuer,omitempty"`
}

// Issuer of cert-manager.
type Issuer struct {
	// Name of the issuer.
	// +optional
	Name string `json:"name,omitempty"`

	// Kind of the issuer: ClusterIssuer, or Issuer for one in the namespace of each
	// virtual cluster. Default: ClusterIssuer.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIssuer;Issuer
	Kind string `json:"kind,omitempty"`
}
