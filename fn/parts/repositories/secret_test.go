package repositories

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
)

// TestLongKeys: no key takes the time of the function, which is everybody's.
func TestLongKeys(t *testing.T) {
	long := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("A", credentials.MaxPrivateKey) + "\n-----END RSA PRIVATE KEY-----\n"
	s := &credentials.Reader{}
	if checkPrivateKey(s, "sshPrivateKey", map[string]string{"sshPrivateKey": long}); s.Problem == nil {
		t.Error("a long key is let in")
	}
}
