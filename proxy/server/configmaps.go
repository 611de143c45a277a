package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
	"github.com/virtual-argocd/virtual-argocd/proxy/workloads"
)

// configMapAt returns the object with a path if it is a ConfigMap that exists in the proxy alone.
func (rs resources) configMapAt(path string) *watch.Object {
	o, ok := rs.workloads.ObjectAt(path)
	if ok && (isSummary(o) || strings.HasPrefix(o.Name, proxy.ConnectionsPrefix)) {
		return &o
	}
	return nil
}

func isSummary(o watch.Object) bool {
	return strings.HasPrefix(o.Name, proxy.SummaryPrefix) || isOfComponents(o)
}

func isOfComponents(o watch.Object) bool { return strings.HasPrefix(o.Name, proxy.ComponentsPrefix) }

var errReadOnly = errors.New("a ConfigMap that the proxy answers with can't be changed")

// configMap returns such a ConfigMap. provider-kubernetes also requests, in a dry run, what applying its manifest would make of the object
// that it observes: nothing else.
func (s *Server) configMap(ctx context.Context, c *virtualapi.Client, r *http.Request, wanted request) ([]byte, error) {
	o := *wanted.configMap
	out := &corev1.ConfigMap{TypeMeta: typeMeta("v1", "ConfigMap"), ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	switch {
	case r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == metav1.DryRunAll:
		return json.Marshal(out)
	case r.Method != http.MethodGet:
		return nil, errReadOnly
	}
	data := s.connectionsData
	if isSummary(o) {
		data = s.workloadsData
	}
	var err error
	if out.Data, err = data(ctx, c, o); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// workloadsData returns the data of a summary of workloads.
func (s *Server) workloadsData(ctx context.Context, c *virtualapi.Client, o watch.Object) (map[string]string, error) {
	asked, err := proxy.ReadSummaryName(o.Name)
	if err != nil {
		return nil, err
	}
	of, summarize := s.resources.workloads, s.summaries.summarize
	if isOfComponents(o) {
		of, summarize = s.resources.components, workloads.Summarize
	}
	data, _, err := summarize(ctx, c, o.Namespace, asked)
	if err != nil {
		s.informers.Observed(c, of, o, watch.Digest{})
		return nil, err
	}
	s.informers.Observed(c, of, o, watch.DigestOfData(data))
	return data, nil
}

// connectionsData returns the data of a list of connections.
func (s *Server) connectionsData(ctx context.Context, c *virtualapi.Client, o watch.Object) (map[string]string, error) {
	keys, err := proxy.ReadConnectionsName(o.Name)
	if err != nil {
		return nil, err
	}
	data := s.connections.Get(ctx, c, o.Namespace, keys)
	s.informers.Observed(c, s.resources.connections, o, watch.DigestOfData(data))
	return data, nil
}
