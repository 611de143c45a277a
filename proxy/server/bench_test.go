package server_test

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

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/openapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/server"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// watchedTenants is how many virtual clusters BenchmarkWatches has.
const watchedTenants = 1000

// servesBenchmark is set for the process with the virtual API servers.
const servesBenchmark = "PROXY_BENCHMARK_SERVES"

// TestServeBenchmark is no test, but the virtual API servers of BenchmarkWatches, in a process of their own.
func TestServeBenchmark(t *testing.T) {
	dir := os.Getenv(servesBenchmark)
	if dir == "" {
		t.Skip("this serves BenchmarkWatches")
	}
	pair, err := tls.LoadX509KeyPair(dir+"/crt", dir+"/key")
	if err != nil {
		t.Fatal(err)
	}
	hostile := &hostileServer{body: hostileAnswer(limits.Default.Response), document: hostileDocument(), all: make(chan struct{})}
	object := []byte(`"metadata":{"generation":1,"managedFields":[{"manager":"` + strings.Repeat("a", 4<<10) + `"}]},"spec":{},"status":{"observedGeneration":1,"updatedReplicas":1,"availableReplicas":1}}`)
	var asked, watches atomic.Int64
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/counts" {
			_, _ = fmt.Fprintln(w, asked.Load(), watches.Load())
			return
		}
		if strings.HasPrefix(r.Host, hostileHost) {
			hostile.answer(w, r)
			return
		}
		asked.Add(1)
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		if r.URL.Query().Get("watch") != "true" {
			_, _ = fmt.Fprintf(w, `{"apiVersion":%q,%s`, apiVersionOf(r), object)
			return
		}
		for range 8 {
			_, _ = fmt.Fprintf(w, "{%s", object)
		}
		_ = http.NewResponseController(w).Flush()
		watches.Add(1)
		<-r.Context().Done()
	}))
	api.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	api.StartTLS()
	fmt.Println(api.Listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// apiVersionOf returns the API version that is asked for, of a group with a name.
func apiVersionOf(r *http.Request) string {
	return strings.Join(strings.Split(r.URL.Path, "/")[2:4], "/")
}

// hostileHost begins the names of hostile virtual API servers.
const hostileHost = "h"

// providersAgent is the User-Agent of a provider's requests, which polls don't have.
const providersAgent = "provider"

// stallsFor is how long a hostile virtual API server takes for an OpenAPI document, within the proxy's limit.
const stallsFor = 12 * time.Second

// A hostileServer answers all polls of a proxy at the same moment, as long as it may and with as much to decode. Its watches
// have the proxy poll again all the time.
type hostileServer struct {
	// body is what it answers to polls, and document an OpenAPI document.
	body, document []byte

	mu    sync.Mutex
	waits int
	all   chan struct{}
}

func (h *hostileServer) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", virtualapi.MediaJSON)
	if r.URL.Query().Get("watch") == "true" {
		for r.Context().Err() == nil {
			_, _ = fmt.Fprintln(w, "{}")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Second)
		}
		return
	}
	if strings.HasPrefix(r.URL.Path, openapi.PathV3) {
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
	if h.waits++; h.waits == maxPolls {
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
	values := strings.Repeat(`{"a":1},`, limits.Default.Values/2-10)
	object := `{"metadata":{"name":"a"},"spec":{"list":[` + values + `{}],"text":"` + "%s" + `"}}`
	return []byte(fmt.Sprintf(object, strings.Repeat("<", int(size)-len(object))))
}

// hostileDocument returns an OpenAPI document with as much as it may have, and of that as much text for the provider as it may
// have.
func hostileDocument() []byte {
	needed := `{"components":{"schemas":{"a":{"x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"ConfigMap"}],"pattern":"` +
		strings.Repeat("<", int(limits.Default.Response)-200) + `"},"b":{"enum":[`
	values := strings.Repeat(`{"a":1},`, limits.Default.LargeValues/2-20)
	const end = `{}],"pattern":"%s"}}}}`
	return []byte(needed + values + fmt.Sprintf(end, strings.Repeat("<", int(limits.Default.LargeResponse)-len(needed)-len(values)-len(end))))
}

// A quietFleet is a proxy with watches of quiet virtual clusters, each with eight workloads, an Ingress and a first Application.
type quietFleet struct {
	*server.Server
	b                *testing.B
	address, front   string
	certificate, key []byte
}

// startServers starts a proxy and virtual API servers.
func startServers(b *testing.B) *quietFleet {
	b.Helper()
	dir := b.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey(proxytest.Service, nil, []string{"*.svc"})
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
	f := &quietFleet{b: b, address: strings.TrimSpace(address), certificate: certificate, key: key}
	c := server.DefaultConfig(logging.NewNopLogger())
	c.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, f.address)
	}
	f.Server = server.New(c)
	front := httptest.NewServer(f)
	f.front = front.Listener.Addr().String()
	return f
}

