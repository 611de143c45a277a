package gitserver

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func TestFilesFitWhatClientsAreTold(t *testing.T) {
	p := &Private{address: "10.96.0.7"}
	files, err := p.files()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair([]byte(files["tls.pem"]), []byte(files["tls.pem"]))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.CA)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: p.address}); err != nil {
		t.Errorf("the https server's certificate is not good for its address: %v", err)
	}
	if want := Username + ":" + p.Password() + "\n"; files["password"] != want {
		t.Errorf("file of passwords: want %q, got %q", want, files["password"])
	}
	key, err := ssh.ParsePrivateKey([]byte(p.Key()))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(ssh.MarshalAuthorizedKey(key.PublicKey())); files["authorized_keys"] != got {
		t.Errorf("the key that clients have is %q, the one let in %q", got, files["authorized_keys"])
	}
	hostKey, err := ssh.ParsePrivateKey([]byte(files["host_key"]))
	if err != nil {
		t.Fatal(err)
	}
	want := p.address + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(hostKey.PublicKey())))
	if p.KnownHosts != want {
		t.Errorf("known hosts: want %q, got %q", want, p.KnownHosts)
	}
}
