package artifacts

import "github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"

// Images the node itself asks for.
const (
	// PauseImage holds a pod's namespaces open: containerd's sandbox_image.
	PauseImage = "registry.k8s.io/pause:3.10"
	// NodeDNSImage is the cluster's own CoreDNS.
	NodeDNSImage = "registry.k8s.io/coredns/coredns:v1.15.0"
	// NetworkPoliciesImage enforces the cluster's NetworkPolicies.
	NetworkPoliciesImage = "registry.k8s.io/networking/kube-network-policies:v0.8.0"
)

// ServersImage has servers that stand for a customer's own in end-to-end tests: git
// with servers for https and SSH, and LDAP for the users and groups behind Dex.
const ServersImage = "docker.io/virtual-argocd/e2e-servers:1"

// TraefikImage is the ingress controller.
func TraefikImage() string {
	return "docker.io/library/traefik:" + toolchain.Version("traefik")
}

// DexImage is an OIDC provider, for end-to-end tests.
func DexImage() string {
	return "docker.io/virtual-argocd/e2e-dex:" + toolchain.Version("dex")
}

// CrossplaneImage is what the Crossplane chart runs by default.
func CrossplaneImage() string {
	return "xpkg.crossplane.io/crossplane/crossplane:" + toolchain.Version("crossplane")
}
