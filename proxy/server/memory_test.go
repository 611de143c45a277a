package server_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// large returns an object that waits for memory.
func large() string {
	return `{"apiVersion":"v1","kind":"ConfigMap"` + strings.Repeat(" ", limits.SmallResponse) + `}`
}

// largeLimits are limits in which there are large answers.
func largeLimits() limits.Limits {
	l := proxytest.Roomy()
	l.Response = 1 << 20
	return l
}

// another returns a client of the same proxy, whose credentials are of another virtual API server.
func another(t *testing.T, v *proxytest.VirtualAPI) *proxytest.VirtualAPI {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(v.Token)
	if err != nil {
		t.Fatal(err)
	}
	return &proxytest.VirtualAPI{Proxy: v.Proxy, URL: v.URL, Token: base64.RawURLEncoding.EncodeToString(append([]byte(" "), raw...))}
}

// object requests an object, and sends the status of the response.
func object(t *testing.T, v *proxytest.VirtualAPI, name string) <-chan int {
	t.Helper()
	status := make(chan int, 1)
	go func() {
		is, _ := v.Send(t, http.MethodGet, "/api/v1/namespaces/argocd/configmaps/"+name)
		status <- is
	}()
	return status
}

// awaitFull waits until as many large responses of a virtual API server are in memory as may be.
func awaitFull(t *testing.T, v *proxytest.VirtualAPI) {
	t.Helper()
	c, err := v.Proxy.ClientOf(v.Token)
	if err != nil {
		t.Fatal(err)
	}
	proxytest.Await(t, "the large responses come", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		release, err := c.Memory.Hold(ctx, 1)
		release()
		return err != nil
	})
}

// TestLargeResponsesOfOne: a virtual API server that stalls with large answers keeps only its own waiting.
func TestLargeResponsesOfOne(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	v := proxytest.ServeWithin(t, largeLimits(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		switch {
		case strings.HasSuffix(r.URL.Path, "/stalls"):
			_, _ = io.WriteString(w, large()[:limits.SmallResponse+1])
			_ = http.NewResponseController(w).Flush()
			select {
			case <-goOn:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, large()[limits.SmallResponse+1:])
		case strings.HasSuffix(r.URL.Path, "/large"):
			_, _ = io.WriteString(w, large())
		default:
			_, _ = io.WriteString(w, `{"apiVersion":"v1"}`)
		}
	})
	stalls := []<-chan int{}
	for range 2 {
		stalls = append(stalls, object(t, v, "stalls"))
	}
	awaitFull(t, v)
	waits := object(t, v, "large")
	if is := <-object(t, v, "small"); is != http.StatusOK {
		t.Errorf("a small answer: %d", is)
	}
	if is := <-object(t, another(t, v), "large"); is != http.StatusOK {
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

// TestLargeResponsesOfAll: large answers of all servers together have a bound. That there is no memory is no fault of the
// server that is asked.
func TestLargeResponsesOfAll(t *testing.T) {
	t.Parallel()
	l := largeLimits()
	l.Read = 8 * time.Second
	v := proxytest.ServeWithin(t, l, func(w http.ResponseWriter, _ *http.Request) { proxytest.ReplyAs(w, virtualapi.MediaJSON, large()) })
	// All but a byte less than a response may have, and a byte that is released below.
	memory := v.Proxy.Memory().Share()
	if _, err := memory.Hold(t.Context(), limits.MaxLarge-l.Response); err != nil {
		t.Fatal(err)
	}
	release, err := memory.Hold(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	waiting := sync.WaitGroup{}
	for range limits.MaxFailures + 1 {
		waiting.Go(func() {
			if status, text := v.Send(t, http.MethodGet, "/api/v1/namespaces/argocd/configmaps/a"); status != http.StatusBadGateway || !strings.Contains(text, limits.ErrBusy.Error()) {
				t.Errorf("without memory: %d %s", status, text)
			}
		})
	}
	waiting.Wait()
	release()
	for range 3 {
		if status, text := v.Send(t, http.MethodGet, "/api/v1/namespaces/argocd/configmaps/a"); status != http.StatusOK {
			t.Fatalf("with memory for one: %d, and %d bytes", status, len(text))
		}
	}
}
