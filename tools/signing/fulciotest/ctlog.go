package fulciotest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"time"

	ct "github.com/google/certificate-transparency-go"
	"github.com/google/certificate-transparency-go/tls"
	ctx509 "github.com/google/certificate-transparency-go/x509"
)

// poison keeps what is sent to a log from being a certificate: https://www.rfc-editor.org/rfc/rfc6962#section-3.1
var poison = pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 3}, Critical: true, Value: asn1.NullBytes}

// promises is the extension with the promises of logs: https://www.rfc-editor.org/rfc/rfc6962#section-3.3
var promises = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}

// ctLog is a log of certificates, which keeps nothing.
type ctLog struct{ key *ecdsa.PrivateKey }

// add returns the extension with the promise to log a certificate.
func (l ctLog) add(pre, issuer []byte) (pkix.Extension, error) {
	sct := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, Timestamp: uint64(time.Now().UnixMilli())}
	public, err := x509.MarshalPKIXPublicKey(l.key.Public())
	if err != nil {
		return pkix.Extension{}, err
	}
	sct.LogID.KeyID = sha256.Sum256(public)
	leaf, err := ct.MerkleTreeLeafFromRawChain([]ct.ASN1Cert{{Data: pre}, {Data: issuer}}, ct.PrecertLogEntryType, sct.Timestamp)
	if err != nil {
		return pkix.Extension{}, err
	}
	text, err := ct.SerializeSCTSignatureInput(sct, ct.LogEntry{Leaf: *leaf})
	if err != nil {
		return pkix.Extension{}, err
	}
	sum := sha256.Sum256(text)
	sct.Signature.Algorithm = tls.SignatureAndHashAlgorithm{Hash: tls.SHA256, Signature: tls.ECDSA}
	if sct.Signature.Signature, err = ecdsa.SignASN1(rand.Reader, l.key, sum[:]); err != nil {
		return pkix.Extension{}, err
	}
	serialized, err := tls.Marshal(sct)
	if err != nil {
		return pkix.Extension{}, err
	}
	list, err := tls.Marshal(ctx509.SignedCertificateTimestampList{SCTList: []ctx509.SerializedSCT{{Val: serialized}}})
	if err != nil {
		return pkix.Extension{}, err
	}
	value, err := asn1.Marshal(list)
	return pkix.Extension{Id: promises, Value: value}, err
}
