package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

const hookWatch = "/apis/batch/v1/namespaces/argocd/jobs?watch=true&fieldSelector=metadata.name%3Dhook"

// hookEvent is an event of the watch of a hook, with a text of that length.
func hookEvent(typ string, size int) string {
	return fmt.Sprintf(`{"type":%q,"object":{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"argocd","name":"hook","annotations":{"a":"%s"}}}}`+"\n", typ, strings.Repeat("x", size))
}

// watchLimits are limits in which events of 128 KiB are the largest.
func watchLimits() limits.Limits {
	l := proxytest.Roomy()
	l.LargeResponse, l.Watch, l.Blocked = 1<<20, l.Read, time.Minute
	return l
}

// TestLargeEvents: each event of a watch is bounded, and so is one that says what went wrong.
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sends string
		// want is how many events come through, and failures what is counted for the server.
		want, failures int
	}{
		"Small":            {hookEvent("ADDED", 10) + hookEvent("MODIFIED", 10), 2, 0},
		"LargeOnes":        {strings.Repeat(hookEvent("MODIFIED", 100<<10), 5), 5, 0},
		"SmallAfterLarge":  {hookEvent("MODIFIED", 100<<10) + hookEvent("MODIFIED", 10) + hookEvent("MODIFIED", 100<<10), 3, 0},
		"TooLarge":         {hookEvent("MODIFIED", 10) + hookEvent("MODIFIED", 200<<10), 1, 1},
		"TooLargeAtOnce":   {hookEvent("MODIFIED", 200<<10), 0, 1},
		"LongError":        {hookEvent("ERROR", 2_000), 0, 1},
		"ShortError":       {hookEvent("ERROR", 100), 1, 0},
		"ManyInOne":        {strings.Repeat(hookEvent("MODIFIED", 1_000), 100), 100, 0},
		"Deep":             {hookEvent("MODIFIED", 10) + `{"type":"MODIFIED","object":{"spec":` + deep(500) + `,"metadata":{"namespace":"argocd","name":"hook"}}}`, 1, 1},
		"DeepWithinLimit":  {`{"type":"MODIFIED","object":{"spec":` + deep(490) + `,"metadata":{"namespace":"argocd","name":"hook"}}}`, 1, 0},
		"EndlessWithinOne": {`{"type":"MODIFIED","object":{"a":"` + strings.Repeat("x", 2<<20), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v := proxytest.ServeWithin(t, watchLimits(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", virtualapi.MediaJSON)
				_, _ = io.WriteString(w, c.sends)
			})
			status, got := v.Send(t, http.MethodGet, hookWatch)
			if n := strings.Count(got, `"type":`); status != http.StatusOK || n != c.want {
				t.Errorf("%d events come through with status %d, want %d", n, status, c.want)
			}
			if n := breaker(t, v).Failures(); n != c.failures {
				t.Errorf("%d failures are counted, want %d", n, c.failures)
			}
		})
	}
}

// TestLargeEventsOfAll: a large event of a watch waits until there is memory for it, and a small one doesn't.
func TestLargeEventsOfAll(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	v := proxytest.ServeWithin(t, watchLimits(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		_, _ = io.WriteString(w, hookEvent("ADDED", 10))
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, hookEvent("MODIFIED", 100<<10))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-goOn:
		case <-r.Context().Done():
		}
	})
	memory := v.Proxy.Memory().Share()
	release, err := memory.Hold(t.Context(), limits.MaxLarge)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(v.Request(t, http.MethodGet, hookWatch))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	sizes := make(chan int, 10)
	go func() {
		defer close(sizes)
		for {
			chunk := make([]byte, 200<<10)
			n, err := answer.Body.Read(chunk)
			if sizes <- n; err != nil {
				return
			}
		}
	}()
	if n := <-sizes; n == 0 || n > 1000 {
		t.Fatalf("want the small event first, got %d bytes", n)
	}
	select {
	case n := <-sizes:
		t.Errorf("%d bytes of a large event come without memory for it", n)
	case <-time.After(300 * time.Millisecond):
	}
	release()
	for got := 0; got < 100<<10; {
		select {
		case n, ok := <-sizes:
			if got += n; !ok {
				t.Fatalf("%d bytes of the large event came", got)
			}
		case <-time.After(proxytest.Soon):
			t.Fatalf("with memory for it, %d bytes of the large event came", got)
		}
	}
	close(goOn)
	for range sizes { //nolint:revive // Until the watch has ended.
	}
	ctx, cancel := context.WithTimeout(t.Context(), proxytest.Soon)
	defer cancel()
	if _, err := memory.Hold(ctx, limits.MaxLarge); err != nil {
		t.Errorf("a watch that has ended holds memory: %v", err)
	}
}
