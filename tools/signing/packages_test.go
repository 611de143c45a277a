package signing

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// project is the smallest one that packages are built from.
var project = map[string]string{
	"VERSION":                      "v0.3.1\n",
	"go.mod":                       "module example.org/function\n\ngo 1.24\n",
	"tools/go.mod":                 "module example.org/tools\n\ngo 1.24\n\nrequire golang.org/x/crypto/x509roots/fallback v0.1.0\n",
	"fn/main.go":                   "package main\n\nvar version = \"none\"\n\nfunc main() { println(version) }\n",
	"package/crossplane.yaml":      "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-virtual-argocd}\n",
	"crossplane.yaml":              "kind: Configuration\nspec: {dependsOn: [{package: " + xpkg.PublishedRegistry + "/" + xpkg.FunctionName + "}]}\n",
	"apis/definition.yaml":         "kind: CompositeResourceDefinition\n",
	"compositions/thing.yaml":      "kind: Composition\n",
	"examples/claims/example.yaml": "kind: XThing\n",
}

// TestPackages builds packages, pushes and signs them, and verifies what arrived.
func TestPackages(t *testing.T) {
	root := t.TempDir()
	for path, content := range project {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := xpkg.Project{Root: root, Out: filepath.Join(root, "_output")}
	built, err := p.Build(t.Context(), xpkg.Architectures()...)
	if err != nil {
		t.Fatal(err)
	}
	w, key := newWorld(t), newKey(t)
	pushed, err := p.Push(t.Context(), w.registry+"/acme")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.signer(t, key).Packages(t.Context(), p, Maintainer, pushed...); err != nil {
		t.Fatal(err)
	}
	for _, pkg := range pushed {
		ref := digestOf(t, pkg)
		wants := []string{"", Provenance}
		if pkg.IsFunction() {
			wants = append(wants, CycloneDX)
		}
		for _, want := range wants {
			if err := verify(t.Context(), ref, key.public, w.log, want); err != nil {
				t.Errorf("%s: %q: %v", pkg, want, err)
			}
		}
	}

	// One statement says how the index was built, and one for each image of it what it contains.
	got := statements(t, digestOf(t, pushed[0]))
	var subjects []int
	for _, s := range got {
		subjects = append(subjects, len(s.Subject))
	}
	slices.Sort(subjects)
	if diff := cmp.Diff([]int{1, 2, 2}, subjects); diff != "" {
		t.Errorf("subjects of the Function's statements: -want, +got:\n%s", diff)
	}
	for _, s := range got {
		if s.PredicateType != Provenance {
			continue
		}
		parameters := s.Predicate.BuildDefinition.ExternalParameters
		if parameters.Version != built.Version || s.Predicate.RunDetails.Builder.ID != Maintainer || !s.Predicate.BuildDefinition.InternalParameters.Modified {
			t.Errorf("want version %s, built by %s from sources without a commit, got %+v", built.Version, Maintainer, s.Predicate)
		}
	}

	if err := os.WriteFile(p.ConfigurationFile(), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.signer(t, key).Packages(t.Context(), p, Maintainer, pushed...); err == nil {
		t.Error("Packages(...): want an error for files of which nobody knows how they were built")
	}
}

func digestOf(t *testing.T, p xpkg.Pushed) name.Digest {
	t.Helper()
	tag, err := name.NewTag(p.Tag)
	if err != nil {
		t.Fatal(err)
	}
	return tag.Digest(p.Digest)
}

// A statement is an in-toto statement, with the provenance in it if it is one.
type statement struct {
	PredicateType string
	Subject       []struct{ Name string }
	Predicate     struct {
		BuildDefinition struct {
			ExternalParameters struct{ Version string }
			InternalParameters struct{ Modified bool }
		}
		RunDetails struct{ Builder struct{ ID string } }
	}
}

func statements(t *testing.T, ref name.Digest) []statement {
	t.Helper()
	list, err := ociremote.SignedUnknown(ref).Attestations()
	if err != nil {
		t.Fatal(err)
	}
	all, err := list.Get()
	if err != nil {
		t.Fatal(err)
	}
	var out []statement
	for _, a := range all {
		envelope, err := a.Payload()
		if err != nil {
			t.Fatal(err)
		}
		var dsse struct{ Payload string }
		if err := json.Unmarshal(envelope, &dsse); err != nil {
			t.Fatal(err)
		}
		text, err := base64.StdEncoding.DecodeString(dsse.Payload)
		if err != nil {
			t.Fatal(err)
		}
		var s statement
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}
