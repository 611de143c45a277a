package toolchain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The web interfaces of Argo CD and of Argo Rollouts take their component library,
// argo-ui, from that project's Git repository. The npm registry has an older release
// of it: the same components as of 2021, without those that came after. What is
// missing of what they use is in the folder bridge, and is added to the installed
// packages.
const (
	libraryName    = "argo-ui"
	libraryVersion = "1.0.0"
	libraryPackage = "https://registry.npmjs.org/argo-ui/-/argo-ui-1.0.0.tgz"
	librarySum     = "sha512-NvV47SAcVdTZeTm59EVw09u8ZdbXUo2kPdLCveJ8kbBAsFZ3pbYgDGcB9xE61iWCgM1l82sdczUp4NAfGOdCAQ=="
)

// yarn installs what upstream's yarn.lock names, checksums included.
const yarn = "yarn@1.22.22"

//go:embed all:bridge
var bridge embed.FS

// extensions are folders that modules are extended with.
//
//go:embed all:extension
var extensions embed.FS

// bridgeSum changes with everything that buildWeb adds to every web interface.
func bridgeSum() []byte {
	h := sha256.New()
	fmt.Fprintln(h, libraryPackage, librarySum, yarn)
	addFiles(h, bridge, ".")
	return h.Sum(nil)[:8]
}

// extensionSum changes with every file of a folder that a module is extended with.
func extensionSum(folder string) []byte {
	h := sha256.New()
	addFiles(h, extensions, folder)
	return h.Sum(nil)[:8]
}

// addFiles adds the files of a folder of this program to a hash.
func addFiles(h hash.Hash, files embed.FS, folder string) {
	err := fs.WalkDir(files, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(data), data)
		return err
	})
	if err != nil {
		panic(err) // Files of this program are always there.
	}
}

// buildWeb makes the files that browsers load, and puts them into a folder below
// dir/out. It runs no program that a package would like to run when it is installed.
func (m module) buildWeb(ctx context.Context, dir, source string) (time.Duration, error) {
	name := m.names()[0]
	ui := filepath.Join(dir, "ui")
	if err := os.CopyFS(ui, os.DirFS(filepath.Join(source, m.tools[name]))); err != nil {
		return 0, fmt.Errorf("cannot copy the source of %s: %w", name, err)
	}
	if err := useRelease(ui); err != nil {
		return 0, err
	}
	config := "./src/app/webpack.config.js"
	if m.extends != "" {
		config = "./" + m.extends + "/webpack.config.js"
		if err := os.CopyFS(ui, extensions); err != nil {
			return 0, fmt.Errorf("cannot extend the source of %s: %w", name, err)
		}
	}
	r := &runner{ctx: ctx, dir: ui, env: append(os.Environ(),
		"npm_config_cache="+filepath.Join(dir, "npm-cache"),
		"NODE_ENV=production", "NODE_ONLINE_ENV=online", "HOST_ARCH="+runtime.GOARCH, "ARGO_VERSION="+m.version)}
	tools := filepath.Join(dir, "yarn")
	r.run("npm", "install", "--prefix="+tools, "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", yarn)
	// NODE_ENV is not to keep away what the build itself needs.
	r.run("node", filepath.Join(tools, "node_modules", "yarn", "bin", "yarn.js"), "install", "--frozen-lockfile", "--production=false", "--ignore-scripts",
		"--ignore-engines", "--non-interactive", "--no-progress", "--network-timeout=200000", "--cache-folder="+filepath.Join(dir, "yarn-cache"))
	r.do(func() error { return addBridge(filepath.Join(ui, "node_modules")) })
	r.run("node", filepath.Join("node_modules", "webpack", "bin", "webpack.js"), "--config="+config, "--mode=production")
	built := filepath.Join(ui, "dist", "app")
	r.do(func() error {
		if err := os.Rename(built, filepath.Join(dir, "out", name)); err != nil {
			return fmt.Errorf("webpack made no files: %w", err)
		}
		return nil
	})
	if r.err != nil {
		return r.cpu, fmt.Errorf("cannot build %s of %s@%s: %w", name, m.path, m.version, r.err)
	}
	return r.cpu, nil
}

