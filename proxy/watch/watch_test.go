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
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// TestWatchedSummary: a provider that watches ConfigMaps gets events of the summary that it has read, for each change of it, and no others.
func TestWatchedSummary(t *testing.T) {
	t.Parallel()
	c := serveCluster(t, proxytest.Roomy(), proxytest.Brisk())
	events := informer(t, c.Client)
	events.none(t, 100*time.Millisecond, "before it is read")
	c.read()
	events.want(t, "added", "once it is read")
	c.sendEvent()
	events.none(t, 300*time.Millisecond, "without a change of the summary")
	c.becomes(0)
	events.want(t, "updated", "when a workload breaks")
	if c.read()[0].Available {
		t.Error("the provider reads a workload that is available")
	}
	c.mu.Lock()
	c.why = "0/1 nodes are available"
	c.mu.Unlock()
	events.want(t, "updated", "when it is known why, without an event in the virtual cluster")
	if why := c.read()[0].Why; !strings.Contains(why, "0/1 nodes") {
		t.Errorf("the provider reads %q", why)
	}
	c.becomes(1)
	events.want(t, "updated", "when the workload is mended")
	events.none(t, 300*time.Millisecond, "after that")
	// It is changed, and the former replicas run until the new ones do, which don't start.
	c.mu.Lock()
	c.former, c.why = 1, ""
	c.mu.Unlock()
	c.sendEvent()
	events.none(t, 300*time.Millisecond, "while nothing is in the way")
	c.mu.Lock()
	c.why = "0/1 nodes are available"
	c.mu.Unlock()
	events.want(t, "updated", "when something is, without an event in the virtual cluster")
	if is := c.read()[0]; !is.Available || !strings.Contains(is.Why, "0/1 nodes") {
		t.Errorf("the provider reads %+v", is)
	}
	c.mu.Lock()
	c.former = 0
	c.mu.Unlock()
	c.sendEvent()
	events.want(t, "updated", "when the change is rolled out")
	c.read()
	// The provider has read it by itself.
	c.mu.Lock()
	c.available = 0
	c.mu.Unlock()
	c.read()
	c.sendEvent()
	events.none(t, 300*time.Millisecond, "of what it has read")
	if c.others.Load() > 0 {
		t.Error("the virtual API server is asked for ConfigMaps")
	}
}

// TestGoneIsAChange: a virtual API server that doesn't answer is a change, once it isn't only starting anew, and so is one
// that answers again.
func TestGoneIsAChange(t *testing.T) {
	t.Parallel()
	// On a machine that is busy, a virtual API server that is well must answer, and start anew, within these.
	within, at := proxytest.Roomy(), proxytest.Brisk()
	within.Read, at.Grace = 4*time.Second, 1500*time.Millisecond
	for name, gone := range map[string]func(c *aCluster, is bool){
		"Gone": func(c *aCluster, is bool) {
			c.Gone.Store(is)
			if is {
				c.sendEvent()
			}
		},
		// Connections stay, and nothing is received.
		"Silent": func(c *aCluster, is bool) { c.hangs.Store(is) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serveCluster(t, within, at)
			events := informer(t, c.Client)
			c.read()
			events.want(t, "added", "once it is read")
			events.none(t, 10*at.MinPoll, "after that")
			start := time.Now()
			gone(c, true)
			if name == "Gone" {
				c.CloseAll()
			}
			events.want(t, "updated", "when it is gone")
			if took := time.Since(start); took < at.Grace {
				t.Errorf("the provider is notified after %s", took)
			}
			if _, err := summary(t, c.Client); err == nil {
				t.Error("the provider gets no error")
			}
			events.none(t, 2*at.Grace, "while it is gone")
			gone(c, false)
			events.want(t, "updated", "when it is back")
		})
	}
	c := serveCluster(t, within, at)
	events := informer(t, c.Client)
	c.read()
	events.want(t, "added", "once it is read")
	c.Gone.Store(true)
	c.CloseAll()
	time.Sleep(at.Grace / 3)
	c.Gone.Store(false)
	events.none(t, 2*at.Grace, "when it has started anew")
}

