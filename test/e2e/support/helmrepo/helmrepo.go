// Package helmrepo makes the files of a Helm repository, for any server of files.
package helmrepo

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// Files are index.yaml and the archives of a chart that consists of one manifest, in some versions.
func Files(name, manifest string, versions ...string) (map[string]string, error) {
	dir, err := os.MkdirTemp("", "helmrepo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // A temporary folder.
	out := map[string]string{}
	entries := make([]any, 0, len(versions))
	for _, version := range versions {
		metadata := &chart.Metadata{APIVersion: chart.APIVersionV2, Name: name, Version: version}
		file, err := chartutil.Save(&chart.Chart{Metadata: metadata, Templates: []*chart.File{{Name: "templates/manifest.yaml", Data: []byte(manifest)}}}, dir)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		out[filepath.Base(file)] = string(data)
		entries = append(entries, map[string]any{
			"apiVersion": metadata.APIVersion, "name": name, "version": version,
			"urls": []string{filepath.Base(file)}, "digest": fmt.Sprintf("%x", sha256.Sum256(data)),
		})
	}
	index, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "entries": map[string]any{name: entries}})
	out["index.yaml"] = string(index)
	return out, err
}
