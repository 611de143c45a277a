package signing

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/fulcio/pkg/api"
	rekor "github.com/sigstore/rekor/pkg/client"
	"github.com/sigstore/rekor/pkg/generated/client"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/oauthflow"
	"github.com/sigstore/sigstore/pkg/signature"
	"golang.org/x/oauth2"
)

// Options say who signs, and which services record it.
type Options struct {
	// Key is a file with a private key in PEM: of `cosign generate-key-pair`, which Password decrypts, or any ECDSA, RSA or ED25519 key
	// that `cosign import-key-pair` takes, unencrypted.
	Key string
	// Password of an encrypted Key.
	Password []byte
	// IDToken is an OpenID Connect token, in place of a Key: Fulcio certifies a key that is used once for the identity in it.
	IDToken string
	// Fulcio is the URL of the certificate authority for IDToken. Default: Sigstore's public one.
	Fulcio string
	// Rekor is the URL of the transparency log. Default: Sigstore's public one.
	Rekor string
}

// Sigstore's public services.
const (
	publicFulcio = "https://fulcio.sigstore.dev"
	publicRekor  = "https://rekor.sigstore.dev"
)

// A Signer signs what a registry has.
type Signer struct {
	signer signature.SignerVerifier
	// certificate and chain, in PEM, are empty for a key.
	certificate, chain []byte
	// until is when the certificate ends.
	until time.Time
	log   *client.Rekor
	// remote are the options of requests to registries, and registry the same for cosign's library.
	remote   []remote.Option
	registry []ociremote.Option
}

// New returns a Signer. Credentials for registries come from the Docker configuration file.
func New(ctx context.Context, o Options) (*Signer, error) {
	log, err := rekor.GetRekorClient(or(o.Rekor, publicRekor))
	if err != nil {
		return nil, fmt.Errorf("cannot use transparency log %s: %w", o.Rekor, err)
	}
	s := &Signer{log: log, remote: []remote.Option{remote.WithAuthFromKeychain(authn.DefaultKeychain)}}
	s.registry = []ociremote.Option{ociremote.WithRemoteOptions(append(s.remote, remote.WithContext(ctx))...)}
	switch {
	case o.Key != "" && o.IDToken != "":
		return nil, errors.New("both a key and an identity token are set: choose one")
	case o.Key != "":
		s.signer, err = readKey(o.Key, o.Password)
	case o.IDToken != "":
		err = s.certify(o)
	default:
		return nil, errors.New("neither a key nor an identity token is set")
	}
	return s, err
}

func readKey(file string, password []byte) (signature.SignerVerifier, error) {
	pass := func(bool) ([]byte, error) { return password, nil }
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key: %w", err)
	}
	// Keys of other programs are encrypted in memory first: the library loads no others.
	if !strings.Contains(string(pem), "ENCRYPTED") {
		pair, err := cosign.ImportKeyPair(file, pass)
		if err != nil {
			return nil, fmt.Errorf("cannot read key %s: %w", file, err)
		}
		pem = pair.PrivateBytes
	}
	key, err := cosign.LoadPrivateKey(pem, password, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot load key %s: is COSIGN_PASSWORD its password? %w", file, err)
	}
	return key, nil
}

// certify makes a key, and has Fulcio certify that it belongs to the identity in the token.
func (s *Signer) certify(o Options) error {
	private, err := cosign.GeneratePrivateKey()
	if err != nil {
		return fmt.Errorf("cannot make a key: %w", err)
	}
	if s.signer, err = signature.LoadECDSASignerVerifier(private, crypto.SHA256); err != nil {
		return err
	}
	token, err := (&oauthflow.StaticTokenGetter{RawToken: o.IDToken}).GetIDToken(nil, oauth2.Config{})
	if err != nil {
		return fmt.Errorf("cannot read the identity token: %w", err)
	}
	// Fulcio wants a proof that who asks has the private key.
	proof, err := s.signer.SignMessage(strings.NewReader(token.Subject))
	if err != nil {
		return err
	}
	public, err := cryptoutils.MarshalPublicKeyToPEM(private.Public())
	if err != nil {
		return err
	}
	server, err := url.Parse(or(o.Fulcio, publicFulcio))
	if err != nil {
		return err
	}
	certified, err := api.NewClient(server).SigningCert(api.CertificateRequest{PublicKey: api.Key{Content: public}, SignedEmailAddress: proof}, token.RawString)
	if err != nil {
		return fmt.Errorf("cannot get a certificate from %s: %w", server, err)
	}
	leaf, err := cryptoutils.UnmarshalCertificatesFromPEM(certified.CertPEM)
	if err == nil && len(leaf) == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		return fmt.Errorf("cannot read the certificate of %s: %w", server, err)
	}
	s.certificate, s.chain, s.until = certified.CertPEM, certified.ChainPEM, leaf[0].NotAfter
	return nil
}

// public is what the log records of who signed: the certificate, or the public key, in PEM. Certificates last for ten minutes, and pushing may take longer.
func (s *Signer) public() ([]byte, error) {
	if s.certificate != nil {
		if time.Now().After(s.until) {
			return nil, fmt.Errorf("the certificate for the identity token was valid until %s, and nobody accepts a later signature: run it again with a new token", s.until.Format(time.RFC3339))
		}
		return s.certificate, nil
	}
	key, err := s.signer.PublicKey()
	if err != nil {
		return nil, err
	}
	return cryptoutils.MarshalPublicKeyToPEM(key)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
