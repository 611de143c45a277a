package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// Content types of discovery documents: of all groups with their resources, and of the older form without resources.
const (
	withResources    = virtualapi.MediaJSON + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	withoutResources = virtualapi.MediaJSON
)

// noInitialEvents answers as an API server that can't send a list as the first events of a watch. client-go 0.33, of
// provider-kubernetes, doesn't ask for that.
func noInitialEvents(w http.ResponseWriter) {
	w.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
}

// evil answers for a resource of a tenant's own: each page of a list has another object; a watch has events of other objects, and
// ends as watches do.
type evil struct {
	// endless: there is always one more page.
	endless                 bool
	pages, watches, objects atomic.Int32
}

func (e *evil) answer(w http.ResponseWriter, r *http.Request, apiVersion, kind string) {
	object := func() string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"argocd","name":"o%d","resourceVersion":"1"}}`, apiVersion, kind, e.objects.Add(1))
	}
	w.Header().Set("Content-Type", virtualapi.MediaJSON)
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		noInitialEvents(w)
		return
	}
	if r.URL.Query().Get("watch") == "true" {
		e.watches.Add(1)
		for range 100 {
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", object())
		}
		_ = http.NewResponseController(w).Flush()
		// A watch that ends sooner is an error to a client.
		time.Sleep(1100 * time.Millisecond)
		return
	}
	next := ""
	// A client that has paged for this long would page on.
	if e.pages.Add(1) < 1000 && e.endless {
		next = `,"continue":"more"`
	}
	_, _ = fmt.Fprintf(w, `{"apiVersion":%q,"kind":"%sList","metadata":{"resourceVersion":"1"%s},"items":[%s]}`, apiVersion, kind, next, object())
}

// asked waits a moment, and reports an error if the client asks for more and more, or keeps more than the object of a list
// and one that it watches.
func (e *evil) asked(t *testing.T, stored func() int) {
	t.Helper()
	for range 30 {
		time.Sleep(100 * time.Millisecond)
		if pages, watches, kept := e.pages.Load(), e.watches.Load(), stored(); pages > 3 || kept > 2 {
			t.Fatalf("the client asks for %d pages and %d watches, and keeps %d objects", pages, watches, kept)
		}
	}
}

// TestLyingDiscovery: whatever a virtual API server calls the kinds that provider-kubernetes watches, it doesn't list or
// watch a resource of the tenant's.
func TestLyingDiscovery(t *testing.T) {
	t.Parallel()
	const (
		v1       = `{"metadata":{},"items":[{"metadata":{},"versions":[{"version":"v1","resources":[%s]}]}]}`
		argoproj = `{"metadata":{},"items":[{"metadata":{"name":"argoproj.io"},"versions":[{"version":"v1alpha1","resources":[%s]}]}]}`
	)
	resource := func(name, kind, scope string) string {
		return fmt.Sprintf(`{"resource":%q,"responseKind":{"kind":%q},"scope":%q,"verbs":["list","watch"]}`, name, kind, scope)
	}
	honest := map[string]string{
		"/api": fmt.Sprintf(v1, resource("configmaps", "ConfigMap", "Namespaced")), "/apis": fmt.Sprintf(argoproj, resource("applications", "Application", "Namespaced")),
		"/api/v1":                        `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","namespaced":true,"kind":"ConfigMap"}]}`,
		"/apis/argoproj.io/v1alpha1":     `{"kind":"APIResourceList","groupVersion":"argoproj.io/v1alpha1","resources":[{"name":"applications","namespaced":true,"kind":"Application"},{"name":"applications/status","kind":"Application"}]}`,
		"without resources of /api":      `{"kind":"APIVersions","versions":["v1"]}`,
		"without resources of /apis":     `{"kind":"APIGroupList","groups":[{"name":"argoproj.io","versions":[{"groupVersion":"argoproj.io/v1alpha1","version":"v1alpha1"}]}]}`,
		"content type of all resources":  withResources,
		"content type without resources": withoutResources,
	}
	for name, tc := range map[string]struct {
		kind schema.GroupVersionKind
		// lies is what the server answers instead, by path.
		lies map[string]string
		want string
	}{
		"OtherName": {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			map[string]string{"/api": fmt.Sprintf(v1, resource("evil", "ConfigMap", "Namespaced"))}, "calls kind ConfigMap evil"},
		"TwoNames": {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			map[string]string{"/api": fmt.Sprintf(v1, resource("configmaps", "ConfigMap", "Namespaced")+","+resource("evil", "ConfigMap", "Namespaced"))}, "calls kind ConfigMap evil"},
		"OtherGroup": {schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
			map[string]string{"/apis": fmt.Sprintf(argoproj, resource("evil", "Application", "Namespaced"))}, "calls kind Application evil"},
		"NoNamespaces": {schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
			map[string]string{"/apis": fmt.Sprintf(argoproj, resource("applications", "Application", "Cluster"))}, "in no namespaces"},
		"WithoutResources": {schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
			map[string]string{"/api": honest["without resources of /api"], "/apis": honest["without resources of /apis"], "type": withoutResources,
				"/apis/argoproj.io/v1alpha1": `{"kind":"APIResourceList","groupVersion":"argoproj.io/v1alpha1","resources":[{"name":"evil","namespaced":true,"kind":"Application"}]}`}, "without the resources"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &evil{endless: true}
			v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				contentType := virtualapi.MediaJSON
				if r.URL.Path == "/api" || r.URL.Path == "/apis" {
					if contentType = tc.lies["type"]; contentType == "" {
						contentType = withResources
					}
				}
				body, lies := tc.lies[r.URL.Path]
				if !lies {
					body = honest[r.URL.Path]
				}
				if body == "" {
					e.answer(w, r, tc.kind.GroupVersion().String(), tc.kind.Kind)
					return
				}
				proxytest.ReplyAs(w, contentType, body)
			})
			kept, err := providersCache(t, v, ctrlcache.Options{}, tc.kind)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
			e.asked(t, kept)
		})
	}
	t.Run("OfOneGroup", func(t *testing.T) {
		// The RESTMapper of provider-kubernetes asks for each group version by itself.
		v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"evil","namespaced":true,"kind":"ConfigMap"}]}`)
		})
		if status, text := v.Send(t, http.MethodGet, "/api/v1"); status != http.StatusBadGateway || !strings.Contains(text, "calls kind ConfigMap evil") {
			t.Errorf("got %d %s", status, text)
		}
	})
	for path, body := range honest {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		t.Run("Honest"+path, func(t *testing.T) {
			v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if strings.Count(path, "/") == 1 {
					proxytest.ReplyAs(w, withResources, body)
				} else {
					proxytest.ReplyAs(w, virtualapi.MediaJSON, body)
				}
			})
			if status, text := v.Send(t, http.MethodGet, path); status != http.StatusOK || text != body {
				t.Errorf("got %d %s", status, text)
			}
		})
	}
}

// TestOtherResources: a provider that lists and watches another resource than the proxy watches for it gets an error, and
// keeps nothing of it.
func TestOtherResources(t *testing.T) {
	t.Parallel()
	for name, endless := range map[string]bool{"Pages": true, "Watches": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &evil{endless: endless}
			v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) { e.answer(w, r, "v1", "ConfigMap") })
			kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.AddSpecific(kind, schema.GroupVersionResource{Version: "v1", Resource: "evil"}, schema.GroupVersionResource{Version: "v1", Resource: "evil"}, meta.RESTScopeNamespace)
			kept, err := providersCache(t, v, ctrlcache.Options{Mapper: mapper}, kind)
			if err != nil {
				t.Fatal(err)
			}
			e.asked(t, kept)
			if e.pages.Load() > 0 || e.watches.Load() > 0 {
				t.Errorf("the server is asked for %d lists and %d watches", e.pages.Load(), e.watches.Load())
			}
		})
	}
}

// providersCache watches a kind as provider-kubernetes does, and returns how many objects it keeps.
func providersCache(t *testing.T, v *proxytest.VirtualAPI, o ctrlcache.Options, kind schema.GroupVersionKind) (kept func() int, err error) {
	t.Helper()
	none := func() int { return 0 }
	c, err := ctrlcache.New(&rest.Config{Host: v.URL, BearerToken: v.Token}, o)
	if err != nil {
		return none, err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	i, err := c.GetInformer(t.Context(), u, ctrlcache.BlockUntilSynced(false))
	if err != nil {
		return none, err
	}
	go func() { _ = c.Start(t.Context()) }()
	return func() int { return len(i.(cache.SharedIndexInformer).GetStore().List()) }, nil
}