// runner runs commands one after the other until one fails.
type runner struct {
	ctx context.Context
	dir string
	env []string

	cpu time.Duration
	err error
}

func (r *runner) do(f func() error) {
	if r.err == nil {
		r.err = f()
	}
}

func (r *runner) run(name string, args ...string) {
	r.do(func() error {
		cmd := exec.CommandContext(r.ctx, name, args...)
		cmd.Dir, cmd.Env = r.dir, r.env
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 10 * time.Second
		out, err := cmd.CombinedOutput()
		if s := cmd.ProcessState; s != nil {
			r.cpu += s.UserTime() + s.SystemTime()
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, tail(string(out), 40))
		}
		return nil
	})
}

// useRelease makes the interface's package.json and yarn.lock name the registry's
// release of the library.
func useRelease(ui string) error {
	for file, edit := range map[string]func([]byte) ([]byte, error){"package.json": manifestWithRelease, "yarn.lock": lockWithRelease} {
		path := filepath.Join(ui, file)
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("cannot read what the web interface needs: %w", err)
		}
		if data, err = edit(data); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func manifestWithRelease(data []byte) ([]byte, error) {
	manifest := map[string]any{}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("cannot parse the web interface's package.json: %w", err)
	}
	dependencies, _ := manifest["dependencies"].(map[string]any)
	if _, ok := dependencies[libraryName].(string); !ok {
		return nil, errors.New("the web interface's package.json names no " + libraryName + " among its dependencies")
	}
	dependencies[libraryName] = libraryVersion
	return json.MarshalIndent(manifest, "", "  ")
}

// lockWithRelease changes the library's entry alone. What the library itself needs
// stays as upstream has locked it.
func lockWithRelease(data []byte) ([]byte, error) {
	// One registry serves all; the other name in the file is an alias of it.
	data = bytes.ReplaceAll(data, []byte("https://registry.yarnpkg.com/"), []byte("https://registry.npmjs.org/"))
	lines := strings.Split(string(data), "\n")
	found := false
	for i, line := range lines {
		if !strings.HasPrefix(line, `"`+libraryName+"@") {
			continue
		}
		found = true
		lines[i] = libraryName + "@" + libraryVersion + ":"
		for j := i + 1; j < len(lines) && lines[j] != ""; j++ {
			switch field, _, _ := strings.Cut(strings.TrimSpace(lines[j]), " "); {
			case !strings.HasPrefix(lines[j], "   ") && field == "version":
				lines[j] = fmt.Sprintf("  version %q", libraryVersion)
			case !strings.HasPrefix(lines[j], "   ") && field == "resolved":
				lines[j] = fmt.Sprintf("  resolved %q\n  integrity %s", libraryPackage, librarySum)
			}
		}
	}
	if !found {
		return nil, errors.New("the web interface's yarn.lock has no entry for " + libraryName)
	}
	return []byte(strings.Join(lines, "\n")), nil
}

// addBridge adds what the library's release lacks to the installed packages, and
// replaces what it has for other packages than these. A package that the bridge has
// within the library replaces the whole one there.
func addBridge(packages string) error {
	files, err := fs.Sub(bridge, "bridge")
	if err != nil {
		return err
	}
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() || filepath.Base(filepath.Dir(path)) == "node_modules" {
			return os.RemoveAll(filepath.Join(packages, filepath.FromSlash(path)))
		}
		return nil
	})
	if err == nil {
		err = os.CopyFS(packages, files)
	}
	if err != nil {
		return fmt.Errorf("cannot add what the release of %s lacks: %w", libraryName, err)
	}
	return nil
}
