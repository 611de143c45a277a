package signing

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/cosign/v3/pkg/oci"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/tuf"
)

// verify asks cosign's library about a package in the way that Crossplane 2.2 to 2.4 does, for an ImageConfig with one authority that has a
// public key: https://github.com/crossplane/crossplane-runtime/blob/v2.4.0/pkg/xpkg/signature/validate.go. A predicate is an attestation that
// the authority wants; without one, it wants a signature.
func verify(ctx context.Context, ref name.Digest, key, log []byte, predicate string) error {
	public, err := cryptoutils.UnmarshalPEMToPublicKey(key)
	if err != nil {
		return err
	}
	logs := cosign.NewTrustedTransparencyLogPubKeys()
	if err := logs.AddTransparencyLogPubKey(log, tuf.Active); err != nil {
		return err
	}
	o := cosign.CheckOpts{RekorPubKeys: &logs, ClaimVerifier: cosign.SimpleClaimVerifier}
	if o.SigVerifier, err = signature.LoadVerifier(public, crypto.SHA256); err != nil {
		return err
	}
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

// A keyPair is a private key in a file, and the public key.
type keyPair struct {
	file   string
	public []byte
}

func newKey(t *testing.T) keyPair {
	t.Helper()
	keys, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte("secret"), nil })
	if err != nil {
		t.Fatal(err)
	}
	return keyPair{file: writeFile(t, keys.PrivateBytes), public: keys.PublicBytes}
}
