package plan

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
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
		"UnlabelledAsWell":  {label: CredentialsLabelRequired},
		"UnlabelledIgnored": {label: CredentialsLabelIgnored, usable: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := Request{
				Input:   v1alpha1.Input{Credentials: v1alpha1.Credentials{Label: tc.label}},
				Secrets: map[string]Secret{"s": {Read: true, Found: true, Labelled: tc.labelled, Data: map[string]string{"password": "x"}}},
			}.readSecret("s")
			if (s.problem == nil) != tc.usable || s.has("password") != tc.usable {
				t.Errorf("want it usable: %t, got problem %v and data %v", tc.usable, s.problem, s.Data)
			}
		})
	}
}

// TestLongKeys: no key takes the time of the function, which is everybody's.
func TestLongKeys(t *testing.T) {
	long := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("A", maxPrivateKey) + "\n-----END RSA PRIVATE KEY-----\n"
	pair, ssh := &secretReader{}, &secretReader{}
	checkPair(pair, []byte("c"), []byte(long))
	ssh.checkPrivateKey("sshPrivateKey", map[string]string{"sshPrivateKey": long})
	for _, s := range []*secretReader{pair, ssh} {
		if s.problem == nil || !strings.Contains(s.problem.message, "bytes: write one of at most 16384") {
			t.Errorf("want its length refused, got %v", s.problem)
		}
	}
}
