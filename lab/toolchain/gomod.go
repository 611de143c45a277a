package toolchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// ModuleDir is the folder, in Go's module cache, of the source of a tool's
// module: charts, CustomResourceDefinitions and manifests are taken from there.
func (c Cache) ModuleDir(ctx context.Context, name string) (string, error) {
	m, err := moduleOf(name)
	if err != nil {
		return "", err
	}
	return m.download(ctx)
}

// download brings the module into Go's module cache and returns its folder there.
func (m module) download(ctx context.Context) (string, error) {
	return download(ctx, m.path, m.version, m.sums)
}

// Download brings a module into Go's module cache and returns its folder there.
func Download(ctx context.Context, path, version string) (string, error) {
	return download(ctx, path, version, [2]string{})
}

// download brings a module into Go's module cache and returns its folder there. Go
// asks the public checksum database, unless the sums are given.
func download(ctx context.Context, path, version string, sums [2]string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", path+"@"+version)
	// Outside any module, so that no other go.mod has a say.
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if sums != [2]string{} {
		cmd.Env = append(cmd.Env, "GONOSUMDB="+path)
	}
	out, err := cmd.Output()
	var info struct{ Dir, Error, Sum, GoModSum string }
	if jerr := json.Unmarshal(out, &info); jerr != nil && err == nil {
		err = jerr
	}
	if info.Error != "" {
		err = errors.New(info.Error)
	}
	if err != nil {
		return "", fmt.Errorf("cannot download %s@%s: %w", path, version, err)
	}
	if got := [2]string{info.Sum, info.GoModSum}; sums != [2]string{} && got != sums {
		return "", fmt.Errorf("cannot use %s@%s: its checksums are %q, want %q", path, version, got, sums)
	}
	return info.Dir, nil
}

// writeGoMod makes dir a Go module that builds m's commands with exactly the
// dependencies that m itself is built with. Replace lines and checksums count only
// in the main module, so they are taken over from m's own go.mod and go.sum.
func (m module) writeGoMod(ctx context.Context, dir, source string) error {
	data, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return fmt.Errorf("cannot read the go.mod of %s: %w", m.path, err)
	}
	if err := m.writeOverrides(ctx, dir, data); err != nil {
		return err
	}
	out, err := m.goMod(data)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), out, 0o600); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return fmt.Errorf("cannot read the go.sum of %s: %w", m.path, err)
	}
	if m.sums != [2]string{} {
		sum = fmt.Appendf(sum, "%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s\n", m.path, m.version, m.sums[0], m.sums[1])
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600)
}

// required is the version of the module in the go.mod that builds it. A fork's is
// none of the module whose name it bears.
func (m module) required() string {
	if m.as != "" {
		return "v0.0.0-00010101000000-000000000000"
	}
	return m.version
}

func (m module) goMod(upstream []byte) ([]byte, error) {
	up, err := modfile.Parse("go.mod", upstream, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the go.mod of %s: %w", m.path, err)
	}
	f := &modfile.File{}
	if err := f.AddModuleStmt("build"); err != nil {
		return nil, err
	}
	if up.Go != nil {
		if err := f.AddGoStmt(up.Go.Version); err != nil {
			return nil, err
		}
	}
	f.AddNewRequire(m.name(), m.required(), false)
	for _, r := range m.require {
		path, version, _ := strings.Cut(r, "@")
		f.AddNewRequire(path, version, false)
	}
	switch {
	case len(m.embeds) > 0:
		err = f.AddReplace(m.name(), "", "./"+filledFolder, "")
	case m.as != "":
		err = f.AddReplace(m.name(), "", m.path, m.version)
	}
	if err != nil {
		return nil, err
	}
	for i, o := range m.overrides {
		if err := f.AddReplace(o.module, "", "./"+overriddenFolder(i), ""); err != nil {
			return nil, err
		}
	}
	for _, r := range up.Replace {
		to := r.New
		if to.Version == "" {
			// A folder of upstream's repository.
			if m.localReplace == "" {
				continue
			}
			to.Path, to.Version = r.Old.Path, m.localReplace
		}
		if err := f.AddReplace(r.Old.Path, r.Old.Version, to.Path, to.Version); err != nil {
			return nil, err
		}
	}
	f.Cleanup()
	return f.Format()
}
