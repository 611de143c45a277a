package xpkg

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

// What marks a layer of a package, by the xpkg specification
// (https://github.com/crossplane/crossplane/blob/main/contributing/specifications/xpkg.md). The file format keeps no
// annotations of layers, so in a file they are labels of the image, "io.crossplane.xpkg:<digest>".
const (
	layerAnnotation = "io.crossplane.xpkg"
	// manifestsLayer has package.yaml, which Crossplane installs.
	manifestsLayer = "base"
	// examplesLayer has .up/examples.yaml, which package registries show.
	examplesLayer = "upbound"
)

// Contents are what goes into one package file.
//
// Packages are built here and not by Crossplane's command line or the library below it: to compile those takes minutes, most
// of them for the credentials of clouds that nobody pulls from here. A test compares the result with that of the command line.
type Contents struct {
	// Root is a folder with crossplane.yaml and the manifests to install, and
	// nothing else: every YAML file below it becomes part of the package.
	Root string
	// Examples is a folder of manifests to show in package registries. Empty
	// for none.
	Examples string
	// Runtime is the image that runs a provider or a function. Nil for a
	// configuration, which runs nothing.
	Runtime v1.Image
}

// Build writes the package file out.
func (c Contents) Build(out string) error {
	img, err := c.image()
	if err != nil {
		return fmt.Errorf("cannot build package %s: %w", out, err)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return fmt.Errorf("cannot make the output folder: %w", err)
	}
	if err := tarball.WriteToFile(out, nil, img); err != nil {
		return fmt.Errorf("cannot write package %s: %w", out, err)
	}
	return nil
}

func (c Contents) image() (v1.Image, error) {
	img := c.Runtime
	if img == nil {
		img = empty.Image
	}
	manifests, err := stream(c.Root)
	if err != nil {
		return nil, err
	}
	if img, err = withLayer(img, manifestsLayer, "/package.yaml", manifests); err != nil || c.Examples == "" {
		return img, err
	}
	examples, err := stream(c.Examples)
	if err != nil {
		return nil, err
	}
	return withLayer(img, examplesLayer, "/.up/examples.yaml", examples)
}

// withLayer adds a layer with one file and its mark.
func withLayer(img v1.Image, purpose, path, content string) (v1.Image, error) {
	layer, err := ociimage.Layer([]ociimage.File{{Path: path, Content: content}})
	if err != nil {
		return nil, err
	}
	digest, err := layer.Digest()
	if err != nil {
		return nil, err
	}
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		return nil, err
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config := *cfg.Config.DeepCopy()
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	config.Labels[label(digest)] = purpose
	return mutate.Config(img, config)
}

func label(layer v1.Hash) string { return layerAnnotation + ":" + layer.String() }

// stream returns all YAML documents below a folder as one stream, crossplane.yaml first.
func stream(folder string) (string, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && d.Type().IsRegular() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("cannot list manifests: %w", err)
	}
	slices.SortStableFunc(files, func(a, b string) int {
		meta := filepath.Join(folder, "crossplane.yaml")
		switch {
		case a == meta:
			return -1
		case b == meta:
			return 1
		}
		return strings.Compare(a, b)
	})
	var out strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("cannot read manifest: %w", err)
		}
		for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
			document, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			// Copied as it is: to encode it again would round large numbers.
			object := map[string]any{}
			if err == nil {
				err = yaml.Unmarshal(document, &object)
			}
			if err != nil {
				return "", fmt.Errorf("cannot parse %s: %w", file, err)
			}
			if len(object) > 0 {
				out.WriteString("---\n" + strings.TrimRight(string(document), "\n") + "\n")
			}
		}
	}
	return out.String(), nil
}
