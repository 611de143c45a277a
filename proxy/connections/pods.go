package connections

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// maxPage is how many bytes of a page of Argo CD's API server are read, and maxMetrics how many of all metrics in a poll, of which only
// counts are kept.
const (
	maxPage    = 16 << 10
	maxMetrics = 4 << 20
	maxLine    = 8 << 10
)

// request sends a GET request to a pod, by the virtual API server. It follows no redirects. The caller closes the body.
func (p *poll) request(ctx context.Context, scheme, pod, port, path string) (*http.Response, error) {
	if scheme != "" {
		pod = scheme + ":" + pod
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/namespaces/"+p.namespace+"/pods/"+pod+":"+port+"/proxy"+path, nil)
	if err != nil {
		return nil, err
	}
	return p.client.Do(ctx, r)
}

// page returns the status and the text of a page of Argo CD's API server. It reports false if the pod doesn't answer.
func (p *poll) page(ctx context.Context, scheme, pod, path string) (status int, text string, ok bool) {
	response, err := p.request(ctx, scheme, pod, "8080", path)
	if err != nil {
		return 0, "", false
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPage))
	if err != nil {
		return 0, "", false
	}
	// The virtual API server's own response if it can't reach the pod.
	var own struct {
		Kind string `json:"kind"`
	}
	if virtualapi.MediaType(response) == virtualapi.MediaJSON && json.Unmarshal(body, &own) == nil && own.Kind == "Status" {
		return 0, "", false
	}
	return response.StatusCode, string(body), true
}

// metricLines calls f for each line of the metrics of an application controller, without keeping them. It reports false if not all were read.
func (p *poll) metricLines(ctx context.Context, pod string, f func(line string)) bool {
	response, err := p.request(ctx, "", pod, "8082", "/metrics")
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "" {
		return false
	}
	scan := bufio.NewScanner(io.LimitReader(response.Body, maxMetrics-p.metricBytes))
	scan.Buffer(make([]byte, maxLine), maxLine)
	for scan.Scan() {
		p.metricBytes += int64(len(scan.Bytes())) + 1
		f(scan.Text())
	}
	return scan.Err() == nil
}
