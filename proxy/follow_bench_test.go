package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"k8s.io/client-go/util/cert"
)

// followedTenants is how many virtual clusters BenchmarkFollow has.
const followedTenants = 1000

// servesBenchmark is set for the process with the virtual API servers.
const servesBenchmark = "PROXY_BENCHMARK_SERVES"

// TestServeBenchmark is no test, but the virtual API servers of BenchmarkFollow, in a process of their own.
func TestServeBenchmark(t *testing.T) {
	dir := os.Getenv(servesBenchmark)
	if dir == "" {
		t.Skip("this serves BenchmarkFollow")
	}
	pair, err := tls.LoadX509KeyPair(dir+"/crt", dir+"/key")
	if err != nil {
		t.Fatal(err)
	}
	hostile := &hostileServer{body: hostileAnswer(DefaultLimits.Answer), document: hostileDocument(), all: make(chan struct{})}
	object := []byte(`"metadata":{"generation":1,"managedFields":[{"manager":"` + strings.Repeat("a", 4<<10) + `"}]},"spec":{},"status":{"observedGeneration":1,"updatedReplicas":1,"availableReplicas":1}}`)
	var asked, listens atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/counts" {
			_, _ = fmt.Fprintln(w, asked.Load(), listens.Load())
			return
		}
		if strings.HasPrefix(r.Host, hostileHost) {
			hostile.answer(w, r)
			return
		}
		asked.Add(1)
		w.Header().Set("Content-Type", mediaJSON)
		if r.URL.Query().Get("watch") != "true" {
			_, _ = fmt.Fprintf(w, `{"apiVersion":%q,%s`, apiVersionOf(r), object)
			return
		}
		for range 8 {
			_, _ = fmt.Fprintf(w, "{%s", object)
		}
		_ = http.NewResponseController(w).Flush()
		listens.Add(1)
		<-r.Context().Done()
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	fmt.Println(server.Listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// apiVersionOf returns the API version that is asked for, of a group with a name.
func apiVersionOf(r *http.Request) string {
	return strings.Join(strings.Split(r.URL.Path, "/")[2:4], "/")
}

// hostileHost begins the names of hostile virtual API servers.
const hostileHost = "h"

// providersAgent is the User-Agent of a provider's requests, which looks don't have.
const providersAgent = "provider"

// stallsFor is how long a hostile virtual API server takes for an OpenAPI document, within the proxy's limit.
const stallsFor = 12 * time.Second

// A hostileServer answers all looks of a proxy at the same moment, as long as it may and with as much to decode. Its watches
// have the proxy look again all the time.
type hostileServer struct {
	// body is what it answers to looks, and document an OpenAPI document.
	body, document []byte

	mu    sync.Mutex
	waits int
	all   chan struct{}
}

func (h *hostileServer) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", mediaJSON)
	if r.URL.Query().Get("watch") == "true" {
		for r.Context().Err() == nil {
			_, _ = fmt.Fprintln(w, "{}")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Second)
		}
		return
	}
	if strings.HasPrefix(r.URL.Path, openAPIv3) {
		// All documents that the proxy reads are in its memory at the same moment.
		begins, last := time.Now(), len(h.document)-1
		_, _ = w.Write(h.document[:last])
		_ = http.NewResponseController(w).Flush()
		time.Sleep(stallsFor - time.Since(begins))
		_, _ = w.Write(h.document[last:])
		return
	}
	if r.Header.Get("User-Agent") == providersAgent {
		_, _ = fmt.Fprintf(w, `{"apiVersion":%q}`, apiVersionOf(r))
		return
	}
	h.mu.Lock()
	all := h.all
	if h.waits++; h.waits == maxLooks {
		close(h.all)
		h.waits, h.all = 0, make(chan struct{})
	}
	h.mu.Unlock()
	select {
	case <-all:
	case <-r.Context().Done():
	}
	_, _ = w.Write(h.body)
}

