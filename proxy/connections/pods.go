package connections

import (
	"context"
	"encoding/json"
	"io"

	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// maxPage is how many bytes of a page of Argo CD's API server are read, and maxMetrics how many of all metrics in a poll, of which only
// counts are kept.
const (
	maxPage    = 16 << 10
	maxMetrics = 4 << 20
)

// page returns the status and the text of a page of Argo CD's API server. It reports false if the pod doesn't answer.
func (p *poll) page(ctx context.Context, scheme, pod, path string) (status int, text string, ok bool) {
	if scheme != "" {
		pod = scheme + ":" + pod
	}
	response, err := p.client.GetFromPod(ctx, p.namespace, pod, "8080", path)
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
