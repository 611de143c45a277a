//go:build e2e

package e2e

import (
	"context"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

const artifactTag = "1.0.0"

// pushArtifact puts files into the embedded cluster's registry, as Argo CD takes manifests from registries: in an image
// of one layer. It returns the repository's name there.
func pushArtifact(ctx context.Context, t *testing.T, files map[string]string) string {
	t.Helper()
	var content []ociimage.File
	for path, text := range files {
		content = append(content, ociimage.File{Path: "/" + path, Content: text})
	}
	layer, err := ociimage.Layer(content)
	if err != nil {
		t.Fatal(err)
	}
	image, err := ociimage.Build(ociimage.Config{Architecture: runtime.GOARCH}, layer)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(registry+"/e2e/manifests:"+artifactTag, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx)); err != nil {
		t.Fatalf("cannot push %s: %v", ref, err)
	}
	return ref.RepositoryStr()
}
