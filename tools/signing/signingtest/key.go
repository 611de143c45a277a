package signingtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sigstore/cosign/v3/pkg/cosign"
)

// Password of the keys.
const Password = "secret"

// A KeyPair is a private key in a file, and the public key in PEM.
type KeyPair struct {
	File   string
	Public []byte
}

// NewKey makes a key as `cosign generate-key-pair` does.
func NewKey(t *testing.T) KeyPair {
	t.Helper()
	keys, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte(Password), nil })
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cosign.key")
	if err := os.WriteFile(file, keys.PrivateBytes, 0o600); err != nil {
		t.Fatal(err)
	}
	return KeyPair{File: file, Public: keys.PublicBytes}
}
