package xpkg

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A Build is how the package files in Project.Out were built, for an attestation.
type Build struct {
	// Version of both packages.
	Version string `json:"version"`
	// Commit is the Git commit of the sources, and Modified whether tracked files differed from it. Empty without Git.
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	// Go is the version of Go that compiled the function.
	Go string `json:"go"`
	// Architectures of the Function.
	Architectures []string `json:"architectures"`
	// InputSHA256 is the digest of the file with the function's input that replaced ours. Empty for none.
	InputSHA256 string    `json:"inputSHA256,omitempty"`
	Started     time.Time `json:"started"`
	Finished    time.Time `json:"finished"`
	// Files are the digests (SHA-256) of the package files, by name.
	Files map[string]string `json:"files"`
}

func (p Project) buildFile() string { return filepath.Join(p.Out, "build.json") }

// Build builds both packages, and records how.
func (p Project) Build(ctx context.Context, architectures ...string) (Build, error) {
	version, err := p.version()
	if err != nil {
		return Build{}, err
	}
	b := Build{Version: version, Go: runtime.Version(), Architectures: architectures, Started: time.Now().UTC().Truncate(time.Second), Files: map[string]string{}}
	if p.Input != "" {
		if b.InputSHA256, err = digestOf(p.Input); err != nil {
			return Build{}, err
		}
	}
	if err := p.removePackages(); err != nil {
		return Build{}, err
	}
	if b.Commit, b.Modified, err = p.commit(ctx); err != nil {
		return Build{}, err
	}
	// The Configuration depends on the Function's digest.
	if err := p.BuildFunction(ctx, architectures...); err != nil {
		return Build{}, err
	}
	function, err := p.functionDigest(version)
	if err != nil {
		return Build{}, err
	}
	if err := p.buildConfiguration(function); err != nil {
		return Build{}, err
	}
	b.Finished = time.Now().UTC().Truncate(time.Second)
	for _, file := range p.packageFiles() {
		if b.Files[filepath.Base(file)], err = digestOf(file); err != nil {
			return Build{}, err
		}
	}
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return Build{}, err
	}
	return b, os.WriteFile(p.buildFile(), append(data, '\n'), 0o600)
}

// LastBuild reads how the package files in Out were built. Files that were changed since, or that another build left, are an error: nothing
// can be attested of these.
func (p Project) LastBuild() (Build, error) {
	var b Build
	data, err := os.ReadFile(p.buildFile())
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	if err != nil {
		return Build{}, fmt.Errorf("cannot read how the packages were built: run `make xpkg` first: %w", err)
	}
	for _, file := range p.packageFiles() {
		sum, err := digestOf(file)
		if err != nil {
			return Build{}, err
		}
		if name := filepath.Base(file); b.Files[name] != sum {
			return Build{}, fmt.Errorf("package file %s isn't the one that `make xpkg` built last: run `make xpkg` again", name)
		}
	}
	return b, nil
}

// removePackages removes the files of an earlier build, so that none of them is pushed together with those of this one.
func (p Project) removePackages() error {
	errs := []error{}
	for _, file := range append(p.packageFiles(), p.buildFile()) {
		if err := os.Remove(file); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// packageFiles are the package files in Out.
func (p Project) packageFiles() []string {
	var out []string
	for _, arch := range Architectures() {
		out = append(out, p.FunctionFile(arch))
	}
	out = append(out, p.ConfigurationFile())
	kept := out[:0]
	for _, file := range out {
		if isFile(file) {
			kept = append(kept, file)
		}
	}
	return kept
}

// commit returns the Git commit of the sources, and whether they differ from it. A folder that isn't in Git has none.
func (p Project) commit(ctx context.Context) (string, bool, error) {
	git := func(args ...string) ([]byte, error) {
		return exec.CommandContext(ctx, "git", append([]string{"-C", p.Root}, args...)...).Output()
	}
	hash, err := git("rev-parse", "HEAD")
	if err != nil {
		return "", false, nil
	}
	changes, err := git("status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", false, fmt.Errorf("cannot ask Git for changes: %w", err)
	}
	return strings.TrimSpace(string(hash)), len(bytes.TrimSpace(changes)) > 0, nil
}

func digestOf(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}
