package plan

import (
	"cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// Built-in defaults: current upstream versions. The function's input overrides
// each of them.
const (
	DefaultConnectionSecretNamespace = "crossplane-system"
	DefaultHostProviderConfig        = "virtual-argocd-host"

	DefaultVClusterRepository = "https://charts.loft.sh"
	DefaultVClusterChart      = "vcluster"
	DefaultVClusterVersion    = "0.36.1"
	DefaultArgoCDRepository   = "https://argoproj.github.io/argo-helm"
	DefaultArgoCDChart        = "argo-cd"
	DefaultArgoCDVersion      = "10.1.1"
	DefaultKubernetesVersion  = "v1.36.0"

	DefaultVClusterRegistry = "ghcr.io"
	// DefaultVClusterImage is vcluster's open-source build; the chart's own
	// default is the commercial one.
	DefaultVClusterImage = "loft-sh/vcluster-oss"
	DefaultStorageSize   = "1Gi"

	DefaultAPIServerPort = 6443
)

// withDefaults completes the platform's input.
func withDefaults(in v1alpha1.Input) v1alpha1.Input {
	or := func(field *string, def string) { *field = cmp.Or(*field, def) }

	or(&in.ConnectionSecretNamespace, DefaultConnectionSecretNamespace)
	or(&in.Host.KubernetesProviderConfig, DefaultHostProviderConfig)
	or(&in.Charts.VCluster.Repository, DefaultVClusterRepository)
	or(&in.Charts.VCluster.Name, DefaultVClusterChart)
	or(&in.Charts.VCluster.Version, DefaultVClusterVersion)
	or(&in.Charts.ArgoCD.Repository, DefaultArgoCDRepository)
	or(&in.Charts.ArgoCD.Name, DefaultArgoCDChart)
	or(&in.Charts.ArgoCD.Version, DefaultArgoCDVersion)
	or(&in.Kubernetes.Version, DefaultKubernetesVersion)
	or(&in.Images.VCluster.Registry, DefaultVClusterRegistry)
	or(&in.Images.VCluster.Repository, DefaultVClusterImage)
	or(&in.Storage.Size, DefaultStorageSize)
	or(&in.Credentials.Label, CredentialsLabelRequired)
	or(&in.Network.ProvidersNamespace, in.ConnectionSecretNamespace)
	in.Host.APIServer.Port = cmp.Or(in.Host.APIServer.Port, DefaultAPIServerPort)
	if in.Network.IngressControllers == nil {
		in.Network.IngressControllers = []string{"ingress-nginx", "traefik"}
	}
	return in
}
