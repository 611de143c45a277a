package artifacts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
)

// Annotations of an image in the store's index.
const (
	annotationName = "org.opencontainers.image.ref.name"
	annotationKey  = "virtualargocd.io/recipe"
)

// A store is an OCI image layout on disk. Its blobs are written once and never
// changed; a lock file guards its index, which several labs may share.
type store struct {
	dir string
}

// openStore opens the layout in a folder, made empty when it is not there.
func openStore(dir string) (*store, error) {
	s := &store{dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the image cache: %w", err)
	}
	return s, s.locked(func() error {
		if _, err := os.Stat(filepath.Join(dir, "index.json")); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_, err := layout.Write(dir, empty.Index)
		return err
	})
}

// has reports whether the named image is there, made from the recipe with that key.
func (s *store) has(name, key string) (bool, error) {
	images, err := s.list()
	return slices.ContainsFunc(images, func(d v1.Descriptor) bool {
		return d.Annotations[annotationName] == name && d.Annotations[annotationKey] == key
	}), err
}

// put writes an image under a name, in place of the one that had the name.
func (s *store) put(name, key string, img v1.Image) error {
	path := layout.Path(s.dir)
	if err := path.WriteImage(img); err != nil {
		return fmt.Errorf("cannot write to the image cache: %w", err)
	}
	return s.locked(func() error {
		return path.ReplaceImage(img, match.Name(name),
			layout.WithAnnotations(map[string]string{annotationName: name, annotationKey: key}))
	})
}

// keep forgets every image whose name is not in the list.
func (s *store) keep(names []string) error {
	return s.locked(func() error {
		return layout.Path(s.dir).RemoveDescriptors(func(d v1.Descriptor) bool {
			return !slices.Contains(names, d.Annotations[annotationName])
		})
	})
}

// list returns the index: one entry for each name.
func (s *store) list() ([]v1.Descriptor, error) {
	var images []v1.Descriptor
	err := s.locked(func() error {
		index, err := layout.ImageIndexFromPath(s.dir)
		if err != nil {
			return err
		}
		m, err := index.IndexManifest()
		if err != nil {
			return err
		}
		images = m.Manifests
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the image cache %s: %w", s.dir, err)
	}
	return images, nil
}

// blob is the file of a blob.
func (s *store) blob(h v1.Hash) string {
	return filepath.Join(s.dir, "blobs", h.Algorithm, h.Hex)
}

func (s *store) locked(do func() error) error {
	lock, err := os.OpenFile(filepath.Join(s.dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("cannot lock the image cache: %w", err)
	}
	defer lock.Close() //nolint:errcheck // Closing releases the lock.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("cannot lock the image cache: %w", err)
	}
	return do()
}
