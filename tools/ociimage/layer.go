package ociimage

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time stamp of everything in an image.
var epoch = time.Unix(0, 0).UTC()

// Layer makes a gzip layer, the form every registry and runtime takes. Use it
// for images that are published.
func Layer(files []File) (v1.Layer, error) {
	sorted, err := sortFiles(files)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(archive(sorted),
		tarball.WithCompressionLevel(gzip.BestSpeed),
		tarball.WithMediaType(types.OCILayer))
}

// PlainLayer makes an uncompressed layer. It is several times quicker to build
// and to unpack than a gzip layer and takes more room: right for images which
// never leave the machine.
func PlainLayer(files []File) (v1.Layer, error) {
	sorted, err := sortFiles(files)
	if err != nil {
		return nil, err
	}
	return newPlainLayer(archive(sorted))
}

// TarLayer makes an uncompressed layer of an existing tar archive.
func TarLayer(file string) (v1.Layer, error) {
	return newPlainLayer(func() (io.ReadCloser, error) { return os.Open(file) })
}

func sortFiles(files []File) ([]File, error) {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for i, f := range sorted {
		if err := f.validate(); err != nil {
			return nil, err
		}
		if i > 0 && sorted[i-1].Path == f.Path {
			return nil, fmt.Errorf("image file %s is listed twice", f.Path)
		}
	}
	return sorted, nil
}

// archive returns a function that streams the files as a tar archive. A layer
// is read several times (digest, size, content), so nothing is held in memory.
func archive(files []File) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() {
			tw := tar.NewWriter(w)
			for _, f := range files {
				if err := writeEntry(tw, f); err != nil {
					w.CloseWithError(fmt.Errorf("cannot write %s into the layer: %w", f.Path, err))
					return
				}
			}
			w.CloseWithError(tw.Close())
		}()
		return r, nil
	}
}

func writeEntry(tw *tar.Writer, f File) error {
	mode, err := f.mode()
	if err != nil {
		return err
	}
	h := &tar.Header{
		Name: f.tarName(), Mode: int64(tarMode(mode)), Uid: f.UID, Gid: f.GID,
		ModTime: epoch, Typeflag: tar.TypeReg, Size: int64(len(f.Content)),
	}
	var content io.Reader = strings.NewReader(f.Content)
	switch {
	case f.Dir:
		h.Typeflag = tar.TypeDir
	case f.Link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.Link, 0o777
	case f.Source != "":
		file, err := os.Open(f.Source)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // Only read.
		info, err := file.Stat()
		if err != nil {
			return err
		}
		h.Size, content = info.Size(), file
	}
	return errors.Join(tw.WriteHeader(h), copyAll(tw, content))
}

func copyAll(w io.Writer, r io.Reader) error {
	_, err := io.Copy(w, r)
	return err
}

// tarMode turns Go's sticky bit into that of tar: /tmp needs it.
func tarMode(m fs.FileMode) fs.FileMode {
	if m&fs.ModeSticky != 0 {
		return m.Perm() | 0o1000
	}
	return m.Perm()
}
