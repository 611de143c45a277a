// Package sigstore stands for Sigstore's public services in tests, which Crossplane asks for what it trusts: a transparency log, and the TUF
// repository with the keys of the services.
package sigstore

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/tuf"
	gotuf "github.com/theupdateframework/go-tuf"

	"github.com/virtual-argocd/virtual-argocd/lab/certs"
	"github.com/virtual-argocd/virtual-argocd/tools/signing/rekortest"
)

// Services are those that a test has started.
type Services struct {
	// Rekor is the URL of the transparency log.
	Rekor string
	// Root is a folder for TUF_ROOT, as Sigstore's library leaves it: who has a copy asks no server before it expires, in an hour. The
	// library writes in its copy.
	Root string
}

// Start starts them, until the end of the test. It can be called once in a process, and sets TUF_ROOT meanwhile: so does Sigstore's library.
func Start(ctx context.Context, t *testing.T) Services {
	t.Helper()
	log, err := rekortest.New()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(log)
	t.Cleanup(server.Close)
	key, err := log.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	fulcio, err := certs.NewAuthority("fulcio.example.org")
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is signed without a key here, so any public key is good for the log of certificates.
	repository, root, err := publish(t.TempDir(), map[string][]byte{"fulcio.crt.pem": fulcio.CertPEM(), "ctfe.pub": key, "rekor.pub": key})
	if err != nil {
		t.Fatalf("cannot make a TUF repository: %v", err)
	}
	s := Services{Rekor: server.URL, Root: t.TempDir()}
	t.Setenv(tuf.TufRootEnv, s.Root)
	// Nobody but the library here asks it.
	mirror := httptest.NewServer(http.FileServer(http.Dir(repository)))
	defer mirror.Close()
	if err := tuf.Initialize(ctx, mirror.URL, root); err != nil {
		t.Fatalf("cannot read the TUF repository: %v", err)
	}
	return s
}

// publish makes a TUF repository with some targets in a folder. It returns the folder to serve, and the root that clients trust.
func publish(dir string, targets map[string][]byte) (served string, root []byte, err error) {
	var names []string
	for name, content := range targets {
		file := filepath.Join(dir, "staged", "targets", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return "", nil, err
		}
		names = append(names, name)
	}
	repository, err := gotuf.NewRepo(gotuf.FileSystemStore(dir, nil))
	if err != nil {
		return "", nil, err
	}
	expires := time.Now().Add(time.Hour)
	steps := []func() error{func() error { return repository.Init(false) }}
	for _, role := range []string{"root", "targets", "snapshot", "timestamp"} {
		steps = append(steps, func() error {
			_, err := repository.GenKeyWithExpires(role, expires)
			return err
		})
	}
	steps = append(steps,
		func() error { return repository.AddTargetsWithExpires(names, json.RawMessage(nil), expires) },
		func() error { return repository.SnapshotWithExpires(expires) },
		func() error { return repository.TimestampWithExpires(expires) },
		repository.Commit,
	)
	for _, step := range steps {
		if err := step(); err != nil {
			return "", nil, err
		}
	}
	served = filepath.Join(dir, "repository")
	root, err = os.ReadFile(filepath.Join(served, "root.json"))
	return served, root, err
}
