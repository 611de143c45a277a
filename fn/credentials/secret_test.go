package credentials

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestReadSecret: of a Secret that claims can't use, nothing is left to read.
func TestReadSecret(t *testing.T) {
	for name, tc := range map[string]struct {
		labelled bool
		label    string
		usable   bool
	}{
		"Labelled":          {labelled: true, usable: true},
		"Unlabelled":        {},
		"UnlabelledAsWell":  {label: tenant.CredentialsLabelRequired},
		"UnlabelledIgnored": {label: tenant.CredentialsLabelIgnored, usable: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := Read(tenant.Given{
				Input:   v1alpha1.Input{Credentials: v1alpha1.Credentials{Label: tc.label}},
				Secrets: map[string]tenant.Secret{"s": {Read: true, Found: true, Labelled: tc.labelled, Data: map[string]string{"password": "x"}}},
			}, "s")
			if (s.Problem == nil) != tc.usable || s.Has("password") != tc.usable {
				t.Errorf("want it usable: %t, got problem %v and data %v", tc.usable, s.Problem, s.Data)
			}
		})
	}
}

// TestLongKeys: no key takes the time of the function, which is everybody's.
func TestLongKeys(t *testing.T) {
	long := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("A", MaxPrivateKey) + "\n-----END RSA PRIVATE KEY-----\n"
	pair := &Reader{}
	CheckPair(pair, []byte("c"), []byte(long))
	if pair.Problem == nil || !strings.Contains(pair.Problem.message, "bytes: write one of at most 8192") {
		t.Errorf("want its length refused, got %v", pair.Problem)
	}
}

// TestSecretsPastTheLimit: what isn't read of a claim that was accepted with more Secrets than it may name now says so.
func TestSecretsPastTheLimit(t *testing.T) {
	g := tenant.Given{Claim: tenant.Claim{Namespace: "acme"}}
	for i := range tenant.MaxSecrets + 1 {
		g.SecretNames = append(g.SecretNames, fmt.Sprintf("s-%02d", i))
	}
	for name, want := range map[string]string{"s-63": "has not been read yet", "s-64": "isn't read, because the claim names more than 64 Secrets: name fewer"} {
		if p := Read(g, name).Problem; p == nil || !strings.HasSuffix(p.message, want) {
			t.Errorf("%s: want %q, got %+v", name, want, p)
		}
	}
}
