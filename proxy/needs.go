package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "sigs.k8s.io/json"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
)

// A need is what a provider's request asks for. The providers need discovery, OpenAPI documents,
// single objects, and what the fields below say. They keep the answers to other requests, or ask
// for more and more of them: the pages of a list, the names in a watch. Which resource a provider
// asks for is up to the tenant, too, whose virtual API server says what resources there are.
type need struct {
	// all is set for a list or a watch of all objects of a kind, which the proxy answers itself.
	all []*watchable
	// one is set for a watch of one object, such as the Job of a Helm hook.
	one *target
}

// needOf returns what a request asks for. It is an error that the providers don't need it.
func needOf(r *http.Request) (need, error) {
	if n, needed := readNeed(r); needed {
		return n, nil
	}
	if r.URL.Path == openAPIv2 {
		return need{}, errors.New("it isn't asked for " + openAPIv2 + ", which Helm needs where " + openAPIv3 + " can't be read")
	}
	return need{}, fmt.Errorf("it isn't asked for %s: a provider needs single objects, lists of a namespace with one page, and watches of one object",
		podtrouble.Short(r.Method+" "+r.URL.RequestURI()))
}

// readNeed returns what a request asks for, and whether a provider needs it.
func readNeed(r *http.Request) (n need, needed bool) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	odd := func(segment string) bool { return segment == "" || segment == "." || segment == ".." }
	// Clients write paths in one way only.
	if err != nil || r.URL.RawPath != "" || slices.ContainsFunc(segments, odd) {
		return n, false
	}
	if isDocument(segments) {
		return n, r.Method == http.MethodGet
	}
	namespace, name, ok := objectsAt(segments)
	switch {
	case !ok:
		return n, false
	case r.Method == http.MethodPost:
		return n, name == ""
	case name != "":
		return n, !query.Has("watch") && slices.Contains([]string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method)
	case r.Method != http.MethodGet || query.Has("continue"):
		return n, false
	}
	watch := query["watch"]
	if len(watch) > 1 || len(watch) == 1 && !isTrue(watch[0]) {
		return n, false
	}
	if n.all = watchablesAt(r.URL.Path); n.all != nil {
		return n, true
	}
	if len(watch) == 0 {
		// Helm's validation looks for CustomResourceDefinitions.
		return n, namespace != "" || strings.HasPrefix(r.URL.Path, definitions)
	}
	selector := strings.Join(query["fieldSelector"], ",")
	of, byName := strings.CutPrefix(selector, "metadata.name=")
	n.one = &target{namespace, of}
	return n, byName && namespace != "" && of != "" && !strings.ContainsAny(of, `,=!\`)
}

// isDocument reports whether a path is that of discovery, of the version or of OpenAPI.
func isDocument(segments []string) bool {
	switch n := len(segments); segments[0] {
	case "version":
		return n == 1
	case "api":
		return n <= 2
	case "apis":
		return n == 1 || n == 3
	case "openapi":
		return n > 1 && segments[1] == "v3"
	}
	return false
}

// isDiscovery reports whether answers to this path are discovery documents, and isAllDiscovery
// whether they are those of all groups.
func isDiscovery(path string) bool {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	return isDocument(segments) && strings.HasPrefix(segments[0], "api")
}

func isAllDiscovery(path string) bool { return path == "/api" || path == "/apis" }

// objectsAt returns the namespace and the name in the path of an object, without the name in that
// of a list; "" for no namespace. It reports false for other paths, such as those of subresources.
func objectsAt(segments []string) (namespace, name string, ok bool) {
	switch n := len(segments); {
	case segments[0] == "api" && n > 2:
		segments = segments[2:]
	case segments[0] == "apis" && n > 3:
		segments = segments[3:]
	default:
		return "", "", false
	}
	if len(segments) > 2 && segments[0] == "namespaces" {
		namespace, segments = segments[1], segments[2:]
	}
	if len(segments) == 2 {
		name = segments[1]
	}
	return namespace, name, len(segments) <= 2
}

// hasResources reports whether a discovery document of this type has the resources of all groups. From one
// without them, a client goes on to ask for each group and version, and keeps all answers.
func hasResources(contentType string) bool {
	_, is, err := mime.ParseMediaType(contentType)
	return err == nil && is["as"] == "APIGroupDiscoveryList" && is["g"] == discovery.GroupName && (is["v"] == "v2" || is["v"] == "v2beta1")
}

// checkDiscovery refuses a discovery document without the resources of all groups, and one in
// which a kind that the proxy watches is another resource than the one that it watches, because a
// provider would ask for that one. It decodes documents as client-go does.
func checkDiscovery(path, contentType string, answer []byte) error {
	all, one, err := discovery.APIGroupDiscoveryList{}, metav1.APIResourceList{}, error(nil)
	if isAllDiscovery(path) {
		if !hasResources(contentType) {
			return &overLimit{"its discovery is without the resources of each group, which Kubernetes 1.27 and later have there"}
		}
		err = json.Unmarshal(answer, &all)
	} else {
		err = utiljson.UnmarshalCaseSensitivePreserveInts(answer, &one)
	}
	if err != nil {
		return &overLimit{"its discovery can't be read"}
	}
	version := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
	for _, r := range one.APIResources {
		if err := checkResource(version, r.Kind, r.Name, r.Namespaced); err != nil {
			return err
		}
	}
	for _, g := range all.Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				if r.ResponseKind == nil {
					continue
				}
				version := metav1.GroupVersion{Group: g.Name, Version: v.Version}.String()
				if err := checkResource(version, r.ResponseKind.Kind, r.Resource, r.Scope == discovery.ScopeNamespace); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkResource(version, kind, name string, namespaced bool) error {
	for _, k := range watchables {
		// What has a slash is a subresource, which may have the same kind.
		if version != k.APIVersion || kind != k.Kind || strings.Contains(name, "/") {
			continue
		}
		plural := path.Base(k.path)
		switch {
		case name != plural:
			return &overLimit{fmt.Sprintf("its discovery calls kind %s %s, and not %s", kind, podtrouble.Short(name), plural)}
		case !namespaced:
			return &overLimit{fmt.Sprintf("its discovery says that %s are in no namespaces", plural)}
		}
	}
	return nil
}

// checkObject refuses an answer with an object of another API version than the request's. provider-kubernetes takes the
// version of what it applies from the answer, and keeps the OpenAPI document of each version that it has met.
func checkObject(method, path string, answer []byte) error {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
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
	if utiljson.UnmarshalCaseSensitivePreserveInts(answer, &object) != nil || object.APIVersion != any(version) {
		return &overLimit{"it doesn't answer with an object of " + version}
	}
	return nil
}
