// Package fulciotest is a certificate authority for tests: it answers like Fulcio, with certificates that have an intermediate authority and an
// entry in a log of certificates, as those of the public service. It is also the issuer of the tokens that it accepts.
package fulciotest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/sigstore/fulcio/pkg/api"
	"github.com/sigstore/fulcio/pkg/certificate"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

// Issuer is the issuer of the tokens.
const Issuer = "https://token.example.org"

// audience is whom tokens for Sigstore are for.
const audience = "sigstore"

// Authority is a certificate authority. It is an http.Handler.
type Authority struct {
	// Lifetime is how long a certificate is valid: of the public service, ten minutes.
	Lifetime time.Duration

	root, intermediate *x509.Certificate
	key, tokens        *ecdsa.PrivateKey
	log                ctLog
}

// Claims are what a token says of who has it: an email address, or a workflow of GitHub.
type Claims struct {
	Audience string `json:"aud"`
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Expiry   int64  `json:"exp"`

	Email    string `json:"email,omitempty"`
	Verified bool   `json:"email_verified,omitempty"`
	Workflow string `json:"job_workflow_ref,omitempty"`
}

// New makes an authority with new keys.
func New() (*Authority, error) {
	keys := make([]*ecdsa.PrivateKey, 4)
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, err
		}
	}
	a := &Authority{Lifetime: 10 * time.Minute, key: keys[1], tokens: keys[2], log: ctLog{keys[3]}}
	var err error
	if a.root, err = authority("root", nil, keys[0], keys[0]); err != nil {
		return nil, err
	}
	a.intermediate, err = authority("intermediate", a.root, keys[1], keys[0])
	return a, err
}

func authority(name string, parent *x509.Certificate, key, by *ecdsa.PrivateKey) (*x509.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// Root is the certificate that whoever verifies trusts.
func (a *Authority) Root() *x509.Certificate { return a.root }

// LogKey is the key of the log of certificates, in PEM.
func (a *Authority) LogKey() ([]byte, error) {
	return cryptoutils.MarshalPublicKeyToPEM(a.log.key.Public())
}

// Token is a token for Sigstore, with some claims set.
func (a *Authority) Token(c Claims) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: a.tokens}, nil)
	if err != nil {
		return "", err
	}
	if c.Audience == "" {
		c.Audience = audience
	}
	c.Issuer, c.Expiry = Issuer, time.Now().Add(time.Minute).Unix()
	return jwt.Signed(signer).Claims(c).Serialize()
}

// ServeHTTP certifies a key for the identity in a token.
func (a *Authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/api/v1/signingCert" {
		http.NotFound(w, r)
		return
	}
	leaf, err := a.certify(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusCreated)
	for _, der := range [][]byte{leaf, a.intermediate.Raw, a.root.Raw} {
		_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
}

func (a *Authority) certify(r *http.Request) ([]byte, error) {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	c, err := a.read(bearer)
	if err != nil {
		return nil, err
	}
	var asked api.CertificateRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}
	public, err := cryptoutils.UnmarshalPEMToPublicKey(asked.PublicKey.Content)
	if err != nil {
		return nil, err
	}
	verifier, err := signature.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	name := c.Subject
	if c.Email != "" {
		name = c.Email
	}
	if err := verifier.VerifySignature(strings.NewReader(string(asked.SignedEmailAddress)), strings.NewReader(name)); err != nil {
		return nil, fmt.Errorf("no proof that the key is of %s: %w", name, err)
	}
	template, err := a.template(c)
	if err != nil {
		return nil, err
	}
	return a.issue(template, public)
}

// read returns what a token says that the authority has issued for Sigstore.
func (a *Authority) read(token string) (c Claims, err error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return c, err
	}
	if err := parsed.Claims(a.tokens.Public(), &c); err != nil {
		return c, err
	}
	switch {
	case c.Audience != audience:
		err = fmt.Errorf("the token is for %s, not for %s", c.Audience, audience)
	case c.Email != "" && !c.Verified:
		err = errors.New("nobody has verified the email address")
	}
	return c, err
}

// template is a certificate for the identity in a token.
func (a *Authority) template(c Claims) (*x509.Certificate, error) {
	serial, err := cryptoutils.GenerateSerialNumber()
	if err != nil {
		return nil, err
	}
	extensions, err := certificate.Extensions{Issuer: c.Issuer}.Render()
	if err != nil {
		return nil, err
	}
	out := &x509.Certificate{
		SerialNumber: serial, NotBefore: time.Now().Add(-time.Second), NotAfter: time.Now().Add(a.Lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, ExtraExtensions: extensions,
	}
	if c.Email != "" {
		out.EmailAddresses = []string{c.Email}
		return out, nil
	}
	workflow, err := url.Parse("https://github.com/" + c.Workflow)
	out.URIs = []*url.URL{workflow}
	return out, err
}

// issue signs a certificate, with the promise of the log of certificates in it.
func (a *Authority) issue(template *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	before := template.ExtraExtensions
	template.ExtraExtensions = slices.Concat(before, []pkix.Extension{poison})
	pre, err := x509.CreateCertificate(rand.Reader, template, a.intermediate, public, a.key)
	if err != nil {
		return nil, err
	}
	promise, err := a.log.add(pre, a.intermediate.Raw)
	if err != nil {
		return nil, err
	}
	template.ExtraExtensions = slices.Concat(before, []pkix.Extension{promise})
	return x509.CreateCertificate(rand.Reader, template, a.intermediate, public, a.key)
}
