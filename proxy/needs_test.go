package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
)

// Content types of discovery documents: of all groups with their resources, and of the older form without resources.
const (
	withResources    = mediaJSON + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	withoutResources = mediaJSON
)

// answerAs answers with JSON as a content type.
func answerAs(w http.ResponseWriter, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	_, _ = io.WriteString(w, body)
}

// TestNeeds: a virtual API server is asked for what the providers need, and for nothing else.
func TestNeeds(t *testing.T) {
	t.Parallel()
	const (
		passed, refused = true, false
		ns              = "/api/v1/namespaces/argocd"
	)
	for _, tc := range []struct {
		request string
		want    bool
	}{
		// Helm, and the RESTMappers of both providers.
		{"GET /version", passed},
		{"GET /api", passed},
		{"GET /apis", passed},
		{"GET /api/v1", passed},
		{"GET /apis/argoproj.io/v1alpha1", passed},
		{"GET /openapi/v3", passed},
		{"GET /openapi/v3/apis/argoproj.io/v1alpha1?hash=A", passed},
		{"GET /openapi/v2", refused},
		{"GET /metrics", refused},
		{"GET /", refused},
		{"GET /api/v2", passed},
		{"GET /apis/argoproj.io", refused},

		// Single objects.
		{"GET " + ns, passed},
		{"POST /api/v1/namespaces", passed},
		{"POST " + ns + "/secrets?fieldManager=helm", passed},
		{"GET " + ns + "/secrets/sh.helm.release.v1.argocd.v1", passed},
		{"PUT " + ns + "/secrets/sh.helm.release.v1.argocd.v1", passed},
		{"DELETE " + ns + "/secrets/sh.helm.release.v1.argocd.v1", passed},
		{"GET " + ns + "/secrets/argocd-initial-admin-secret", passed},
		{"PATCH /apis/argoproj.io/v1alpha1/namespaces/argocd/applications/bootstrap?dryRun=All&fieldManager=a&force=true", passed},
		{"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/applications.argoproj.io", passed},
		{"GET /apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", passed},
		{"DELETE /apis/batch/v1/namespaces/argocd/jobs/argocd-redis-secret-init", passed},
		{"DELETE " + ns + "/secrets", refused},
		{"POST " + ns + "/pods/argocd-server-0/exec?command=sh", refused},
		{"GET " + ns + "/pods/argocd-server-0/log", refused},
		{"GET /apis/apps/v1/namespaces/argocd/deployments/argocd-server/scale", refused},
		{"PUT /apis/apps/v1/namespaces/argocd/deployments", refused},
		{"POST /apis/apps/v1/namespaces/argocd/deployments/argocd-server", refused},
		{"GET " + ns + "/configmaps/a?watch=true", refused},
		{"HEAD " + ns, refused},
		{"OPTIONS " + ns, refused},
		{"CONNECT " + ns, refused},

		// Lists of one namespace: Helm's records, and what it waits for.
		{"GET " + ns + "/secrets?labelSelector=name%3Dargocd%2Cowner%3Dhelm", passed},
		{"GET " + ns + "/pods?labelSelector=app%3Da", passed},
		{"GET /apis/apps/v1/namespaces/argocd/replicasets?labelSelector=app%3Da", passed},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?fieldSelector=metadata.name%3Da&limit=500&resourceVersion=0", passed},
		{"GET " + ns + "/pods?labelSelector=app%3Da&limit=500&continue=x", refused},
		{"GET " + ns + "/pods?continue=", refused},
		// Helm's validation.
		{"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions", passed},
		{"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions?continue=x", refused},
		{"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions?watch=true", refused},
		// Lists and watches of all namespaces, which fill a provider's caches.
		{"GET /api/v1/evil?limit=500&resourceVersion=0", refused},
		{"GET /api/v1/evil?watch=true", refused},
		{"GET /api/v1/secrets", refused},
		{"GET /api/v1/namespaces", refused},
		{"GET /apis/argoproj.io/v1alpha1/evil?allowWatchBookmarks=true&sendInitialEvents=true&watch=true", refused},
		{"GET /apis/argoproj.io/v1/applications", refused},
		{"GET /api/v1/watch/namespaces/argocd/pods", refused},

		// A watch of one object: Helm's hooks.
		{"GET /apis/batch/v1/namespaces/argocd/jobs?allowWatchBookmarks=true&fieldSelector=metadata.name%3Da&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true", passed},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?fieldSelector=metadata.name%3Da&watch=1", passed},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch=true", refused},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch=true&labelSelector=a%3Db", refused},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch=true&fieldSelector=metadata.name%21%3Da", refused},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch=true&fieldSelector=metadata.name%3D", refused},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch=true&fieldSelector=metadata.name%3Da%2Cmetadata.namespace%3Db", refused},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch=true&fieldSelector=metadata.namespace%3Da", refused},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch=true&fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db", refused},
		{"GET /apis/batch/v1/jobs?watch=true&fieldSelector=metadata.name%3Da", refused},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch=TRUE&fieldSelector=metadata.name%3Da", refused},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch&fieldSelector=metadata.name%3Da", refused},
		{"GET /apis/batch/v1/namespaces/argocd/jobs?watch=false&watch=true&fieldSelector=metadata.name%3Da", refused},

		// Other ways to write a path or a query.
		{"GET /api/v1/%63onfigmaps", refused},
		{"GET " + ns + "/secrets%2Fa", refused},
		{"GET /api/v1/configmaps/", refused},
		{"GET /api/v1//configmaps", refused},
		{"GET //api/v1/configmaps", refused},
		{"GET /api/v1/namespaces/../configmaps", refused},
		{"GET /api/v1/namespaces/./configmaps", refused},
		{"GET /API/v1/namespaces/argocd/pods", refused},
		{"GET " + ns + "/pods?limit=1;continue=x", refused},
		{"GET " + ns + "/pods?%zz", refused},
	} {
		t.Run(tc.request, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, r *http.Request) {
				contentType := mediaJSON
				if r.URL.Path == "/api" || r.URL.Path == "/apis" {
					contentType = withResources
				}
				version := strings.TrimPrefix(strings.TrimPrefix(versioned.FindString(r.URL.Path), "/api/"), "/apis/")
				answerAs(w, contentType, `{"apiVersion":"`+version+`"}`)
			})
			method, uri, _ := strings.Cut(tc.request, " ")
			status, text := v.send(t, method, uri)
			if got := status == http.StatusOK; got != tc.want || (v.asked.Load() > 0) != tc.want {
				t.Errorf("got %d %s, and the server was asked %d times", status, text, v.asked.Load())
			}
			if method != http.MethodHead && !tc.want && !strings.Contains(text, "isn't asked for") {
				t.Errorf("the error says %q", text)
			}
		})
	}
}