// hostileAnswer returns an object of so many bytes, with as many values as an answer may have.
func hostileAnswer(size int64) []byte {
	values := strings.Repeat(`{"a":1},`, DefaultLimits.Values/2-10)
	object := `{"metadata":{"name":"a"},"spec":{"list":[` + values + `{}],"text":"` + "%s" + `"}}`
	return []byte(fmt.Sprintf(object, strings.Repeat("<", int(size)-len(object))))
}

// hostileDocument returns an OpenAPI document with as much as it may have, and of that as much text for the provider as it may
// have.
func hostileDocument() []byte {
	needed := `{"components":{"schemas":{"a":{"x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"ConfigMap"}],"pattern":"` +
		strings.Repeat("<", int(DefaultLimits.Answer)-200) + `"},"b":{"enum":[`
	values := strings.Repeat(`{"a":1},`, DefaultLimits.LargeValues/2-20)
	const end = `{}],"pattern":"%s"}}}}`
	return []byte(needed + values + fmt.Sprintf(end, strings.Repeat("<", int(DefaultLimits.LargeAnswer)-len(needed)-len(values)-len(end))))
}

// A quietFleet is a proxy that follows quiet virtual clusters, each with eight workloads, an Ingress and a first Application.
type quietFleet struct {
	*Proxy
	b                *testing.B
	address, front   string
	certificate, key []byte
}

// startServers starts a proxy and virtual API servers.
func startServers(b *testing.B) *quietFleet {
	b.Helper()
	dir := b.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey(service, nil, []string{"*.svc"})
	if err != nil {
		b.Fatal(err)
	}
	for name, data := range map[string][]byte{"crt": certificate, "key": key} {
		if err := os.WriteFile(dir+"/"+name, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	servers := exec.Command(os.Args[0], "-test.run=^TestServeBenchmark$", "-test.timeout=0") //nolint:gosec // It is this program.
	servers.Env = append(os.Environ(), servesBenchmark+"="+dir)
	stop, err := servers.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := servers.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := servers.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = stop.Close(); _ = servers.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	f := &quietFleet{Proxy: New(DefaultLimits, logging.NewNopLogger()), b: b, address: strings.TrimSpace(address), certificate: certificate, key: key}
	f.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, f.address)
	}
	front := httptest.NewServer(f)
	f.front = front.Listener.Addr().String()
	return f
}

// followMany starts a proxy and virtual API servers, and has the proxy follow a thousand virtual clusters.
func followMany(b *testing.B) *quietFleet {
	b.Helper()
	f := startServers(b)
	for n := range followedTenants {
		f.follow(fmt.Sprintf("t%d", n), watchables...)
	}
	for {
		if _, listens := f.counts(); listens >= 4*followedTenants {
			break
		}
		time.Sleep(time.Second)
	}
	// Until the first looks are done, and connections that nobody uses are closed.
	time.Sleep(idleFor + 15*time.Second)
	return f
}

// follow has the proxy follow objects of a virtual cluster. It talks to it as text, so that the provider's side takes no memory.
func (f *quietFleet) follow(name string, kinds ...*watchable) {
	f.b.Helper()
	workloads := []Workload{{Kind: "StatefulSet", Name: "argocd-application-controller"}}
	for n := range 7 {
		workloads = append(workloads, Workload{Kind: "Deployment", Name: fmt.Sprint("argocd-", n)})
	}
	for _, k := range kinds {
		c := f.send(name, k.path+"?watch=true")
		f.b.Cleanup(func() { _ = c.Close() })
		f.ask(name, map[*watchable]string{
			workloadSummaries: "/api/v1/namespaces/argocd/configmaps/" + SummaryName(workloads),
			applications:      "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/bootstrap",
			ingresses:         "/apis/networking.k8s.io/v1/namespaces/argocd/ingresses/argocd-server",
		}[k])
	}
}

