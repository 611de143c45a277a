package figures

import (
	"bytes"
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// APIServer has what an API server has counted since its start.
type APIServer struct {
	// Requests by verb, without watches, and etcd's by operation.
	Requests, Etcd map[string]float64
	// DBSize of etcd, in bytes.
	DBSize float64
}

// ReadAPIServer reads the metrics of an API server.
func ReadAPIServer(ctx context.Context, client rest.Interface) (APIServer, error) {
	data, err := client.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return APIServer{}, fmt.Errorf("cannot read the metrics of the API server: %w", err)
	}
	return parseAPIServer(data)
}

func parseAPIServer(data []byte) (APIServer, error) {
	families, err := parse(data)
	if err != nil {
		return APIServer{}, err
	}
	out := APIServer{
		Requests: sums(families["apiserver_request_total"], "verb"),
		Etcd:     sums(families["etcd_requests_total"], "operation"),
	}
	for _, v := range sums(families["apiserver_storage_size_bytes"], "storage_cluster_id") {
		out.DBSize += v
	}
	delete(out.Requests, "WATCH")
	delete(out.Requests, "CONNECT")
	return out, nil
}

func parse(data []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("cannot parse metrics: %w", err)
	}
	return families, nil
}

// sums adds up the values of a metric for each value of a label.
func sums(family *dto.MetricFamily, label string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range family.GetMetric() {
		key := ""
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				key = l.GetValue()
			}
		}
		out[key] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return out
}

// Since returns what was counted since before. DBSize is the current one.
func (a APIServer) Since(before APIServer) APIServer {
	return APIServer{Requests: minus(a.Requests, before.Requests), Etcd: minus(a.Etcd, before.Etcd), DBSize: a.DBSize}
}

func minus(a, b map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for key, value := range a {
		if d := value - b[key]; d > 0 {
			out[key] = d
		}
	}
	return out
}

// Writes returns the number of etcd's operations that change something.
func (a APIServer) Writes() float64 { return a.Etcd["create"] + a.Etcd["update"] + a.Etcd["delete"] }
