package argocd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestRetrying(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		code   int
		body   string
		calls  int32
	}{
		"BadGateway":  {"The server restarts its listener.", http.StatusBadGateway, "Bad Gateway", 2},
		"NoRoute":     {"No pod of the server is ready.", http.StatusNotFound, "404 page not found\n", 2},
		"NoSuchThing": {"Argo CD itself says that something doesn't exist.", http.StatusNotFound, `{"error":"not found"}`, 1},
		"Refused":     {"Argo CD's own errors are answers.", http.StatusInternalServerError, "no", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if calls.Add(1) == 1 {
					http.Error(w, strings.TrimSpace(test.body), test.code)
					return
				}
				_, _ = w.Write(body)
			}))
			defer server.Close()
			client := &http.Client{Transport: retrying(http.DefaultTransport)}
			resp, err := client.Post(server.URL, "text/plain", strings.NewReader("sent"))
			if err != nil {
				t.Fatalf("\n%s\nPost(): %v", test.reason, err)
			}
			defer func() { _ = resp.Body.Close() }()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			want := "sent"
			if test.calls == 1 {
				want = strings.TrimSpace(test.body)
			}
			if calls.Load() != test.calls || strings.TrimSpace(string(body)) != want {
				t.Errorf("\n%s\nPost(): want %q after %d calls, got %q after %d", test.reason, want, test.calls, body, calls.Load())
			}
		})
	}
}
