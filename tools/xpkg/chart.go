package xpkg

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// ChartName is the name of the Helm chart, and chartFolder the folder of a registry that it is pushed to: in the registry's own folder, that name
// is the Configuration's.
const (
	ChartName   = "virtual-argocd"
	chartFolder = "charts"
)

// Media types of Helm charts in registries: https://helm.sh/docs/topics/registries.
const (
	chartConfigType types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	// ChartContentType is that of the archive.
	ChartContentType types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// ChartFile is the chart's archive.
func (p Project) ChartFile() string {
	version, _ := p.version()
	return filepath.Join(p.Out, ChartName+"-"+strings.TrimPrefix(version, "v")+".tgz")
}

// PackChart writes the chart's archive. It has the templates of charts/virtual-argocd, the files of examples/install, which these read, with the
// packages that were pushed by their digests, and registry as the default of where they come from. The same sources make the same archive.
func (p Project) PackChart(registry string, pushed ...Pushed) (*chart.Chart, error) {
	version, err := p.version()
	if err != nil {
		return nil, err
	}
	c, err := loadChart(filepath.Join(p.Root, "charts", ChartName))
	if err != nil {
		return nil, err
	}
	if "v"+c.Metadata.Version != version || c.Metadata.AppVersion != version {
		return nil, fmt.Errorf("charts/%s/Chart.yaml has version %s and appVersion %s: write %s and %s, as in the file VERSION",
			ChartName, c.Metadata.Version, c.Metadata.AppVersion, strings.TrimPrefix(version, "v"), version)
	}
	for _, f := range c.Raw {
		switch {
		case f.Name == "values.yaml":
			f.Data = bytes.Replace(f.Data, []byte("\nregistry: "+PublishedRegistry+"\n"), []byte("\nregistry: "+strings.TrimSuffix(registry, "/")+"\n"), 1)
		case strings.HasPrefix(f.Name, "files/"):
			f.Data = []byte(withDigests(string(f.Data), pushed))
		}
	}
	archive, err := ArchiveOf(c)
	if err != nil {
		return nil, fmt.Errorf("cannot pack the chart: %w", err)
	}
	return c, os.WriteFile(p.ChartFile(), archive, 0o644)
}

// loadChart loads a chart from a folder.
func loadChart(dir string) (*chart.Chart, error) {
	// Helm's loader logs each symbolic link that it follows.
	out := log.Writer()
	log.SetOutput(io.Discard)
	defer log.SetOutput(out)
	c, err := loader.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot load chart %s: %w", dir, err)
	}
	return c, nil
}

// ArchiveOf is a chart as an archive, with its files as they are.
func ArchiveOf(c *chart.Chart) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, f := range c.Raw {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(c.Name(), f.Name), Mode: 0o644, Size: int64(len(f.Data))}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// PushChart packs the chart, and pushes it to a registry, below charts/.
func (p Project) PushChart(ctx context.Context, registry string, pushed ...Pushed) (Pushed, error) {
	c, err := p.PackChart(registry, pushed...)
	if err != nil {
		return Pushed{}, err
	}
	archive, err := os.ReadFile(p.ChartFile())
	if err != nil {
		return Pushed{}, err
	}
	// Helm writes a version's + as _, which a tag can have.
	tag := fmt.Sprintf("%s/%s/%s:%s", strings.TrimSuffix(registry, "/"), chartFolder, ChartName, strings.ReplaceAll(c.Metadata.Version, "+", "_"))
	ref, err := name.NewTag(tag, name.StrictValidation)
	if err != nil {
		return Pushed{}, fmt.Errorf("cannot parse reference %s: %w", tag, err)
	}
	artifact, err := ChartArtifact(c.Metadata, archive)
	if err != nil {
		return Pushed{}, err
	}
	if err := remote.Write(ref, artifact, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return Pushed{}, fmt.Errorf("cannot push the chart to %s: %w", tag, err)
	}
	digest, err := artifact.Digest()
	if err != nil {
		return Pushed{}, err
	}
	return Pushed{Tag: tag, Digest: digest.String()}, nil
}

// ChartArtifact is what a registry has of a chart: its metadata in place of an image's configuration, and its archive as the only layer.
func ChartArtifact(metadata *chart.Metadata, archive []byte) (v1.Image, error) {
	config, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	layer := static.NewLayer(archive, ChartContentType)
	described, err := partial.Descriptor(layer)
	if err != nil {
		return nil, err
	}
	configured, err := partial.Descriptor(static.NewLayer(config, chartConfigType))
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: *configured, Layers: []v1.Descriptor{*described},
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(artifact{config, manifest, layer})
}

type artifact struct {
	config, manifest []byte
	layer            v1.Layer
}

func (a artifact) RawConfigFile() ([]byte, error)                         { return a.config, nil }
func (a artifact) RawManifest() ([]byte, error)                           { return a.manifest, nil }
func (a artifact) MediaType() (types.MediaType, error)                    { return types.OCIManifestSchema1, nil }
func (a artifact) LayerByDigest(v1.Hash) (partial.CompressedLayer, error) { return a.layer, nil }
