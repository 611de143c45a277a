// Package certs makes certificates for the lab and for tests.
package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// A KeyPair is a certificate and its key.
type KeyPair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// An Identity is whom a certificate speaks for.
type Identity struct {
	// Name and Group are a Kubernetes user and one of its groups.
	Name, Group string
	// Hosts make it a server's certificate: DNS names and addresses.
	Hosts []string
}

// The cluster lives for hours; a week covers a forgotten one.
const validFor = 7 * 24 * time.Hour

// NewAuthority makes a certificate authority. Its name is a DNS name, too.
func NewAuthority(name string) (*KeyPair, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name, NotBefore: begins()}, key)
	if err != nil {
		return nil, fmt.Errorf("cannot make the certificate authority %s: %w", name, err)
	}
	return &KeyPair{cert: ca, key: key}, nil
}

// Sign makes a certificate for an identity.
func (p *KeyPair) Sign(id Identity) (*KeyPair, error) {
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: id.Name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if id.Group != "" {
		t.Subject.Organization = []string{id.Group}
	}
	if len(id.Hosts) > 0 {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	for _, h := range id.Hosts {
		if a := net.ParseIP(h); a != nil {
			t.IPAddresses = append(t.IPAddresses, a)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return p.issue(t)
}

// issue makes a key and its certificate.
func (p *KeyPair) issue(t *x509.Certificate) (*KeyPair, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	if t.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, fmt.Errorf("cannot make a serial number: %w", err)
	}
	t.NotBefore, t.NotAfter = begins(), time.Now().Add(validFor)
	der, err := x509.CreateCertificate(rand.Reader, t, p.cert, key.Public(), p.key)
	if err != nil {
		return nil, fmt.Errorf("cannot make the certificate of %s: %w", t.Subject.CommonName, err)
	}
	signed, err := x509.ParseCertificate(der)
	return &KeyPair{cert: signed, key: key}, err
}

func newKey() (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	return key, nil
}

// begins lets clocks differ a little.
func begins() time.Time { return time.Now().Add(-time.Minute) }

// CertPEM is the certificate as a file.
func (p *KeyPair) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: p.cert.Raw})
}

// KeyPEM is the key as a file.
func (p *KeyPair) KeyPEM() ([]byte, error) { return keyutil.MarshalPrivateKeyToPEM(p.key) }
