package server

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "sigs.k8s.io/json"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// hasResources reports whether a discovery document of this type has the resources of all groups. From one without them, a client goes on to
// request each group and version, and keeps all responses.
func hasResources(contentType string) bool {
	_, is, err := mime.ParseMediaType(contentType)
	return err == nil && is["as"] == "APIGroupDiscoveryList" && is["g"] == discovery.GroupName && (is["v"] == "v2" || is["v"] == "v2beta1")
}

// checkDiscovery refuses a discovery document without the resources of all groups, and one in which a kind that the proxy watches is another
// resource than the one that it watches, because a provider would request that one. It decodes documents as client-go does.
func (rs resources) checkDiscovery(path, contentType string, response []byte) error {
	all, one, err := discovery.APIGroupDiscoveryList{}, metav1.APIResourceList{}, error(nil)
	if isAllDiscovery(path) {
		if !hasResources(contentType) {
			return limits.Exceeded("its discovery is without the resources of each group, which Kubernetes 1.27 and later have there")
		}
		err = json.Unmarshal(response, &all)
	} else {
		err = utiljson.UnmarshalCaseSensitivePreserveInts(response, &one)
	}
	if err != nil {
		return limits.Exceeded("its discovery can't be read")
	}
	version := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
	for _, is := range one.APIResources {
		if err := rs.checkResource(version, is.Kind, is.Name, is.Namespaced); err != nil {
			return err
		}
	}
	for _, g := range all.Items {
		for _, v := range g.Versions {
			for _, is := range v.Resources {
				if is.ResponseKind == nil {
					continue
				}
				version := metav1.GroupVersion{Group: g.Name, Version: v.Version}.String()
				if err := rs.checkResource(version, is.ResponseKind.Kind, is.Resource, is.Scope == discovery.ScopeNamespace); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (rs resources) checkResource(version, kind, name string, namespaced bool) error {
	for _, watched := range rs.all() {
		// What has a slash is a subresource, which may have the same kind.
		if version != watched.APIVersion || kind != watched.Kind || strings.Contains(name, "/") {
			continue
		}
		switch {
		case name != watched.Plural:
			return limits.Exceeded("its discovery calls kind %s %s, and not %s", kind, podtrouble.Short(name), watched.Plural)
		case !namespaced:
			return limits.Exceeded("its discovery says that %s are in no namespaces", watched.Plural)
		}
	}
	return nil
}

// checkObject refuses a response with an object of another API version than the request's. provider-kubernetes 1.2.1 takes the version of what
// it applies from the response, and keeps the OpenAPI document of each version that it has met (pkg/kube/client/ssa/cache/extractor).
// Upstream, it would use the version of the manifest.
func checkObject(method, path string, response []byte) error {
	segments := segmentsOf(path)
	_, name, ok := objectsAt(segments)
	// Providers don't use what they get for a deletion, which may be a status.
	if !ok || method == http.MethodDelete || method == http.MethodGet && name == "" {
		return nil
	}
	version := segments[1]
	if segments[0] == "apis" {
		version += "/" + segments[2]
	}
	object := struct {
		// APIVersion may be anything: null after a string leaves a string as it is.
		APIVersion any `json:"apiVersion"`
	}{}
	if utiljson.UnmarshalCaseSensitivePreserveInts(response, &object) != nil || object.APIVersion != any(version) {
		return limits.Exceeded("it doesn't answer with an object of %s", version)
	}
	return nil
}
