package xpkg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Names of the two packages, below an organisation of a registry.
const (
	FunctionName      = "function-virtual-argocd"
	ConfigurationName = "virtual-argocd"
)

// PublishedRegistry is where releases are published, and what the
// Configuration's dependencies and the examples name.
const PublishedRegistry = "xpkg.crossplane.io/virtual-argocd"

// FindRoot returns the project's root: the nearest folder at or above dir that
// has a VERSION file beside a go.mod.
func FindRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if isFile(filepath.Join(d, "VERSION")) && isFile(filepath.Join(d, "go.mod")) {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("cannot find the project's root at or above %s: run this inside the project, where the file VERSION is", dir)
		}
	}
}

// Version reads the version of both packages, such as v0.1.0, from the
// project's file VERSION.
func Version(root string) (string, error) {
	file := filepath.Join(root, "VERSION")
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot read the project's version: %w", err)
	}
	v := strings.TrimSpace(string(data))
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(v, "v")); err != nil || !strings.HasPrefix(v, "v") {
		return "", fmt.Errorf("%s holds %q: write a semantic version that starts with v, such as v0.1.0", file, v)
	}
	return v, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
