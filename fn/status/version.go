package status

import (
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// runningVersion is the version of Argo CD that its API server runs: the tag of
// its image, once the workload is available. An image named by digest alone has
// none to tell.
func runningVersion(t compose.Tenant) string {
	for _, w := range t.Workloads {
		if w.Component != plan.ComponentServer || !compose.WorkloadHealth(t, w).Available {
			continue
		}
		o := t.Observed.Composed[compose.WorkloadName(w.Component)]
		for _, c := range o.List("status", "atProvider", "manifest", "spec", "template", "spec", "containers") {
			// The chart names the container as the component, not as the workload.
			if c.String("name") == plan.ComponentServer {
				return tag(c.String("image"))
			}
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
