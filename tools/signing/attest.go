package signing

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/cosign/v3/pkg/oci/mutate"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/cosign/v3/pkg/oci/static"
	"github.com/sigstore/cosign/v3/pkg/types"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// The predicates that are attested, by their URI. `cosign verify-attestation` calls them cyclonedx and slsaprovenance1.
const (
	CycloneDX  = "https://cyclonedx.org/bom"
	Provenance = "https://slsa.dev/provenance/v1"
)

// Attest adds a signed statement about an image or an index to those that it has: a predicate, an object in JSON such as its bill of
// materials. The statement is also about parts, images of the index to which the predicate applies.
func (s *Signer) Attest(ctx context.Context, ref name.Digest, predicateType string, predicate []byte, parts ...name.Digest) error {
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, PredicateType: predicateType, Predicate: &structpb.Struct{}}
	if err := protojson.Unmarshal(predicate, statement.Predicate); err != nil {
		return fmt.Errorf("cannot attest %s, which is no object in JSON: %w", predicateType, err)
	}
	for _, d := range append([]name.Digest{ref}, parts...) {
		digest, err := v1.NewHash(d.DigestStr())
		if err != nil {
			return err
		}
		statement.Subject = append(statement.Subject, &intoto.ResourceDescriptor{Name: d.Context().Name(), Digest: map[string]string{"sha256": digest.Hex}})
	}
	text, err := protojson.Marshal(statement)
	if err != nil {
		return err
	}
	envelope, err := dsse.WrapSigner(s.signer, types.IntotoPayloadType).SignMessage(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("cannot sign the attestation of %s: %w", ref, err)
	}
	public, err := s.public()
	if err != nil {
		return err
	}
	entry, err := cosign.TLogUploadDSSEEnvelope(ctx, s.log, envelope, public)
	if err != nil {
		return fmt.Errorf("cannot record the attestation of %s in the transparency log: %w", ref, err)
	}
	layer, err := static.NewAttestation(envelope, s.options(entry,
		static.WithLayerMediaType(types.DssePayloadType), static.WithAnnotations(map[string]string{"predicateType": predicateType}))...)
	if err != nil {
		return err
	}
	entity, err := mutate.AttachAttestationToEntity(ociremote.SignedUnknown(ref, s.registry...), layer)
	if err != nil {
		return fmt.Errorf("cannot read the attestations of %s: %w", ref, err)
	}
	if err := ociremote.WriteAttestations(ref.Repository, entity, s.registry...); err != nil {
		return fmt.Errorf("cannot push the attestation of %s: %w", ref, err)
	}
	return nil
}
