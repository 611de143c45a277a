package signing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/cosign/v3/pkg/cosign/bundle"
	"github.com/sigstore/cosign/v3/pkg/oci/mutate"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/cosign/v3/pkg/oci/static"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// Sign signs an image or an index, and adds the signature to those that it has.
func (s *Signer) Sign(ctx context.Context, ref name.Digest) error {
	signed, err := payload.Cosign{Image: ref}.MarshalJSON()
	if err != nil {
		return err
	}
	sig, err := s.signer.SignMessage(bytes.NewReader(signed))
	if err != nil {
		return fmt.Errorf("cannot sign %s: %w", ref, err)
	}
	public, err := s.public()
	if err != nil {
		return err
	}
	sum := sha256.New()
	sum.Write(signed)
	entry, err := cosign.TLogUpload(ctx, s.log, sig, sum, public)
	if err != nil {
		return fmt.Errorf("cannot record the signature of %s in the transparency log: %w", ref, err)
	}
	layer, err := static.NewSignature(signed, base64.StdEncoding.EncodeToString(sig), s.options(entry)...)
	if err != nil {
		return err
	}
	entity, err := mutate.AttachSignatureToEntity(ociremote.SignedUnknown(ref, s.registry...), layer)
	if err != nil {
		return fmt.Errorf("cannot read the signatures of %s: %w", ref, err)
	}
	if err := ociremote.WriteSignatures(ref.Repository, entity, s.registry...); err != nil {
		return fmt.Errorf("cannot push the signature of %s: %w", ref, err)
	}
	return nil
}

// options are what goes with a signature: the log's promise, and the certificate of whoever signed without a key.
func (s *Signer) options(entry *models.LogEntryAnon, more ...static.Option) []static.Option {
	out := append([]static.Option{static.WithBundle(bundle.EntryToBundle(entry))}, more...)
	if s.certificate != nil {
		out = append(out, static.WithCertChain(s.certificate, s.chain))
	}
	return out
}
