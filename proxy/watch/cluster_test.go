package watch_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
)

func TestMain(m *testing.M) { proxytest.Main(m) }

// apiServer is the workload that the summary of these tests has.
var apiServer = proxy.Workload{Kind: "Deployment", Name: "argocd-server"}

// summary reads the summary of the workload, as provider-kubernetes does.
func summary(t *testing.T, client *kubernetes.Clientset) ([]proxy.Workload, error) {
	t.Helper()
	c, err := client.CoreV1().ConfigMaps("argocd").Get(t.Context(), proxy.SummaryName([]proxy.Workload{apiServer}), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return proxy.ReadSummary(c.Data[proxy.SummaryWorkloads]), nil
}

// aCluster is a virtual cluster with one Deployment, argocd-server.
type aCluster struct {
	*proxytest.VirtualAPI
	t *testing.T

	mu        sync.Mutex
	available int32
	former    int32 // replicas from before a change
	why       string
	// event is closed to have the watches send an event.
	event chan struct{}
	// hangs: nothing is answered, and watches send nothing.
	hangs atomic.Bool
	// watches, reads and others count requests, and watching how many watches there are now. certificates is how many the client of the
	// last read has sent.
	watches, reads, others, watching, certificates atomic.Int32
}

// serveCluster starts a virtual cluster in which the Deployment is available, and a proxy with these intervals.
func serveCluster(t *testing.T, l limits.Limits, at watch.Intervals) *aCluster {
	t.Helper()
	c := &aCluster{t: t, available: 1, event: make(chan struct{})}
	c.VirtualAPI = proxytest.Serve(t, c.answer, proxytest.With(l), proxytest.At(at))
	return c
}

func (c *aCluster) answer(w http.ResponseWriter, r *http.Request) {
	if c.hangs.Load() {
		<-r.Context().Done()
		return
	}
	c.mu.Lock()
	available, former, why := c.available, c.former, c.why
	c.mu.Unlock()
	switch {
	case r.URL.Path == "/apis/apps/v1/namespaces/argocd/deployments" && r.URL.Query().Get("watch") == "true":
		if want := "application/json;as=PartialObjectMetadata"; !strings.HasPrefix(r.Header.Get("Accept"), want) || r.URL.Query().Get("timeoutSeconds") == "" {
			c.t.Errorf("the proxy watches %s as %s", r.URL, r.Header.Get("Accept"))
		}
		c.watches.Add(1)
		c.watching.Add(1)
		defer c.watching.Add(-1)
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		for {
			_, _ = fmt.Fprintln(w, `{"type":"MODIFIED"}`)
			_ = http.NewResponseController(w).Flush()
			c.mu.Lock()
			event := c.event
			c.mu.Unlock()
			select {
			case <-r.Context().Done():
				return
			case <-event:
			}
		}
	case r.URL.Path == "/apis/apps/v1/namespaces/argocd/deployments/argocd-server":
		c.reads.Add(1)
		c.certificates.Store(int32(len(r.TLS.PeerCertificates)))
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		_, _ = fmt.Fprintf(w, `{"metadata":{"generation":1,"creationTimestamp":"2020-01-01T00:00:00Z"},"spec":{"selector":{"matchLabels":{"app":"server"}}},
			"status":{"observedGeneration":1,"updatedReplicas":%d,"availableReplicas":%[1]d,"replicas":%d}}`, available, available+former)
	case strings.HasSuffix(r.URL.Path, "/pods"):
		proxytest.Reply(w, &corev1.PodList{Items: []corev1.Pod{{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: why},
		}}}}})
	case strings.HasSuffix(r.URL.Path, "/events"):
		proxytest.Reply(w, &corev1.EventList{})
	case r.URL.Path == "/api/v1/namespaces/argocd/secrets":
		// It has no record of Helm.
		proxytest.Reply(w, &corev1.SecretList{})
	default:
		c.others.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}
}

// becomes changes the Deployment, and sends an event.
func (c *aCluster) becomes(available int32) {
	c.mu.Lock()
	c.available = available
	c.mu.Unlock()
	c.sendEvent()
}

// sendEvent has the watches of the virtual cluster send an event.
func (c *aCluster) sendEvent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.event)
	c.event = make(chan struct{})
}

// read reads the summary as the provider does.
func (c *aCluster) read() []proxy.Workload {
	c.t.Helper()
	summary, err := summary(c.t, c.Client)
	if err != nil {
		c.t.Fatal(err)
	}
	return summary
}

// events are those of an informer of provider-kubernetes, by the name of what has changed.
type events chan string

func (e events) none(t *testing.T, within time.Duration, when string) {
	t.Helper()
	select {
	case is := <-e:
		t.Errorf("%s: want no event, got %s", when, is)
	case <-time.After(within):
	}
}

func (e events) want(t *testing.T, want, when string) {
	t.Helper()
	select {
	case is := <-e:
		if is != want+" argocd/"+proxy.SummaryName([]proxy.Workload{apiServer}) {
			t.Errorf("%s: want %s, got %s", when, want, is)
		}
	case <-time.After(proxytest.Soon):
		t.Fatalf("%s: no event", when)
	}
}

// informer watches all ConfigMaps, as provider-kubernetes does for an Object with watch: true.
func informer(t *testing.T, client *kubernetes.Clientset) events {
	t.Helper()
	e := make(events, 1000)
	send := func(typ string) func(any) {
		return func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			is := o.(*corev1.ConfigMap)
			if len(is.Data) > 0 {
				t.Errorf("the informer gets %v", is.Data)
			}
			e <- typ + " " + is.Namespace + "/" + is.Name
		}
	}
	i := cache.NewSharedInformer(cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", "", fields.Everything()), &corev1.ConfigMap{}, 0)
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: send("added"), UpdateFunc: func(_, o any) { send("updated")(o) }, DeleteFunc: send("deleted")})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(stop) }))
	go i.Run(stop)
	if !cache.WaitForCacheSync(stop, i.HasSynced) {
		t.Fatal("the informer doesn't start")
	}
	return e
}