// TestHostileWatches: whatever a virtual API server sends in its watches, and however its workloads change, the rates at which it is polled
// and the provider is notified are bounded.
func TestHostileWatches(t *testing.T) {
	t.Parallel()
	at := proxytest.Brisk()
	at.MinPoll, at.MaxBackoff, at.Backoff = 100*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
	at.Burst, at.MinNotify = 3, time.Hour
	const run = 2 * time.Second
	object := func(w http.ResponseWriter, generation int32) {
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		_, _ = fmt.Fprintf(w, `{"metadata":{"generation":1},"spec":{"replicas":%d},"status":{"observedGeneration":1}}`, generation)
	}
	var sent atomic.Int64
	cases := map[string]http.HandlerFunc{
		"Endless": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
			for chunk := []byte(strings.Repeat("{", 64<<10)); ; sent.Add(int64(len(chunk))) {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
		"ManyEvents": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
			for r.Context().Err() == nil {
				_, _ = fmt.Fprintln(w, `{"type":"MODIFIED"}`)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
		},
		"EndsAtOnce": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", virtualapi.MediaJSON) },
		"Error":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"Gone":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) },
		"Redirect":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"Compressed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
			w.Header().Set("Content-Encoding", "gzip")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"NeverBegins": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"HangsUp":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, answer := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var watches, polls, n atomic.Int32
			v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Query().Get("watch") == "true":
					watches.Add(1)
					answer(w, r)
				case r.URL.Path == "/elsewhere":
					t.Error("a redirect is followed")
				default:
					// Another summary each time.
					polls.Add(1)
					object(w, n.Add(1))
				}
			}, proxytest.At(at))
			events := informer(t, v.Client)
			if _, err := summary(t, v.Client); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			time.Sleep(run)
			took := time.Since(start)
			// A client tries again on another connection what one doesn't answer.
			if most := 2*int32(took/at.Backoff) + 2; watches.Load() > most || watches.Load() == 0 {
				t.Errorf("%d watches in %s", watches.Load(), took)
			}
			if most := int32(took/at.MinPoll) + 2*int32(took/at.Resync) + 3; polls.Load() > most || polls.Load() < 2 {
				t.Errorf("%d polls in %s", polls.Load(), took)
			}
			// The event of the summary itself, and the burst.
			if is := len(events); is < 2 || is > at.Burst+1 {
				t.Errorf("the provider is notified %d times", is)
			}
			// What the kernel holds of a connection comes on top.
			if is := sent.Load(); is > 256<<10+16<<10*int64(2*run/time.Second)+16<<20 {
				t.Errorf("%d bytes are read", is)
			}
		})
	}
}

