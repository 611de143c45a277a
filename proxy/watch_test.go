package proxy

import (
	"encoding/json"
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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// brisk is a pace that a test can wait for.
var brisk = pace{
	settle: time.Millisecond, look: 20 * time.Millisecond, unready: 30 * time.Millisecond, unreadyFor: 5 * time.Second,
	probe: 50 * time.Millisecond, grace: 300 * time.Millisecond, retry: 50 * time.Millisecond,
	listen: time.Minute, again: 5 * time.Millisecond, atLast: 100 * time.Millisecond, linger: 5 * time.Second,
	news: time.Millisecond, burst: 10,
}

// soon is when a test gives up.
const soon = 20 * time.Second

// aCluster is a virtual cluster with one Deployment, argocd-server.
type aCluster struct {
	*virtualAPI
	t *testing.T

	mu        sync.Mutex
	available int32
	former    int32 // replicas from before a change
	why       string
	// bells are closed to have the watches tell of something.
	bells chan struct{}
	// hangs: nothing is answered, and watches say nothing.
	hangs atomic.Bool
	// listens, looks and others count requests.
	listens, looks, others atomic.Int32
}

// argocdRuns returns a virtual cluster in which the Deployment is available, and whose proxy
// has that pace.
func argocdRuns(t *testing.T, limits Limits, at pace) *aCluster {
	t.Helper()
	c := &aCluster{t: t, available: 1, bells: make(chan struct{})}
	c.virtualAPI = serveWithin(t, limits, c.answers)
	c.proxy.pace = at
	return c
}

func (c *aCluster) answers(w http.ResponseWriter, r *http.Request) {
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
		c.listens.Add(1)
		w.Header().Set("Content-Type", mediaJSON)
		for {
			_, _ = fmt.Fprintln(w, `{"type":"MODIFIED"}`)
			_ = http.NewResponseController(w).Flush()
			c.mu.Lock()
			bells := c.bells
			c.mu.Unlock()
			select {
			case <-r.Context().Done():
				return
			case <-bells:
			}
		}
	case r.URL.Path == "/apis/apps/v1/namespaces/argocd/deployments/argocd-server":
		c.looks.Add(1)
		w.Header().Set("Content-Type", mediaJSON)
		_, _ = fmt.Fprintf(w, `{"metadata":{"generation":1,"creationTimestamp":"2020-01-01T00:00:00Z"},"spec":{"selector":{"matchLabels":{"app":"server"}}},
			"status":{"observedGeneration":1,"updatedReplicas":%d,"availableReplicas":%[1]d,"replicas":%d}}`, available, available+former)
	case strings.HasSuffix(r.URL.Path, "/pods"):
		reply(w, &corev1.PodList{Items: []corev1.Pod{{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: why},
		}}}}})
	case strings.HasSuffix(r.URL.Path, "/events"):
		reply(w, &corev1.EventList{})
	default:
		c.others.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}
}

// becomes changes the Deployment, and rings.
func (c *aCluster) becomes(available int32) {
	c.mu.Lock()
	c.available = available
	c.mu.Unlock()
	c.rings()
}

// rings has the watches of the virtual cluster tell of something.
func (c *aCluster) rings() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.bells)
	c.bells = make(chan struct{})
}

// sees asks for the summary as the provider does.
func (c *aCluster) sees() []Workload {
	c.t.Helper()
	seen, err := summary(c.t, c.virtualAPI, apiServer)
	if err != nil {
		c.t.Fatal(err)
	}
	return seen
}

// events is what an informer of provider-kubernetes tells, by the name of what has changed.
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
		if is != want+" argocd/"+SummaryName([]Workload{apiServer}) {
			t.Errorf("%s: want %s, got %s", when, want, is)
		}
	case <-time.After(soon):
		t.Fatalf("%s: no event", when)
	}
}

// informer watches all ConfigMaps, as provider-kubernetes does for an Object with watch: true.
func informer(t *testing.T, client *kubernetes.Clientset) events {
	t.Helper()
	e := make(events, 1000)
	tell := func(typ string) func(any) {
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
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: tell("added"), UpdateFunc: func(_, o any) { tell("updated")(o) }, DeleteFunc: tell("deleted")})
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

