package signing

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// Packages signs packages that were just pushed, and attests how they were built and, of the Function, what is in the image of each
// architecture. It signs digests of what was built here, whatever the registry's tags say by now.
func (s *Signer) Packages(ctx context.Context, p xpkg.Project, builder string, pushed ...xpkg.Pushed) error {
	build, err := p.LastBuild()
	if err != nil {
		return err
	}
	provenance, err := ProvenanceOf(build, builder)
	if err != nil {
		return err
	}
	for _, pkg := range pushed {
		tag, err := name.NewTag(pkg.Tag, name.StrictValidation)
		if err != nil {
			return err
		}
		ref := tag.Digest(pkg.Digest)
		if err := s.Sign(ctx, ref); err != nil {
			return err
		}
		if err := s.Attest(ctx, ref, Provenance, provenance); err != nil {
			return err
		}
		if !pkg.IsFunction() {
			continue
		}
		if err := s.attestContents(ctx, p, ref, build.Architectures); err != nil {
			return err
		}
	}
	return nil
}

// Chart signs the Helm chart that was just pushed.
func (s *Signer) Chart(ctx context.Context, chart xpkg.Pushed) error {
	tag, err := name.NewTag(chart.Tag, name.StrictValidation)
	if err != nil {
		return err
	}
	return s.Sign(ctx, tag.Digest(chart.Digest))
}

// attestContents attests the bill of materials of each image of the Function. One that isn't an index has one architecture.
func (s *Signer) attestContents(ctx context.Context, p xpkg.Project, ref name.Digest, architectures []string) error {
	for _, arch := range architectures {
		data, err := os.ReadFile(p.SBOMFile(arch))
		if err != nil {
			return fmt.Errorf("cannot read the bill of materials: run `make xpkg` first: %w", err)
		}
		var parts []name.Digest
		if len(architectures) > 1 {
			part, err := s.imageFor(ctx, ref, arch)
			if err != nil {
				return err
			}
			parts = append(parts, part)
		}
		if err := s.Attest(ctx, ref, CycloneDX, data, parts...); err != nil {
			return err
		}
	}
	return nil
}

// imageFor is the image for an architecture in an index.
func (s *Signer) imageFor(ctx context.Context, index name.Digest, arch string) (name.Digest, error) {
	found, err := remote.Index(index, append(s.remote, remote.WithContext(ctx))...)
	if err != nil {
		return name.Digest{}, fmt.Errorf("cannot read %s: %w", index, err)
	}
	manifest, err := found.IndexManifest()
	if err != nil {
		return name.Digest{}, err
	}
	var have []string
	for _, m := range manifest.Manifests {
		if m.Platform != nil && m.Platform.Architecture == arch {
			return index.Context().Digest(m.Digest.String()), nil
		}
		have = append(have, m.Platform.String())
	}
	return name.Digest{}, fmt.Errorf("%s has no image for %s, but for %s", index, arch, strings.Join(have, ", "))
}
