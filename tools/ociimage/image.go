package ociimage

import (
	"fmt"
	"io/fs"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// NonRoot is the user and group of images made by Static.
const NonRoot = 65532

// CACertificates is where Go programs look for trusted certificates first.
const CACertificates = "/etc/ssl/certs/ca-certificates.crt"

// Config is how a container of the image runs.
type Config struct {
	// Architecture is Go's name of it: amd64 or arm64. The system is Linux.
	Architecture string
	// Entrypoint is run with Cmd, or with the container's own arguments in
	// place of Cmd.
	Entrypoint []string
	Cmd        []string
	// Env holds NAME=value pairs.
	Env []string
	// User is a user's number, "65532", or number and group, "65532:65532".
	User       string
	WorkingDir string
	// Ports are informative: "9443/tcp".
	Ports []string
	// Labels are informative: "org.opencontainers.image.source".
	Labels map[string]string
}

// Build puts layers and a configuration together.
func Build(cfg Config, layers ...v1.Layer) (v1.Image, error) {
	if cfg.Architecture == "" {
		return nil, fmt.Errorf("an image needs an architecture: amd64 or arm64")
	}
	var ports map[string]struct{}
	for _, p := range cfg.Ports {
		if ports == nil {
			ports = map[string]struct{}{}
		}
		ports[p] = struct{}{}
	}
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	img, err := mutate.ConfigFile(img, &v1.ConfigFile{
		Architecture: cfg.Architecture,
		OS:           "linux",
		Created:      v1.Time{Time: epoch},
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: cfg.Entrypoint, Cmd: cfg.Cmd, Env: cfg.Env, User: cfg.User,
			WorkingDir: cfg.WorkingDir, ExposedPorts: ports, Labels: cfg.Labels,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot set the image's configuration: %w", err)
	}
	img, err = mutate.AppendLayers(img, layers...)
	if err != nil {
		return nil, fmt.Errorf("cannot add the image's layers: %w", err)
	}
	return img, nil
}

// Static makes an image of one static binary and extra files: /<name of the
// binary> as entrypoint, an unprivileged user, an empty /tmp anyone may write
// to. What cfg sets wins.
func Static(binary string, cfg Config, extra ...File) (v1.Image, error) {
	target := "/" + filepath.Base(binary)
	if len(cfg.Entrypoint) == 0 {
		cfg.Entrypoint = []string{target}
	}
	if cfg.User == "" {
		cfg.User = fmt.Sprintf("%d:%d", NonRoot, NonRoot)
	}
	files := append(UnprivilegedFiles(), File{Path: target, Source: binary, Mode: 0o755})
	layer, err := Layer(append(files, extra...))
	if err != nil {
		return nil, err
	}
	return Build(cfg, layer)
}

// UnprivilegedFiles are what a static binary expects around it: names for root
// and the unprivileged user, that user's home, and /tmp.
func UnprivilegedFiles() []File {
	return []File{
		{Path: "/etc", Dir: true},
		{Path: "/etc/passwd", Content: fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/home/nonroot:/sbin/nologin\n", NonRoot, NonRoot)},
		{Path: "/etc/group", Content: fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", NonRoot)},
		{Path: "/home", Dir: true},
		{Path: "/home/nonroot", Dir: true, UID: NonRoot, GID: NonRoot, Mode: 0o700},
		{Path: "/tmp", Dir: true, Mode: 0o777 | fs.ModeSticky},
	}
}
