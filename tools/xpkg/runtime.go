package xpkg

import (
	"context"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

// Runtime is what runs a provider or a function in a package.
type Runtime struct {
	// Binary is a static binary for Linux.
	Binary string
	// Architecture is Go's name of its platform: amd64 or arm64.
	Architecture string
	// Ports are informative: "9443/tcp".
	Ports []string
	// Env holds NAME=value pairs.
	Env []string
	// Labels are informative: "org.opencontainers.image.version".
	Labels map[string]string
}

// Image has the binary, the certificate authorities that Mozilla trusts, an
// unprivileged user and /tmp. No shell, nothing else.
func (r Runtime) Image() (v1.Image, error) {
	img, err := ociimage.Static(r.Binary,
		ociimage.Config{Architecture: r.Architecture, Ports: r.Ports, Env: r.Env, Labels: r.Labels},
		ociimage.File{Path: ociimage.CACertificates, Content: certificates()})
	if err != nil {
		return nil, fmt.Errorf("cannot make the runtime image of %s: %w", r.Binary, err)
	}
	return img, nil
}

// certificates are Mozilla's trusted roots, from a Go module: the same on
// every machine, whether or not it has certificates of its own.
func certificates() string {
	var b strings.Builder
	for root := range bundle.Roots() {
		// A root with a constraint is trusted for older certificates only,
		// which a plain list can't say.
		if root.Constraint != nil {
			continue
		}
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return b.String()
}

// GoBuild compiles the main package pkg of the module at dir into a static
// Linux binary. The version ends up in the variable main.version. flags are further ones of
// go build.
func GoBuild(ctx context.Context, dir, pkg, arch, version, out string, flags ...string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return fmt.Errorf("cannot make the output folder: %w", err)
	}
	// Without stamps of the version control: the same source makes the same package.
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.version=" + version, "-o", out}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=-mod=readonly", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot compile %s for linux/%s: %w: %s", pkg, arch, err, strings.TrimSpace(string(output)))
	}
	return nil
}
