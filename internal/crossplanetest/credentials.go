package crossplanetest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// KeyPair is a certificate for hostnames of example.org and its key, in PEM.
var KeyPair = sync.OnceValues(func() (string, string) { return ServerPair(time.Now().Add(time.Hour), "*.example.org") })

// ServerPair returns a certificate for hostnames, and its key, in PEM.
func ServerPair(expires time.Time, hostnames ...string) (cert, key string) {
	private := Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: expires, IsCA: true, DNSNames: hostnames}
	der := Must(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))
	of := Must(x509.MarshalPKCS8PrivateKey(private))
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: of}))
}

// SSHKey is a private key, one with a passphrase, and a line of known_hosts.
var SSHKey = sync.OnceValues(func() ([2]string, string) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	plain, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		panic(err)
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("x"))
	if err != nil {
		panic(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		panic(err)
	}
	return [2]string{string(pem.EncodeToMemory(plain)), string(pem.EncodeToMemory(locked))}, "git.example.org " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
})

// ClusterKubeconfig is one with the supplied user and cluster, as JSON.
func ClusterKubeconfig(user, cluster map[string]any) string {
	raw, _ := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "b",
		"contexts": []any{
			map[string]any{"name": "a", "context": map[string]any{"cluster": "other", "user": "other"}},
			map[string]any{"name": "b", "context": map[string]any{"cluster": "c", "user": "u"}},
		},
		"clusters": []any{map[string]any{"name": "c", "cluster": cluster}},
		"users":    []any{map[string]any{"name": "u", "user": user}},
	})
	return string(raw)
}
