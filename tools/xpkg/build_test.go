package xpkg

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
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
	"github.com/google/go-containerregistry/pkg/v1/random"
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
	if _, err := p.Build(t.Context(), Architectures()...); err != nil {
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
	if stream := files(t, img)["package.yaml"]; !strings.Contains(stream, "version: "+pushed[0].Digest+"\n") || !strings.Contains(stream, "kind: Composition\n") {
		t.Errorf("package.yaml of the Configuration: want the function's digest and the Composition, got:\n%s", stream)
	}
}

// TestPushChart: the chart arrives as Helm pulls it, and the same sources make the same chart.
func TestPushChart(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/acme"
	p := Project{Root: "../..", Out: t.TempDir()}
	pushed, err := p.PushChart(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(reference(t, pushed))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Config.MediaType != chartConfigType || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != ChartContentType {
		t.Errorf("want the media types of a chart, got %+v", manifest)
	}
	config, err := img.RawConfigFile()
	if err != nil || !strings.Contains(string(config), `"name":"virtual-argocd"`) {
		t.Errorf("want the chart's metadata, got %s, %v", config, err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	if file, err := os.ReadFile(p.ChartFile()); err != nil || !bytes.Equal(file, archive) {
		t.Errorf("the registry has another archive than %s: %v", p.ChartFile(), err)
	}
	again, err := p.PushChart(t.Context(), to)
	if err != nil || again != pushed {
		t.Errorf("want %s again, got %s, %v", pushed, again, err)
	}
}

// TestLastBuild: what is attested of packages is about the files that are there.
func TestLastBuild(t *testing.T) {
	p := testProject(t)
	if _, err := p.LastBuild(); err == nil {
		t.Error("LastBuild(): want an error before there is a build")
	}
	stale := p.FunctionFile("arm64")
	writeFile(t, stale, "of an earlier build")
	built, err := p.Build(t.Context(), "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if isFile(stale) {
		t.Error("Build(...) leaves the package of an earlier build, which would be pushed with its own")
	}
	if read, err := p.LastBuild(); err != nil || cmp.Diff(built, read) != "" {
		t.Errorf("LastBuild(): %v, -want, +got:\n%s", err, cmp.Diff(built, read))
	}
	again := p
	again.Out = filepath.Join(t.TempDir(), "again")
	second, err := again.Build(t.Context(), "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(built.Files, second.Files); diff != "" {
		t.Errorf("Build(...) gives other files the second time:\n%s", diff)
	}
	for _, file := range []string{p.FunctionFile("amd64"), stale} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			writeFile(t, file, "something else")
			if _, err := p.LastBuild(); err == nil || !strings.Contains(err.Error(), "isn't the one that `make xpkg` built last") {
				t.Errorf("LastBuild(): want an error for another file, got %v", err)
			}
		})
	}
}

// TestPinExamples: the digests in examples/install are those that a registry has.
func TestPinExamples(t *testing.T) {
	p := testProject(t)
	function, configuration := PublishedRegistry+"/"+FunctionName, PublishedRegistry+"/"+ConfigurationName
	file := filepath.Join(p.Root, "examples", "install", "runtime.yaml")
	writeFile(t, file, "image: "+function+":v0.3.1\nolder: "+function+":v0.3.0\npackage: "+configuration+":v0.3.1@sha256:"+strings.Repeat("0", 64)+"\n")
	if _, err := p.Build(t.Context(), "amd64"); err != nil {
		t.Fatal(err)
	}
	if err := p.PinExamples(); err == nil {
		t.Error("PinExamples(): want an error for a package of one architecture, which no release has")
	}
	if _, err := p.Build(t.Context(), Architectures()...); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	pushed, err := p.Push(t.Context(), strings.TrimPrefix(server.URL, "http://")+"/acme")
	if err != nil {
		t.Fatal(err)
	}
	want := "image: " + function + ":v0.3.1@" + pushed[0].Digest + "\nolder: " + function + ":v0.3.0\npackage: " + configuration + "@" + pushed[1].Digest + " # v0.3.1\n"
	for range 2 {
		if err := p.PinExamples(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("PinExamples(): -want, +got:\n%s", diff)
		}
	}
}

// TestPinProviders: the digests are those that the registry has for the versions that are tested.
func TestPinProviders(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	p := Project{Root: root, Out: t.TempDir()}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	mirror := strings.TrimPrefix(server.URL, "http://") + "/mirror"
	if _, err := p.PinProviders(t.Context(), mirror); err == nil {
		t.Error("PinProviders(...): want an error for a registry without the providers")
	}
	digests := map[string]string{}
	for _, provider := range []string{"provider-helm:v1.3.0", "provider-kubernetes:v1.3.0"} {
		img, err := random.Image(64, 1)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := name.NewTag(mirror + "/crossplane-contrib/" + provider)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, img); err != nil {
			t.Fatal(err)
		}
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests["xpkg.crossplane.io/crossplane-contrib/"+provider] = ref.String() + "@" + digest.String()
	}
	text, err := p.PinProviders(t.Context(), mirror)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, document := range strings.Split(text, "---\n")[1:] {
		var config struct {
			Spec struct {
				MatchImages  []struct{ Prefix string }
				RewriteImage struct{ Prefix string }
			}
		}
		if err := yaml.Unmarshal([]byte(document), &config); err != nil {
			t.Fatal(err)
		}
		got[config.Spec.MatchImages[0].Prefix] = config.Spec.RewriteImage.Prefix
		// What Crossplane makes of the tag has to be a reference by digest.
		if _, err := name.NewDigest(config.Spec.RewriteImage.Prefix); err != nil {
			t.Errorf("%s: %v", config.Spec.RewriteImage.Prefix, err)
		}
	}
	if diff := cmp.Diff(digests, got); diff != "" {
		t.Errorf("PinProviders(...): -want, +got:\n%s", diff)
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
