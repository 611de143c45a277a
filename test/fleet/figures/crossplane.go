package figures

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"
)

// metricsPort is the one at which Crossplane serves its metrics.
const metricsPort = "8080"

// ReadReconciles reads how often a pod of Crossplane has reconciled composite resources since its start. The client is for the core API.
func ReadReconciles(ctx context.Context, client rest.Interface, namespace, pod string) (float64, error) {
	data, err := client.Get().Namespace(namespace).Resource("pods").Name(pod + ":" + metricsPort).SubResource("proxy").Suffix("metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("cannot read the metrics of pod %s: %w", pod, err)
	}
	return parseReconciles(data)
}

func parseReconciles(data []byte) (n float64, err error) {
	families, err := parse(data)
	for controller, times := range sums(families["controller_runtime_reconcile_total"], "controller") {
		if strings.HasPrefix(controller, "composite/") {
			n += times
		}
	}
	return n, err
}
