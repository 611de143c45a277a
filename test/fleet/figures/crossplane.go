package figures

import (
	"context"
	"errors"
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// metricsPort is the one at which Crossplane serves its metrics.
const metricsPort = "8080"

// ReadReconciles reads how often Crossplane, which is in the given namespace, has reconciled tenants' composite resources since its start.
func ReadReconciles(ctx context.Context, client kubernetes.Interface, namespace string) (float64, error) {
	metric, err := readCrossplane(ctx, client, namespace, "controller_runtime_reconcile_total")
	if err != nil {
		return 0, err
	}
	return reconciles(metric)
}

func reconciles(metric *dto.MetricFamily) (n float64, err error) {
	found := false
	for controller, times := range sums(metric, "controller") {
		if strings.HasPrefix(controller, "composite/xvirtualargocds.") {
			found = true
			n += times
		}
	}
	if !found {
		return 0, errors.New("Crossplane doesn't tell how often it has reconciled composite resources") //nolint:staticcheck // It is a name.
	}
	return n, nil
}

// ReadEvents reads how many events of composite resources and of what belongs to them Crossplane has seen since its start, by what its
// circuit breaker has done with them: Allowed or Dropped, among others.
func ReadEvents(ctx context.Context, client kubernetes.Interface, namespace string) (map[string]float64, error) {
	metric, err := readCrossplane(ctx, client, namespace, "circuit_breaker_events_total")
	return sums(metric, "result"), err
}

// readCrossplane reads one metric from all pods of Crossplane.
func readCrossplane(ctx context.Context, client kubernetes.Interface, namespace, name string) (*dto.MetricFamily, error) {
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=crossplane"})
	if err != nil {
		return nil, fmt.Errorf("cannot list the pods of Crossplane: %w", err)
	}
	all := &dto.MetricFamily{}
	for _, pod := range pods.Items {
		data, err := client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").Name(pod.Name + ":" + metricsPort).
			SubResource("proxy").Suffix("metrics").DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("cannot read the metrics of pod %s: %w", pod.Name, err)
		}
		families, err := parse(data, name)
		if err != nil {
			return nil, err
		}
		all.Metric = append(all.Metric, families[name].GetMetric()...)
	}
	return all, nil
}