// TestWatchedSummary: a provider that watches ConfigMaps is told of the summary that it has asked for, and of each change of
// it, and of nothing else.
func TestWatchedSummary(t *testing.T) {
	t.Parallel()
	c := argocdRuns(t, roomy(), brisk)
	told := informer(t, c.client)
	told.none(t, 100*time.Millisecond, "before it is asked for")
	c.sees()
	told.want(t, "added", "once it is asked for")
	c.rings()
	told.none(t, 300*time.Millisecond, "without a change of the summary")
	c.becomes(0)
	told.want(t, "updated", "when a workload breaks")
	if c.sees()[0].Available {
		t.Error("the provider sees a workload that is available")
	}
	c.mu.Lock()
	c.why = "0/1 nodes are available"
	c.mu.Unlock()
	told.want(t, "updated", "when it is known why, without a ring")
	if why := c.sees()[0].Why; !strings.Contains(why, "0/1 nodes") {
		t.Errorf("the provider sees %q", why)
	}
	c.becomes(1)
	told.want(t, "updated", "when the workload is mended")
	told.none(t, 300*time.Millisecond, "after that")
	// It is changed, and the former replicas run until the new ones do, which don't start.
	c.mu.Lock()
	c.former, c.why = 1, ""
	c.mu.Unlock()
	c.rings()
	told.none(t, 300*time.Millisecond, "while nothing is in the way")
	c.mu.Lock()
	c.why = "0/1 nodes are available"
	c.mu.Unlock()
	told.want(t, "updated", "when something is, without a ring")
	if is := c.sees()[0]; !is.Available || !strings.Contains(is.Why, "0/1 nodes") {
		t.Errorf("the provider sees %+v", is)
	}
	c.mu.Lock()
	c.former = 0
	c.mu.Unlock()
	c.rings()
	told.want(t, "updated", "when the change is rolled out")
	c.sees()
	// The provider has looked by itself.
	c.mu.Lock()
	c.available = 0
	c.mu.Unlock()
	c.sees()
	c.rings()
	told.none(t, 300*time.Millisecond, "of what it has seen")
	if c.others.Load() > 0 {
		t.Error("the virtual API server is asked for ConfigMaps")
	}
}

// TestGoneIsAChange: a virtual API server that doesn't answer is a change, once it isn't only starting anew, and so is one
// that answers again.
func TestGoneIsAChange(t *testing.T) {
	t.Parallel()
	// On a machine that is busy, a virtual API server that is well must answer, and start anew, within these.
	within, pace := roomy(), brisk
	within.Read, pace.grace = 4*time.Second, 1500*time.Millisecond
	for name, gone := range map[string]func(c *aCluster, is bool){
		"Gone": func(c *aCluster, is bool) {
			c.gone.Store(is)
			if is {
				c.rings()
			}
		},
		// Connections stay, and nothing is heard.
		"Silent": func(c *aCluster, is bool) { c.hangs.Store(is) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := argocdRuns(t, within, pace)
			told := informer(t, c.client)
			c.sees()
			told.want(t, "added", "once it is asked for")
			told.none(t, 10*pace.look, "after that")
			start := time.Now()
			gone(c, true)
			if name == "Gone" {
				c.closeAll()
			}
			told.want(t, "updated", "when it is gone")
			if took := time.Since(start); took < pace.grace {
				t.Errorf("the provider is told after %s", took)
			}
			if _, err := summary(t, c.virtualAPI, apiServer); err == nil {
				t.Error("the provider sees no error")
			}
			told.none(t, 2*pace.grace, "while it is gone")
			gone(c, false)
			told.want(t, "updated", "when it is back")
		})
	}
	c := argocdRuns(t, within, pace)
	told := informer(t, c.client)
	c.sees()
	told.want(t, "added", "once it is asked for")
	c.gone.Store(true)
	c.closeAll()
	time.Sleep(pace.grace / 3)
	c.gone.Store(false)
	told.none(t, 2*pace.grace, "when it has started anew")
}

// TestHostileWatches: whatever a virtual API server says while the proxy listens, and however its workloads change, it is
// asked and the provider is told at a bounded rate.
func TestHostileWatches(t *testing.T) {
	t.Parallel()
	pace := brisk
	pace.look, pace.atLast, pace.again = 100*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
	pace.burst, pace.news = 3, time.Hour
	const run = 2 * time.Second
	object := func(w http.ResponseWriter, generation int32) {
		w.Header().Set("Content-Type", mediaJSON)
		_, _ = fmt.Fprintf(w, `{"metadata":{"generation":1},"spec":{"replicas":%d},"status":{"observedGeneration":1}}`, generation)
	}
	var heard atomic.Int64
	cases := map[string]http.HandlerFunc{
		"Endless": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaJSON)
			for chunk := []byte(strings.Repeat("{", 64<<10)); ; heard.Add(int64(len(chunk))) {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
		"ManyEvents": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", mediaJSON)
			for r.Context().Err() == nil {
				_, _ = fmt.Fprintln(w, `{"type":"MODIFIED"}`)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
		},
		"EndsAtOnce": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", mediaJSON) },
		"Error":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"Gone":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) },
		"Redirect":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"Compressed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", mediaJSON)
			w.Header().Set("Content-Encoding", "gzip")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"NeverBegins": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"HangsUp":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, watches := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var listens, looks, n atomic.Int32
			v := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Query().Get("watch") == "true":
					listens.Add(1)
					watches(w, r)
				case r.URL.Path == "/elsewhere":
					t.Error("a redirect is followed")
				default:
					// Another summary each time.
					looks.Add(1)
					object(w, n.Add(1))
				}
			})
			v.proxy.pace = pace
			told := informer(t, v.client)
			if _, err := summary(t, v, apiServer); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			time.Sleep(run)
			took := time.Since(start)
			// A client tries again on another connection what one doesn't answer.
			if most := 2*int32(took/pace.again) + 2; listens.Load() > most || listens.Load() == 0 {
				t.Errorf("%d watches in %s", listens.Load(), took)
			}
			if most := int32(took/pace.look) + 2*int32(took/pace.probe) + 3; looks.Load() > most || looks.Load() < 2 {
				t.Errorf("%d looks in %s", looks.Load(), took)
			}
			// What the summary itself is told with, and the burst.
			if is := len(told); is < 2 || is > pace.burst+1 {
				t.Errorf("the provider is told %d times", is)
			}
			// What the kernel holds of a connection comes on top.
			if is := heard.Load(); is > heardBurst+heardBytes*int64(2*run/time.Second)+16<<20 {
				t.Errorf("%d bytes are read", is)
			}
		})
	}
}

