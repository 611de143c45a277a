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

// NewAuthority makes a certificate authority.
func NewAuthority(name string) (*KeyPair, error) {
	return issue(nil, &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
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
	return issue(p, t)
}

// issue makes a key and its certificate, signed by ca, or by itself without one.
func issue(ca *KeyPair, t *x509.Certificate) (*KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	if t.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, fmt.Errorf("cannot make a serial number: %w", err)
	}
	now := time.Now()
	t.NotBefore, t.NotAfter = now.Add(-time.Minute), now.Add(validFor)
	parent, signer := t, crypto.Signer(key)
	if ca != nil {
		parent, signer = ca.cert, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("cannot make the certificate of %s: %w", t.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	return &KeyPair{cert: cert, key: key}, err
}

// CertPEM is the certificate as a file.
func (p *KeyPair) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw})
}

// KeyPEM is the key as a file.
func (p *KeyPair) KeyPEM() ([]byte, error) { return PrivateKeyPEM(p.key) }

// PrivateKeyPEM is a key as a file.
func PrivateKeyPEM(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("cannot write a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
