package tunnel_test

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

func signer(t *testing.T, of byte) ssh.Signer {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = of
	s, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestProof: a proof is one of a key, to one server, at about one time.
func TestProof(t *testing.T) {
	agent, server, other := signer(t, 1), signer(t, 2), signer(t, 3)
	now := time.Unix(1764331200, 0)
	text, err := tunnel.Prove(agent, server.PublicKey(), tunnel.TimeOf(now))
	if err != nil {
		t.Fatal(err)
	}
	swapped := strings.Replace(text, " 1764331200 ", " 1764331230 ", 1)
	for name, tc := range map[string]struct {
		text        string
		key, server ssh.Signer
		at          time.Time
		want        bool
	}{
		"Valid":         {text, agent, server, now, true},
		"SlowNetwork":   {text, agent, server, now.Add(50 * time.Second), true},
		"Old":           {text, agent, server, now.Add(2 * time.Minute), false},
		"Future":        {text, agent, server, now.Add(-2 * time.Minute), false},
		"AnotherAgent":  {text, other, server, now, false},
		"AnotherServer": {text, agent, other, now, false},
		"AnotherTime":   {swapped, agent, server, now, false},
		"NoTime":        {strings.Replace(text, " 1764331200 ", " now ", 1), agent, server, now, false},
		"NoSignature":   {strings.Join(strings.Fields(text)[:2], " ") + " ", agent, server, now, false},
		"NotBase64":     {strings.Join(strings.Fields(text)[:2], " ") + " %", agent, server, now, false},
		"Empty":         {"", agent, server, now, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, ok := tunnel.ReadProof(tc.text)
			if is := ok && p.IsOf(tc.key.PublicKey(), tc.server.PublicKey(), tc.at); is != tc.want {
				t.Errorf("want %t, got %t", tc.want, is)
			}
		})
	}
	if _, err := tunnel.Prove(agent, server.PublicKey(), "now, and something else to sign"); err == nil {
		t.Error("an agent signs whatever the server says")
	}
}