// TestWatchOfProvider: the protocol of a watch, beyond what an informer uses today.
func TestWatchOfProvider(t *testing.T) {
	t.Parallel()
	c := serveCluster(t, proxytest.Roomy(), proxytest.Brisk())
	maps := c.Client.CoreV1().ConfigMaps("")
	first := func(o metav1.ListOptions) (apiwatch.Event, <-chan apiwatch.Event) {
		t.Helper()
		w, err := maps.Watch(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		select {
		case e := <-w.ResultChan():
			return e, w.ResultChan()
		case <-time.After(proxytest.Soon):
			t.Fatal("no event")
		}
		return apiwatch.Event{}, nil
	}
	list, err := maps.List(t.Context(), metav1.ListOptions{Limit: 500, ResourceVersion: "0"})
	if err != nil || len(list.Items) != 0 || list.ResourceVersion == "" {
		t.Fatalf("before a summary is read: got %v, %v", list, err)
	}
	before := list.ResourceVersion
	c.read()
	if e, _ := first(metav1.ListOptions{ResourceVersion: before}); e.Type != apiwatch.Modified {
		t.Errorf("after a list without the summary: got %v", e)
	}
	list, err = maps.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != proxy.SummaryName([]proxy.Workload{apiServer}) || list.Items[0].ResourceVersion != list.ResourceVersion {
		t.Fatalf("got %v, %v", list, err)
	}
	if e, _ := first(metav1.ListOptions{}); e.Type != apiwatch.Added {
		t.Errorf("without a version: got %v", e)
	}
	e, rest := first(metav1.ListOptions{SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	end := <-rest
	if o, ok := end.Object.(*corev1.ConfigMap); e.Type != apiwatch.Added || end.Type != apiwatch.Bookmark || !ok || o.Annotations[metav1.InitialEventsAnnotationKey] != "true" || o.ResourceVersion != list.ResourceVersion {
		t.Errorf("with the initial events: got %v, %v", e, end)
	}
	for _, version := range []string{"1", "9223372036854775807"} {
		e, rest := first(metav1.ListOptions{ResourceVersion: version})
		if is, ok := e.Object.(*metav1.Status); e.Type != apiwatch.Error || !ok || is.Code != http.StatusGone {
			t.Errorf("with version %s of another proxy: got %v", version, e)
			continue
		}
		if _, more := <-rest; more {
			t.Error("such a watch goes on")
		}
	}
	start := time.Now()
	w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: new(int64(1))})
	if err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() {
		t.Errorf("got %v", e)
	}
	if took := time.Since(start); took < 900*time.Millisecond || took > proxytest.Soon {
		t.Errorf("a watch of a second takes %s", took)
	}
	if c.others.Load() > 0 {
		t.Error("the virtual API server is asked for ConfigMaps")
	}
}

// TestProxyRestarts: a provider reads again what a proxy that is gone has watched for it.
func TestProxyRestarts(t *testing.T) {
	t.Parallel()
	c := serveCluster(t, proxytest.Roomy(), proxytest.Brisk())
	events := informer(t, c.Client)
	c.read()
	events.want(t, "added", "once it is read")
	c.Restart()
	c.HangUp()
	events.want(t, "deleted", "after a restart")
	c.read()
	events.want(t, "added", "once it is read again")
	c.becomes(0)
	events.want(t, "updated", "when a workload breaks")
}

// TestCredentialsChange: a watch goes on, and the proxy polls with the credentials of the provider's last request.
func TestCredentialsChange(t *testing.T) {
	t.Parallel()
	c := serveCluster(t, proxytest.Roomy(), proxytest.Brisk())
	events := informer(t, c.Client)
	c.read()
	events.want(t, "added", "once it is read")
	credentials, err := proxy.ReadToken(c.Token)
	if err != nil {
		t.Fatal(err)
	}
	// Another chain with the same leaf: another token.
	credentials.Certificate = append(credentials.Certificate, credentials.Certificate...)
	token, err := credentials.Token()
	if err != nil {
		t.Fatal(err)
	}
	other, err := kubernetes.NewForConfig(&rest.Config{Host: c.URL, BearerToken: token})
	if err != nil {
		t.Fatal(err)
	}
	before := c.certificates.Load()
	if _, err := summary(t, other); err != nil {
		t.Fatal(err)
	}
	c.certificates.Store(0)
	c.becomes(0)
	events.want(t, "updated", "when a workload breaks")
	if n := c.certificates.Load(); n != 2*before {
		t.Errorf("it is polled with a chain of %d certificates, which isn't the last one", n)
	}
}

// TestNobodyWatches: a virtual cluster that no provider watches isn't polled or watched, nor one any more that no provider has watched for a
// while.
func TestNobodyWatches(t *testing.T) {
	t.Parallel()
	at := proxytest.Brisk()
	at.Keep = 50 * time.Millisecond
	c := serveCluster(t, proxytest.Roomy(), at)
	c.read()
	time.Sleep(200 * time.Millisecond)
	if c.reads.Load() != 1 || c.watches.Load() != 0 {
		t.Errorf("without a watch there are %d reads and %d watches", c.reads.Load(), c.watches.Load())
	}
	w, err := c.Client.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.read()
	proxytest.Await(t, "the proxy watches", func() bool { return c.watching.Load() > 0 })
	w.Stop()
	proxytest.Await(t, "the proxy stops watching", func() bool { return c.watching.Load() == 0 })
	// A poll that had begun may still arrive. Afterwards, there is none after an event.
	proxytest.Await(t, "the proxy stops polling", func() bool {
		reads := c.reads.Load()
		c.sendEvent()
		time.Sleep(200 * time.Millisecond)
		return c.reads.Load() == reads
	})
}

// TestBlockedWhileWatched: the proxy itself sends no requests to a virtual API server that is blocked.
func TestBlockedWhileWatched(t *testing.T) {
	t.Parallel()
	within := proxytest.Roomy()
	within.Read, within.Blocked = 3*time.Second, time.Hour
	c := serveCluster(t, within, proxytest.Brisk())
	events := informer(t, c.Client)
	c.read()
	events.want(t, "added", "once it is read")
	c.hangs.Store(true)
	var requests sync.WaitGroup
	for range limits.MaxFailures {
		requests.Go(func() {
			if _, err := summary(t, c.Client); err == nil {
				t.Error("a virtual API server answers that hangs")
			}
		})
	}
	requests.Wait()
	c.hangs.Store(false)
	// What is under way ends, and watches with it.
	time.Sleep(2 * within.Read)
	c.CloseAll()
	time.Sleep(within.Read)
	asked := c.Asked.Load()
	time.Sleep(2 * proxytest.Brisk().Grace)
	if now := c.Asked.Load(); now != asked {
		t.Errorf("it is asked %d times", now-asked)
	}
}
