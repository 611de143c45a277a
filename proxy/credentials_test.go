package proxy

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// TestTokens: only a Service of the cluster can be in a token, as it is written and as it is read.
func TestTokens(t *testing.T) {
	const service = "vcluster.vargo-team-a.svc"
	// As Credentials.Token does without checks.
	server := func(url string) string {
		raw, err := json.Marshal(Credentials{Server: url, CA: []byte("ca"), Certificate: []byte("c"), Key: []byte("k")})
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	for name, tc := range map[string]struct {
		token string
		valid bool
	}{
		"Service": {server("https://" + service), true},
		"None":    {"", false}, "Text": {"token", false}, "NotJSON": {"YTpi", false},
		"OtherHost": {server("https://example.org"), false}, "HTTP": {server("http://" + service), false}, "Path": {server("https://" + service + "/apis"), false},
		"User": {server("https://a:b@" + service), false}, "Suffix": {server("https://" + service + ".example.org"), false},
		"ClusterDomain": {server("https://" + service + ".cluster.local"), false}, "Query": {server("https://" + service + "?x=.svc"), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadToken(tc.token)
			if (err == nil) != tc.valid || err != nil && tc.token != "" && strings.Contains(err.Error(), tc.token) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := (Credentials{Server: "https://" + service + ".cluster.local"}).Token(); err == nil {
		t.Error("there is a token that the proxy refuses")
	}
}
