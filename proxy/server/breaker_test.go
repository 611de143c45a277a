package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// blocked returns a virtual API server that the breaker is about to try again, and that answers as the handler says from now on.
func blocked(t *testing.T, l limits.Limits, answer http.HandlerFunc) *proxytest.VirtualAPI {
	t.Helper()
	fails := atomic.Bool{}
	fails.Store(true)
	v := proxytest.ServeWithin(t, l, func(w http.ResponseWriter, r *http.Request) {
		if fails.Load() {
			w.WriteHeader(http.StatusFound)
			return
		}
		answer(w, r)
	})
	for range limits.MaxFailures {
		_, _ = getConfig(v)
	}
	fails.Store(false)
	time.Sleep(l.Blocked + 100*time.Millisecond)
	return v
}

// breaker returns that of the virtual API server.
func breaker(t *testing.T, v *proxytest.VirtualAPI) *limits.Breaker {
	t.Helper()
	c, err := v.Proxy.ClientOf(v.Token)
	if err != nil {
		t.Fatal(err)
	}
	return c.Breaker
}

// maxTrials is how many requests a virtual API server gets first after it was blocked.
const maxTrials = 3

// TestSlowTrial: one slow request doesn't keep others from a virtual API server that is tried again, and a watch doesn't either. Those that
// are refused get the reason.
func TestSlowTrial(t *testing.T) {
	t.Parallel()
	l := proxytest.Roomy()
	l.Blocked, l.Watch = 100*time.Millisecond, l.Read
	goOn, slow := make(chan struct{}), atomic.Int32{}
	wait := func(r *http.Request) {
		slow.Add(1)
		select {
		case <-goOn:
		case <-r.Context().Done():
		}
	}
	v := blocked(t, l, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") || strings.HasSuffix(r.URL.Path, "/slow") {
			wait(r)
		}
		proxytest.Reply(w, config(nil))
	})
	awaitSlow := func(n int32) {
		for begins := time.Now(); slow.Load() < n; time.Sleep(10 * time.Millisecond) {
			if time.Since(begins) > proxytest.Soon {
				t.Fatalf("%d of %d slow requests are passed on", slow.Load(), n)
			}
		}
	}
	// Watches first: they aren't trials.
	for n := range int32(maxTrials) {
		go v.SendInVain(t, hookWatch)
		awaitSlow(n + 1)
	}
	answers := []<-chan int{object(t, v, "slow")}
	awaitSlow(maxTrials + 1)
	if _, err := getConfig(v); err != nil {
		t.Errorf("beside a slow request: %v", err)
	}
	answers = append(answers, object(t, v, "slow"))
	awaitSlow(maxTrials + 2)
	if _, err := getConfig(v); err == nil || !strings.Contains(err.Error(), "tried with 3 requests, which it hasn't answered yet") {
		t.Errorf("beside as many slow requests as there may be: %v", err)
	}
	close(goOn)
	for _, answer := range answers {
		if is := <-answer; is != http.StatusOK {
			t.Errorf("a slow request: %d", is)
		}
	}
	if _, err := getConfig(v); err != nil {
		t.Errorf("after the trials: %v", err)
	}
	if !breaker(t, v).Closed() {
		t.Error("after the trials the breaker isn't closed")
	}
}

// panics is a client that the proxy can't answer.
type panics struct{ http.ResponseWriter }

func (panics) WriteHeader(int) { panic(http.ErrAbortHandler) }

// TestPanicsCount: a panic ends the trial of a virtual API server, or nothing would be passed on to it any more.
func TestPanicsCount(t *testing.T) {
	t.Parallel()
	v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { proxytest.Reply(w, config(nil)) })
	for range limits.MaxFailures {
		func() {
			defer func() { _ = recover() }()
			r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/argocd/configmaps/a", nil)
			r.Header.Set("Authorization", "Bearer "+v.Token)
			v.Proxy.ServeHTTP(panics{httptest.NewRecorder()}, r)
			t.Error("the proxy doesn't panic: this shows nothing")
		}()
	}
	if _, err := getConfig(v); err == nil || !strings.Contains(err.Error(), "asked again within") {
		t.Errorf("after panics: %v", err)
	}
}
