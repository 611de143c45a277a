package toolchain

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const lock = `# yarn lockfile v1


"@tippy.js/react@^3.1.1":
  version "3.1.1"
  resolved "https://registry.yarnpkg.com/@tippy.js/react/-/react-3.1.1.tgz#027e4595e55f31430741fe8e0d92aaddfbe47efd"
  integrity sha512-KF45vW/jKh/nBXk/2zzTFslv/T46zOMkIoDJ56ymZ+M00yHttk58J5wZ29oqGqDIUnobWSZD+cFpbR4u/UUvgw==

"argo-ui@git+https://github.com/argoproj/argo-ui.git":
  version "1.0.0"
  resolved "git+https://github.com/argoproj/argo-ui.git#5cf36101733ce43eed57242a12389f2a7e40bd2b"
  dependencies:
    "@tippy.js/react" "^3.1.1"
    version "^2.0.0"

argparse@^1.0.7:
  version "1.0.10"
`

func TestLockNamesTheRelease(t *testing.T) {
	got, err := lockWithRelease([]byte(lock))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		"registry.yarnpkg.com", "registry.npmjs.org",
		`"argo-ui@git+https://github.com/argoproj/argo-ui.git":`, "argo-ui@1.0.0:",
		`"git+https://github.com/argoproj/argo-ui.git#5cf36101733ce43eed57242a12389f2a7e40bd2b"`, `"`+libraryPackage+"\"\n  integrity "+librarySum,
	).Replace(lock)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("only the library's entry and the registry's name may change: -want, +got:\n%s", diff)
	}
	if _, err := lockWithRelease([]byte("# yarn lockfile v1\n")); err == nil || !strings.Contains(err.Error(), libraryName) {
		t.Errorf("a lock file without the library: want an error that names it, got %v", err)
	}
}

func TestManifestNamesTheRelease(t *testing.T) {
	got, err := manifestWithRelease([]byte(`{"name": "argo-cd-ui", "dependencies": {"argo-ui": "git+https://github.com/argoproj/argo-ui.git", "buffer": "^6.0.3"}}`))
	if err != nil {
		t.Fatal(err)
	}
	manifest := struct{ Dependencies map[string]string }{}
	if err := json.Unmarshal(got, &manifest); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"argo-ui": libraryVersion, "buffer": "^6.0.3"}, manifest.Dependencies); diff != "" {
		t.Errorf("dependencies: -want, +got:\n%s", diff)
	}
	if _, err := manifestWithRelease([]byte(`{}`)); err == nil || !strings.Contains(err.Error(), libraryName) {
		t.Errorf("a package.json without the library: want an error that names it, got %v", err)
	}
}

func TestBridgeIsAddedToTheInstalledPackages(t *testing.T) {
	packages := t.TempDir()
	installed := filepath.Join(packages, libraryName, "node_modules", "uuid", "package.json")
	if err := os.MkdirAll(filepath.Dir(installed), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(installed, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	viewer := filepath.Join(packages, libraryName, "src/components/logs-viewer/logs-viewer.tsx")
	if err := os.MkdirAll(filepath.Dir(viewer), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(viewer, []byte("of the release"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := addBridge(packages); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"argo-ui/v2/index.tsx", "argo-ui/src/styles/theme.scss", "argo-ui/node_modules/uuid/v1.js"} {
		if _, err := os.Stat(filepath.Join(packages, name)); err != nil {
			t.Errorf("a part of the bridge is missing: %v", err)
		}
	}
	if data, err := os.ReadFile(viewer); err != nil || string(data) == "of the release" {
		t.Errorf("a file of the bridge must replace the release's: %q, %v", data, err)
	}
	if _, err := os.Stat(installed); err == nil {
		t.Error("a package of the bridge must replace the installed one, whose package.json would hide its files")
	}
}

func TestExtendedModulesHaveTheirConfiguration(t *testing.T) {
	extended := 0
	for _, m := range modules {
		if m.extends == "" {
			continue
		}
		extended++
		if _, err := extensions.ReadFile(m.extends + "/webpack.config.js"); err != nil || !m.web {
			t.Errorf("%s is extended with %s, and webpack has no configuration there: %v", m.path, m.extends, err)
		}
	}
	if extended == 0 {
		t.Error("no module is extended")
	}
}
