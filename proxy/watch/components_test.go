package watch_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// TestWatchedComponents: a provider gets events of both summaries, of Argo CD's workloads and of those of components, each in its own namespace.
func TestWatchedComponents(t *testing.T) {
	t.Parallel()
	var available, records atomic.Int32
	available.Store(1)
	const ofComponent = "/apis/apps/v1/namespaces/argo/deployments"
	v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		switch n := int32(1); {
		case r.URL.Query().Get("watch") != "":
			<-r.Context().Done()
		case r.URL.Path == ofComponent+"/server":
			n = available.Load()
			fallthrough
		case r.URL.Path == "/apis/apps/v1/namespaces/argocd/deployments/argocd-server":
			_, _ = fmt.Fprintf(w, `{"metadata":{"generation":1},"spec":{"replicas":1},"status":{"observedGeneration":1,"updatedReplicas":1,"availableReplicas":%d}}`, n)
		case r.URL.Path == "/api/v1/namespaces/argocd/secrets":
			records.Add(1)
			_, _ = fmt.Fprint(w, `{"kind":"SecretList","apiVersion":"v1","metadata":{},"items":[]}`)
		case strings.HasSuffix(r.URL.Path, "/pods") || strings.HasSuffix(r.URL.Path, "/events"):
			_, _ = fmt.Fprint(w, `{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}`)
		default:
			t.Errorf("asked for %s", r.URL)
		}
	}, proxytest.At(proxytest.Brisk()))
	argocd := proxy.SummaryName([]proxy.Workload{{Kind: "Deployment", Name: "argocd-server"}})
	components := proxy.ComponentsName([]proxy.Workload{{Kind: "Deployment", Namespace: "argo", Name: "server"}})
	read := func(name string) proxy.Workload {
		t.Helper()
		is, err := v.Client.CoreV1().ConfigMaps("argocd").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return proxy.ReadSummary(is.Data[proxy.SummaryWorkloads])[0]
	}
	if !read(components).Available || records.Load() != 0 {
		t.Fatalf("%s isn't available, or it looks at Argo CD %d times", components, records.Load())
	}
	if !read(argocd).Available || records.Load() == 0 {
		t.Fatalf("%s isn't available, or it doesn't look at Argo CD", argocd)
	}
	w, err := v.Client.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	next := func() string {
		t.Helper()
		select {
		case e := <-w.ResultChan():
			o, _ := e.Object.(metav1.Object)
			return fmt.Sprint(e.Type, " ", o.GetName())
		case <-time.After(proxytest.Soon):
			t.Fatal("no event")
			return ""
		}
	}
	added := []string{next(), next()}
	slices.Sort(added)
	if want := []string{"ADDED " + components, "ADDED " + argocd}; !slices.Equal(added, want) {
		t.Errorf("want %s, got %s", want, added)
	}
	available.Store(0)
	v.CloseAll() // What has watched the list looks again.
	if got := next(); got != "MODIFIED "+components {
		t.Errorf("a component breaks: %s", got)
	}
	if is := read(components); is.Available || is.Namespace != "argo" {
		t.Errorf("the provider reads %+v", is)
	}
}
