package artifacts

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

// A recipe is all that goes into one image, as plain data: so its hash tells
// whether the cached image is still the right one.
type recipe struct {
	// Name is the full reference upstream charts use.
	Name string
	// Debian packages make the image's first layer, a root file system.
	// None: the image has only Files.
	Debian []string
	Files  []ociimage.File
	Config ociimage.Config
}

// format is part of every key: raise it when the way images are built changes.
const format = 1

// key is the hash of the recipe and of what its source files look like now.
func (r recipe) key() (string, error) {
	type source struct {
		Size, ModTime int64
	}
	sources := make([]source, 0, len(r.Files))
	for _, f := range r.Files {
		if f.Source == "" {
			continue
		}
		info, err := os.Stat(f.Source)
		if err != nil {
			return "", fmt.Errorf("cannot read a file of image %s: %w", r.Name, err)
		}
		sources = append(sources, source{info.Size(), info.ModTime().UnixNano()})
	}
	b, err := json.Marshal([]any{format, r, sources})
	if err != nil {
		return "", fmt.Errorf("cannot hash the recipe of image %s: %w", r.Name, err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), nil
}

// image builds the image; rootfs is the archive of its Debian packages.
func (r recipe) image(rootfs string) (v1.Image, error) {
	var layers []v1.Layer
	if rootfs != "" {
		base, err := ociimage.TarLayer(rootfs)
		if err != nil {
			return nil, err
		}
		layers = append(layers, base)
	}
	files, err := ociimage.PlainLayer(r.Files)
	if err != nil {
		return nil, err
	}
	return ociimage.Build(r.Config, append(layers, files)...)
}
