package argocd

import (
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// RunningVersion is the version of Argo CD that its API server runs: the tag of
// its image, once the workload is available. An image named by digest alone has
// none to tell.
func RunningVersion(t tenant.Tenant) string {
	all, _ := workloadHealth(t)
	for _, h := range all {
		// The chart names the container as the component, not as the workload.
		if h.component == tenant.ComponentServer {
			return tag(h.image)
		}
	}
	return ""
}

func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	// A colon before the last slash belongs to the registry's port.
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
