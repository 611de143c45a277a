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
	hostile := &hostileServer{body: hostileAnswer(), all: make(chan struct{})}
	object := []byte(`{"metadata":{"generation":1,"managedFields":[{"manager":"` + strings.Repeat("a", 4<<10) + `"}]},"spec":{},"status":{"observedGeneration":1,"updatedReplicas":1,"availableReplicas":1}}`)
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
			_, _ = w.Write(object)
			return
		}
		for range 8 {
			_, _ = w.Write(object)
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

// hostileHost begins the names of hostile virtual API servers.
const hostileHost = "h"

// providersAgent is the User-Agent of a provider's requests, which looks don't have.
const providersAgent = "provider"

// A hostileServer answers all looks of a proxy at the same moment, as long as it may and with as much to decode. Its watches
// have the proxy look again all the time.
type hostileServer struct {
	body []byte

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
	if r.Header.Get("User-Agent") == providersAgent {
		_, _ = io.WriteString(w, "{}")
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

// hostileAnswer returns an object as large as an answer may be, and with as many values.
func hostileAnswer() []byte {
	values := strings.Repeat(`{"a":1},`, DefaultLimits.Values/2-10)
	object := `{"metadata":{"name":"a"},"spec":{"list":[` + values + `{}],"text":"` + "%s" + `"}}`
	return []byte(fmt.Sprintf(object, strings.Repeat("<", int(DefaultLimits.Answer)-len(object))))
}

// A quietFleet is a proxy that follows quiet virtual clusters, each with eight workloads, an Ingress and a first Application.
type quietFleet struct {
	*Proxy
	b                *testing.B
	address, front   string
	certificate, key []byte
}

// followMany starts a proxy and virtual API servers, and has the proxy follow a thousand virtual clusters.
func followMany(b *testing.B) *quietFleet {
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
	token, err := Credentials{Server: "https://" + name + ".svc", CA: f.certificate, Certificate: f.certificate, Key: f.key}.Token()
	if err != nil {
		f.b.Fatal(err)
	}
	for _, k := range kinds {
		for _, uri := range []string{k.path + "?watch=true", map[*watchable]string{
			workloadSummaries: "/api/v1/namespaces/argocd/configmaps/" + SummaryName(workloads),
			applications:      "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/bootstrap",
			ingresses:         "/apis/networking.k8s.io/v1/namespaces/argocd/ingresses/argocd-server",
		}[k]} {
			c, err := net.Dial("tcp", f.front)
			if err != nil {
				f.b.Fatal(err)
			}
			if strings.Contains(uri, "watch") {
				f.b.Cleanup(func() { _ = c.Close() })
				_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: p\r\nAuthorization: Bearer %s\r\n\r\n", uri, token)
				continue
			}
			_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: p\r\nConnection: close\r\nUser-Agent: "+providersAgent+"\r\nAuthorization: Bearer %s\r\n\r\n", uri, token)
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}
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

// BenchmarkHostileLooks is how much memory that proxy takes at most, with GOMEMLIMIT of runtime.yaml, while hostile virtual API
// servers answer as many looks as there may be at the same moment.
func BenchmarkHostileLooks(b *testing.B) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(920 << 20))
	// Memory that Go has from the kernel, and what of it was in use when garbage was collected last.
	memory := func() (mapped, live float64) {
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(sample)
		of := func(n int) float64 { return float64(sample[n].Value.Uint64()) / (1 << 20) }
		return of(0) - of(1), of(2) + of(3)
	}
	for b.Loop() {
		f := followMany(b)
		before, liveBefore := memory()
		for n := range maxLooks {
			// The summary is many looks, one after the other.
			f.follow(fmt.Sprintf("%s%d", hostileHost, n), applications, ingresses)
		}
		most, mostLive := 0.0, 0.0
		for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(2 * time.Millisecond) {
			mapped, live := memory()
			most, mostLive = max(most, mapped), max(mostLive, live)
		}
		b.ReportMetric(before, "MiB-before")
		b.ReportMetric(liveBefore, "MiB-live-before")
		b.ReportMetric(mostLive, "MiB-live-at-most")
		b.ReportMetric(most, "MiB-at-most")
	}
}
