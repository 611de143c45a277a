package tenants

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestMonth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 1, 50, 12, 0, time.FixedZone("somewhere", -3600))
	cases := map[string]struct {
		reason, month, from, to, err string
	}{
		"Current": {"A month that isn't over ends with the last full quarter.", "", "2026-11-01T00:00:00Z", "2026-11-29T02:45:00Z", ""},
		"Past":    {"Months have different lengths.", "2026-02", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", ""},
		"Future":  {"Nothing is known of it.", "2026-12", "", "", "write 2026-10 or an earlier one"},
		"NoMonth": {"A day is none.", "2026-11-01", "", "", "write a year and a month"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to, err := Month(tc.month, now)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if got := []string{from.Format(time.RFC3339), to.Format(time.RFC3339)}; err != nil || got[0] != tc.from || got[1] != tc.to {
				t.Errorf("\n%s\nwant %s to %s, got %v, %v", tc.reason, tc.from, tc.to, got, err)
			}
		})
	}
}

// TestAnswers: what isn't Prometheus, and what Prometheus refuses, is told.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"<html>":                                "is this the address of Prometheus?",
		`{"status":"error","error":"too many"}`: "Prometheus refuses a query: sum by (cell)",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				t.Errorf("the token is %q", r.Header.Get("Authorization"))
			}
			_, _ = w.Write([]byte(answer))
		}))
		t.Cleanup(server.Close)
		_, err := Prometheus{URL: server.URL, Token: "secret", Client: server.Client()}.Cells(t.Context(), time.Now())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: want an error with %q, got %v", answer, want, err)
		}
	}
}
