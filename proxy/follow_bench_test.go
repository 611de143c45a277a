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
	"strings"
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
	object := []byte(`{"metadata":{"generation":1,"managedFields":[{"manager":"` + strings.Repeat("a", 4<<10) + `"}]},"spec":{},"status":{"observedGeneration":1,"updatedReplicas":1,"availableReplicas":1}}`)
	var asked, listens atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/counts" {
			_, _ = fmt.Fprintln(w, asked.Load(), listens.Load())
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

// BenchmarkFollow is what a proxy costs that follows a thousand quiet virtual clusters, each with eight workloads, an
// Ingress and a first Application.
func BenchmarkFollow(b *testing.B) {
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
	defer func() { _ = stop.Close(); _ = servers.Wait() }()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	address = strings.TrimSpace(address)

	p := New(DefaultLimits, logging.NewNopLogger())
	p.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	front := httptest.NewServer(p)
	workloads := []Workload{{Kind: "StatefulSet", Name: "argocd-application-controller"}}
	for n := range 7 {
		workloads = append(workloads, Workload{Kind: "Deployment", Name: fmt.Sprint("argocd-", n)})
	}
	counts := func() (asked, listens int64) {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // A test's.
		r, err := c.Get("https://" + address + "/counts")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		if _, err := fmt.Fscan(r.Body, &asked, &listens); err != nil {
			b.Fatal(err)
		}
		return asked, listens
	}
	memory := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	for b.Loop() {
		before, goroutines := memory(), runtime.NumGoroutine()
		for n := range followedTenants {
			token, err := Credentials{Server: fmt.Sprintf("https://t%d.svc", n), CA: certificate, Certificate: certificate, Key: key}.Token()
			if err != nil {
				b.Fatal(err)
			}
			// As text, so that the provider's side takes no memory.
			for _, k := range watchables {
				for _, uri := range []string{k.path + "?watch=true", map[*watchable]string{
					workloadSummaries: "/api/v1/namespaces/argocd/configmaps/" + SummaryName(workloads),
					applications:      "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/bootstrap",
					ingresses:         "/apis/networking.k8s.io/v1/namespaces/argocd/ingresses/argocd-server",
				}[k]} {
					c, err := net.Dial("tcp", front.Listener.Addr().String())
					if err != nil {
						b.Fatal(err)
					}
					if strings.Contains(uri, "watch") {
						defer func() { _ = c.Close() }()
						_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: p\r\nAuthorization: Bearer %s\r\n\r\n", uri, token)
						continue
					}
					_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: p\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", uri, token)
					_, _ = io.Copy(io.Discard, c)
					_ = c.Close()
				}
			}
		}
		for {
			if _, listens := counts(); listens >= 4*followedTenants {
				break
			}
			time.Sleep(time.Second)
		}
		// Until the first looks are done, and connections that nobody uses are closed.
		time.Sleep(idleFor + 15*time.Second)
		b.ReportMetric(float64(memory()-before)/followedTenants/1024, "KiB/tenant")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/followedTenants, "goroutines/tenant")
		was, listens := counts()
		start := time.Now()
		time.Sleep(90 * time.Second)
		asked, listensNow := counts()
		b.ReportMetric(float64(asked-was)/followedTenants/time.Since(start).Minutes(), "requests/tenant/min")
		if listens != listensNow {
			b.Logf("the proxy has listened anew %d times", listensNow-listens)
		}
	}
}
