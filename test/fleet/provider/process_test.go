package provider

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestProcess stops and kills a process that sends requests.
func TestProcess(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	p := &Process{}
	life, kill := context.WithCancel(t.Context())
	p.kill = kill
	answers := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := requests{process: p, life: life, next: http.DefaultTransport}.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	const long, short = 10 * time.Second, 50 * time.Millisecond
	p.Continue()
	if err := answers(long); err != nil {
		t.Errorf("at first: %v", err)
	}
	p.Stop()
	p.Stop()
	if answers(short) == nil {
		t.Error("a stopped process has sent a request")
	}
	time.AfterFunc(short, p.Continue)
	if err := answers(long); err != nil {
		t.Errorf("after it goes on: %v", err)
	}
	p.Stop()
	time.AfterFunc(short, p.Kill)
	if answers(long) == nil {
		t.Error("a killed process has sent the request that it had waited for")
	}
	p.Continue()
	if answers(long) == nil {
		t.Error("a killed process has sent a request")
	}
}
