package figures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// APIServer has what an API server has counted since its start.
type APIServer struct {
	// Requests by verb, without watches, and etcd's by operation.
	Requests, Etcd map[string]float64
	// Writes are the requests that write, by verb and kind. Leases and reviews such as TokenReviews aren't included, because they don't
	// depend on the number of tenants, nor are events, which Kubernetes deletes after an hour. Dry runs write nothing.
	Writes map[string]float64
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
	const requests, etcd, size = "apiserver_request_total", "etcd_requests_total", "apiserver_storage_size_bytes"
	families, err := parse(data, requests, etcd, size)
	if err != nil {
		return APIServer{}, err
	}
	out := APIServer{Requests: sums(families[requests], "verb"), Etcd: sums(families[etcd], "operation"), Writes: writes(families[requests])}
	for _, name := range []string{requests, etcd, size} {
		if len(families[name].GetMetric()) == 0 {
			return APIServer{}, fmt.Errorf("the API server has no metric %s", name)
		}
	}
	for _, v := range sums(families[size], "storage_cluster_id") {
		out.DBSize += v
	}
	delete(out.Requests, "WATCH")
	delete(out.Requests, "CONNECT")
	return out, nil
}

// reads are the verbs of requests that don't write.
var reads = []string{"GET", "LIST", "WATCH", "WATCHLIST", "CONNECT"}

// writes adds up the requests that write: see APIServer.
func writes(requests *dto.MetricFamily) map[string]float64 {
	out := map[string]float64{}
	for _, m := range requests.GetMetric() {
		of := labelsOf(m)
		switch resource := of["resource"]; {
		case slices.Contains(reads, of["verb"]), of["dry_run"] != "",
			resource == "leases" || resource == "events" || strings.HasSuffix(resource, "reviews"):
		default:
			what := strings.TrimSuffix(resource+"."+of["group"], ".")
			out[strings.TrimSpace(of["verb"]+" "+what+" "+of["subresource"])] += m.GetCounter().GetValue()
		}
	}
	return out
}

// parse reads the metrics with the given names from a text that has others, too.
func parse(data []byte, names ...string) (map[string]*dto.MetricFamily, error) {
	var lines [][]byte
	for line := range bytes.Lines(data) {
		if slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(line, []byte(name)) }) {
			lines = append(lines, line)
		}
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(bytes.Join(lines, nil)))
	if err != nil {
		return nil, fmt.Errorf("cannot parse metrics: %w", err)
	}
	return families, nil
}

// sums adds up the values of a metric for each value of a label.
func sums(family *dto.MetricFamily, label string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range family.GetMetric() {
		out[labelsOf(m)[label]] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return out
}

func labelsOf(m *dto.Metric) map[string]string {
	out := map[string]string{}
	for _, l := range m.GetLabel() {
		out[l.GetName()] = l.GetValue()
	}
	return out
}

// Since returns what was counted since before. DBSize is the current one. It is an error if the API server was restarted since.
func (a APIServer) Since(before APIServer) (APIServer, error) {
	requests, failedRequests := minus(a.Requests, before.Requests)
	etcd, failedEtcd := minus(a.Etcd, before.Etcd)
	writes, failedWrites := minus(a.Writes, before.Writes)
	if err := errors.Join(failedRequests, failedEtcd, failedWrites); err != nil {
		return APIServer{}, fmt.Errorf("the API server was restarted: %w", err)
	}
	return APIServer{Requests: requests, Etcd: etcd, Writes: writes, DBSize: a.DBSize}, nil
}

// minus returns by how much the counters in a are above those in b. It is an error if one is below.
func minus(a, b map[string]float64) (map[string]float64, error) {
	for key := range b {
		if a[key] < b[key] {
			return nil, fmt.Errorf("it has counted %g %s, and %g before", a[key], key, b[key])
		}
	}
	out := map[string]float64{}
	for key, value := range a {
		if d := value - b[key]; d > 0 {
			out[key] = d
		}
	}
	return out, nil
}

// EtcdWrites returns the number of etcd's operations that change something.
func (a APIServer) EtcdWrites() float64 {
	return a.Etcd["create"] + a.Etcd["update"] + a.Etcd["delete"]
}
