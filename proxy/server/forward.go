package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/proxy/helm"
	"github.com/virtual-argocd/virtual-argocd/proxy/openapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
)

// minWatch is how long a watch lasts at least: a client watches again at once.
const minWatch = time.Second

// forward passes a request on, and the response back. It reports whether it has begun to.
func (s *Server) forward(c *virtualapi.Client, w http.ResponseWriter, r *http.Request, wanted request) (begun bool, err error) {
	timeout := s.limits.Read
	switch {
	case wanted.one != nil:
		timeout = s.limits.Watch
	case r.Method != http.MethodGet:
		timeout = s.limits.Write
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	switch {
	case wanted.one != nil:
		defer context.AfterFunc(s.watches, cancel)()
		begun, err = s.forwardWatch(ctx, c, w, r, wanted)
	case wanted.configMap != nil:
		var body []byte
		if body, err = s.configMap(ctx, c, r, wanted); err == nil {
			begun = true
			send(w, virtualapi.MediaJSON, http.StatusOK, body)
		}
	default:
		begun, err = s.forwardRequest(ctx, c, w, r)
	}
	if err != nil {
		err = virtualapi.TimedOut(ctx, err, timeout)
	}
	return begun, err
}

// forwardRequest passes on a request that isn't a watch.
func (s *Server) forwardRequest(ctx context.Context, c *virtualapi.Client, w http.ResponseWriter, r *http.Request) (begun bool, err error) {
	response, err := c.Do(ctx, r)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	if err := virtualapi.CheckForm(response, openapi.IsPath(r.URL.Path)); err != nil {
		return false, err
	}
	body, release, err := c.Read(ctx, response, s.bounds(r.URL.Path))
	defer release()
	if err != nil {
		return false, err
	}
	if isSecrets(r.URL.Path) {
		if err := c.Memory.Decode(ctx, func() error { return helm.CheckRecords(s.limits, body) }); err != nil {
			return false, err
		}
	}
	if err := c.Memory.Decode(ctx, func() (err error) { body, err = s.shown(c, r, response, body); return err }); err != nil {
		return false, err
	}
	send(w, response.Header.Get("Content-Type"), response.StatusCode, body)
	return true, nil
}

// bounds returns those of a response to a path.
func (s *Server) bounds(path string) virtualapi.Bounds {
	b := virtualapi.Bounds{Bytes: s.limits.Response, Values: s.limits.Values}
	if isSecrets(path) || openapi.IsDocument(path) || strings.HasPrefix(path, definitions) {
		b = virtualapi.Bounds{Bytes: s.limits.LargeResponse, Values: s.limits.LargeValues}
	}
	// provider-kubernetes keeps the discovery of a group and version, which is a few KiB.
	if isDiscovery(path) && !isAllDiscovery(path) {
		b = virtualapi.Bounds{Bytes: b.Bytes / 8, Values: b.Values / 8}
	}
	return b
}

// shown returns the body of a response as the provider gets it. If it is an object of a kind that the provider may watch, the informer of that
// kind notes its digest.
func (s *Server) shown(c *virtualapi.Client, r *http.Request, response *http.Response, body []byte) ([]byte, error) {
	path, failed := r.URL.Path, response.StatusCode >= http.StatusBadRequest
	if !failed {
		if err := checkObject(r.Method, path, body); err != nil {
			return nil, err
		}
	}
	switch {
	case isSecrets(path) && r.Method == http.MethodGet:
		return helm.ShowInterruptedAsFailed(s.limits, body)
	case isDiscovery(path) && !failed:
		return body, s.resources.checkDiscovery(path, response.Header.Get("Content-Type"), body)
	case path == openapi.PathV3 && !failed:
		return body, openapi.CheckList(body)
	case openapi.IsDocument(path) && !failed:
		return openapi.Prune(s.limits, body, s.resources.kinds())
	}
	for _, stored := range s.resources.stored() {
		object, ok := stored.ObjectAt(path)
		if !ok {
			continue
		}
		if r.Method == http.MethodGet {
			s.informers.Observed(c, stored.Resource, object, watch.DigestOfResponse(response.StatusCode, body, stored.prune))
		}
		if stored.show != nil && !failed {
			return stored.show(s.limits, body)
		}
	}
	return body, nil
}

// send sends a response.
func send(w http.ResponseWriter, contentType string, status int, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
