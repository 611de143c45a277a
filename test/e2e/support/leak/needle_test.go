package leak

import (
	"encoding/base64"
	"encoding/json"
	"testing"
)

func TestNeedle(t *testing.T) {
	const secret = "pl4nted-Secr3t"
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	pem := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIODdxTgcbkPq0zVlDTKbPYWWAnGtzVV8\n-----END EC PRIVATE KEY-----\n"
	escaped, err := json.Marshal(pem)
	if err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason   string
		needle   Needle
		haystack string
		want     bool
	}{
		"Absent":           {"what is not there is not found", Value("p", secret), "nothing to see", false},
		"Plain":            {"the value as it is", Value("p", secret), "password is " + secret + ".", true},
		"Encoded":          {"the value encoded by itself", Value("p", secret), b64(secret), true},
		"EncodedAfterOne":  {"the value inside a larger encoded text, at an alignment of one", Value("p", secret), b64("a" + secret + "xyz"), true},
		"EncodedAfterTwo":  {"... of two", Value("p", secret), b64("ab" + secret + "x"), true},
		"EncodedAfterMany": {"... of none, but not at the start", Value("p", secret), b64("password: " + secret + "\n"), true},
		"OtherEncoded":     {"another value encoded is not it", Value("p", secret), b64("pl4nted-Secr4t"), false},
		"KeyEscaped":       {"a key whose line breaks JSON escaped", Value("k", pem), string(escaped), true},
		"KeyEncodedTwice":  {"a key as kubeconfigs have it, in a kubeconfig that was encoded", Value("k", b64(pem)), b64("client-key-data: " + b64(pem)), true},
		"OtherKey":         {"PEM's frame alone is no secret", Value("k", pem), "-----BEGIN EC PRIVATE KEY-----", false},
		"AnyKey":           {"any private key is found by its frame", PrivateKey, string(escaped), true},
		"AnyToken":         {"any token is found by its shape", JWT, `{"a":"eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVz.c2lnbmF0dXJlc2ln"}`, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.needle.in([]byte(tc.haystack)); got != tc.want {
				t.Errorf("\n%s\nin(%q): want %t, got %t", tc.reason, tc.haystack, tc.want, got)
			}
		})
	}
}
