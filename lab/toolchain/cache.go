// Package toolchain builds the programs that the lab runs from their Go modules,
// and keeps them.
//
// The machine has no container registry to pull images from: every program of the
// cluster, from etcd to Argo CD, is compiled once and found in the cache after that.
package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Cache is the folder of everything that is built once and kept:
//
//	bin/<tool>/<version>-<key>/<tool>
//
// A tool is a program, or a folder of files.
type Cache struct {
	dir string
}

// Default is the cache in the folder that the environment variable VARGO_CACHE
// names, or else ~/.cache/virtual-argocd.
func Default() (Cache, error) {
	if dir := os.Getenv("VARGO_CACHE"); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return Cache{}, fmt.Errorf("cannot use VARGO_CACHE=%s: %w", dir, err)
		}
		return Cache{dir: abs}, nil
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return Cache{}, fmt.Errorf("cannot find a cache folder, set VARGO_CACHE to one: %w", err)
	}
	return Cache{dir: filepath.Join(home, "virtual-argocd")}, nil
}

// At is the cache in the given folder.
func At(dir string) Cache { return Cache{dir: dir} }

// Dir is the cache's folder.
func (c Cache) Dir() string { return c.dir }

// Binary is the path of a built tool.
func (c Cache) Binary(name string) (string, error) {
	m, err := moduleOf(name)
	if err != nil {
		return "", err
	}
	path := c.path(m, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s %s is not built yet (no %s): run `make tools`", name, m.version, path)
	}
	return path, nil
}

func (c Cache) path(m module, tool string) string {
	return filepath.Join(c.dir, "bin", tool, m.version+"-"+m.key(), tool)
}

// built reports whether every tool of the module is there.
func (c Cache) built(m module) bool {
	for _, n := range m.names() {
		if _, err := os.Stat(c.path(m, n)); err != nil {
			return false
		}
	}
	return true
}

// id names the module's files in the cache's folder.
func (m module) id() string { return m.names()[0] + "-" + m.key() }

// key changes with everything that changes the binary: the module's entry in the
// table, and the compiler.
func (m module) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%#v\n%#v\n%s %s/%s", m.path, m.version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, n := range m.names() {
		fmt.Fprintf(h, "\n%s=%s", n, m.tools[n])
	}
	fmt.Fprintf(h, "\n%q %q %v %q %q", m.localReplace, m.require, m.cgo, m.tags, m.ldflags)
	if m.as != "" {
		fmt.Fprintf(h, "\nas %q", m.as)
	}
	for _, o := range m.overrides {
		fmt.Fprintf(h, "\noverride %q", o)
	}
	if m.web {
		fmt.Fprintf(h, "\nweb %x", bridgeSum())
	}
	if m.extends != "" {
		fmt.Fprintf(h, "\nextends %q %x", m.extends, extensionSum(m.extends))
	}
	for _, folder := range slices.Sorted(maps.Keys(m.embeds)) {
		fmt.Fprintf(h, "\nembeds %q %q", folder, m.embeds[folder])
		if e, err := moduleOf(m.embeds[folder]); err == nil {
			fmt.Fprintf(h, " %s", e.key())
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}
