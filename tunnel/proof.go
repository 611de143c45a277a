package tunnel

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	// ProofHeader of an agent's request has its Proof.
	ProofHeader = "Virtual-Argocd-Proof"
	// TimeHeader of the answer to a request without one has the server's time, which the proof is for: clocks may differ.
	TimeHeader = "Virtual-Argocd-Time"

	// proofFor is how long a proof counts.
	proofFor = time.Minute
)

// A Proof shows in one line of a request that an agent has its key, before the server keeps anything of a connection: who has none gets no
// further. It is no secret to be kept: whoever copies one gets as far as the handshake of SSH, in which both sides show their keys again.
type Proof struct {
	// Fingerprint of the agent's key.
	Fingerprint string
	time        string
	signature   []byte
}

// TimeOf is a time as TimeHeader has it.
func TimeOf(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// Prove returns what an agent with a key writes at ProofHeader, to the server with a public key that has said what time it is.
func Prove(key ssh.Signer, server ssh.PublicKey, at string) (string, error) {
	if _, err := strconv.ParseInt(at, 10, 64); err != nil {
		return "", fmt.Errorf("the server says that it is %q", at)
	}
	signature, err := key.Sign(rand.Reader, signed(server, at))
	if err != nil {
		return "", err
	}
	return strings.Join([]string{ssh.FingerprintSHA256(key.PublicKey()), at, base64.StdEncoding.EncodeToString(ssh.Marshal(signature))}, " "), nil
}

// signed is what an agent signs. Nothing that is signed in SSH begins so.
func signed(server ssh.PublicKey, at string) []byte {
	return append([]byte("a tunnel at "+at+" to the server "), server.Marshal()...)
}

// ReadProof returns what is at ProofHeader; false for what is none.
func ReadProof(text string) (Proof, bool) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return Proof{}, false
	}
	signature, err := base64.StdEncoding.DecodeString(parts[2])
	return Proof{Fingerprint: parts[0], time: parts[1], signature: signature}, err == nil
}

// IsOf reports whether whoever has written it has the private key of this public one, and has meant this server, now.
func (p Proof) IsOf(key, server ssh.PublicKey, now time.Time) bool {
	at, err := strconv.ParseInt(p.time, 10, 64)
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > proofFor {
		return false
	}
	signature := &ssh.Signature{}
	return ssh.Unmarshal(p.signature, signature) == nil && key.Verify(signed(server, p.time), signature) == nil
}
