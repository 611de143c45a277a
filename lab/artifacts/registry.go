package artifacts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// newRegistry is an OCI registry that serves a store's blobs from where they
// are, and keeps what is pushed from outside in a folder of its own. Manifests
// are held in memory: what was pushed is gone when the process ends.
func newRegistry(s *store, pushed string) http.Handler {
	return registry.New(
		registry.WithBlobHandler(&blobs{store: s, pushed: pushed}),
		registry.Logger(log.New(io.Discard, "", 0)))
}

// blobs looks in the store first, then among what was pushed.
type blobs struct {
	store  *store
	pushed string
}

var (
	_ registry.BlobHandler     = (*blobs)(nil)
	_ registry.BlobStatHandler = (*blobs)(nil)
	_ registry.BlobPutHandler  = (*blobs)(nil)
)

func (b *blobs) file(h v1.Hash) string { return filepath.Join(b.pushed, h.Algorithm+"-"+h.Hex) }

func (b *blobs) Get(_ context.Context, _ string, h v1.Hash) (io.ReadCloser, error) {
	for _, file := range []string{b.store.blob(h), b.file(h)} {
		f, err := os.Open(file)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, registry.ErrNotFound
}

func (b *blobs) Stat(_ context.Context, _ string, h v1.Hash) (int64, error) {
	for _, file := range []string{b.store.blob(h), b.file(h)} {
		info, err := os.Stat(file)
		if err == nil {
			return info.Size(), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	return 0, registry.ErrNotFound
}

// Put keeps a pushed blob. The registry verifies size and digest as it reads.
func (b *blobs) Put(_ context.Context, _ string, h v1.Hash, rc io.ReadCloser) error {
	tmp, err := os.CreateTemp(b.pushed, "incomplete-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // It was renamed if all went well.
	_, err = io.Copy(tmp, rc)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), b.file(h))
}

// publish tells a running registry of every image in the store, under its name
// and under further names: a map from the further name to the stored one.
func publish(ctx context.Context, address string, s *store, further map[string]string) error {
	images, err := s.list()
	if err != nil {
		return err
	}
	for _, d := range images {
		stored := d.Annotations[annotationName]
		manifest, err := os.ReadFile(s.blob(d.Digest))
		if err != nil {
			return fmt.Errorf("cannot read image %s: %w", stored, err)
		}
		names := []string{stored}
		for name, of := range further {
			if of == stored {
				names = append(names, name)
			}
		}
		for _, name := range names {
			if err := putManifest(ctx, address, name, string(d.MediaType), manifest); err != nil {
				return fmt.Errorf("cannot serve image %s: %w", name, err)
			}
		}
	}
	return nil
}

func putManifest(ctx context.Context, address, name, mediaType string, manifest []byte) error {
	colon := strings.LastIndex(name, ":")
	url := fmt.Sprintf("http://%s/v2/%s/manifests/%s", address, name[:colon], name[colon+1:])
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(manifest))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", mediaType)
	// A transport of our own: the environment's proxy is not for this address.
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("the registry answers %s", resp.Status)
	}
	return nil
}