// send sends a request of a provider to the proxy, as the last one of a connection.
func (f *quietFleet) send(name, uri string) net.Conn {
	token, err := Credentials{Server: "https://" + name + ".svc", CA: f.certificate, Certificate: f.certificate, Key: f.key}.Token()
	if err != nil {
		panic(err)
	}
	c, err := net.Dial("tcp", f.front)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: p\r\nConnection: close\r\nUser-Agent: "+providersAgent+"\r\nAuthorization: Bearer %s\r\n\r\n", uri, token)
	return c
}

// ask sends such a request, and returns the length of the answer.
func (f *quietFleet) ask(name, uri string) int64 {
	c := f.send(name, uri)
	defer func() { _ = c.Close() }()
	n, _ := io.Copy(io.Discard, c)
	return n
}

// counts returns how many requests and watches the virtual API servers got.
func (f *quietFleet) counts() (asked, listens int64) {
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // A test's.
	r, err := c.Get("https://" + f.address + "/counts")
	if err != nil {
		f.b.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if _, err := fmt.Fscan(r.Body, &asked, &listens); err != nil {
		f.b.Fatal(err)
	}
	return asked, listens
}

// BenchmarkFollow is what a proxy costs that follows a thousand quiet virtual clusters.
func BenchmarkFollow(b *testing.B) {
	memory := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	for b.Loop() {
		before, goroutines := memory(), runtime.NumGoroutine()
		f := followMany(b)
		b.ReportMetric(float64(memory()-before)/followedTenants/1024, "KiB/tenant")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/followedTenants, "goroutines/tenant")
		was, listens := f.counts()
		start := time.Now()
		time.Sleep(90 * time.Second)
		asked, listensNow := f.counts()
		b.ReportMetric(float64(asked-was)/followedTenants/time.Since(start).Minutes(), "requests/tenant/min")
		if listens != listensNow {
			b.Logf("the proxy has listened anew %d times", listensNow-listens)
		}
	}
}

// benchmarkLive is how much memory a proxy takes that follows a thousand virtual clusters: see BenchmarkFollow.
const benchmarkLive = 640 << 20

// BenchmarkHostileLooks is how much memory a proxy takes at most that already takes benchmarkLive, with GOMEMLIMIT of
// runtime.yaml, while hostile virtual API servers answer as many looks as there may be at the same moment, and as many
// requests for OpenAPI documents as provider-kubernetes has workers.
func BenchmarkHostileLooks(b *testing.B) {
	const workers = 100
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1380 << 20))
	// Memory that Go has from the kernel, and what of it was in use when garbage was collected last.
	memory := func() (mapped, live float64) {
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(sample)
		of := func(n int) float64 { return float64(sample[n].Value.Uint64()) / (1 << 20) }
		return of(0) - of(1), of(2) + of(3)
	}
	// Small objects with pointers, which take time to mark.
	type object struct {
		next *object
		_    [248]byte
	}
	var objects *object
	for range benchmarkLive / 256 {
		objects = &object{next: objects}
	}
	runtime.GC()
	for b.Loop() {
		f := startServers(b)
		before, liveBefore := memory()
		for n := range maxLooks {
			// The summary is many looks, one after the other.
			f.follow(fmt.Sprintf("%s%d", hostileHost, n), applications, ingresses)
		}
		var answers atomic.Int64
		ends := time.Now().Add(40 * time.Second)
		for n := range workers {
			go func() {
				for time.Now().Before(ends) {
					if f.ask(fmt.Sprintf("%s%d", hostileHost, n), "/openapi/v3/api/v1") > DefaultLimits.Answer/2 {
						answers.Add(1)
					}
				}
			}()
		}
		most, mostLive := 0.0, 0.0
		for ; time.Now().Before(ends); time.Sleep(2 * time.Millisecond) {
			mapped, live := memory()
			most, mostLive = max(most, mapped), max(mostLive, live)
		}
		b.ReportMetric(before, "MiB-before")
		b.ReportMetric(liveBefore, "MiB-live-before")
		b.ReportMetric(mostLive, "MiB-live-at-most")
		b.ReportMetric(most, "MiB-at-most")
		b.ReportMetric(float64(answers.Load()), "documents")
	}
	runtime.KeepAlive(objects)
}
