package argocd

import (
	"context"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/metrics"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// maxMetrics is how many bytes of metrics are read in a poll, of all application controllers: those of some 10,000 Applications. Further ones
// aren't counted.
const maxMetrics = 4 << 20

// count counts the Applications in the metrics of all application controllers, each of which has those of its own clusters. A list of the
// Applications would have the virtual API server decode all of them. It reports false if a controller doesn't answer, or none runs.
func count(ctx context.Context, c *virtualapi.Client, namespace string) (out proxy.Applications, ok bool) {
	pods, err := c.ReadyPods(ctx, namespace, metrics.Controller)
	if err != nil || len(pods) == 0 {
		return out, false
	}
	left, some := int64(maxMetrics), false
	for _, pod := range pods {
		if left <= 0 {
			break
		}
		begun := false
		read, ok := metrics.Lines(ctx, c, namespace, pod, left, func(line string) bool {
			some = some || strings.HasPrefix(line, "argocd_")
			switch is := strings.HasPrefix(line, metrics.Apps); {
			case !is:
				// Metrics are sorted by name: no further Applications come after others.
				return !begun
			default:
				begun = true
				add(&out, line)
				return true
			}
		})
		if left -= read; !ok {
			return proxy.Applications{}, false
		}
	}
	// A pod that isn't Argo CD's answers with other metrics.
	return out, some
}

func add(to *proxy.Applications, line string) {
	labels, _, ok := metrics.Read(line)
	if !ok {
		return
	}
	to.Total++
	if labels["health_status"] != "Healthy" {
		to.NotHealthy++
	}
	if labels["sync_status"] != "Synced" {
		to.NotSynced++
	}
}