// watchMany starts a proxy and virtual API servers, and watches a thousand virtual clusters.
func watchMany(b *testing.B) *quietFleet {
	b.Helper()
	f := startServers(b)
	for n := range watchedTenants {
		f.watch(fmt.Sprintf("t%d", n), configMapsPath, applicationsPath, ingressesPath)
	}
	for {
		if _, watches := f.counts(); watches >= 4*watchedTenants {
			break
		}
		time.Sleep(time.Second)
	}
	// Until the first polls are done, and connections that nobody uses are closed.
	time.Sleep(virtualapi.IdleTimeout + 15*time.Second)
	return f
}

// Paths of all objects of the kinds that a provider watches.
const (
	configMapsPath   = "/api/v1/configmaps"
	applicationsPath = "/apis/argoproj.io/v1alpha1/applications"
	ingressesPath    = "/apis/networking.k8s.io/v1/ingresses"
)

// maxPolls is how many polls there may be at the same time.
const maxPolls = 64

// watch watches kinds in a virtual cluster, and reads the object of each. It talks to the proxy as text, so that the provider's side takes no
// memory.
func (f *quietFleet) watch(name string, paths ...string) {
	f.b.Helper()
	workloads := []proxy.Workload{{Kind: "StatefulSet", Name: "argocd-application-controller"}}
	for n := range 7 {
		workloads = append(workloads, proxy.Workload{Kind: "Deployment", Name: fmt.Sprint("argocd-", n)})
	}
	for _, path := range paths {
		c := f.send(name, path+"?watch=true")
		f.b.Cleanup(func() { _ = c.Close() })
		f.ask(name, map[string]string{
			configMapsPath:   "/api/v1/namespaces/argocd/configmaps/" + proxy.SummaryName(workloads),
			applicationsPath: "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/bootstrap",
			ingressesPath:    "/apis/networking.k8s.io/v1/namespaces/argocd/ingresses/argocd-server",
		}[path])
	}
}

// send sends a request of a provider to the proxy, as the last one of a connection.
func (f *quietFleet) send(name, uri string) net.Conn {
	token, err := proxy.Credentials{Server: "https://" + name + ".svc", CA: f.certificate, Certificate: f.certificate, Key: f.key}.Token()
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
func (f *quietFleet) counts() (asked, watches int64) {
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // A test's.
	r, err := c.Get("https://" + f.address + "/counts")
	if err != nil {
		f.b.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if _, err := fmt.Fscan(r.Body, &asked, &watches); err != nil {
		f.b.Fatal(err)
	}
	return asked, watches
}

// BenchmarkWatches is what a proxy costs with watches of a thousand quiet virtual clusters.
func BenchmarkWatches(b *testing.B) {
	memory := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	for b.Loop() {
		before, goroutines := memory(), runtime.NumGoroutine()
		f := watchMany(b)
		b.ReportMetric(float64(memory()-before)/watchedTenants/1024, "KiB/tenant")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/watchedTenants, "goroutines/tenant")
		was, watches := f.counts()
		start := time.Now()
		time.Sleep(90 * time.Second)
		asked, watchesNow := f.counts()
		b.ReportMetric(float64(asked-was)/watchedTenants/time.Since(start).Minutes(), "requests/tenant/min")
		if watches != watchesNow {
			b.Logf("the proxy has watched again %d times", watchesNow-watches)
		}
	}
}

// benchmarkLive is how much memory a proxy takes with watches of a thousand virtual clusters: see BenchmarkWatches.
const benchmarkLive = 640 << 20

// BenchmarkHostilePolls is how much memory a proxy takes at most that already takes benchmarkLive, with GOMEMLIMIT of
// runtime.yaml, while hostile virtual API servers answer as many polls as there may be at the same moment, and as many
// requests for OpenAPI documents as provider-kubernetes has workers.
func BenchmarkHostilePolls(b *testing.B) {
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
		for n := range maxPolls {
			// The summary is many reads, one after the other.
			f.watch(fmt.Sprintf("%s%d", hostileHost, n), applicationsPath, ingressesPath)
		}
		var answers atomic.Int64
		ends := time.Now().Add(40 * time.Second)
		for n := range workers {
			go func() {
				for time.Now().Before(ends) {
					if f.ask(fmt.Sprintf("%s%d", hostileHost, n), "/openapi/v3/api/v1") > limits.Default.Response/2 {
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
