package xpkg

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CLI is the path of Crossplane's command line program.
type CLI string

// Contents are what goes into one package file.
type Contents struct {
	// Root is a folder with crossplane.yaml and the manifests to install, and
	// nothing else: every YAML file below it becomes part of the package.
	Root string
	// Examples is a folder of manifests to show in package registries. Empty
	// for none.
	Examples string
	// Runtime is an image archive: what runs a provider or a function. Empty
	// for a configuration, which runs nothing.
	Runtime string
}

// Build writes the package file out.
func (c CLI) Build(ctx context.Context, in Contents, out string) error {
	examples := in.Examples
	if examples == "" {
		// The program's default is ./examples of the working directory.
		// A folder that is not there means none.
		examples = filepath.Join(in.Root, "no-examples")
	}
	args := []string{"xpkg", "build", "--package-root=" + in.Root, "--examples-root=" + examples, "--package-file=" + out}
	if in.Runtime != "" {
		args = append(args, "--embed-runtime-image-tarball="+in.Runtime)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return fmt.Errorf("cannot make the output folder: %w", err)
	}
	if err := c.run(ctx, args...); err != nil {
		return fmt.Errorf("cannot build package %s: %w", out, err)
	}
	return nil
}

// Push writes package files to one tag. More than one file become an index:
// each is the package for the platform of its runtime image.
func (c CLI) Push(ctx context.Context, tag string, annotations map[string]string, files ...string) error {
	args := []string{"xpkg", "push", "--package-files=" + strings.Join(files, ",")}
	for k, v := range annotations {
		args = append(args, "--oci-annotation="+k+"="+v)
	}
	if err := c.run(ctx, append(args, tag)...); err != nil {
		return fmt.Errorf("cannot push package to %s: %w", tag, err)
	}
	return nil
}

func (c CLI) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, string(c), args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("crossplane %s: %w: %s", strings.Join(args[:2], " "), err, strings.TrimSpace(output.String()))
	}
	return nil
}
