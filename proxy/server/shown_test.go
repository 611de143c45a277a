package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/server"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// TestInterruptedHelm: provider-helm reads that a release has failed in which Helm was interrupted, and nothing that it writes is changed.
func TestInterruptedHelm(t *testing.T) {
	t.Parallel()
	is := secretWith("sh.helm.release.v1.argocd.v2", record(`{"info":{"status":"pending-rollback"}}`))
	is.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	is.Labels = map[string]string{"owner": "helm", "name": "argocd", "status": "pending-rollback", "version": "2"}
	v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { proxytest.Reply(w, is) })
	status := func(s *corev1.Secret, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(s.Data["release"])))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	secrets := v.Client.CoreV1().Secrets("argocd")
	if got := status(secrets.Get(context.Background(), "a", metav1.GetOptions{})); got != `{"info":{"status":"failed"}}` {
		t.Errorf("it reads %s", got)
	}
	if got := status(secrets.Update(context.Background(), &is, metav1.UpdateOptions{})); got != `{"info":{"status":"pending-rollback"}}` {
		t.Errorf("it has written %s", got)
	}
}

// TestOpenAPIv3: an API server calls its list of documents text. A list with other paths is refused.
func TestOpenAPIv3(t *testing.T) {
	t.Parallel()
	path := "/openapi/v3/api/v1?hash=A"
	v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi/v3" {
			proxytest.ReplyAs(w, "text/plain; charset=utf-8", `{"paths":{"api/v1":{"serverRelativeURL":"`+path+`"}}}`)
			return
		}
		proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"openapi":"3.0.0","components":{"schemas":{"Other":{"type":"object"}}}}`)
	})
	paths, err := v.Client.OpenAPIV3().Paths()
	if err != nil || paths["api/v1"] == nil {
		t.Errorf("got %v, %v", paths, err)
	}
	if status, got := v.Send(t, http.MethodGet, path); status != http.StatusOK || strings.Contains(got, "Other") {
		t.Errorf("the document isn't pruned: %d %s", status, got)
	}
	path = "/api/v1/secrets"
	if _, err := v.Client.OpenAPIV3().Paths(); err == nil || !strings.Contains(err.Error(), "has the path "+path) {
		t.Errorf("got %v", err)
	}
}

// TestOpenAPIv2: Helm requests version 2 only where version 3 can't be read.
func TestOpenAPIv2(t *testing.T) {
	t.Parallel()
	v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { proxytest.Reply(w, config(nil)) })
	_, err := v.Client.OpenAPISchema()
	if err == nil || !strings.Contains(err.Error(), "isn't asked for /openapi/v2") || v.Asked.Load() != 0 {
		t.Errorf("the server was asked %d times: %v", v.Asked.Load(), err)
	}
	if _, err := getConfig(v); err != nil {
		t.Error(err)
	}
}

// TestConfigMaps: a ConfigMap of the proxy's has what its name asks for. A dry run of provider-kubernetes changes nothing, and nothing else is
// done.
func TestConfigMaps(t *testing.T) {
	t.Parallel()
	summary, none := proxy.SummaryName([]proxy.Workload{{Kind: "Deployment", Name: "argocd-server"}}), proxy.ConnectionsName(nil)
	var reads atomic.Int32
	v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /apis/apps/v1/namespaces/argocd/deployments/argocd-server":
			reads.Add(1)
		case "GET /api/v1/namespaces/argocd/pods", "GET /api/v1/namespaces/argocd/secrets":
		default:
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		w.WriteHeader(http.StatusNotFound)
	})
	maps := v.Client.CoreV1().ConfigMaps("argocd")
	for name, want := range map[string]map[string]string{
		summary: {proxy.SummaryWorkloads: `[{"kind":"Deployment","name":"argocd-server","missing":true,"replicas":0,"available":false}]`, proxy.SummaryUnavailable: "deployment.argocd-server", proxy.SummaryStopped: ""},
		none:    {proxy.SummaryConnections: "[]"},
	} {
		got, err := maps.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || got.Name != name || got.Namespace != "argocd" || cmp.Diff(want, got.Data) != "" {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		applied, err := maps.Patch(t.Context(), name, types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "provider"})
		if err != nil || applied.Name != name || len(applied.Data) != 0 {
			t.Errorf("%s: a dry run: got %v, %v", name, applied, err)
		}
		if _, err := maps.Patch(t.Context(), name, types.ApplyPatchType, []byte(`{}`), metav1.PatchOptions{FieldManager: "provider"}); err == nil {
			t.Errorf("%s can be applied", name)
		}
		if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err == nil {
			t.Errorf("%s can be deleted", name)
		}
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("the Deployment is read %d times", n)
	}
	for _, bad := range []string{proxy.SummaryPrefix + "secret.a", proxy.ConnectionsPrefix + "c.short"} {
		if got, err := maps.Get(t.Context(), bad, metav1.GetOptions{}); err == nil {
			t.Errorf("%s: got %v", bad, got)
		}
	}
}

// application is a first Application as an API server returns it, with the time at which Argo CD has compared it, and its health.
const application = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application",
 "metadata":{"name":"bootstrap","namespace":"argocd","uid":"u","generation":%[1]d,"resourceVersion":"%[1]d","managedFields":[
  {"manager":"provider-kubernetes/bootstrap-1","operation":"Apply"},{"manager":"argocd-application-controller","time":"%[1]d"}]},
 "spec":{"project":"default","revisionHistoryLimit":3},
 "status":{"reconciledAt":"%[1]d","resources":[{"kind":"Deployment","name":"web"}],"history":[{"id":0}],
  "sync":{"status":"Synced","revision":"abc","comparedTo":{"source":{"repoURL":"u"}}},"health":{"status":"%[2]s","lastTransitionTime":"%[1]d"},
  "operationState":{"phase":"Succeeded","message":"ok","startedAt":"%[1]d","syncResult":{"resources":[]}},
  "conditions":[{"type":"ComparisonError","message":"m","lastTransitionTime":"%[1]d"}]}}`

