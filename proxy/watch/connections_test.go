package watch_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// TestWithoutTriggers: connections, of which no list in the virtual cluster reports changes, are polled, and a watch of ConfigMaps has an event
// when one changes.
func TestWithoutTriggers(t *testing.T) {
	t.Parallel()
	const cluster = "https://203.0.113.7:6443"
	var connected, polls atomic.Int32
	connected.Store(1)
	v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/v1/namespaces/argocd/pods":
			proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"controller-0"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}`)
		case strings.HasSuffix(r.URL.Path, ":8082/proxy/metrics"):
			polls.Add(1)
			proxytest.ReplyAs(w, "text/plain", fmt.Sprintf("argocd_cluster_connection_status{k8s_version=\"1.36\",server=%q} %d\n", cluster, connected.Load()))
		default:
			http.NotFound(w, r)
		}
	}, proxytest.At(proxytest.Brisk()))
	key := proxy.ClusterKey(cluster)
	name := proxy.ConnectionsName([]proxy.ConnectionKey{key})
	read := func() bool {
		t.Helper()
		is, err := v.Client.CoreV1().ConfigMaps("argocd").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return proxy.ReadConnections(is.Data[proxy.SummaryConnections])[key].Connected
	}
	if !read() {
		t.Fatal("isn't connected")
	}
	w, err := v.Client.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	want := func(typ string) {
		t.Helper()
		select {
		case e := <-w.ResultChan():
			o, _ := e.Object.(metav1.Object)
			if got := fmt.Sprint(e.Type, " ", o.GetName()); got != typ+" "+name {
				t.Fatalf("want %s, got %s", typ, got)
			}
		case <-time.After(proxytest.Soon):
			t.Fatal("no event")
		}
	}
	want("ADDED")
	connected.Store(0)
	want("MODIFIED")
	if read() {
		t.Error("is connected")
	}
	// At rest there are no events.
	before := polls.Load()
	proxytest.Await(t, "it is polled", func() bool { return polls.Load() >= before+5 })
	select {
	case e := <-w.ResultChan():
		t.Errorf("at rest: %v", e)
	default:
	}
}
