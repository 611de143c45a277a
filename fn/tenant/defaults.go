package tenant

import (
	"cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// Built-in defaults: current upstream versions. The function's input overrides
// each of them.
const (
	DefaultConnectionSecretNamespace = "crossplane-system"
	defaultHostProviderConfig        = "virtual-argocd-host"

	defaultVClusterRepository = "https://charts.loft.sh"
	defaultVClusterChart      = "vcluster"
	DefaultVClusterVersion    = "0.36.1"
	defaultArgoCDRepository   = "https://argoproj.github.io/argo-helm"
	defaultArgoCDChart        = "argo-cd"
	defaultArgoCDVersion      = "10.1.1"
	DefaultKubernetesVersion  = "v1.36.0"

	DefaultVClusterRegistry = "ghcr.io"
	// DefaultVClusterImage is vcluster's open-source build; the chart's own
	// default is the commercial one.
	DefaultVClusterImage = "loft-sh/vcluster-oss"
	defaultStorageSize   = "1Gi"

	DefaultAPIServerPort = 6443
)

// WithDefaults completes the platform's input.
func WithDefaults(in v1alpha1.Input) v1alpha1.Input {
	or := func(field *string, def string) { *field = cmp.Or(*field, def) }

	or(&in.ConnectionSecretNamespace, DefaultConnectionSecretNamespace)
	or(&in.Host.KubernetesProviderConfig, defaultHostProviderConfig)
	or(&in.Charts.VCluster.Repository, defaultVClusterRepository)
	or(&in.Charts.VCluster.Name, defaultVClusterChart)
	or(&in.Charts.VCluster.Version, DefaultVClusterVersion)
	or(&in.Charts.ArgoCD.Repository, defaultArgoCDRepository)
	or(&in.Charts.ArgoCD.Name, defaultArgoCDChart)
	or(&in.Charts.ArgoCD.Version, defaultArgoCDVersion)
	or(&in.Kubernetes.Version, DefaultKubernetesVersion)
	or(&in.Images.VCluster.Registry, DefaultVClusterRegistry)
	or(&in.Images.VCluster.Repository, DefaultVClusterImage)
	or(&in.Storage.Size, defaultStorageSize)
	or(&in.Credentials.Label, CredentialsLabelRequired)
	or(&in.Network.ProvidersNamespace, in.ConnectionSecretNamespace)
	in.Host.APIServer.Port = cmp.Or(in.Host.APIServer.Port, DefaultAPIServerPort)
	if in.Network.IngressControllers == nil {
		in.Network.IngressControllers = []string{"ingress-nginx", "traefik"}
	}
	return in
}