// versioned begins the paths of an API version.
var versioned = regexp.MustCompile(`^/(?:api|apis/[^/]+)/[^/]+`)

// TestOtherVersion: a provider gets no object of another API version than the one that it has asked for. In what
// provider-kubernetes applies, it would believe that, and keep the OpenAPI document of one more version each time.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	const ingress, configMap = "/apis/networking.k8s.io/v1/namespaces/argocd/ingresses", "/api/v1/namespaces/argocd/configmaps"
	for name, tc := range map[string]struct {
		request, answer string
		passed          bool
	}{
		"Honest":          {"PATCH " + ingress + "/a?dryRun=All", `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress"}`, true},
		"HonestOfCore":    {"GET " + configMap + "/a", `{"apiVersion":"v1","kind":"ConfigMap"}`, true},
		"HonestDeletion":  {"DELETE " + ingress + "/a", `{"apiVersion":"v1","kind":"Status","status":"Success"}`, true},
		"HonestList":      {"GET " + ingress, `{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","items":[]}`, true},
		"OfDryRun":        {"PATCH " + ingress + "/a?dryRun=All", `{"apiVersion":"evil1/v1","kind":"Ingress"}`, false},
		"OfPatch":         {"PATCH " + configMap + "/a", `{"apiVersion":"evil1/v1","kind":"ConfigMap"}`, false},
		"OfUpdate":        {"PUT " + configMap + "/a", `{"apiVersion":"v2","kind":"ConfigMap"}`, false},
		"OfCreation":      {"POST " + configMap, `{"apiVersion":"evil1/v1","kind":"ConfigMap"}`, false},
		"OfRead":          {"GET " + ingress + "/a", `{"apiVersion":"v1","kind":"Ingress"}`, false},
		"OfApplication":   {"PATCH /apis/argoproj.io/v1alpha1/namespaces/argocd/applications/a", `{"apiVersion":"evil1/v1","kind":"Application"}`, false},
		"OfSecret":        {"GET /api/v1/namespaces/argocd/secrets/a", `{"apiVersion":"evil1/v1","kind":"Secret"}`, false},
		"Twice":           {"PATCH " + configMap + "/a", `{"apiVersion":"v1","apiVersion":"evil1/v1","kind":"ConfigMap"}`, false},
		"ThenNone":        {"PATCH " + configMap + "/a", `{"apiVersion":"v1","apiVersion":null,"kind":"ConfigMap"}`, false},
		"OtherCase":       {"PATCH " + configMap + "/a", `{"apiVersion":"evil1/v1","ApiVersion":"v1","kind":"ConfigMap"}`, false},
		"None":            {"PATCH " + configMap + "/a", `{"kind":"ConfigMap"}`, false},
		"NoText":          {"PATCH " + configMap + "/a", `{"apiVersion":{},"kind":"ConfigMap"}`, false},
		"NoJSON":          {"PATCH " + configMap + "/a", "apiVersion: v1\nkind: ConfigMap", false},
		"SuccessOfUpdate": {"PUT " + ingress + "/a", `{"apiVersion":"v1","kind":"Status","status":"Success"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := serve(t, func(w http.ResponseWriter, _ *http.Request) { answerAs(w, mediaJSON, tc.answer) })
			method, uri, _ := strings.Cut(tc.request, " ")
			status, text := v.send(t, method, uri)
			if (status == http.StatusOK) != tc.passed || !tc.passed && !strings.Contains(text, "doesn't answer with an object of") {
				t.Errorf("got %d %s", status, text)
			}
		})
	}
}

// send sends a request as it is written, and returns the status and the body of the answer.
func (v *virtualAPI) send(t *testing.T, method, uri string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, v.front, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = uri
	if strings.HasPrefix(uri, "//") {
		r.URL.Opaque = "//" + r.Host + uri
	}
	r.Header.Set("Authorization", "Bearer "+v.token)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// noInitialEvents answers as an API server that can't send a list as the first events of a watch. client-go 0.33, of
// provider-kubernetes, doesn't ask for that.
func noInitialEvents(w http.ResponseWriter) {
	w.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
}

// evil answers for a resource of a tenant's own: each page of a list has another object; a watch tells of other objects, and
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
	w.Header().Set("Content-Type", mediaJSON)
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
			v := serve(t, func(w http.ResponseWriter, r *http.Request) {
				contentType := mediaJSON
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
				answerAs(w, contentType, body)
			})
			kept, err := v.providersCache(t, ctrlcache.Options{}, tc.kind)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
			e.asked(t, kept)
		})
	}
	t.Run("OfOneGroup", func(t *testing.T) {
		// The RESTMapper of provider-kubernetes asks for each group version by itself.
		v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			answerAs(w, mediaJSON, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"evil","namespaced":true,"kind":"ConfigMap"}]}`)
		})
		if status, text := v.send(t, http.MethodGet, "/api/v1"); status != http.StatusBadGateway || !strings.Contains(text, "calls kind ConfigMap evil") {
			t.Errorf("got %d %s", status, text)
		}
	})
	for path, body := range honest {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		t.Run("Honest"+path, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if strings.Count(path, "/") == 1 {
					answerAs(w, withResources, body)
				} else {
					answerAs(w, mediaJSON, body)
				}
			})
			if status, text := v.send(t, http.MethodGet, path); status != http.StatusOK || text != body {
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
			v := serve(t, func(w http.ResponseWriter, r *http.Request) { e.answer(w, r, "v1", "ConfigMap") })
			kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.AddSpecific(kind, schema.GroupVersionResource{Version: "v1", Resource: "evil"}, schema.GroupVersionResource{Version: "v1", Resource: "evil"}, meta.RESTScopeNamespace)
			kept, err := v.providersCache(t, ctrlcache.Options{Mapper: mapper}, kind)
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
func (v *virtualAPI) providersCache(t *testing.T, o ctrlcache.Options, kind schema.GroupVersionKind) (kept func() int, err error) {
	t.Helper()
	none := func() int { return 0 }
	c, err := ctrlcache.New(&rest.Config{Host: v.front, BearerToken: v.token}, o)
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

// hook returns what Helm lists and watches of a Job of its hooks.
func (v *virtualAPI) hook() cache.ListerWatcher {
	return cache.NewListWatchFromClient(v.client.BatchV1().RESTClient(), "jobs", "argocd", fields.OneTermEqualSelector("metadata.name", "hook"))
}

// TestHooks: Helm sees the Job of a hook complete, and nothing else, however the virtual API server answers.
func TestHooks(t *testing.T) {
	t.Parallel()
	job := func(name, condition string) string {
		return `{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"argocd","name":"` + name + `","resourceVersion":"7","generation":9007199254740993},"status":{"conditions":[` + condition + `]}}`
	}
	const complete = `{"type":"Complete","status":"True"}`
	until := func(v *virtualAPI) (*batchv1.Job, error) {
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		e, err := watchtools.UntilWithSync(ctx, v.hook(), &batchv1.Job{}, nil, func(e watch.Event) (bool, error) {
			return len(e.Object.(*batchv1.Job).Status.Conditions) > 0, nil
		})
		if err != nil {
			return nil, err
		}
		return e.Object.(*batchv1.Job), nil
	}
	for name, watches := range map[string]http.HandlerFunc{
		"InitialEvents": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintln(w, `{"type":"ADDED","object":`+job("hook", "")+`}`)
			_, _ = fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"apiVersion":"batch/v1","kind":"Job","metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
			_, _ = fmt.Fprintln(w, `{"type":"MODIFIED","object":`+job("hook", complete)+`}`)
		},
		"List": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("sendInitialEvents") == "true" {
				noInitialEvents(w)
				return
			}
			_, _ = fmt.Fprintln(w, `{"type":"MODIFIED","object":`+job("hook", complete)+`}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within := roomy()
			within.Watch = 10 * time.Second
			v := serveWithin(t, within, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", mediaJSON)
				if r.URL.Path != "/apis/batch/v1/namespaces/argocd/jobs" || r.URL.Query().Get("fieldSelector") != "metadata.name=hook" {
					t.Errorf("asked for %s", r.URL)
				}
				if r.URL.Query().Get("watch") != "true" {
					_, _ = io.WriteString(w, `{"apiVersion":"batch/v1","kind":"JobList","metadata":{"resourceVersion":"7"},"items":[`+job("hook", "")+`]}`)
					return
				}
				watches(w, r)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			is, err := until(v)
			if err != nil || is.GetName() != "hook" || is.GetGeneration() != 9007199254740993 {
				t.Errorf("got %v, %v", is, err)
			}
		})
	}
	for name, begins := range map[string]string{
		"OtherObjects":   ``,
		"OtherNamespace": `{"type":"ADDED","object":` + strings.Replace(job("hook", ""), `"argocd"`, `"other"`, 1) + `}`,
		"Twice":          `{"type":"ADDED","object":` + strings.Replace(job("hook", ""), `"status"`, `"metadata":{"namespace":"argocd","name":"other"},"status"`, 1) + `}`,
		"OtherCase":      `{"type":"ADDED","object":` + job("other", "") + `,"Object":` + job("hook", "") + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &evil{}
			v := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if query := r.URL.Query(); query.Get("watch") == "true" && query.Get("sendInitialEvents") == "" {
					w.Header().Set("Content-Type", mediaJSON)
					_, _ = fmt.Fprintln(w, begins)
				}
				e.answer(w, r, "batch/v1", "Job")
			})
			store, i := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: v.hook(), ObjectType: &batchv1.Job{}, Handler: cache.ResourceEventHandlerFuncs{}})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go i.RunWithContext(ctx)
			e.asked(t, func() int { return len(store.List()) })
		})
	}
}

// TestShortWatch: a watch that ends at once doesn't have a client watch again all the time.
func TestShortWatch(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) { answerAs(w, mediaJSON, "") })
	begins := time.Now()
	if status, text := v.send(t, http.MethodGet, "/apis/batch/v1/namespaces/argocd/jobs?fieldSelector=metadata.name%3Da&watch=true"); status != http.StatusOK || text != "" {
		t.Errorf("got %d %s", status, text)
	}
	if took := time.Since(begins); took < shortestWatch {
		t.Errorf("it took %s", took)
	}
}

// TestEventOf: nothing of an event is passed on that wasn't looked at.
func TestEventOf(t *testing.T) {
	t.Parallel()
	const hook = `{"metadata":{"name":"hook","namespace":"argocd"}}`
	for _, more := range []string{`"Object":{"metadata":{"name":"other"}}`, `"OBJECT":{"metadata":{"name":"other"}}`, `"other":1`} {
		event, err := DefaultLimits.eventOf(target{"argocd", "hook"}, []byte(`{"type":"ADDED","object":`+hook+`,`+more+`}`))
		if want := `{"type":"ADDED","object":` + hook + `}`; err != nil || string(event) != want {
			t.Errorf("with %s: got %s, %v, want %s", more, event, err, want)
		}
	}
}

// TestPages: a list has one page, also for a client that asks for more.
func TestPages(t *testing.T) {
	t.Parallel()
	e := &evil{endless: true}
	v := serve(t, func(w http.ResponseWriter, r *http.Request) { e.answer(w, r, "batch/v1", "Job") })
	jobs := v.client.BatchV1().Jobs("argocd")
	first, err := jobs.List(t.Context(), metav1.ListOptions{Limit: 500})
	if err != nil || first.Continue == "" || len(first.Items) != 1 {
		t.Fatalf("got %v, %v", first, err)
	}
	if _, err := jobs.List(t.Context(), metav1.ListOptions{Limit: 500, Continue: first.Continue}); err == nil || !strings.Contains(err.Error(), "isn't asked for") {
		t.Errorf("a second page: %v", err)
	}
	if e.pages.Load() != 1 {
		t.Errorf("the server was asked for %d pages", e.pages.Load())
	}
}
