package ociimage

import (
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// plainLayer is a layer stored as the tar archive itself, so its digest and
// its diff ID are the same. go-containerregistry's own tarball layers are
// always compressed.
type plainLayer struct {
	open func() (io.ReadCloser, error)
	hash v1.Hash
	size int64
}

var _ v1.Layer = (*plainLayer)(nil)

func newPlainLayer(open func() (io.ReadCloser, error)) (v1.Layer, error) {
	r, err := open()
	if err != nil {
		return nil, fmt.Errorf("cannot open layer: %w", err)
	}
	defer r.Close() //nolint:errcheck // Only read.
	hash, size, err := v1.SHA256(r)
	if err != nil {
		return nil, fmt.Errorf("cannot read layer: %w", err)
	}
	return &plainLayer{open: open, hash: hash, size: size}, nil
}

func (l *plainLayer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l *plainLayer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l *plainLayer) Compressed() (io.ReadCloser, error)   { return l.open() }
func (l *plainLayer) Uncompressed() (io.ReadCloser, error) { return l.open() }
func (l *plainLayer) Size() (int64, error)                 { return l.size, nil }
func (l *plainLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }
