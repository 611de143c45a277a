// Package rekortest is a transparency log for tests: it answers like Rekor, with promises that it signs with a key of its own, and keeps
// nothing.
package rekortest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	"github.com/go-openapi/runtime"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/cosign/v3/pkg/cosign/bundle"
	"github.com/sigstore/rekor/pkg/generated/models"
	rekortypes "github.com/sigstore/rekor/pkg/types"
	_ "github.com/sigstore/rekor/pkg/types/dsse/v0.0.1"         // The kinds of entries that cosign
	_ "github.com/sigstore/rekor/pkg/types/hashedrekord/v0.0.1" // records.
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// Log is a transparency log. It is an http.Handler.
type Log struct {
	key   *ecdsa.PrivateKey
	id    string
	count atomic.Int64
}

// New makes a log with a new key.
func New() (*Log, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	id, err := cosign.GetTransparencyLogID(key.Public())
	return &Log{key: key, id: id}, err
}

// PublicKey is the log's key in PEM, for SIGSTORE_REKOR_PUBLIC_KEY.
func (l *Log) PublicKey() ([]byte, error) { return cryptoutils.MarshalPublicKeyToPEM(l.key.Public()) }

// ServeHTTP records an entry.
func (l *Log) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/api/v1/log/entries" {
		http.NotFound(w, r)
		return
	}
	entry, err := l.record(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	uuid := fmt.Sprintf("%064x", *entry.LogIndex)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", r.URL.Path+"/"+uuid)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(models.LogEntry{uuid: *entry})
}

func (l *Log) record(r *http.Request) (*models.LogEntryAnon, error) {
	proposed, err := models.UnmarshalProposedEntry(r.Body, runtime.JSONConsumer())
	if err != nil {
		return nil, err
	}
	entry, err := rekortypes.UnmarshalEntry(proposed)
	if err != nil {
		return nil, err
	}
	// Verifies the signature, as Rekor does.
	body, err := rekortypes.CanonicalizeEntry(r.Context(), entry)
	if err != nil {
		return nil, err
	}
	payload := bundle.RekorPayload{
		Body: base64.StdEncoding.EncodeToString(body), IntegratedTime: time.Now().Unix(), LogIndex: l.count.Add(1), LogID: l.id,
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	if text, err = jsoncanonicalizer.Transform(text); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	promise, err := ecdsa.SignASN1(rand.Reader, l.key, sum[:])
	if err != nil {
		return nil, err
	}
	root := hex.EncodeToString(sum[:])
	return &models.LogEntryAnon{
		Body: payload.Body, IntegratedTime: &payload.IntegratedTime, LogIndex: &payload.LogIndex, LogID: &l.id,
		Verification: &models.LogEntryAnonVerification{SignedEntryTimestamp: promise, InclusionProof: &models.InclusionProof{
			Checkpoint: &l.id, Hashes: []string{}, LogIndex: &payload.LogIndex, RootHash: &root, TreeSize: &payload.LogIndex,
		}},
	}, nil
}
