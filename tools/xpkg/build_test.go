package xpkg

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

const xrd = `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings}
  versions:
    - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}
`

const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: thing}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  mode: Pipeline
  pipeline: [{step: compose, functionRef: {name: f}}]
`

// TestBuildAndPush makes a small project, builds it, pushes it to a registry and
// looks at what arrived.
func TestBuildAndPush(t *testing.T) {
	p := testProject(t)
	if err := p.BuildFunction(t.Context(), Architectures()...); err != nil {
		t.Fatal(err)
	}
	if err := p.BuildConfiguration(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	pushed, err := p.Push(t.Context(), strings.TrimPrefix(server.URL, "http://")+"/acme")
	if err != nil {
		t.Fatal(err)
	}

	index, err := remote.Index(reference(t, pushed[0]))
	if err != nil {
		t.Fatalf("the Function must be an index of images: %v", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkFunctionImage(t, img)
	}
	slices.Sort(platforms)
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms: -want, +got:\n%s", diff)
	}

	img, err := remote.Image(reference(t, pushed[1]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"base", "upbound"}, layerPurposes(t, img)); diff != "" {
		t.Errorf("layers of the Configuration: -want, +got:\n%s", diff)
	}
	if stream := files(t, img)["package.yaml"]; !strings.Contains(stream, "version: ^v0.3.1") || !strings.Contains(stream, "kind: Composition\n") {
		t.Errorf("package.yaml of the Configuration: want the function's version and the Composition, got:\n%s", stream)
	}
}

// TestOtherSources builds the function's package from other sources, as another version.
func TestOtherSources(t *testing.T) {
	p := testProject(t)
	other := filepath.Join(t.TempDir(), "other.go")
	writeFile(t, other, "package main\n\nvar version = \"none\"\n\nfunc main() { println(\"from other sources\", version) }\n")
	p.Version, p.Overlay = "v0.4.0-next", filepath.Join(t.TempDir(), "overlay.json")
	writeFile(t, p.Overlay, `{"Replace":{"`+filepath.Join(p.Root, functionMain, "main.go")+`":"`+other+`"}}`)
	if err := p.BuildFunction(t.Context(), runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	img, err := readPackage(p.FunctionFile(runtime.GOARCH), nil)
	if err != nil {
		t.Fatal(err)
	}
	if binary := files(t, img)["function"]; !strings.Contains(binary, "from other sources") || !strings.Contains(binary, p.Version) {
		t.Errorf("the function isn't compiled from the other sources, or isn't version %s", p.Version)
	}
}

func checkFunctionImage(t *testing.T, img v1.Image) {
	t.Helper()
	cf, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{strings.Join(cf.Config.Entrypoint, " "), cf.Config.User, cf.Config.Labels["org.opencontainers.image.version"]}
	if diff := cmp.Diff([]string{"/function", "65532:65532", "v0.3.1"}, got); diff != "" {
		t.Errorf("configuration of the Function's image: -want, +got:\n%s", diff)
	}
	if !slices.Contains(layerPurposes(t, img), "base") {
		t.Error("no layer of the Function's image has the annotation io.crossplane.xpkg: base")
	}
	content := files(t, img)
	if n := strings.Count(content["etc/ssl/certs/ca-certificates.crt"], "BEGIN CERTIFICATE"); n < 50 {
		t.Errorf("want a whole set of certificate authorities, got %d", n)
	}
	if !strings.Contains(content["function"], "v0.3.1") {
		t.Error("the function's binary must hold its version")
	}
	for name := range content {
		if slices.Contains([]string{"sh", "bash", "busybox"}, filepath.Base(name)) {
			t.Errorf("the Function's image has a shell: %s", name)
		}
	}
}

// layerPurposes are the annotations that tell Crossplane which layer to read
// ("base"), and package registries which one has the examples ("upbound"), in
// the layers' order.
func layerPurposes(t *testing.T, img v1.Image) []string {
	t.Helper()
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range m.Layers {
		if p := l.Annotations["io.crossplane.xpkg"]; p != "" {
			out = append(out, p)
		}
	}
	return out
}

func files(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	r := mutate.Extract(img)
	defer r.Close() //nolint:errcheck // Only read.
	out := map[string]string{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(data)
	}
}

func reference(t *testing.T, p Pushed) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(strings.Split(p.Tag, ":v")[0] + "@" + p.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func testProject(t *testing.T) Project {
	t.Helper()
	root := t.TempDir()
	for path, content := range map[string]string{
		"VERSION":                      "v0.3.1\n",
		"go.mod":                       "module example.org/function\n\ngo 1.24\n",
		"tools/go.mod":                 "module example.org/function/tools\n\ngo 1.24\n\nrequire " + certificatesModule + " v0.1.0\n",
		functionMain + "/main.go":      "package main\n\nvar version = \"none\"\n\nfunc main() { println(version) }\n",
		"package/crossplane.yaml":      "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-virtual-argocd}\nspec: {}\n",
		"crossplane.yaml":              configurationMeta(t),
		"apis/definition.yaml":         xrd,
		"compositions/thing.yaml":      composition,
		"examples/claims/example.yaml": "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: example}\n",
	} {
		writeFile(t, filepath.Join(root, path), content)
	}
	return Project{Root: root, Out: filepath.Join(root, "_output")}
}

func configurationMeta(t *testing.T) string {
	t.Helper()
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": "meta.pkg.crossplane.io/v1", "kind": "Configuration", "metadata": map[string]any{"name": "virtual-argocd"},
		"spec": map[string]any{"dependsOn": []any{map[string]any{
			"apiVersion": "pkg.crossplane.io/v1", "kind": "Function", "package": PublishedRegistry + "/" + FunctionName, "version": ">=v0.0.0",
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