// TestWatchOfProvider: the protocol of a watch, beyond what an informer uses today.
func TestWatchOfProvider(t *testing.T) {
	t.Parallel()
	c := argocdRuns(t, roomy(), brisk)
	maps := c.client.CoreV1().ConfigMaps("")
	first := func(o metav1.ListOptions) (watch.Event, <-chan watch.Event) {
		t.Helper()
		w, err := maps.Watch(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		select {
		case e := <-w.ResultChan():
			return e, w.ResultChan()
		case <-time.After(soon):
			t.Fatal("no event")
		}
		return watch.Event{}, nil
	}
	list, err := maps.List(t.Context(), metav1.ListOptions{Limit: 500, ResourceVersion: "0"})
	if err != nil || len(list.Items) != 0 || list.ResourceVersion == "" {
		t.Fatalf("before a summary is asked for: got %v, %v", list, err)
	}
	before := list.ResourceVersion
	c.sees()
	if e, _ := first(metav1.ListOptions{ResourceVersion: before}); e.Type != watch.Modified {
		t.Errorf("after a list without the summary: got %v", e)
	}
	list, err = maps.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != SummaryName([]Workload{apiServer}) || list.Items[0].ResourceVersion != list.ResourceVersion {
		t.Fatalf("got %v, %v", list, err)
	}
	if e, _ := first(metav1.ListOptions{}); e.Type != watch.Added {
		t.Errorf("without a version: got %v", e)
	}
	e, rest := first(metav1.ListOptions{SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	end := <-rest
	if o, ok := end.Object.(*corev1.ConfigMap); e.Type != watch.Added || end.Type != watch.Bookmark || !ok || o.Annotations[metav1.InitialEventsAnnotationKey] != "true" || o.ResourceVersion != list.ResourceVersion {
		t.Errorf("with the initial events: got %v, %v", e, end)
	}
	for _, version := range []string{"1", "9223372036854775807"} {
		e, rest := first(metav1.ListOptions{ResourceVersion: version})
		if is, ok := e.Object.(*metav1.Status); e.Type != watch.Error || !ok || is.Code != http.StatusGone {
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
	if took := time.Since(start); took < 900*time.Millisecond || took > soon {
		t.Errorf("a watch of a second takes %s", took)
	}
	if c.others.Load() > 0 {
		t.Error("the virtual API server is asked for ConfigMaps")
	}
}

// forgetAll ends following, as the end of the proxy does.
func (v *virtualAPI) forgetAll() {
	v.proxy.mu.Lock()
	old := v.proxy.follows
	v.proxy.follows = map[followKey]*followed{}
	v.proxy.mu.Unlock()
	for _, f := range old {
		f.mu.Lock()
		if f.stop != nil {
			f.stop()
		}
		f.mu.Unlock()
	}
}

// TestProxyRestarts: a provider looks again at what a proxy that is gone has told it of.
func TestProxyRestarts(t *testing.T) {
	t.Parallel()
	c := argocdRuns(t, roomy(), brisk)
	told := informer(t, c.client)
	c.sees()
	told.want(t, "added", "once it is asked for")
	c.forgetAll()
	c.hangUp()
	told.want(t, "deleted", "after a restart")
	c.sees()
	told.want(t, "added", "once it is asked for again")
	c.becomes(0)
	told.want(t, "updated", "when a workload breaks")
}

// TestCredentialsChange: a watch goes on, and the proxy looks with the credentials of the provider's last request.
func TestCredentialsChange(t *testing.T) {
	t.Parallel()
	c := argocdRuns(t, roomy(), brisk)
	told := informer(t, c.client)
	c.sees()
	told.want(t, "added", "once it is asked for")
	raw, err := ReadToken(c.token)
	if err != nil {
		t.Fatal(err)
	}
	// Another chain with the same leaf: another token.
	raw.Certificate = append(raw.Certificate, raw.Certificate...)
	token, err := raw.Token()
	if err != nil {
		t.Fatal(err)
	}
	other, err := kubernetes.NewForConfig(&rest.Config{Host: c.front, BearerToken: token})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.CoreV1().ConfigMaps("argocd").Get(t.Context(), SummaryName([]Workload{apiServer}), metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	c.proxy.mu.Lock()
	follows, f := len(c.proxy.follows), c.proxy.follows[followKey{"https://" + service, workloadSummaries}]
	c.proxy.mu.Unlock()
	want, err := c.proxy.server("Bearer " + token)
	if err != nil || follows != len(watchablesAt(workloadSummaries.path)) || f.server != want {
		t.Errorf("%d ConfigMaps are followed, with other credentials than the last: %v", follows, err)
	}
	c.becomes(0)
	told.want(t, "updated", "when a workload breaks")
}

// TestNobodyWatches: a virtual cluster that no provider watches isn't looked at.
func TestNobodyWatches(t *testing.T) {
	t.Parallel()
	pace := brisk
	pace.linger = 50 * time.Millisecond
	c := argocdRuns(t, roomy(), pace)
	c.sees()
	time.Sleep(200 * time.Millisecond)
	if c.looks.Load() != 1 || c.listens.Load() != 0 {
		t.Errorf("without a watch there are %d looks and %d watches", c.looks.Load(), c.listens.Load())
	}
	w, err := c.client.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.sees()
	for start := time.Now(); c.listens.Load() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > soon {
			t.Fatal("the proxy doesn't listen")
		}
	}
	w.Stop()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		c.proxy.mu.Lock()
		left := len(c.proxy.follows)
		c.proxy.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Since(start) > soon {
			t.Fatal("the proxy goes on")
		}
	}
	// A look that had begun may still arrive. Afterwards, nothing looks when the virtual cluster tells of a change.
	for start := time.Now(); ; {
		looks := c.looks.Load()
		c.rings()
		time.Sleep(200 * time.Millisecond)
		if c.looks.Load() == looks {
			break
		}
		if time.Since(start) > soon {
			t.Fatal("the proxy looks on")
		}
	}
}

// TestTooMany: what is followed is bounded; a provider still looks by itself.
func TestTooMany(t *testing.T) {
	p := New(quick, nil)
	for n := range maxFollows {
		p.saw(&server{url: fmt.Sprint(n)}, workloadSummaries, target{"argocd", SummaryName([]Workload{apiServer})}, digest{})
	}
	// Nobody watches them.
	f, leave := p.join(followKey{"one", applications})
	if f == nil {
		t.Fatal("what nobody watches leaves no room")
	}
	defer leave()
	for n := range maxFollows - 1 {
		_, leave := p.join(followKey{fmt.Sprint("watched", n), applications})
		defer leave()
	}
	if f, _ := p.join(followKey{"one", ingresses}); f != nil || len(p.follows) != maxFollows {
		t.Errorf("%d virtual clusters are followed", len(p.follows))
	}
	for _, f := range p.follows {
		f.stop()
	}
}

func TestDigests(t *testing.T) {
	a, err := Summary([]Workload{{Kind: "Deployment", Name: "a", Why: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Summary([]Workload{{Kind: "Deployment", Name: "a", Why: "c"}})
	if digestOf(a) == digestOf(b) || digestOf(nil) == (digest{}) {
		raw, _ := json.Marshal(a)
		t.Errorf("digests don't tell %s from others", raw)
	}
}

// TestLeftAloneWhileWatched: the proxy doesn't ask a virtual API server, either, that is left alone.
func TestLeftAloneWhileWatched(t *testing.T) {
	t.Parallel()
	within := roomy()
	within.Read, within.Rest = 3*time.Second, time.Hour
	c := argocdRuns(t, within, brisk)
	told := informer(t, c.client)
	c.sees()
	told.want(t, "added", "once it is asked for")
	c.hangs.Store(true)
	var requests sync.WaitGroup
	for range MaxFailures {
		requests.Go(func() {
			if _, err := summary(t, c.virtualAPI, apiServer); err == nil {
				t.Error("a virtual API server answers that hangs")
			}
		})
	}
	requests.Wait()
	c.hangs.Store(false)
	// What is under way ends, and watches with it.
	time.Sleep(2 * within.Read)
	c.closeAll()
	time.Sleep(within.Read)
	asked := c.asked.Load()
	time.Sleep(2 * brisk.grace)
	if now := c.asked.Load(); now != asked {
		t.Errorf("it is asked %d times", now-asked)
	}
}
