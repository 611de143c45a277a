package signing

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"

	"github.com/virtual-argocd/virtual-argocd/tools/signing/signingtest"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// TestPackages builds packages, pushes and signs them, and verifies what arrived.
func TestPackages(t *testing.T) {
	p := signingtest.NewProject(t)
	built, err := p.Build(t.Context(), xpkg.Architectures()...)
	if err != nil {
		t.Fatal(err)
	}
	w, key := newWorld(t), signingtest.NewKey(t)
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
			if err := w.trust(key).Verify(t.Context(), ref, want); err != nil {
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
