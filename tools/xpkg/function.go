package xpkg

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// functionMain is the function's main package.
const functionMain = "./fn"

// Architectures are the platforms a release supports, all of them Linux.
func Architectures() []string { return []string{"amd64", "arm64"} }

// Project builds the packages of the project at Root into Out.
type Project struct {
	Root string
	Out  string
	// Input is a file with the function's Input to put into the Composition in
	// place of its own: a platform's defaults. Empty keeps the Composition.
	Input string
	// Version of the packages. Empty is the content of the file VERSION.
	Version string
	// Overlay is a file for the Go command's flag -overlay, which compiles the function from
	// other sources. Empty compiles the project's own.
	Overlay string
}

func (p Project) version() (string, error) {
	if p.Version != "" {
		return p.Version, nil
	}
	return Version(p.Root)
}

// FunctionFile is the Function's package file for one platform.
func (p Project) FunctionFile(arch string) string {
	return filepath.Join(p.Out, fmt.Sprintf("%s-%s.xpkg", FunctionName, arch))
}

// BuildFunction compiles the function and builds its package for each
// architecture, with the bill of materials beside it.
func (p Project) BuildFunction(ctx context.Context, architectures ...string) error {
	version, err := p.version()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, arch := range architectures {
		g.Go(func() error { return p.buildFunction(ctx, arch, version) })
	}
	return g.Wait()
}

func (p Project) buildFunction(ctx context.Context, arch, version string) error {
	binary := filepath.Join(p.Out, "linux-"+arch, "function")
	if err := GoBuild(ctx, p.Root, functionMain, arch, version, binary, "-overlay="+p.Overlay); err != nil {
		return err
	}
	if err := p.writeSBOM(binary, arch, version); err != nil {
		return err
	}
	runtime := Runtime{
		Binary: binary, Architecture: arch,
		// What Crossplane calls, and metrics.
		Ports:  []string{"9443/tcp", "8080/tcp"},
		Labels: annotations(version),
	}
	image, err := runtime.Image()
	if err != nil {
		return err
	}
	return Contents{Root: filepath.Join(p.Root, "package"), Runtime: image}.Build(p.FunctionFile(arch))
}

// annotations are the standard ones of the OCI image specification.
func annotations(version string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.source":   "https://github.com/virtual-argocd/virtual-argocd",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.version":  version,
	}
}
