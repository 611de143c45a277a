// Package packages compares the packages that tools/xpkg builds with those of Crossplane's own command line.
package packages

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

const root = "../.."

// TestPackagesAreCrossplanes builds our packages, and those of the providers for the embedded cluster, in both ways. Crossplane's
// command line refuses what Crossplane would not install, so this holds the manifests, too.
func TestPackagesAreCrossplanes(t *testing.T) {
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	crossplane, err := cache.Binary("crossplane-cli")
	if err != nil {
		t.Fatalf("needs Crossplane's command line, which `make test-tools` builds: %v", err)
	}
	p := xpkg.Project{Root: root, Out: t.TempDir()}
	if err := p.BuildConfiguration(); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(p.Out, "none")
	cases := map[string]struct{ root, examples string }{
		"Configuration": {filepath.Join(p.Out, "configuration"), filepath.Join(root, "examples", "claims")},
		"Function":      {filepath.Join(root, "package"), none},
	}
	for _, provider := range []string{"provider-helm", "provider-kubernetes"} {
		module, err := cache.ModuleDir(t.Context(), provider)
		if err != nil {
			t.Fatal(err)
		}
		cases[provider] = struct{ root, examples string }{filepath.Join(module, "package"), none}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			theirs, ours := filepath.Join(t.TempDir(), "theirs.xpkg"), p.ConfigurationFile()
			if name != "Configuration" {
				ours = filepath.Join(t.TempDir(), "ours.xpkg")
				if err := (xpkg.Contents{Root: tc.root}).Build(ours); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.CommandContext(t.Context(), crossplane, "xpkg", "build", //nolint:gosec // The program is the cache's.
				"--package-root="+tc.root, "--examples-root="+tc.examples, "--package-file="+theirs).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(content(t, theirs), content(t, ours)); diff != "" {
				t.Errorf("-Crossplane's, +ours:\n%s", diff)
			}
		})
	}
}

// content returns the objects in each marked layer of a package file.
func content(t *testing.T, file string) map[string][]string {
	t.Helper()
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			t.Fatal(err)
		}
		for path, objects := range objects(t, layer) {
			out[cfg.Config.Labels["io.crossplane.xpkg:"+digest.String()]+" "+path] = objects
		}
	}
	return out
}

func objects(t *testing.T, layer v1.Layer) map[string][]string {
	t.Helper()
	r, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // Only read.
	out := map[string][]string{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for documents := utilyaml.NewYAMLReader(bufio.NewReader(tr)); ; {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			object := map[string]any{}
			if err := yaml.Unmarshal(document, &object); err != nil {
				t.Fatal(err)
			}
			if len(object) > 0 {
				out[h.Name] = append(out[h.Name], encode(t, object))
			}
		}
		slices.Sort(out[h.Name])
	}
}

// encode leaves out what an encoder adds to a Go type, such as an empty status. Crossplane decodes packages into the same types.
func encode(t *testing.T, object map[string]any) string {
	t.Helper()
	withoutEmptyTexts(object)
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func withoutEmptyTexts(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, field any) bool { return field == "" })
		for _, field := range v {
			withoutEmptyTexts(field)
		}
	case []any:
		for _, item := range v {
			withoutEmptyTexts(item)
		}
	}
}
