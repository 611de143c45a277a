package signing

import (
	"runtime"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

const (
	sources = "https://github.com/virtual-argocd/virtual-argocd"
	// buildType says what the parameters mean: https://slsa.dev/spec/v1.0/provenance#buildType
	buildType = sources + "/blob/main/RELEASING.md#how-a-build-is-attested"
	// Maintainer is the builder of packages that somebody built on a machine of their own.
	Maintainer = sources + "/blob/main/RELEASING.md#maintainer"
)

// ProvenanceOf is the SLSA provenance of packages as JSON: how they were built, and by whom, a URI.
func ProvenanceOf(b xpkg.Build, builder string) ([]byte, error) {
	architectures := make([]any, 0, len(b.Architectures))
	for _, a := range b.Architectures {
		architectures = append(architectures, a)
	}
	external := map[string]any{"version": b.Version, "architectures": architectures}
	if b.InputSHA256 != "" {
		external["inputSHA256"] = b.InputSHA256
	}
	// Whether the sources were those of the commit.
	internal := map[string]any{"modified": b.Modified || b.Commit == "", "go": b.Go, "platform": runtime.GOOS + "/" + runtime.GOARCH}
	source := &intoto.ResourceDescriptor{Uri: "git+" + sources}
	if b.Commit != "" {
		source.Digest = map[string]string{"gitCommit": b.Commit}
	}
	externalParameters, err := structpb.NewStruct(external)
	if err != nil {
		return nil, err
	}
	internalParameters, err := structpb.NewStruct(internal)
	if err != nil {
		return nil, err
	}
	return protojson.Marshal(&slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType: buildType, ExternalParameters: externalParameters, InternalParameters: internalParameters,
			ResolvedDependencies: []*intoto.ResourceDescriptor{source},
		},
		RunDetails: &slsa.RunDetails{
			Builder:  &slsa.Builder{Id: builder},
			Metadata: &slsa.BuildMetadata{StartedOn: timestamppb.New(b.Started), FinishedOn: timestamppb.New(b.Finished)},
		},
	})
}
