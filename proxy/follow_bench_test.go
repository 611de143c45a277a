package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"k8s.io/client-go/util/cert"
)

// BenchmarkFollow1000 is what a proxy costs that follows a thousand quiet virtual clusters, each with eight workloads.
// Their API servers and the provider's connections are in the same process, so that the memory is an upper bound.
func BenchmarkFollow1000(b *testing.B) {
	const tenants = 1000
	certificate, key, err := cert.GenerateSelfSignedCertKey(service, nil, []string{"*.svc"})
	if err != nil {
		b.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		b.Fatal(err)
	}
	var asked, listens atomic.Int64
	object := []byte(`{"metadata":{"generation":1,"managedFields":[{"manager":"` + strings.Repeat("a", 4<<10) + `"}]},"spec":{},"status":{"observedGeneration":1,"updatedReplicas":1,"availableReplicas":1}}`)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	defer server.Close()
	p := New(DefaultLimits, logging.NewNopLogger())
	p.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	workloads := []Workload{{Kind: "StatefulSet", Name: "argocd-application-controller"}}
	for n := range 7 {
		workloads = append(workloads, Workload{Kind: "Deployment", Name: fmt.Sprint("argocd-", n)})
	}
	memory := func() (m runtime.MemStats) {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m
	}
	for b.Loop() {
		before, goroutines := memory(), runtime.NumGoroutine()
		for n := range tenants {
			token, err := Credentials{Server: fmt.Sprintf("https://t%d.svc", n), CA: certificate, Certificate: certificate, Key: key}.Token()
			if err != nil {
				b.Fatal(err)
			}
			s, err := p.server("Bearer " + token)
			if err != nil {
				b.Fatal(err)
			}
			f, leave := p.join(followKey{s.url, workloadSummaries})
			if f == nil {
				b.Fatal("too many")
			}
			defer leave()
			defer f.stop()
			data, err := p.summary(b.Context(), s, "argocd", workloads)
			if err != nil {
				b.Fatal(err)
			}
			p.saw(s, workloadSummaries, target{"argocd", SummaryName(workloads)}, digestOf(data))
		}
		for listens.Load() < 2*tenants {
			time.Sleep(100 * time.Millisecond)
		}
		// Until the first looks are done, and connections that nobody uses are closed.
		time.Sleep(idleFor + 15*time.Second)
		after := memory()
		b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/tenants/1024, "KiB/tenant")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/tenants, "goroutines/tenant")
		was := asked.Load()
		time.Sleep(30 * time.Second)
		b.ReportMetric(float64(asked.Load()-was)*2/tenants, "requests/tenant/min")
	}
}
