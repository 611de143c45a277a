// Package signingtest has what tests of signing need: a key, a small project to build packages from, and verification as the users of packages do it.
package signingtest

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/cosign/v3/pkg/oci"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/tuf"
)

// Trust is what somebody who verifies packages trusts.
type Trust struct {
	// Log is the public key of the transparency log, in PEM.
	Log []byte
	// Key is the public key of who signs, in PEM, if it isn't an Identity.
	Key []byte
	Identity
}

// Identity is who signs without a key, as Fulcio certifies it.
type Identity struct {
	Subject, Issuer string
	// Fulcio is the certificate at the root of the authority.
	Fulcio *x509.Certificate
	// Certificates is the public key of the log of certificates, in PEM.
	Certificates []byte
}

// Verify asks cosign's library about a package in the way that Crossplane 2.2 to 2.4 does, for an ImageConfig with one authority that has a
// public key or an identity: https://github.com/crossplane/crossplane-runtime/blob/v2.4.0/pkg/xpkg/signature/validate.go. A predicate is an attestation that
// the authority wants; without one, it wants a signature.
func (t Trust) Verify(ctx context.Context, ref name.Digest, predicate string) error {
	o, err := t.options()
	if err != nil {
		return err
	}
	o.ClaimVerifier = cosign.SimpleClaimVerifier
	if predicate == "" {
		_, ok, err := cosign.VerifyImageSignatures(ctx, ref, &o)
		if err == nil && !ok {
			err = errors.New("signature verification failed")
		}
		return err
	}
	o.ClaimVerifier = cosign.IntotoSubjectClaimVerifier
	attestations, ok, err := cosign.VerifyImageAttestations(ctx, ref, &o)
	if err == nil && !ok {
		err = errors.New("signature verification failed")
	}
	if err != nil {
		return err
	}
	types, err := predicates(attestations)
	if err == nil && !slices.Contains(types, predicate) {
		err = fmt.Errorf("no attestation of type %q found among %v", predicate, types)
	}
	return err
}

func (t Trust) options() (o cosign.CheckOpts, err error) {
	logs := cosign.NewTrustedTransparencyLogPubKeys()
	if err := logs.AddTransparencyLogPubKey(t.Log, tuf.Active); err != nil {
		return o, err
	}
	o.RekorPubKeys = &logs
	if t.Key == nil {
		certificates := cosign.NewTrustedTransparencyLogPubKeys()
		if err := certificates.AddTransparencyLogPubKey(t.Certificates, tuf.Active); err != nil {
			return o, err
		}
		o.CTLogPubKeys = &certificates
		o.RootCerts = x509.NewCertPool()
		o.RootCerts.AddCert(t.Fulcio)
		o.Identities = []cosign.Identity{{Subject: t.Subject, Issuer: t.Issuer}}
		return o, nil
	}
	public, err := cryptoutils.UnmarshalPEMToPublicKey(t.Key)
	if err != nil {
		return o, err
	}
	o.SigVerifier, err = signature.LoadVerifier(public, crypto.SHA256)
	return o, err
}

// predicates are the types of attestations.
func predicates(attestations []oci.Signature) ([]string, error) {
	var out []string
	for _, a := range attestations {
		envelope, err := a.Payload()
		if err != nil {
			return nil, err
		}
		var dsse struct{ Payload string }
		if err := json.Unmarshal(envelope, &dsse); err != nil {
			return nil, err
		}
		text, err := base64.StdEncoding.DecodeString(dsse.Payload)
		if err != nil {
			return nil, err
		}
		var statement struct{ PredicateType string }
		if err := json.Unmarshal(text, &statement); err != nil {
			return nil, err
		}
		out = append(out, statement.PredicateType)
	}
	return out, nil
}
