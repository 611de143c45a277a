package artifacts

import "github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"

// Images the node itself asks for.
const (
	// PauseImage holds a pod's namespaces open: containerd's sandbox_image.
	PauseImage = "registry.k8s.io/pause:3.10"
	// NodeDNSImage is the cluster's own CoreDNS.
	NodeDNSImage = "registry.k8s.io/coredns/coredns:v1.15.0"
)

// CrossplaneImage is what the Crossplane chart runs by default.
func CrossplaneImage() string {
	return "xpkg.crossplane.io/crossplane/crossplane:" + toolchain.Version("crossplane")
}
