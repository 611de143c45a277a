package xpkg

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// A Pushed package.
type Pushed struct {
	// Tag is its reference: registry/org/name:v0.1.0.
	Tag string
	// Digest is that of what was pushed there: sha256:...
	Digest string
}

// String is the reference that can't change: the tag, pinned to its digest.
func (p Pushed) String() string { return p.Tag + "@" + p.Digest }

// IsFunction reports whether it is the Function, whose image is the function's program.
func (p Pushed) IsFunction() bool { return strings.Contains(p.Tag, "/"+FunctionName+":") }

// Push pushes both packages to registry, a host and an organisation such as
// ghcr.io/acme, under their names and version. Credentials come from the
// Docker configuration file, as for any registry client.
func (p Project) Push(ctx context.Context, registry string) ([]Pushed, error) {
	version, err := p.version()
	if err != nil {
		return nil, err
	}
	registry = strings.TrimSuffix(registry, "/")
	if !strings.Contains(registry, "/") {
		return nil, fmt.Errorf("registry %q must be a host and an organisation, such as ghcr.io/acme", registry)
	}
	functions := p.functionFiles()
	if len(functions) == 0 || !isFile(p.ConfigurationFile()) {
		return nil, fmt.Errorf("no packages in %s: run `make xpkg` first", p.Out)
	}
	packages := []struct {
		name  string
		files []string
	}{
		{FunctionName, functions},
		{ConfigurationName, []string{p.ConfigurationFile()}},
	}
	var pushed []Pushed
	for _, pkg := range packages {
		tag := fmt.Sprintf("%s/%s:%s", registry, pkg.name, version)
		done, err := PushFiles(ctx, tag, annotations(version), pkg.files...)
		if err != nil {
			return nil, err
		}
		pushed = append(pushed, done)
	}
	return pushed, nil
}

// functionFiles are the Function's package files that were built. A development build may have made this machine's platform alone.
func (p Project) functionFiles() []string {
	var out []string
	for _, arch := range Architectures() {
		if file := p.FunctionFile(arch); isFile(file) {
			out = append(out, file)
		}
	}
	return out
}

// PushFiles pushes package files to one tag. More than one file become an index:
// each is the package for the platform of its runtime image.
func PushFiles(ctx context.Context, tag string, annotations map[string]string, files ...string) (Pushed, error) {
	ref, err := name.NewTag(tag, name.StrictValidation)
	if err != nil {
		return Pushed{}, fmt.Errorf("cannot parse reference %s: %w", tag, err)
	}
	pkg, err := assemble(annotations, files...)
	if err != nil {
		return Pushed{}, err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	switch pkg := pkg.(type) {
	case v1.Image:
		err = remote.Write(ref, pkg, options...)
	case v1.ImageIndex:
		err = remote.WriteIndex(ref, pkg, options...)
	}
	if err != nil {
		return Pushed{}, fmt.Errorf("cannot push package to %s: %w", tag, err)
	}
	digest, err := pkg.Digest()
	if err != nil {
		return Pushed{}, err
	}
	return Pushed{Tag: tag, Digest: digest.String()}, nil
}

// assembled is an image, or an index of images, as a registry has it.
type assembled interface{ Digest() (v1.Hash, error) }

// assemble makes of package files what is pushed. It gives the same bytes each time, so the digest is known before.
func assemble(annotations map[string]string, files ...string) (assembled, error) {
	images := make([]v1.Image, len(files))
	for i, file := range files {
		var err error
		if images[i], err = readPackage(file, annotations); err != nil {
			return nil, fmt.Errorf("cannot read package %s: %w", file, err)
		}
	}
	if len(images) == 1 {
		return images[0], nil
	}
	return indexOf(images, annotations)
}

// readPackage reads a package file, and turns the labels that mark layers into the layers' annotations.
func readPackage(file string, annotations map[string]string) (v1.Image, error) {
	in, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return nil, err
	}
	cfg, err := in.ConfigFile()
	if err != nil {
		return nil, err
	}
	layers, err := in.Layers()
	if err != nil {
		return nil, err
	}
	out := empty.Image
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return nil, err
		}
		add := mutate.Addendum{Layer: layer}
		if purpose := cfg.Config.Labels[label(digest)]; purpose != "" {
			add.Annotations = map[string]string{layerAnnotation: purpose}
		}
		if out, err = mutate.Append(out, add); err != nil {
			return nil, err
		}
	}
	if out, err = mutate.ConfigFile(out, cfg); err != nil {
		return nil, err
	}
	return mutate.Annotations(out, annotations).(v1.Image), nil
}

func indexOf(images []v1.Image, annotations map[string]string) (v1.ImageIndex, error) {
	adds := make([]mutate.IndexAddendum, len(images))
	for i, img := range images {
		cfg, err := img.ConfigFile()
		if err != nil {
			return nil, err
		}
		adds[i] = mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: cfg.Platform()}}
	}
	return mutate.Annotations(mutate.AppendManifests(empty.Index, adds...), annotations).(v1.ImageIndex), nil
}
