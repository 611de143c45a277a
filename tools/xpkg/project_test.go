package xpkg

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/yaml"
)

func TestVersion(t *testing.T) {
	cases := map[string]struct {
		reason  string
		content string
		want    string
		wantErr string
	}{
		"Release":      {"What a release holds.", "v0.1.0\n", "v0.1.0", ""},
		"Candidate":    {"A pre-release is a version too.", "v1.0.0-rc.1\n", "v1.0.0-rc.1", ""},
		"WithoutV":     {"Tags and Go's modules start with v.", "0.1.0\n", "", "starts with v"},
		"Branch":       {"Crossplane resolves dependencies among semantic versions alone.", "main\n", "", "semantic version"},
		"TwoNumbers":   {"A short version would be another tag than its canonical form.", "v0.1\n", "", "semantic version"},
		"EmptyVersion": {"An empty tag is none.", "", "", "semantic version"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "VERSION"), tc.content)
			got, err := Version(dir)
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Fatalf("\n%s\nVersion(...): want error with %q, got %v", tc.reason, tc.wantErr, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nVersion(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Users copy the examples: they must name the version that is being released.
func TestExamplesNameThisVersion(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	version, err := Version(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "examples", "install", "*"))
	if err != nil {
		t.Fatal(err)
	}
	found, digests := map[string]int{}, map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ownReference.FindAllStringSubmatch(string(data), -1) {
			if m[3] == "" && m[4] == "" {
				continue // A prefix of both.
			}
			if found[filepath.Base(file)]++; (m[3] + m[4]) != version {
				t.Errorf("%s names %s: it must be version %s, without a digest until `make pin` writes it", file, m[0], version)
			}
			_, digest, _ := strings.Cut(strings.TrimSuffix(m[0], " # "+m[4]), "@")
			if other, ok := digests[m[2]]; ok && other != digest {
				t.Errorf("%s names %s, and another place %s of %s: run `make xpkg pin`", file, m[0], m[2], other)
			}
			digests[m[2]] = digest
		}
	}
	if diff := cmp.Diff(map[string]int{"check.yaml": 1, "configuration.yaml": 2, "runtime.yaml": 2}, found); diff != "" {
		t.Errorf("versions in examples/install: -want, +got:\n%s", diff)
	}
}

func TestStampFunction(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	meta, err := os.ReadFile(filepath.Join(root, "crossplane.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := stampFunction(meta, "^v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if want := "/function-virtual-argocd\n    version: ^v1.2.3\n"; !strings.Contains(string(got), want) {
		t.Errorf("stampFunction(...): want %q in\n%s", want, got)
	}
	if _, err := stampFunction([]byte("spec: {dependsOn: [{package: example.org/other}]}"), "^v1.2.3"); err == nil {
		t.Error("stampFunction(...): want an error where the function is no dependency")
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestInstallFile: the installation file has what kustomization.yaml lists, but for what comes later, with everything of ours from the registry that
// it was pushed to, by digest. So has the check, which is a file of its own.
func TestInstallFile(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	version, err := Project{Root: root}.version()
	if err != nil {
		t.Fatal(err)
	}
	const registry = "registry.example.org:5000/acme"
	digest := func(of string) string { return "sha256:" + strings.Repeat(of, 64) }
	p := Project{Root: root, Out: t.TempDir()}
	if err := p.WriteInstallFile(registry+"/", Pushed{registry + "/" + FunctionName + ":" + version, digest("a")}, Pushed{registry + "/" + ConfigurationName + ":" + version, digest("b")}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(p.InstallFile())
	if err != nil {
		t.Fatal(err)
	}
	got, kinds := map[string]int{}, map[string]int{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var o struct {
			Kind string
			Spec struct{ Package string }
		}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		kinds[o.Kind]++
		if o.Spec.Package != "" {
			got[o.Spec.Package]++
			// As Crossplane does: xpkg.ParsePackageSourceFromReference of crossplane-runtime. Dependencies are compared with it.
			ref, err := name.ParseReference(o.Spec.Package)
			if err != nil {
				t.Fatal(err)
			}
			if source := strings.TrimRight(strings.TrimSuffix(ref.String(), ref.Identifier()), ":@"); source != ref.Context().Name() {
				t.Errorf("Crossplane takes %s for the name of package %s, which then is no dependency of another", source, o.Spec.Package)
			}
		}
	}
	for _, line := range strings.Split(string(text), "\n") {
		if image, ok := strings.CutPrefix(strings.TrimSpace(line), "image: "); ok {
			got[image]++
		}
	}
	for image := range got {
		if strings.HasPrefix(image, "docker.io/coredns/") {
			delete(got, image)
		}
	}
	want := map[string]int{
		PublishedRegistry + "/" + FunctionName + "@" + digest("a"):        1,
		PublishedRegistry + "/" + ConfigurationName + "@" + digest("b"):   1,
		registry + "/" + FunctionName + ":" + version + "@" + digest("a"): 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages and images: -want, +got:\n%s", diff)
	}
	for kind, n := range map[string]int{"ImageConfig": 1, "Provider": 0, "ProviderConfig": 0, "Function": 1, "Configuration": 1, "DeploymentRuntimeConfig": 3} {
		if kinds[kind] != n {
			t.Errorf("the file has %d objects of kind %s, want %d", kinds[kind], kind, n)
		}
	}

	check, err := os.ReadFile(filepath.Join(root, "examples", "install", "check.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := os.ReadFile(p.CheckFile())
	if err != nil {
		t.Fatal(err)
	}
	image := "image: " + registry + "/" + FunctionName + ":" + version + "@" + digest("a")
	if diff := cmp.Diff(regexp.MustCompile("image: .*").ReplaceAllString(string(check), image), string(pushed)); diff != "" {
		t.Errorf("the check: -want, +got:\n%s", diff)
	}
}