// TestShowApplication: a provider gets what the function reads of an Application, and what it needs itself to apply it.
func TestShowApplication(t *testing.T) {
	const want = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"managedFields":[{"manager":"provider-kubernetes/bootstrap-1","operation":"Apply"}],"name":"bootstrap","namespace":"argocd","uid":"u"},` +
		`"spec":{"project":"default","revisionHistoryLimit":3},"status":{"conditions":[{"message":"m","type":"ComparisonError"}],"health":{"status":"Healthy"},"operationState":{"message":"ok","phase":"Succeeded"},"sync":{"revision":"abc","status":"Synced"}}}`
	for _, tc := range [][2]string{
		{fmt.Sprintf(application, 1, "Healthy"), want},
		{`no JSON`, `no JSON`},
		{`{}`, `{}`},
		{`{"metadata":[],"status":{"sync":[],"conditions":{}}}`, `{"metadata":[],"status":{}}`},
		{`{"metadata":{"managedFields":["a",{"manager":1}]},"status":""}`, `{"metadata":{},"status":""}`},
		{`{"spec":{"a":"<&>"}}`, `{"spec":{"a":"<&>"}}`},
	} {
		got, err := server.ShowApplication(proxytest.Quick(), []byte(tc[0]))
		if diff := cmp.Diff(tc[1], string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v, -want, +got:\n%s", tc[0], err, diff)
		}
	}
}

// TestShowApplicationIsWithinLimits: an Application isn't longer as the provider gets it than a response may be, whatever it takes to encode
// it.
func TestShowApplicationIsWithinLimits(t *testing.T) {
	t.Parallel()
	var fill atomic.Value
	most := proxytest.Quick().Response
	v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n := (int(most) - 200) / len(fill.Load().(string))
		proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":"argocd","name":"a"},"spec":{"a":"`+strings.Repeat(fill.Load().(string), n)+`"}}`)
	})
	for text, status := range map[string]int{"<": http.StatusOK, "\u2028": http.StatusBadGateway, "\xff": http.StatusBadGateway} {
		fill.Store(text)
		got, body := v.Send(t, http.MethodGet, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/a")
		if got != status || int64(len(body)) > most {
			t.Errorf("with %q: got %d and %d bytes: %s", text, got, len(body), body[:100])
		}
	}
}
