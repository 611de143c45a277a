package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"
)

// blocked returns a virtual API server that the breaker is about to try again, and that answers as the handler says from now on.
func blocked(t *testing.T, limits Limits, answer http.HandlerFunc) *virtualAPI {
	t.Helper()
	fails := atomic.Bool{}
	fails.Store(true)
	v := serveWithin(t, limits, func(w http.ResponseWriter, r *http.Request) {
		if fails.Load() {
			w.WriteHeader(http.StatusFound)
			return
		}
		answer(w, r)
	})
	for range MaxFailures {
		_, _ = v.getConfig()
	}
	fails.Store(false)
	for begins := time.Now(); v.breaker(t).State() != gobreaker.StateHalfOpen; time.Sleep(10 * time.Millisecond) {
		if time.Since(begins) > soon {
			t.Fatal("the breaker never tries again")
		}
	}
	return v
}

func (v *virtualAPI) breaker(t *testing.T) *gobreaker.TwoStepCircuitBreaker[any] {
	t.Helper()
	s, err := v.proxy.server("Bearer " + v.token)
	if err != nil {
		t.Fatal(err)
	}
	return s.breaker
}

// askInVain asks for something, and doesn't mind when the test ends before there is an answer.
func (v *virtualAPI) askInVain(t *testing.T, uri string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.front+uri, nil)
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+v.token)
	if answer, err := http.DefaultTransport.RoundTrip(r); err == nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

// TestSlowTrial: one slow request doesn't keep others from a virtual API server that is tried again, and a watch doesn't either. Those that
// are refused are told why.
func TestSlowTrial(t *testing.T) {
	t.Parallel()
	limits := roomy()
	limits.Rest, limits.Watch = 100*time.Millisecond, limits.Read
	goOn, slow := make(chan struct{}), atomic.Int32{}
	wait := func(r *http.Request) {
		slow.Add(1)
		select {
		case <-goOn:
		case <-r.Context().Done():
		}
	}
	v := blocked(t, limits, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") || strings.HasSuffix(r.URL.Path, "/slow") {
			wait(r)
		}
		reply(w, config(nil))
	})
	awaitSlow := func(n int32) {
		for begins := time.Now(); slow.Load() < n; time.Sleep(10 * time.Millisecond) {
			if time.Since(begins) > soon {
				t.Fatalf("%d of %d slow requests are passed on", slow.Load(), n)
			}
		}
	}
	// Watches first: they aren't trials.
	for n := range int32(maxTrials) {
		go v.askInVain(t, hookWatch)
		awaitSlow(n + 1)
	}
	answers := []<-chan int{v.object(t, "slow")}
	awaitSlow(maxTrials + 1)
	if _, err := v.getConfig(); err != nil {
		t.Errorf("beside a slow request: %v", err)
	}
	answers = append(answers, v.object(t, "slow"))
	awaitSlow(maxTrials + 2)
	if _, err := v.getConfig(); err == nil || !strings.Contains(err.Error(), "tried with 3 requests, which it hasn't answered yet") {
		t.Errorf("beside as many slow requests as there may be: %v", err)
	}
	close(goOn)
	for _, answer := range answers {
		if is := <-answer; is != http.StatusOK {
			t.Errorf("a slow request: %d", is)
		}
	}
	if _, err := v.getConfig(); err != nil {
		t.Errorf("after the trials: %v", err)
	}
	if is := v.breaker(t).State(); is != gobreaker.StateClosed {
		t.Errorf("after the trials the breaker is %s", is)
	}
}

// panics is a client that the proxy can't answer.
type panics struct{ http.ResponseWriter }

func (panics) WriteHeader(int) { panic(http.ErrAbortHandler) }

// TestPanicsCount: a panic ends the trial of a virtual API server, or nothing would be passed on to it any more.
func TestPanicsCount(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, config(nil)) })
	for range MaxFailures {
		func() {
			defer func() { _ = recover() }()
			r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/argocd/configmaps/a", nil)
			r.Header.Set("Authorization", "Bearer "+v.token)
			v.proxy.ServeHTTP(panics{httptest.NewRecorder()}, r)
			t.Error("the proxy doesn't panic: this shows nothing")
		}()
	}
	if is := v.breaker(t).State(); is != gobreaker.StateOpen {
		t.Errorf("after panics the breaker is %s", is)
	}
}
