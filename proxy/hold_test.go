package proxy

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// large returns an object that waits for memory.
func large() string {
	return `{"apiVersion":"v1","kind":"ConfigMap"` + strings.Repeat(" ", smallAnswer) + `}`
}

// largeLimits are limits in which there are large answers.
func largeLimits() Limits {
	l := roomy()
	l.Answer = 1 << 20
	return l
}

// another returns a proxied API like v, whose credentials are of another virtual API server.
func (v *virtualAPI) another(t *testing.T) *virtualAPI {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(v.token)
	if err != nil {
		t.Fatal(err)
	}
	return &virtualAPI{proxy: v.proxy, front: v.front, token: base64.RawURLEncoding.EncodeToString(append([]byte(" "), raw...))}
}

// object asks for an object, and sends the status of the answer.
func (v *virtualAPI) object(t *testing.T, name string) <-chan int {
	t.Helper()
	status := make(chan int, 1)
	go func() {
		is, _ := v.send(t, http.MethodGet, "/api/v1/namespaces/argocd/configmaps/"+name)
		status <- is
	}()
	return status
}

// awaitHeld waits until as many large answers of a virtual API server are in memory as may be.
func (v *virtualAPI) awaitHeld(t *testing.T) {
	t.Helper()
	s, err := v.proxy.server("Bearer " + v.token)
	if err != nil {
		t.Fatal(err)
	}
	for begins := time.Now(); s.held.TryAcquire(1); time.Sleep(10 * time.Millisecond) {
		s.held.Release(1)
		if time.Since(begins) > soon {
			t.Fatal("the answers don't come")
		}
	}
}

// TestLargeAnswersOfOne: a virtual API server that stalls with large answers keeps only its own waiting.
func TestLargeAnswersOfOne(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	v := serveWithin(t, largeLimits(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaJSON)
		switch {
		case strings.HasSuffix(r.URL.Path, "/stalls"):
			_, _ = io.WriteString(w, large()[:smallAnswer+1])
			_ = http.NewResponseController(w).Flush()
			select {
			case <-goOn:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, large()[smallAnswer+1:])
		case strings.HasSuffix(r.URL.Path, "/large"):
			_, _ = io.WriteString(w, large())
		default:
			_, _ = io.WriteString(w, `{"apiVersion":"v1"}`)
		}
	})
	stalls := []<-chan int{}
	for range maxHeldEach {
		stalls = append(stalls, v.object(t, "stalls"))
	}
	v.awaitHeld(t)
	waits := v.object(t, "large")
	if is := <-v.object(t, "small"); is != http.StatusOK {
		t.Errorf("a small answer: %d", is)
	}
	if is := <-v.another(t).object(t, "large"); is != http.StatusOK {
		t.Errorf("another's large answer: %d", is)
	}
	select {
	case is := <-waits:
		t.Errorf("one more large answer doesn't wait: %d", is)
	case <-time.After(300 * time.Millisecond):
	}
	close(goOn)
	for _, answer := range append(stalls, waits) {
		if is := <-answer; is != http.StatusOK {
			t.Errorf("a large answer in the end: %d", is)
		}
	}
}

// TestLargeAnswersOfAll: large answers of all servers together have a bound. That there is no memory is no fault of the
// server that is asked.
func TestLargeAnswersOfAll(t *testing.T) {
	t.Parallel()
	l := largeLimits()
	l.Read = 8 * time.Second
	v := serveWithin(t, l, func(w http.ResponseWriter, _ *http.Request) { answerAs(w, mediaJSON, large()) })
	if err := v.proxy.held.Acquire(context.Background(), maxHeld-l.Answer+1); err != nil {
		t.Fatal(err)
	}
	waiting := sync.WaitGroup{}
	for range MaxFailures + 1 {
		waiting.Go(func() {
			if status, text := v.send(t, http.MethodGet, "/api/v1/namespaces/argocd/configmaps/a"); status != http.StatusBadGateway || !strings.Contains(text, errCrowded.Error()) {
				t.Errorf("without memory: %d %s", status, text)
			}
		})
	}
	waiting.Wait()
	v.proxy.held.Release(1)
	for range 3 {
		if status, text := v.send(t, http.MethodGet, "/api/v1/namespaces/argocd/configmaps/a"); status != http.StatusOK {
			t.Fatalf("with memory for one: %d, and %d bytes", status, len(text))
		}
	}
}
