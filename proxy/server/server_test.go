package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/server"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// TestStops: when the proxy stops, requests that are in progress get their answers, and watches end.
func TestStops(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan string, 2), make(chan struct{})
	l := proxytest.Roomy()
	l.Watch = 10 * time.Minute
	v := proxytest.ServeWithin(t, l, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			asked <- "watch"
			<-r.Context().Done()
			return
		}
		asked <- r.Method
		select {
		case <-goOn:
			proxytest.Reply(w, config(nil))
		case <-r.Context().Done():
		}
	})
	through, stop, served := listen(t, v)

	answer, watched := make(chan int, 1), make(chan struct{}, 2)
	go func() {
		is, _ := through.Send(t, http.MethodPatch, "/api/v1/namespaces/argocd/configmaps/a")
		answer <- is
	}()
	if is := <-asked; is != http.MethodPatch {
		t.Fatalf("asked for %s", is)
	}
	for _, path := range []string{hookWatch, "/apis/networking.k8s.io/v1/ingresses?watch=true"} {
		go func() {
			through.SendInVain(t, path)
			watched <- struct{}{}
		}()
	}
	if is := <-asked; is != "watch" {
		t.Fatalf("asked for %s", is)
	}
	stop()
	for range cap(watched) {
		select {
		case <-watched:
		case <-time.After(proxytest.Soon):
			t.Fatal("a watch goes on")
		}
	}
	select {
	case err := <-served:
		t.Fatalf("the proxy has stopped amid a request: %v", err)
	case is := <-answer:
		t.Fatalf("the request in progress is cut off: %d", is)
	case <-time.After(200 * time.Millisecond):
	}
	close(goOn)
	if is := <-answer; is != http.StatusOK {
		t.Errorf("the request in progress: %d", is)
	}
	if err := <-served; err != nil {
		t.Errorf("the proxy stops with %v", err)
	}
}

// TestStopsInTime: a request that a virtual API server doesn't answer doesn't keep the proxy from stopping.
func TestStopsInTime(t *testing.T) {
	t.Parallel()
	l := proxytest.Roomy()
	l.Write = 300 * time.Millisecond
	asked := make(chan struct{}, 1)
	v := proxytest.ServeWithin(t, l, func(_ http.ResponseWriter, r *http.Request) { asked <- struct{}{}; <-r.Context().Done() })
	through, stop, served := listen(t, v)
	go through.SendInVain(t, "/api/v1/namespaces/argocd/configmaps/a")
	<-asked
	stop()
	select {
	case err := <-served:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	case <-time.After(proxytest.Soon):
		t.Error("the proxy goes on")
	}
}

// TestWaitsForADecoderInTime: a request that waits until others are decoded ends with its time, and that is no fault of its server's.
func TestWaitsForADecoderInTime(t *testing.T) {
	t.Parallel()
	l := proxytest.Roomy()
	l.Read = 2 * time.Second
	v := proxytest.ServeWithin(t, l, func(w http.ResponseWriter, _ *http.Request) { proxytest.Reply(w, config(nil)) })
	goOn, busy := make(chan struct{}), v.Proxy.Memory().Share()
	defer close(goOn)
	for range 10 {
		go func() { _ = busy.Decode(t.Context(), func() error { <-goOn; return nil }) }()
	}
	time.Sleep(100 * time.Millisecond)
	got := make(chan error, 1)
	go func() { _, err := getConfig(v); got <- err }()
	select {
	case err := <-got:
		if err == nil || !strings.Contains(err.Error(), limits.ErrBusy.Error()) {
			t.Errorf("got %v", err)
		}
	case <-time.After(proxytest.Soon):
		t.Error("it waits on")
	}
	if n := breaker(t, v).Failures(); n != 0 {
		t.Errorf("%d failures are counted for the server", n)
	}
}

// listen serves the proxy on a real listener until stop is called or the test ends. served gets what Serve returns.
func listen(t *testing.T, v *proxytest.VirtualAPI) (through *proxytest.VirtualAPI, stop context.CancelFunc, served <-chan error) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	done := make(chan error, 1)
	go func() { done <- v.Proxy.Serve(ctx, l) }()
	return &proxytest.VirtualAPI{Token: v.Token, URL: "http://" + l.Addr().String()}, stop, done
}

// TestForgetsCredentials: the proxy keeps no credentials of a tenant from which no request comes any more, though it was watched.
func TestForgetsCredentials(t *testing.T) {
	t.Parallel()
	at := proxytest.Brisk()
	at.Keep = 50 * time.Millisecond
	v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"namespace":"argocd","name":"a"}}`)
	}, proxytest.At(at), func(c *server.Config) { c.KeepClients = time.Second })
	client := func() weak.Pointer[virtualapi.Client] {
		c, err := v.Proxy.ClientOf(v.Token)
		if err != nil {
			t.Fatal(err)
		}
		return weak.Make(c)
	}()
	w, err := v.Client.NetworkingV1().Ingresses("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if status, text := v.Send(t, http.MethodGet, "/apis/networking.k8s.io/v1/namespaces/argocd/ingresses/a"); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if runtime.GC(); client.Value() == nil {
		t.Fatal("the proxy forgets the credentials at once: this shows nothing")
	}
	w.Stop()
	proxytest.Await(t, "the proxy forgets the credentials", func() bool { runtime.GC(); return client.Value() == nil })
}

// TestTokens: without a token of the function's, the proxy connects nowhere, and its error doesn't contain the token.
func TestTokens(t *testing.T) {
	for name, authorization := range map[string]string{"None": "", "Basic": "Basic YTpi", "Text": "Bearer token", "NotJSON": "Bearer YTpi"} {
		t.Run(name, func(t *testing.T) {
			c := server.DefaultConfig(logging.NewNopLogger())
			c.Dial = func(context.Context, string, string) (net.Conn, error) {
				t.Error("it connects")
				return nil, errors.New("no")
			}
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/api", nil)
			r.Header.Set("Authorization", authorization)
			server.New(c).ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized || authorization != "" && strings.Contains(w.Body.String(), strings.TrimPrefix(authorization, "Bearer ")) {
				t.Errorf("got %d: %s", w.Code, w.Body)
			}
		})
	}
}
