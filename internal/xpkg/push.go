package xpkg

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// A Pushed package.
type Pushed struct {
	// Tag is its reference: registry/org/name:v0.1.0.
	Tag string
	// Digest is what the registry says the tag stands for: sha256:...
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
	version, err := Version(p.Root)
	if err != nil {
		return nil, err
	}
	registry = strings.TrimSuffix(registry, "/")
	if !strings.Contains(registry, "/") {
		return nil, fmt.Errorf("registry %q must be a host and an organisation, such as ghcr.io/acme", registry)
	}
	var functions []string
	for _, arch := range Architectures() {
		// A development build may have made this machine's platform alone.
		if file := p.FunctionFile(arch); isFile(file) {
			functions = append(functions, file)
		}
	}
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
		done, err := p.CLI.PushAndResolve(ctx, tag, annotations(version), pkg.files...)
		if err != nil {
			return nil, err
		}
		pushed = append(pushed, done)
	}
	return pushed, nil
}

// PushAndResolve pushes package files to one tag and asks the registry for its
// digest.
func (c CLI) PushAndResolve(ctx context.Context, tag string, annotations map[string]string, files ...string) (Pushed, error) {
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			return Pushed{}, fmt.Errorf("cannot push package: %w", err)
		}
	}
	if err := c.Push(ctx, tag, annotations, files...); err != nil {
		return Pushed{}, err
	}
	ref, err := name.ParseReference(tag)
	if err != nil {
		return Pushed{}, fmt.Errorf("cannot parse reference %s: %w", tag, err)
	}
	head, err := remote.Head(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return Pushed{}, fmt.Errorf("cannot read the digest of %s: %w", tag, err)
	}
	return Pushed{Tag: tag, Digest: head.Digest.String()}, nil
}
