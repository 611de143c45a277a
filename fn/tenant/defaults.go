package tenant

import (
	"cmp"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// Defaults that are used elsewhere, too. WithDefaults has all.
const (
	DefaultVClusterVersion   = "0.36.1"
	DefaultKubernetesVersion = "v1.36.0"

	DefaultVClusterRegistry = "ghcr.io"
	// DefaultVClusterImage is vcluster's open-source build; the chart's own
	// default is the commercial one.
	DefaultVClusterImage = "loft-sh/vcluster-oss"

	DefaultAPIServerPort = 6443
)

// WithDefaults completes the platform's input. The versions are the current ones upstream.
func WithDefaults(in v1alpha1.Input) v1alpha1.Input {
	or := func(field *string, def string) { *field = cmp.Or(*field, def) }

	or(&in.ConnectionSecretNamespace, "crossplane-system")
	or(&in.Host.KubernetesProviderConfig, "virtual-argocd-host")
	or(&in.Charts.VCluster.Repository, "https://charts.loft.sh")
	or(&in.Charts.VCluster.Name, "vcluster")
	or(&in.Charts.VCluster.Version, DefaultVClusterVersion)
	or(&in.Charts.ArgoCD.Repository, "https://argoproj.github.io/argo-helm")
	or(&in.Charts.ArgoCD.Name, "argo-cd")
	or(&in.Charts.ArgoCD.Version, "10.1.1")
	or(&in.Kubernetes.Version, DefaultKubernetesVersion)
	or(&in.Images.VCluster.Registry, DefaultVClusterRegistry)
	or(&in.Images.VCluster.Repository, DefaultVClusterImage)
	or(&in.Storage.Size, "1Gi")
	or(&in.Credentials.Label, CredentialsLabelRequired)
	or(&in.Network.ProvidersNamespace, in.ConnectionSecretNamespace)
	in.Components = Catalogue(in)
	in.Host.APIServer.Port = cmp.Or(in.Host.APIServer.Port, DefaultAPIServerPort)
	if in.Network.IngressControllers == nil {
		in.Network.IngressControllers = []string{"ingress-nginx", "traefik"}
	}
	return in
}

// KubectlImage returns the image with kubectl for the tenants' Jobs.
func KubectlImage(in v1alpha1.Input) string {
	return ImageOf(in, in.Images.Kubectl, v1alpha1.Image{Registry: "docker.io", Repository: "alpine/kubectl", Tag: "1.36.0"})
}

// ImageOf returns the reference of an image that is set in the input, with defaults for what isn't, at the platform's mirror if it has one. Without
// a tag it ends with the repository.
func ImageOf(in v1alpha1.Input, is, defaults v1alpha1.Image) string {
	out := cmp.Or(strings.TrimSuffix(in.Images.Registry, "/"), is.Registry, defaults.Registry) + "/" + cmp.Or(is.Repository, defaults.Repository)
	if tag := cmp.Or(is.Tag, defaults.Tag); tag != "" {
		out += ":" + tag
	}
	return out
}
