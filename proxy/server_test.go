package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestStops: when the proxy stops, requests that are in progress get their answers, and watches end.
func TestStops(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan string, 2), make(chan struct{})
	limits := roomy()
	limits.Watch = 10 * time.Minute
	v := serveWithin(t, limits, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			w.Header().Set("Content-Type", mediaJSON)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			asked <- "watch"
			<-r.Context().Done()
			return
		}
		asked <- r.Method
		select {
		case <-goOn:
			reply(w, config(nil))
		case <-r.Context().Done():
		}
	})
	through, stop, served := v.listen(t)

	answer, watched := make(chan int, 1), make(chan struct{}, 2)
	go func() {
		is, _ := through.send(t, http.MethodPatch, "/api/v1/namespaces/argocd/configmaps/a")
		answer <- is
	}()
	if is := <-asked; is != http.MethodPatch {
		t.Fatalf("asked for %s", is)
	}
	for _, path := range []string{hookWatch, ingresses.path + "?watch=true"} {
		go func() {
			through.askInVain(t, path)
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
		case <-time.After(soon):
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
	limits := roomy()
	limits.Write = 300 * time.Millisecond
	asked := make(chan struct{}, 1)
	v := serveWithin(t, limits, func(_ http.ResponseWriter, r *http.Request) { asked <- struct{}{}; <-r.Context().Done() })
	through, stop, served := v.listen(t)
	go through.askInVain(t, "/api/v1/namespaces/argocd/configmaps/a")
	<-asked
	stop()
	select {
	case err := <-served:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	case <-time.After(soon):
		t.Error("the proxy goes on")
	}
}

// TestWaitsForADecoderInTime: a request that waits until others are decoded ends with its time, and that is no fault of its server's.
func TestWaitsForADecoderInTime(t *testing.T) {
	t.Parallel()
	limits := roomy()
	limits.Read = 2 * time.Second
	v := serveWithin(t, limits, func(w http.ResponseWriter, _ *http.Request) { reply(w, config(nil)) })
	for range maxDecoding {
		v.proxy.decoding <- struct{}{}
	}
	got := make(chan error, 1)
	go func() { _, err := v.getConfig(); got <- err }()
	select {
	case err := <-got:
		if err == nil || !strings.Contains(err.Error(), errCrowded.Error()) {
			t.Errorf("got %v", err)
		}
	case <-time.After(soon):
		t.Error("it waits on")
	}
	if n := v.breaker(t).Counts().TotalFailures; n != 0 {
		t.Errorf("%d failures are counted for the server", n)
	}
}

// listen serves the proxy on a real listener until stop is called or the test ends. served gets what serve returns.
func (v *virtualAPI) listen(t *testing.T) (through *virtualAPI, stop context.CancelFunc, served <-chan error) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	done := make(chan error, 1)
	go func() { done <- v.proxy.serve(ctx, l) }()
	through = &virtualAPI{token: v.token}
	through.front = "http://" + l.Addr().String()
	return through, stop, done
}
