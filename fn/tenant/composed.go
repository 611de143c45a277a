package tenant

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

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

	Bootstrap     = "bootstrap"
	IngressObject = "ingress"
	// IngressCount counts the tenant's Ingresses on the host.
	IngressCount        = "ingress-count"
	DeletionProtection  = "deletion-protection"
	NamespaceProtection = "namespace-protection"
	CompositeProtection = "composite-protection"
	// HostPrefix begins the names of the records of hostnames.
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

// WasReady reports whether the tenant was ready once: status is the only place
// that remembers.
func WasReady(o Observed) bool {
	switch v1alpha1.Phase(o.XR.String("status", "phase")) {
	case v1alpha1.PhaseReady, v1alpha1.PhaseUpdating, v1alpha1.PhaseDegraded:
		return true
	default:
		return false
	}
}

// HostnameResource is the name in the composition of the record of a hostname.
func HostnameResource(hostname string) string { return HostnamePrefix + hostnameID(hostname) }
