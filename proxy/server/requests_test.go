package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// TestRequests: a virtual API server is asked for what the providers need, and for nothing else.
func TestRequests(t *testing.T) {
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
			v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				contentType := virtualapi.MediaJSON
				if r.URL.Path == "/api" || r.URL.Path == "/apis" {
					contentType = withResources
				}
				version := strings.TrimPrefix(strings.TrimPrefix(versioned.FindString(r.URL.Path), "/api/"), "/apis/")
				proxytest.ReplyAs(w, contentType, `{"apiVersion":"`+version+`"}`)
			})
			method, uri, _ := strings.Cut(tc.request, " ")
			status, text := v.Send(t, method, uri)
			if got := status == http.StatusOK; got != tc.want || (v.Asked.Load() > 0) != tc.want {
				t.Errorf("got %d %s, and the server was asked %d times", status, text, v.Asked.Load())
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
			v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { proxytest.ReplyAs(w, virtualapi.MediaJSON, tc.answer) })
			method, uri, _ := strings.Cut(tc.request, " ")
			status, text := v.Send(t, method, uri)
			if (status == http.StatusOK) != tc.passed || !tc.passed && !strings.Contains(text, "doesn't answer with an object of") {
				t.Errorf("got %d %s", status, text)
			}
		})
	}
}

// TestPages: a list has one page, also for a client that asks for more.
func TestPages(t *testing.T) {
	t.Parallel()
	e := &evil{endless: true}
	v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) { e.answer(w, r, "batch/v1", "Job") })
	jobs := v.Client.BatchV1().Jobs("argocd")
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
