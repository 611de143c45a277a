package signing

import (
	"runtime"

	"github.com/in-toto/in-toto-golang/in_toto/slsa_provenance/common"
	slsa "github.com/in-toto/in-toto-golang/in_toto/slsa_provenance/v1"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

const (
	sources = "https://github.com/virtual-argocd/virtual-argocd"
	// buildType says what the parameters mean: https://slsa.dev/spec/v1.0/provenance#buildType
	buildType = sources + "/blob/main/RELEASING.md#how-a-build-is-attested"
	// Maintainer is the builder of packages that somebody built on a machine of their own.
	Maintainer = sources + "/blob/main/RELEASING.md#maintainer"
)

// ProvenanceOf is the SLSA provenance of packages: how they were built, and by whom, a URI.
func ProvenanceOf(b xpkg.Build, builder string) slsa.ProvenancePredicate {
	parameters := map[string]any{"version": b.Version, "architectures": b.Architectures}
	if b.InputSHA256 != "" {
		parameters["inputSHA256"] = b.InputSHA256
	}
	source := slsa.ResourceDescriptor{URI: "git+" + sources}
	if b.Commit != "" {
		source.Digest = common.DigestSet{"gitCommit": b.Commit}
	}
	return slsa.ProvenancePredicate{
		BuildDefinition: slsa.ProvenanceBuildDefinition{
			BuildType: buildType, ExternalParameters: parameters,
			// Whether the sources were those of the commit.
			InternalParameters:   map[string]any{"modified": b.Modified || b.Commit == "", "go": b.Go, "platform": runtime.GOOS + "/" + runtime.GOARCH},
			ResolvedDependencies: []slsa.ResourceDescriptor{source},
		},
		RunDetails: slsa.ProvenanceRunDetails{
			Builder:       slsa.Builder{ID: builder},
			BuildMetadata: slsa.BuildMetadata{StartedOn: &b.Started, FinishedOn: &b.Finished},
		},
	}
}
