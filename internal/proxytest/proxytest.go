// Package proxytest runs the proxy, for tests, between a client and a virtual API server that answers as a test says.
package proxytest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/server"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
)

// Service is the name of the Service in front of the virtual API server.
const Service = "vcluster.vargo-team-a.svc"

// Soon is when a test gives up.
const Soon = 20 * time.Second

// selfSigned returns the certificate and the key of every virtual API server, and of its clients. Making one takes longer than most tests.
var selfSigned = sync.OnceValues(func() (certificate, key []byte) {
	certificate, key, err := cert.GenerateSelfSignedCertKey(Service, nil, nil)
	if err != nil {
		panic(err)
	}
	return certificate, key
})

// Main runs the tests of a package, more of them at the same time than there are CPUs: most of them wait.
func Main(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Quick returns limits that a test can wait for.
func Quick() limits.Limits {
	return limits.Limits{
		Read: 500 * time.Millisecond, Write: 700 * time.Millisecond, Watch: time.Second, Blocked: 3 * time.Second,
		Response: 20_000, LargeResponse: 80_000, ErrorResponse: 1_000, Values: 1_000, LargeValues: 2_000, Depth: 500,
		Records: 3, RecordBytes: 250_000, TextItems: 3_000,
	}
}

// Roomy returns those limits with time for a machine that is busy.
func Roomy() limits.Limits {
	l := Quick()
	l.Read, l.Write = 20*time.Second, 20*time.Second
	return l
}

// Brisk returns intervals that a test can wait for.
func Brisk() watch.Intervals {
	return watch.Intervals{
		Settle: time.Millisecond, MinPoll: 20 * time.Millisecond, Unsettled: 30 * time.Millisecond, UnsettledFor: 5 * time.Second,
		Resync: 50 * time.Millisecond, Grace: 300 * time.Millisecond, Retry: 50 * time.Millisecond, Poll: 20 * time.Millisecond,
		WatchTimeout: time.Minute, Backoff: 5 * time.Millisecond, MaxBackoff: 100 * time.Millisecond, Keep: 5 * time.Second,
		MinNotify: time.Millisecond, Burst: 10,
	}
}

// A VirtualAPI is a virtual API server, with a proxy in front of it, and a client of the proxy.
type VirtualAPI struct {
	// Answer answers requests to the virtual API server, and Asked is how many there were.
	Answer http.HandlerFunc
	Asked  atomic.Int32
	// Proxy serves at URL. Client sends it requests with Token.
	Proxy      *server.Server
	URL, Token string
	Client     *kubernetes.Clientset
	// CloseAll ends the connections to the virtual API server, and HangUp those to the proxy.
	CloseAll, HangUp func()
	// Gone: the virtual API server refuses connections. Lost: nothing answers at its address. Nameless: its name can't be looked up.
	Gone, Lost, Nameless atomic.Bool

	config server.Config
	front  atomic.Pointer[server.Server]
}

// An Option changes the configuration of the proxy.
type Option func(*server.Config)

// With has the proxy use these limits.
func With(l limits.Limits) Option { return func(c *server.Config) { c.Limits = l } }

// At has the proxy use these intervals.
func At(i watch.Intervals) Option { return func(c *server.Config) { c.Intervals = i } }

// Looking has the proxy look at an Argo CD this often beside its workloads.
func Looking(every time.Duration) Option { return func(c *server.Config) { c.Look = every } }

// ServeWithin is Serve with limits.
func ServeWithin(t testing.TB, l limits.Limits, answer http.HandlerFunc) *VirtualAPI {
	t.Helper()
	return Serve(t, answer, With(l))
}

// Serve starts a virtual API server and a proxy, with the limits Roomy, until the test ends.
func Serve(t testing.TB, answer http.HandlerFunc, options ...Option) *VirtualAPI {
	t.Helper()
	certificate, key := selfSigned()
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	v := &VirtualAPI{Answer: answer}
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.Asked.Add(1)
		v.Answer(w, r)
	}))
	api.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
	api.EnableHTTP2 = true
	api.StartTLS()
	t.Cleanup(api.Close)

	v.config = server.DefaultConfig(logging.NewNopLogger())
	v.config.Limits = Roomy()
	v.config.Dial = v.dialer(api.Listener.Addr().String())
	for _, o := range options {
		o(&v.config)
	}
	v.Restart()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { v.front.Load().ServeHTTP(w, r) }))
	// A watch ends with its connection, and the server with the last watch.
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		v.Proxy.Stop()
	})
	v.URL, v.CloseAll, v.HangUp = front.URL, api.CloseClientConnections, front.CloseClientConnections
	// The same pair is the client's, as far as this server asks.
	v.Token, err = proxy.Credentials{Server: "https://" + Service, CA: certificate, Certificate: certificate, Key: key}.Token()
	if err != nil {
		t.Fatal(err)
	}
	if v.Client, err = kubernetes.NewForConfig(&rest.Config{Host: front.URL, BearerToken: v.Token}); err != nil {
		t.Fatal(err)
	}
	return v
}

// dialer returns a dialer that connects to the address of the virtual API server.
func (v *VirtualAPI) dialer(to string) virtualapi.Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		switch {
		case address != Service+":443":
			return nil, fmt.Errorf("connects to %s", address)
		case v.Gone.Load():
			return nil, syscall.ECONNREFUSED
		case v.Nameless.Load():
			return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "i/o timeout", Name: Service, IsTimeout: true}}
		case v.Lost.Load():
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
		}
		return (&net.Dialer{}).DialContext(ctx, network, to)
	}
}

// Restart replaces the proxy by a new one.
func (v *VirtualAPI) Restart() {
	if v.Proxy != nil {
		v.Proxy.Stop()
	}
	v.Proxy = server.New(v.config)
	v.front.Store(v.Proxy)
}

// Direct returns a client of the virtual API server, as the proxy has one.
func (v *VirtualAPI) Direct(t testing.TB) *virtualapi.Client {
	t.Helper()
	credentials, err := proxy.ReadToken(v.Token)
	if err != nil {
		t.Fatal(err)
	}
	c, err := virtualapi.NewClient(credentials, v.config.Limits, limits.NewMemory(), v.config.Dial)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Request returns a request to the proxy for a path and query.
func (v *VirtualAPI) Request(t testing.TB, method, uri string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, v.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = uri
	if strings.HasPrefix(uri, "//") {
		r.URL.Opaque = "//" + r.Host + uri
	}
	r.Header.Set("Authorization", "Bearer "+v.Token)
	return r
}

// Send sends a request as it is written, and returns the status and the body of the response.
func (v *VirtualAPI) Send(t testing.TB, method, uri string) (int, string) {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(v.Request(t, method, uri))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// SendInVain sends a GET request, and doesn't mind when the test ends before there is a response.
func (v *VirtualAPI) SendInVain(t testing.TB, uri string) {
	t.Helper()
	if response, err := http.DefaultTransport.RoundTrip(v.Request(t, http.MethodGet, uri)); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}

// Reply answers with an object.
func Reply(w http.ResponseWriter, o any) {
	w.Header().Set("Content-Type", virtualapi.MediaJSON)
	_ = json.NewEncoder(w).Encode(o)
}

// ReplyAs answers with a body and its content type.
func ReplyAs(w http.ResponseWriter, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	_, _ = io.WriteString(w, body)
}

// Await waits until something is so, or fails the test.
func Await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for start := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > Soon {
			t.Fatalf("%s: not within %s", what, Soon)
		}
	}
}
