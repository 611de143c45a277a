package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
	"github.com/virtual-argocd/virtual-argocd/proxy/openapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
)

// A request is what a provider requests. The providers need discovery, OpenAPI documents, single objects, and what the fields below say. They
// keep the responses to other requests, or request more and more of them: the pages of a list, the names in a watch. Which resource a provider
// requests is up to the tenant, too, whose virtual API server says what resources there are.
type request struct {
	// all is set for a list or a watch of all objects of a kind, which the proxy answers itself.
	all []*watch.Resource
	// one is set for a watch of one object, such as the Job of a Helm hook.
	one *watch.Object
	// configMap is set for a ConfigMap that exists in the proxy alone.
	configMap *watch.Object
}

// read returns what a provider requests. It is an error that the providers don't need it.
func (rs resources) read(r *http.Request) (request, error) {
	out, needed := rs.readNeeded(r)
	switch {
	case needed:
		return out, nil
	case r.URL.Path == openapi.PathV2:
		return request{}, errors.New("it isn't asked for " + openapi.PathV2 + ", which Helm needs where " + openapi.PathV3 + " can't be read")
	}
	return request{}, fmt.Errorf("it isn't asked for %s: a provider needs single objects, lists of a namespace with one page, and watches of one object",
		podtrouble.Short(r.Method+" "+r.URL.RequestURI()))
}

// readNeeded returns what a provider requests, and whether it needs that.
func (rs resources) readNeeded(r *http.Request) (out request, needed bool) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	segments := segmentsOf(r.URL.Path)
	odd := func(segment string) bool { return segment == "" || segment == "." || segment == ".." }
	// Clients write paths in one way only.
	if err != nil || r.URL.RawPath != "" || slices.ContainsFunc(segments, odd) {
		return out, false
	}
	if isDocument(segments) {
		return out, r.Method == http.MethodGet
	}
	namespace, name, ok := objectsAt(segments)
	switch {
	case !ok:
		return out, false
	case r.Method == http.MethodPost:
		return out, name == ""
	case name != "":
		out.configMap = rs.configMapAt(r.URL.Path)
		return out, !query.Has("watch") && slices.Contains([]string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method)
	case r.Method != http.MethodGet || query.Has("continue"):
		return out, false
	}
	isWatch := query["watch"]
	if len(isWatch) > 1 || len(isWatch) == 1 && !watch.IsTrue(isWatch[0]) {
		return out, false
	}
	if out.all = rs.at(r.URL.Path); out.all != nil {
		return out, true
	}
	if len(isWatch) == 0 {
		// Helm's validation looks for CustomResourceDefinitions.
		return out, namespace != "" || strings.HasPrefix(r.URL.Path, definitions)
	}
	selector := strings.Join(query["fieldSelector"], ",")
	watched, byName := strings.CutPrefix(selector, "metadata.name=")
	out.one = &watch.Object{Namespace: namespace, Name: watched}
	return out, byName && namespace != "" && watched != "" && !strings.ContainsAny(watched, `,=!\`)
}
